"""Attention as layers with learned weights.

Dimensions: B batch, H heads, G heads of the keys and values, L queries, N new keys, S all keys (the new ones, and
those that a cache keeps), E width, D = E / H width of a head, Dv value width.
"""

import contextlib
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attention.arguments import check_count, check_flags, check_matrix, check_probability, check_value, shapes
from attention.cache import KeyValueCache
from attention.functional import masked_softmax, share_keys, softmax_attention
from attention.masks import check_bias_of_heads, check_mask, with_causal, with_head_axis, with_keys
from attention.positions import check_positions

ProcessHeads = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None, Tensor | None], tuple[Tensor, Tensor | None]]


class MultiHeadAttention(nn.Module):
    """Let several heads attend side by side, each with its own slice of the width, and mix what they found.

    ``output = concat(head₁, …, head_H) W_o`` with ``headₕ = softmax(QₕKₕᵀ / √D) Vₕ``, where Qₕ, Kₕ and Vₕ are head
    h's columns of ``q_proj(query)``, ``k_proj(key)`` and ``v_proj(value)``. The weights start as those of
    :class:`torch.nn.MultiheadAttention` do, drawn from the same distributions, with biases of zero.

    Args:
        embed_dim: width E, a multiple of ``num_heads``.
        num_heads: number of heads H.
        dropout: probability of dropping a weight in training.
        bias: whether the four projections add a bias.
        num_key_value_heads: number of heads of the keys and values G, H when not given. With fewer, H is a multiple of
            G, and H / G heads of queries share each (grouped-query attention; with 1, multi-query).
        process_heads: a function that changes queries and keys before they meet, called as
            ``process_heads(query, key, query_positions, key_positions)`` with (B, H, L, D), (B, G, N, D) and
            positions (L,) and (N,), or (B, 1, L) and (B, 1, N): :func:`attention.rotate_heads`, a norm, or both. Where
            there are as many rows as heads, it and ``attend`` are called for one row first, to tell both apart.
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
        process_heads: ProcessHeads | None = None,
        attend: Attend | None = None,
    ) -> None:
        super().__init__()
        num_key_value_heads = num_heads if num_key_value_heads is None else num_key_value_heads
        check_count("embed_dim", embed_dim, least=1)
        check_count("num_heads", num_heads, least=1)
        check_count("num_key_value_heads", num_key_value_heads, least=1)
        check_probability("dropout", dropout)
        check_flags(bias=bias)
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim must be a multiple of num_heads, found {embed_dim} and {num_heads}")
        if num_heads % num_key_value_heads:
            found = f"{num_heads} and {num_key_value_heads}"
            raise ValueError(f"num_heads must be a multiple of num_key_value_heads, found {found}")
        for name, function in (("process_heads", process_heads), ("attend", attend)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be a function, found {function!r}")
        self.embed_dim, self.head_dim = embed_dim, embed_dim // num_heads
        self.num_heads, self.num_key_value_heads = num_heads, num_key_value_heads
        self.dropout = dropout
        self.process_heads, self.attend = process_heads, attend  # functions of the user's, or None
        key_dim = self.head_dim * num_key_value_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias)
        self.k_proj = nn.Linear(embed_dim, key_dim, bias)
        self.v_proj = nn.Linear(embed_dim, key_dim, bias)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias)
        for projection in (self.q_proj, self.k_proj, self.v_proj):
            nn.init.xavier_uniform_(projection.weight, gain=math.sqrt(0.5))  # as one (3E, E) matrix is drawn
        if bias:
            for projection in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
                nn.init.zeros_(projection.bias)

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
                be numbers: without weights NaN comes through, as in PyTorch's kernels and layer.
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
        q, k = self._process(q, k, query_positions, key_positions, kept, query is key)
        offset = 0  # how many keys stand before the first new one
        if cache is not None:
            k, v = cache.update(k, v)  # (B, G, S, D)
            offset = k.size(2) - N
            if offset < kept:  # a cache that forgets has the last keys alone
                mask, attn_bias = (each if each is None else each[..., -k.size(2) :] for each in (mask, attn_bias))
        is_causal = bool(is_causal) and not (kept and N <= 1)  # a single new key is hidden from no query
        options = {"is_causal": is_causal, "offset": offset, "need_weights": need_weights}
        if self.attend is None:
            dropout = self.dropout if self.training else 0.0
            heads, weights = softmax_attention(q, k, v, mask, attn_bias, dropout=dropout, **options)
        else:
            heads, weights = self._answer(q, k, v, mask, attn_bias, **options)
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
        ours.out_proj.load_state_dict(module.out_proj.state_dict())
        for name, mine in ours.out_proj.named_parameters():
            mine.requires_grad_(module.out_proj.get_parameter(name).requires_grad)
        for name, stacked in (("weight", module.in_proj_weight), ("bias", module.in_proj_bias)):
            if stacked is not None:
                for layer, part in zip((ours.q_proj, ours.k_proj, ours.v_proj), stacked.chunk(3), strict=True):
                    layer.get_parameter(name).requires_grad_(stacked.requires_grad).copy_(part)  # (E, …) of (3E, …)
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

    def _process(self, q, k, query_positions, key_positions, kept: int, is_self: bool) -> tuple[Tensor, Tensor]:
        """What ``process_heads`` makes of queries and keys; raise unless their rows are as before."""
        if self.process_heads is None:
            for name, positions in (("query_positions", query_positions), ("key_positions", key_positions)):
                if positions is not None:
                    raise ValueError(f"{name} are for a layer that was made with process_heads, found one without")
            return q, k
        q_places = _places("query_positions", query_positions, q, kept)
        is_same = is_self and key_positions is query_positions  # of one tensor, so that they are turned alike
        k_places = q_places if is_same else _places("key_positions", key_positions, k, kept)
        _check_order("process_heads", self.process_heads, (q, k), q_places[..., :1], k_places[..., :1])
        new_q, new_k = self.process_heads(q, k, q_places, k_places)
        if new_q.shape[:-1] != q.shape[:-1] or new_k.shape[:-1] != k.shape[:-1]:
            found = f"{shapes(query=new_q, key=new_k)} from {shapes(query=q, key=k)}"
            raise ValueError(f"process_heads must keep (B, H, L, …) and (B, G, N, …), found {found}")
        return new_q, new_k

    def _answer(self, q, k, v, mask, bias, *, is_causal: bool, offset: int, need_weights: bool):
        """What ``attend`` answers; raise unless it has the shapes of an answer."""
        if is_causal:
            mask = with_causal(mask, (q.size(2), k.size(2)), offset, device=q.device)
        k, v = share_keys(q, k, v)
        first = [None if each is None else torch.atleast_2d(each)[..., :1, :1] for each in (mask, bias)]
        _check_order("attend", self.attend, (q, k, v), *first)
        heads, weights = self.attend(q, k, v, mask, bias)
        wanted = *q.shape[:-1], v.size(-1)
        if heads.shape != wanted:
            raise ValueError(f"attend must return (B, H, L, D), here {wanted}, found {tuple(heads.shape)}")
        if need_weights and (weights is None or weights.shape != (*q.shape[:-1], k.size(-2))):
            found = None if weights is None else tuple(weights.shape)
            raise ValueError(f"attend must return weights (B, H, L, S) where they are needed, found {found}")
        return heads, weights


class AdditiveAttention(nn.Module):
    """Score each key with a small network instead of a dot product, so that widths may differ.

    ``weights = softmax(w_v · tanh(W_q q + W_k k))``, over every pair of a query and a key.

    Args:
        query_dim: width of a query.
        key_dim: width of a key.
        hidden_dim: width in which they are added.
        dropout: probability of dropping a weight in training.

    Raises:
        TypeError, ValueError: a width is not a positive integer, or ``dropout`` lies outside 0 … 1.

    Source: Bahdanau et al. (2015), appendix A.1.2.

    >>> layer = AdditiveAttention(query_dim=3, key_dim=5, hidden_dim=4)
    >>> output, weights = layer(torch.randn(2, 3), torch.randn(7, 5), torch.randn(7, 6))
    >>> output.shape, weights.shape
    (torch.Size([2, 6]), torch.Size([2, 7]))
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        check_count("query_dim", query_dim, least=1)
        check_count("key_dim", key_dim, least=1)
        check_count("hidden_dim", hidden_dim, least=1)
        check_probability("dropout", dropout)
        self.dropout = dropout
        self.W_q = nn.Linear(query_dim, hidden_dim, bias=False)
        self.W_k = nn.Linear(key_dim, hidden_dim, bias=False)
        self.w_v = nn.Linear(hidden_dim, 1, bias=False)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        *,
        key_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Average the values by how well the network thinks that their keys match each query.

        Args:
            query: (…, L, query_dim).
            key: (…, S, key_dim), with leading dimensions that broadcast with the query's.
            value: (…, S, Dv).
            attn_mask: bool, True = may attend, as in :func:`attention.attention_weights`.
            key_mask: bool (B, S), True = may attend, likewise.

        Returns:
            output (…, L, Dv), and weights (…, L, S) from before dropout. A query that may attend to nothing has
            zeros for both. Both have the module's dtype, or autocast's where that is on.

        Raises:
            TypeError, ValueError: as :meth:`MultiHeadAttention.forward`.
        """
        check_matrix("query", query, self.W_q.in_features)
        check_matrix("key", key, self.W_k.in_features)
        check_value(query, key, value)
        hidden = torch.tanh(self.W_q(query).unsqueeze(-2) + self.W_k(key).unsqueeze(-3))  # (…, L, S, hidden_dim)
        scores = self.w_v(hidden).squeeze(-1)  # (…, L, S)
        check_mask("attn_mask", attn_mask, scores.shape)
        weights = masked_softmax(scores, with_keys(attn_mask, key_mask, scores.shape))
        return nn.functional.dropout(weights, self.dropout, self.training) @ value, weights


def _places(name: str, positions: Tensor | None, heads: Tensor, kept: int) -> Tensor:
    """Where rows (B, H, L, D) stand: (L,), or (B, L) → (B, 1, L); after the kept ones when not given."""
    if positions is None:
        return torch.arange(kept, kept + heads.size(2), device=heads.device)
    check_positions(name, positions, (heads.size(0), heads.size(2)))
    return positions.unsqueeze(1) if positions.dim() == 2 else positions


def _check_order(name: str, function: Callable, given: tuple[Tensor, ...], *others: Tensor | None) -> None:
    """Raise if the function makes (B, L, H, D) of (B, H, L, D).

    Where there are as many rows as heads no shape tells, so it is asked about one row too. What it draws at random for
    that is given back, and what it raises is none of the caller's: some functions need more than one row.
    """
    if torch.compiler.is_compiling() or not any(each.size(1) == each.size(2) > 1 for each in given):
        return
    answers = ()
    with torch.random.fork_rng([given[0].device] if given[0].is_cuda else []), contextlib.suppress(Exception):
        answers = function(*(each[:, :, :1] for each in given), *others)
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
