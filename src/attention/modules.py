"""Attention as layers with learned weights.

Dimensions: B batch, H heads, G heads of the keys and values, L queries, N new keys, S all keys (the new ones, and
those that a cache keeps), E width, D width of a head, E / H as a rule.
"""

import contextlib
import copy
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from attention.arguments import check_counts, check_flags, check_matrix, check_probability, check_value, shapes
from attention.cache import KeyValueCache
from attention.functional import at_least_float32, clamped, weights_of, where_shown, without_autocast
from attention.masks import check_bias_of_heads, with_causal, with_head_axis, with_keys
from attention.positions import check_positions

ProcessHeads = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None, Tensor | None], tuple[Tensor, Tensor | None]]


class MultiHeadAttention(nn.Module):
    """Let several heads attend side by side, each with its own slice of the width, and mix what they found.

    ``output = concat(head₁, …, head_H) W_o`` with ``headₕ = softmax(QₕKₕᵀ / √D) Vₕ``, where Qₕ, Kₕ and Vₕ are head
    h's columns of ``q_proj(query)``, ``k_proj(key)`` and ``v_proj(value)``. The weights start as those of
    :class:`torch.nn.MultiheadAttention` do, drawn from the same distributions, with biases of zero.

    Args:
        embed_dim: width E, a multiple of ``num_heads`` where no ``head_dim`` is given.
        num_heads: number of heads H.
        dropout: probability of dropping a weight in training.
        bias: whether the four projections add a bias.
        num_key_value_heads: number of heads of the keys and values G, H when not given. With fewer, H is a multiple of
            G, and H / G heads of queries share each (grouped-query attention; with 1, multi-query).
        head_dim: width D of a head, E / H when not given.
        process_heads: a function that changes queries and keys before they meet, called as
            ``process_heads(query, key, query_positions, key_positions)`` with (B, H, L, D), (B, G, N, D) and
            positions (L,) and (N,), or (B, 1, L) and (B, 1, N): :func:`attention.rotate_heads`, a norm, or both. It and
            ``attend`` are called once when the layer is made, with one row of zeros, to tell rows and heads apart.
        attend: a function in place of softmax attention, called as ``attend(query, key, value, mask, bias)`` with
            (B, H, L, D), (B, H, S, D) twice, and a mask and a bias that broadcast to (B, H, L, S), or None. It returns
            the output (B, H, L, D), and the weights (B, H, L, S) or None. ``dropout`` is its own matter.

    Raises:
        TypeError, ValueError: a count is not a positive integer, E is not a multiple of H or H of the keys' heads,
            ``dropout`` lies outside 0 … 1, or ``process_heads`` or ``attend`` is not a function.

    Source: Vaswani et al. (2017), section 3.2.2; Ainslie et al. (2023), section 2.2, for groups.

    >>> layer, tokens = MultiHeadAttention(embed_dim=6, num_heads=2), torch.randn(1, 5, 6)
    >>> output, weights = layer(tokens, tokens, tokens, is_causal=True, need_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([1, 5, 6]), torch.Size([1, 2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        num_key_value_heads: int | None = None,
        head_dim: int | None = None,
        process_heads: ProcessHeads | None = None,
        attend: Attend | None = None,
    ) -> None:
        super().__init__()
        num_key_value_heads = num_heads if num_key_value_heads is None else num_key_value_heads
        check_counts(least=1, embed_dim=embed_dim, num_heads=num_heads, num_key_value_heads=num_key_value_heads)
        check_probability("dropout", dropout)
        check_flags(bias=bias)
        if head_dim is None and embed_dim % num_heads:
            raise ValueError(f"embed_dim must be a multiple of num_heads, found {embed_dim} and {num_heads}")
        head_dim = embed_dim // num_heads if head_dim is None else head_dim
        check_counts(least=1, head_dim=head_dim)
        if num_heads % num_key_value_heads:
            found = f"{num_heads} and {num_key_value_heads}"
            raise ValueError(f"num_heads must be a multiple of num_key_value_heads, found {found}")
        self.embed_dim, self.head_dim = embed_dim, head_dim
        self.num_heads, self.num_key_value_heads = num_heads, num_key_value_heads
        self.dropout = dropout
        self.process_heads, self.attend = process_heads, attend  # functions of the user's, or None
        key_dim = head_dim * num_key_value_heads
        self.q_proj = nn.Linear(embed_dim, head_dim * num_heads, bias)
        self.k_proj = nn.Linear(embed_dim, key_dim, bias)
        self.v_proj = nn.Linear(embed_dim, key_dim, bias)
        self.out_proj = nn.Linear(head_dim * num_heads, embed_dim, bias)
        for projection in (self.q_proj, self.k_proj, self.v_proj):
            nn.init.xavier_uniform_(projection.weight, gain=math.sqrt(0.5))  # as one (3E, E) matrix is drawn
        if bias:
            for projection in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
                nn.init.zeros_(projection.bias)
        row = self.out_proj.weight.new_zeros(1, num_heads, 1, head_dim)
        place, shared = row.new_zeros(1, dtype=torch.long), row[:, :num_key_value_heads]
        _check_order("process_heads", process_heads, row, shared, place, place)
        _check_order("attend", attend, row, row, row, None, None)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = False,
        attn_bias: Tensor | None = None,
        key_mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        query_positions: Tensor | None = None,
        key_positions: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend with every head.

        Without weights PyTorch's fused kernel does it, which never forms the L × S matrices, so that memory grows
        linearly with the length. A mask together with ``is_causal`` still becomes one boolean a query and key, and a
        bias one number, in float32 or better.

        Args:
            query: (B, L, E).
            key: (B, N, E).
            value: (B, N, E).
            attn_mask: bool, True = may attend, of shape (L, S), (B, 1 or L, S) or (B, 1 or H, 1 or L, S).
            is_causal: also hide the keys after the query's own position: aligned at the top left, and with a cache
                after all kept keys, so that each new query sees these, and the new ones up to its own.
            need_weights: also return the weights.
            attn_bias: numbers that are added to the scaled scores, broadcast to (B, H, L, S), as the (H, L, S) of
                :func:`attention.alibi_bias`; −∞ hides a key. One bias per batch row is (B, 1, L, S), and where B = H
                one per head is (1, H, L, S).
            key_mask: bool (B, S), True = may attend: hides padding from all of a sequence's queries. Padding must still
                be numbers: NaN comes through, as in PyTorch's kernels and layer.
            cache: to which these keys and values are added, and with them all that it keeps are attended to: S keys in
                masks, bias and weights.
            query_positions: where the queries stand, (L,) or (B, L), for a layer with ``process_heads``; when not
                given 0, 1, 2, …, and with a cache on from the number of kept keys.
            key_positions: where the new keys stand, (N,) or (B, N), likewise.

        Returns:
            output (B, L, E), and weights (B, H, L, S) from before dropout, or None. A query that may attend to
            nothing has weights of zero and the bias of ``out_proj`` for its output. Both have the module's dtype, or
            autocast's where that is on; the scores are computed in float32 or better.

        Raises:
            TypeError: an input or bias is not floating-point, a mask not boolean, positions not numbers, a flag neither
                True nor False.
            ValueError: shapes do not fit, or positions are given to a layer without ``process_heads``.
        """
        self._check_inputs(query, key, value)
        check_flags(is_causal=is_causal, need_weights=need_weights)
        kept = 0 if cache is None else len(cache)
        B, L, N = query.size(0), query.size(1), key.size(1)
        H, G, D = self.num_heads, self.num_key_value_heads, self.head_dim
        weights_shape = B, H, L, kept + N
        check_bias_of_heads(attn_bias, weights_shape)
        mask = with_keys(with_head_axis(attn_mask, weights_shape), key_mask, weights_shape)

        q = self.q_proj(query).view(B, L, H, D).transpose(1, 2)  # (B, H, L, D)
        k = self.k_proj(key).view(B, N, G, D).transpose(1, 2)  # (B, G, N, D)
        v = self.v_proj(value).view(B, N, G, D).transpose(1, 2)  # (B, G, N, D)
        q, k = self._call_process_heads(q, k, query_positions, key_positions, kept, query is key)
        offset = 0  # how many keys stand before the first new one
        if cache is not None:
            k, v = cache.update(k, v)  # (B, G, S, D)
            S = k.size(2)
            offset = S - N
            if offset < kept:  # a cache that forgets has the last keys alone
                mask, attn_bias = (x if x is None else torch.atleast_1d(x)[..., -S:] for x in (mask, attn_bias))
        is_causal = bool(is_causal) and not (kept and N <= 1)  # a single new key is hidden from no query
        options = {"is_causal": is_causal, "offset": offset, "need_weights": need_weights}
        if self.attend is None:
            dropout = self.dropout if self.training else 0.0
            heads, weights = softmax_attention(q, k, v, mask, attn_bias, dropout=dropout, **options)
        else:
            heads, weights = self._call_attend(q, k, v, mask, attn_bias, **options)
        output = self.out_proj(heads.transpose(1, 2).flatten(2))  # (B, L, E)
        return output, weights if need_weights else None

    @classmethod
    @torch.no_grad()
    def from_torch(cls, module: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Copy PyTorch's module: its weights and which of them are frozen, its dropout, dtype, device and mode.

        The copy is batch first, whatever the original is.

        Args:
            module: whose masks, unlike this module's, say True where a query may *not* attend.

        Raises:
            TypeError: the module is not a :class:`torch.nn.MultiheadAttention`.
            ValueError: it was made with another ``kdim`` or ``vdim``, with ``add_bias_kv`` or ``add_zero_attn``.

        >>> theirs, tokens = nn.MultiheadAttention(6, 2, batch_first=True), torch.randn(1, 5, 6)
        >>> ours = MultiHeadAttention.from_torch(theirs)
        >>> torch.allclose(ours(tokens, tokens, tokens)[0], theirs(tokens, tokens, tokens)[0], atol=1e-6)
        True
        """
        _check_torch(module)
        like = module.out_proj.weight
        with torch.random.fork_rng([like.device] if like.is_cuda else []), like.device:  # what is drawn here is lost
            ours = cls(module.embed_dim, module.num_heads, module.dropout, module.in_proj_bias is not None)
        if like.dtype != torch.get_default_dtype():
            ours.to(like.dtype)
        layers = ours.q_proj, ours.k_proj, ours.v_proj, ours.out_proj
        for name, last in module.out_proj.named_parameters():
            stacked = module.get_parameter(f"in_proj_{name}")  # (3E, …), and so three times (E, …)
            parts = *((part, stacked) for part in stacked.chunk(3)), (last, last)
            for layer, (part, whole) in zip(layers, parts, strict=True):
                layer.get_parameter(name).requires_grad_(whole.requires_grad).copy_(part)
        return ours.train(module.training)

    def _check_inputs(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        check_matrix("query", query, self.embed_dim)
        if query is not key or query is not value:
            check_matrix("key", key, self.embed_dim)
            check_matrix("value", value, self.embed_dim)
            check_value(query, key, value)
        if not query.dim() == key.dim() == value.dim() == 3 or not query.size(0) == key.size(0) == value.size(0):
            found = shapes(query=query, key=key, value=value)
            raise ValueError(f"query, key and value must be (B, length, width) with the same B, found {found}")

    def _call_process_heads(self, q, k, query_positions, key_positions, kept: int, is_self: bool):
        """What ``process_heads`` makes of queries and keys; raise unless their rows are as before."""
        if self.process_heads is None:
            for name, positions in (("query_positions", query_positions), ("key_positions", key_positions)):
                if positions is not None:
                    raise ValueError(f"{name} are for a layer that was made with process_heads, found one without")
            return q, k
        q_places = _places("query_positions", query_positions, q, kept)
        is_same = is_self and key_positions is query_positions  # of one tensor, so that they are turned alike
        k_places = q_places if is_same else _places("key_positions", key_positions, k, kept)
        new_q, new_k = self.process_heads(q, k, q_places, k_places)
        if new_q.shape[:-1] != q.shape[:-1] or new_k.shape[:-1] != k.shape[:-1]:
            found = f"{shapes(query=new_q, key=new_k)} from {shapes(query=q, key=k)}"
            raise ValueError(f"process_heads must keep (B, H, L, …) and (B, G, N, …), found {found}")
        return new_q, new_k

    def _call_attend(self, q, k, v, mask, bias, *, is_causal: bool, offset: int, need_weights: bool):
        """What ``attend`` answers; raise unless it has the shapes of an answer."""
        if is_causal:
            mask = with_causal(mask, (q.size(2), k.size(2)), offset, device=q.device)
        k, v = share_keys(q, k, v)
        heads, weights = self.attend(q, k, v, mask, bias)
        wanted = *q.shape[:-1], v.size(-1)
        if heads.shape != wanted:
            raise ValueError(f"attend must return (B, H, L, D), here {wanted}, found {tuple(heads.shape)}")
        if need_weights and (weights is None or weights.shape != (*q.shape[:-1], k.size(-2))):
            found = None if weights is None else tuple(weights.shape)
            raise ValueError(f"attend must return weights (B, H, L, S) where they are needed, found {found}")
        return heads, weights


def _places(name: str, positions: Tensor | None, heads: Tensor, kept: int) -> Tensor:
    """Where rows (B, H, L, D) stand: (L,), or (B, L) → (B, 1, L); after the kept ones when not given."""
    if positions is None:
        return torch.arange(kept, kept + heads.size(2), device=heads.device)
    check_positions(name, positions, (heads.size(0), heads.size(2)))
    return positions.unsqueeze(1) if positions.dim() == 2 else positions


def check_function(name: str, function: Callable) -> None:
    """Raise unless it can be called and hides no module, which no layer would train, save or move."""
    if not callable(function):
        raise TypeError(f"{name} must be a function, found {function!r}")
    parts = (function.func, *function.args, *function.keywords.values()) if isinstance(function, partial) else ()
    if any(isinstance(part, nn.Module) for part in (*parts, getattr(function, "__self__", None))):
        raise TypeError(f"{name} must be a module whose forward does it, no partial or method, found {function!r}")


def own_copy(option: object) -> object:
    """A copy of a module, as every layer has weights of its own; anything else as it is."""
    return copy.deepcopy(option) if isinstance(option, nn.Module) else option


def _check_order(name: str, function: Callable | None, *given: Tensor | None) -> None:
    """Raise if the function makes (B, L, H, D) of (B, H, L, D): of one row, as where L = H no shape tells.

    What it raises itself is not the caller's concern: some need more rows, or another dtype or device.
    """
    if function is None:
        return
    check_function(name, function)
    answers, asked = (), own_copy(function)  # a module's own statistics stay
    with torch.random.fork_rng([given[0].device] if given[0].is_cuda else []), contextlib.suppress(Exception):
        answers = tuple(asked(*given))
    for answer, each in zip(answers, given, strict=False):
        if isinstance(answer, Tensor) and answer.dim() == 4 and answer.size(1) != each.size(1):
            raise ValueError(f"{name} must keep the order (B, heads, rows, …), found {tuple(answer.shape)} for one row")


def _check_torch(module: nn.MultiheadAttention) -> None:
    if not isinstance(module, nn.MultiheadAttention):
        raise TypeError(f"module must be a torch.nn.MultiheadAttention, found {type(module).__name__}")
    if not module.kdim == module.vdim == module.embed_dim:
        widths = f"kdim={module.kdim}, vdim={module.vdim}"
        raise ValueError(f"module must have keys and values of its own width {module.embed_dim}, found {widths}")
    if module.bias_k is not None or module.add_zero_attn:
        found = "add_zero_attn" if module.add_zero_attn else "add_bias_kv"
        raise ValueError(f"module must not add keys of its own, found {found}")


def softmax_attention(
    q: Tensor, k: Tensor, v: Tensor, mask, bias, *, dropout: float, is_causal: bool, offset: int, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """What a layer's heads find, (B, H, L, D), and their weights (B, H, L, S) or None.

    Keys and values are (B, G, S, D): H / G heads share each. ``offset`` keys stand before the first query's own.
    """
    (B, H, L, _), G = q.shape, k.size(1)
    if is_causal and (offset or mask is not None or bias is not None):  # else the two below hide the future themselves
        mask, is_causal = with_causal(mask, (L, k.size(2)), offset, device=q.device), False
    if G < H and L == 1 and not is_causal:
        # The queries that share a key become its rows, (B, G, H / G, D): to copy all kept keys takes far longer.
        q, mask, bias = (_heads_as_rows(each, H // G) for each in (q, mask, bias))
    elif G < H:
        k, v = share_keys(q, k, v)
    attention = plain_attention if need_weights or dropout == 1 else fused_attention  # some scale by 1 / 0
    heads, weights = attention(q, k, v, mask, bias, dropout=dropout, is_causal=is_causal)
    heads = heads.reshape(B, H, L, v.size(3))
    return heads, None if weights is None else weights.reshape(B, H, L, k.size(2))


def share_keys(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values (B, G, S, D), each repeated for the H / G heads of queries that share it: (B, H, S, D)."""
    times = q.size(1) // k.size(1)
    return (k, v) if times == 1 else (k.repeat_interleave(times, dim=1), v.repeat_interleave(times, dim=1))


def _heads_as_rows(tensor: Tensor | None, times: int) -> Tensor | None:
    """(…, H, 1, n) → (…, G, H / G, n); what is one for all heads stays as it is."""
    if tensor is None or tensor.dim() < 3 or tensor.size(-3) == 1:
        return tensor
    return tensor.view(*tensor.shape[:-3], -1, times, tensor.size(-1))


def plain_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None, *, dropout: float, is_causal: bool
) -> tuple[Tensor, Tensor]:
    """What each head finds (B, H, L, D), and with which weights (B, H, L, S)."""
    weights = weights_of(q, k, mask, bias, is_causal=is_causal)
    return nn.functional.dropout(weights, dropout) @ v, weights


def fused_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None, *, dropout: float, is_causal: bool
) -> tuple[Tensor, None]:
    """The same without the weights, by PyTorch's function: of a mask and ``is_causal`` it takes one.

    It is asked to show each query something: what it answers otherwise, zeros or NaN, its version and the device
    decide. Beside a bias it computes in float32 or better: in 16 bits there are not enough digits for one.
    """
    sdpa = nn.functional.scaled_dot_product_attention
    shown = where_shown(mask, bias)
    if shown is None:
        return sdpa(q, k, v, None, dropout, is_causal), None
    is_blind = ~shown.any(-1, keepdim=True)
    if bias is None:
        return sdpa(q, k, v, shown | is_blind, dropout).masked_fill(is_blind, 0.0), None
    dtype = at_least_float32(q)
    added = clamped(bias, dtype).masked_fill(~shown, -math.inf).masked_fill(is_blind, 0.0)
    with without_autocast(q):
        output = sdpa(q.to(dtype), k.to(dtype), v.to(dtype), torch.atleast_2d(added), dropout)
    return output.masked_fill(is_blind, 0.0).to(v.dtype), None
