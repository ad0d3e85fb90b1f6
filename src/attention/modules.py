"""Attention as layers with learned weights.

Dimensions: B batch, H heads, L queries, S keys, E width, D = E / H width of a head, Dv value width.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention.arguments import (
    broadcast,
    check_attn_mask,
    check_batches,
    check_bias,
    check_count,
    check_positions,
    check_probability,
    check_projectable,
    check_same,
    check_value,
    shapes,
)
from attention.functional import unchecked_softmax, unchecked_weights, visible
from attention.masks import lower_triangle, with_heads


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
        rotate: turns queries and keys, not values, by their positions before they meet: :func:`attention.rotate`, or
            any function of (B, H, L, D) and positions (L,), (B, 1, L) or None, for 0, 1, 2, ….

    Raises:
        TypeError: a count is not an integer, or ``rotate`` is not a function.
        ValueError: a count is not positive, E is not a multiple of H, or ``dropout`` lies outside 0 … 1.

    Source: Vaswani et al. (2017), section 3.2.2.

    >>> attend, tokens = MultiHeadAttention(embed_dim=6, num_heads=2), torch.randn(1, 5, 6)
    >>> output, weights = attend(tokens, tokens, tokens, is_causal=True, need_weights=True)
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
        rotate: Callable[[Tensor, Tensor | None], Tensor] | None = None,
    ) -> None:
        super().__init__()
        check_count("embed_dim", embed_dim, least=1)
        check_count("num_heads", num_heads, least=1)
        check_probability("dropout", dropout)
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim must be a multiple of num_heads, found {embed_dim} and {num_heads}")
        if rotate is not None and not callable(rotate):
            raise TypeError(f"rotate must be a function such as attention.rotate, found {rotate!r}")
        self.num_heads = num_heads
        self.dropout = dropout
        self.rotate = rotate
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias)
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
        is_causal: bool = False,
        need_weights: bool = False,
        *,
        attn_bias: Tensor | None = None,
        query_positions: Tensor | None = None,
        key_positions: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend with every head.

        Without weights PyTorch's fused kernel does it, which never forms the L × S matrices, so that memory grows
        linearly with the length. A mask together with ``is_causal`` still becomes one boolean a query and key, and a
        bias one number, rounded to the queries' dtype, but never to ±∞. On the CPU PyTorch has no fused kernel for
        dropout.

        Args:
            query: (B, L, E).
            key: (B, S, E).
            value: (B, S, E).
            attn_mask: bool, True = may attend, of shape (L, S), (B, 1 or L, S) or (B, 1 or H, 1 or L, S). A padding
                mask (B, S) must become (B, 1, S): where B = L, it is read as (L, S), and nothing fails.
            is_causal: also hide the keys after the query's own position (aligned at the top left).
            need_weights: also return the weights.
            attn_bias: numbers that are added to the scaled scores, of a shape that broadcasts to (B, H, L, S), such as
                the (H, L, S) of :func:`attention.alibi_bias`; −∞ hides a key.
                Three dimensions are heads here, unlike those of ``attn_mask``: one bias per batch row is (B, 1, L, S).
            query_positions: where the queries stand, (L,) or (B, L), for a layer with ``rotate``; 0, 1, 2, … when not
                given. New queries that meet S − L kept keys stand at S − L, S − L + 1, ….
            key_positions: where the keys stand, (S,) or (B, S), likewise.

        Returns:
            output (B, L, E), and weights (B, H, L, S) from before dropout, or None. A query that may attend to
            nothing has weights of zero and the bias of ``out_proj`` for its output. Both have the module's dtype, or
            autocast's where that is on; the scores are computed in float32 or better.

        Raises:
            TypeError: a tensor of another dtype than the module's (under autocast any but float64 will do), or a mask
                that is not boolean, a bias that is not floating-point, or positions that are not numbers.
            ValueError: shapes or devices that do not fit, or positions for a layer without ``rotate``.
        """
        check_batches(query, key, value, self.q_proj)
        weights_shape = query.size(0), self.num_heads, query.size(1), key.size(1)
        if attn_mask is not None:
            attn_mask = with_heads(attn_mask, weights_shape)
            check_same("device", query=query, attn_mask=attn_mask)
        check_bias(attn_bias, query, weights_shape)
        query_positions = self._with_heads("query_positions", query_positions, query)
        key_positions = self._with_heads("key_positions", key_positions, key)
        q = self._split(self.q_proj(query))  # (B, H, L, D)
        k = self._split(self.k_proj(key))  # (B, H, S, D)
        v = self._split(self.v_proj(value))  # (B, H, S, D)
        if self.rotate is not None:
            q, k = self.rotate(q, query_positions), self.rotate(k, key_positions)
        dropout_p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            weights = unchecked_weights(q, k, attn_mask, is_causal, attn_bias=attn_bias)  # (B, H, L, S)
            heads = F.dropout(weights, dropout_p) @ v  # (B, H, L, D)
        else:
            heads = _fused_attention(q, k, v, attn_mask, attn_bias, dropout_p, is_causal)  # (B, H, L, D)
        return self.out_proj(heads.transpose(1, 2).flatten(2)), weights  # (B, L, E)

    @classmethod
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
        like, bias = module.out_proj.weight, module.in_proj_bias is not None
        with torch.random.fork_rng(devices=[]), torch.device(like.device):  # what is drawn is overwritten
            ours = cls(module.embed_dim, module.num_heads, module.dropout, bias).to(like.dtype)
        q, k, v = module.in_proj_weight.chunk(3)  # (3E, E) → three times (E, E)
        frozen = not module.in_proj_weight.requires_grad
        _copy(q, ours.q_proj.weight, frozen)
        _copy(k, ours.k_proj.weight, frozen)
        _copy(v, ours.v_proj.weight, frozen)
        _copy(module.out_proj.weight, ours.out_proj.weight, not module.out_proj.weight.requires_grad)
        if bias:
            q, k, v = module.in_proj_bias.chunk(3)  # (3E,) → three times (E,)
            frozen = not module.in_proj_bias.requires_grad
            _copy(q, ours.q_proj.bias, frozen)
            _copy(k, ours.k_proj.bias, frozen)
            _copy(v, ours.v_proj.bias, frozen)
            _copy(module.out_proj.bias, ours.out_proj.bias, not module.out_proj.bias.requires_grad)
        return ours.train(module.training)

    def _split(self, tensor: Tensor) -> Tensor:
        """(B, L, E) → (B, H, L, D): the heads' columns apart, then the heads before the tokens."""
        B, L, E = tensor.shape
        return tensor.view(B, L, self.num_heads, E // self.num_heads).transpose(1, 2)

    def _with_heads(self, name: str, positions: Tensor | None, tokens: Tensor) -> Tensor | None:
        """Positions (L,) as they are, (B, L) → (B, 1, L); raise if they do not fit the tokens."""
        if positions is None:
            return None
        if self.rotate is None:
            raise ValueError(f"{name} are for a layer that was made with rotate, found one without")
        check_positions(name, positions, tokens.shape[:-1], tokens.device)
        return positions.unsqueeze(1) if positions.dim() == 2 else positions


class AdditiveAttention(nn.Module):
    """Score each key with a small network instead of a dot product, so that widths may differ.

    ``weights = softmax(w_v · tanh(W_q q + W_k k))``, over every pair of a query and a key.

    Args:
        query_dim: width of a query.
        key_dim: width of a key.
        hidden_dim: width in which they are added.
        dropout: probability of dropping a weight in training.

    Raises:
        TypeError: a width is not an integer.
        ValueError: a width is not positive, or ``dropout`` lies outside 0 … 1.

    Source: Bahdanau et al. (2015), appendix A.1.2.

    >>> attend = AdditiveAttention(query_dim=3, key_dim=5, hidden_dim=4)
    >>> output, weights = attend(torch.randn(2, 3), torch.randn(7, 5), torch.randn(7, 6))
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

    def project_keys(self, key: Tensor) -> Tensor:
        """Compute the part of :meth:`forward` that depends on the keys alone: ``W_k(key)``.

        Args:
            key: (…, S, key_dim).

        Returns:
            (…, S, hidden_dim), for ``projected_key`` of each call with these keys.

        Raises:
            TypeError, ValueError: as :meth:`forward`.
        """
        check_projectable("key", key, self.W_k)
        return self.W_k(key)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        *,
        projected_key: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Average the values by how well the network thinks that their keys match each query.

        Args:
            query: (…, L, query_dim).
            key: (…, S, key_dim), with leading dimensions that broadcast with the query's.
            value: (…, S, Dv).
            attn_mask: bool, True = may attend, broadcastable to (…, L, S), with all of its dimensions or at most two.
            projected_key: what :meth:`project_keys` returns for ``key``, (…, S, hidden_dim). It does not depend on the
                query, so for many calls with the same keys it is computed once.

        Returns:
            output (…, L, Dv), and weights (…, L, S) from before dropout. A query that may attend to nothing has
            zeros for both. Both have the module's dtype, or autocast's where that is on.

        Raises:
            TypeError, ValueError: as :meth:`MultiHeadAttention.forward`; likewise of ``projected_key``.
        """
        check_projectable("query", query, self.W_q)
        check_projectable("key", key, self.W_k)
        check_value(query, key, value)
        check_attn_mask(attn_mask, query, (*broadcast(query=query, key=key), query.size(-2), key.size(-2)))
        if projected_key is None:
            projected_key = self.W_k(key)  # (…, S, hidden_dim)
        else:
            check_projectable("projected_key", projected_key, self.w_v)
            if projected_key.shape[:-1] != key.shape[:-1]:
                found = shapes(key=key, projected_key=projected_key)
                raise ValueError(f"projected_key must have one row for each key, found {found}")
        hidden = torch.tanh(self.W_q(query).unsqueeze(-2) + projected_key.unsqueeze(-3))  # (…, L, S, hidden_dim)
        scores = self.w_v(hidden).squeeze(-1)  # (…, L, S)
        weights = unchecked_softmax(scores, attn_mask)
        return F.dropout(weights, self.dropout, self.training) @ value, weights


def _fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    attn_bias: Tensor | None,
    dropout_p: float,
    is_causal: bool,
) -> Tensor:
    """PyTorch's kernel, asked for what it can do: one kind of mask, and something to see for each query."""
    if attn_mask is None and attn_bias is None:
        return F.scaled_dot_product_attention(query, key, value, None, dropout_p, is_causal)
    if attn_bias is not None:
        attn_mask = visible(attn_mask, attn_bias)
    if is_causal:
        attn_mask = attn_mask & lower_triangle(query.size(-2), key.size(-2), device=query.device)
    is_blind = ~attn_mask.any(-1, keepdim=True)  # such a row is zeros or NaN, as the version and the device have it
    if attn_bias is None:
        added = attn_mask | is_blind
    else:
        held = torch.finfo(query.dtype)  # a number outside would become −∞, and hide a key, or ∞
        added = attn_bias.to(query.dtype).clamp(held.min, held.max)
        added = added.masked_fill(~attn_mask, -math.inf).masked_fill(is_blind, 0.0)
    output = F.scaled_dot_product_attention(query, key, value, added, dropout_p)
    return output.masked_fill(is_blind, 0.0)


@torch.no_grad()
def _copy(source: Tensor, target: nn.Parameter, frozen: bool) -> None:
    target.copy_(source)
    target.requires_grad_(not frozen)


def _check_torch(module: nn.MultiheadAttention) -> None:
    if not isinstance(module, nn.MultiheadAttention):
        raise TypeError(f"module must be a torch.nn.MultiheadAttention, found {type(module).__name__}")
    if not module.kdim == module.vdim == module.embed_dim:
        widths = f"kdim={module.kdim}, vdim={module.vdim}"
        raise ValueError(f"module must have keys and values of its own width {module.embed_dim}, found {widths}")
    if module.bias_k is not None or module.add_zero_attn:
        found = "add_zero_attn" if module.add_zero_attn else "add_bias_kv"
        raise ValueError(f"module must not add keys of its own, found {found}")
