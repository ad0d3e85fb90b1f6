"""Attention that forms no L × S matrix: keys in blocks, merged as they come; and kernels whose sums can be regrouped.

Dimensions: … leading (batch B, heads), L queries, S keys, D query and key width, Dv value width.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention.arguments import check_counts, check_flags, check_value, leading, shapes, weights_shape_of
from attention.functional import at_least_float32, clamped, scaled, without_autocast
from attention.masks import check_bias, check_mask, with_causal, with_keys


class Partial(NamedTuple):
    """What some of the keys answer: enough to go on with others."""

    largest: Tensor  # (…, L), the largest score; −∞ where no key is seen
    total: Tensor  # (…, L), Σ exp(score − largest)
    mixture: Tensor  # (…, L, Dv), Σ exp(score − largest) · value

    def answer(self) -> Tensor:
        """The weighted average of the values, (…, L, Dv); zeros for a query that sees no key."""
        is_blind = self.total == 0
        return self.mixture / self.total.masked_fill(is_blind, 1.0).unsqueeze(-1)

    def log_total(self) -> Tensor:
        """The logarithm of Σ exp(score), (…, L): with it a key's weight is exp(score − log_total)."""
        return self.largest + self.total.log()


def merge(one: Partial, other: Partial) -> Partial:
    """What two sets of keys answer together, from what each answers: in any order, in any grouping.

    Each sum was taken with its own largest score; both are rescaled to the larger of the two.

    Raises:
        ValueError: they are not for the same queries, or of another width.

    Source: Milakov and Gimelshein (2018), section 3; Rabe and Staats (2021), section 2.

    >>> one = Partial(torch.tensor([2.0]), torch.tensor([1.0]), torch.tensor([[10.0]]))
    >>> other = Partial(torch.tensor([2.0]), torch.tensor([3.0]), torch.tensor([[6.0]]))
    >>> merge(one, other).answer()
    tensor([[4.]])
    """
    if one.mixture.shape != other.mixture.shape:
        raise ValueError(f"both must be for the same queries, found {shapes(one=one.mixture, other=other.mixture)}")
    largest = torch.maximum(one.largest, other.largest)
    keep_one, keep_other = _shrink(one.largest, largest), _shrink(other.largest, largest)
    total = keep_one * one.total + keep_other * other.total
    mixture = keep_one.unsqueeze(-1) * one.mixture + keep_other.unsqueeze(-1) * other.mixture
    return Partial(largest, total, mixture)


def _shrink(scores: Tensor, largest: Tensor) -> Tensor:
    """exp(scores − largest), and 0 for a score of −∞ also where −∞ is the largest."""
    return (scores - largest.clamp(min=torch.finfo(largest.dtype).min)).exp_()


def part(scores: Tensor, value: Tensor) -> Partial:
    """What keys answer, from their scores (…, L, S) and values (…, S, Dv)."""
    largest = scores.amax(-1)
    shares = _shrink(scores, largest.unsqueeze(-1))
    return Partial(largest, shares.sum(-1), shares @ value)


def streaming_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    attn_bias: Tensor | None = None,
    key_mask: Tensor | None = None,
    block_size: int = 64,
) -> Tensor:
    """:func:`attention.scaled_dot_product_attention`, with the keys read in blocks, one after the other.

    It never holds more than one block's scores, (…, L, block): what it needs grows with L, the L × S matrix with its
    square. For the gradients each block's weights are computed anew, from one number a query that was kept.

    Args:
        query: (…, L, D).
        key: (…, S, D).
        value: (…, S, Dv).
        attn_mask: bool, True = may attend, as in :func:`attention.attention_weights`, and so are all that follow.
        is_causal: also hide the keys after the query's own position; blocks that are hidden from a query are skipped.
        scale: factor on the scores.
        attn_bias: numbers that are added to the scaled scores.
        key_mask: bool (B, S), True = may attend.
        block_size: how many keys are read at a time.

    Returns:
        output (…, L, Dv), of the query's dtype, computed in float32 or better. A gradient that is to be
            differentiated again (``create_graph``, ``torch.func``) keeps the weights of all blocks.

    Raises:
        TypeError, ValueError: as :func:`attention.scaled_dot_product_attention`, or ``block_size`` is not an integer
            of at least 1.

    Source: Rabe and Staats (2021), section 2; Dao et al. (2022), algorithms 1 and 4, without their tiles of queries.

    >>> query, key, value = torch.randn(3, 4), torch.randn(7, 4), torch.randn(7, 2)
    >>> streaming_attention(query, key, value, block_size=2).shape
    torch.Size([3, 2])
    """
    weights_shape = weights_shape_of(query, key)
    check_value(query, key, value)
    check_flags(is_causal=is_causal)
    check_counts(least=1, block_size=block_size)
    check_mask("attn_mask", attn_mask, weights_shape)
    check_bias(attn_bias, weights_shape)
    mask = with_keys(attn_mask, key_mask, weights_shape)
    batch, dtype = leading(query=query, key=key, value=value), at_least_float32(query)
    q, k, v = (each.to(dtype).expand(*batch, *each.shape[-2:]) for each in (query, key, value))
    bias = None if attn_bias is None else clamped(attn_bias, dtype).masked_fill(attn_bias == -math.inf, -math.inf)
    with without_autocast(query):
        return _Streaming.apply(scaled(q, scale), k, v, bias, mask, is_causal, block_size)[0].to(query.dtype)


class _Streaming(torch.autograd.Function):
    """Softmax attention block by block, both ways; queries are scaled already."""

    @staticmethod
    def forward(query, key, value, bias, mask, is_causal, block_size):
        asked = query.shape[:-1]  # (…, L)
        nothing = query.new_zeros(*asked, value.size(-1))
        found = Partial(query.new_full(asked, -math.inf), query.new_zeros(asked), nothing)
        for rows, keys in _rows_and_keys(query, key, is_causal, block_size):
            scores = _scores_of_block(query, key, bias, mask, is_causal, rows, keys)
            block = part(scores, value[..., keys, :])
            del scores  # before the next ones are made
            before = Partial(found.largest[..., rows], found.total[..., rows], found.mixture[..., rows, :])
            for old, new in zip(before, merge(before, block), strict=True):
                old.copy_(new)
        return found.answer(), found.log_total()

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        *tensors, ctx.is_causal, ctx.block_size = inputs
        ctx.save_for_backward(*tensors, *outputs)

    @staticmethod
    def backward(ctx, gradient, of_log_total):
        """The gradients of queries, keys, values and bias, with each block's weights computed anew."""
        query, key, value, bias, mask, output, log_total = ctx.saved_tensors
        # What a row's scores have in common: Σ weight · reaction, and what a second derivative asks of their sum.
        common = (gradient * output).sum(-1, keepdim=True) - of_log_total.unsqueeze(-1)
        # Made of it, since it is mapped over wherever any of them is:
        of_query, of_key, of_value = (common.new_zeros(each.shape) for each in (query, key, value))
        of_bias = common.new_zeros(bias.shape) if ctx.needs_input_grad[3] else None
        for rows, keys in _rows_and_keys(query, key, ctx.is_causal, ctx.block_size):
            scores = _scores_of_block(query, key, bias, mask, ctx.is_causal, rows, keys)
            weights = _shrink(scores, log_total[..., rows, None])  # (…, L, block)
            reaction = gradient[..., rows, :] @ value[..., keys, :].mT
            of_scores = weights * (reaction - common[..., rows, :])
            of_value[..., keys, :] += weights.mT @ gradient[..., rows, :]
            of_query[..., rows, :] += of_scores @ key[..., keys, :]
            of_key[..., keys, :] += of_scores.mT @ query[..., rows, :]
            if of_bias is not None:
                place = _cut(of_bias, rows, keys)
                place += of_scores.sum_to_size(place.shape)
        return of_query, of_key, of_value, of_bias, None, None, None

    @staticmethod
    def vmap(info, in_dims, query, key, value, bias, mask, is_causal, block_size):
        """What is mapped over becomes one more leading dimension."""
        dims, tensors = query.dim() + (in_dims[0] is None), []
        for tensor, dim in zip((query, key, value, bias, mask), in_dims, strict=False):
            if tensor is not None:
                tensor = tensor.unsqueeze(0) if dim is None else tensor.movedim(dim, 0)
                tensor = tensor[:, *[None] * (dims - tensor.dim())]  # as a bias may have fewer dimensions
                tensor = tensor.expand(info.batch_size, *tensor.shape[1:])
            tensors.append(tensor)
        return _Streaming.apply(*tensors, is_causal, block_size), (0, 0)


def _rows_and_keys(query: Tensor, key: Tensor, is_causal: bool, block_size: int) -> Iterator[tuple[slice, slice]]:
    """For each block of keys, the queries that may see some of it, and the keys."""
    L, S = query.size(-2), key.size(-2)
    for start in range(0, min(S, L) if is_causal else S, block_size):
        yield slice(start if is_causal else 0, L), slice(start, min(start + block_size, S))


def _scores_of_block(query, key, bias, mask, is_causal, rows, keys) -> Tensor:
    """The scores of a block, (…, L, block)."""
    scores = query[..., rows, :] @ key[..., keys, :].mT
    if bias is not None:
        added = _cut(bias, rows, keys)
        scores = (scores + added).masked_fill(added == -math.inf, -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~_cut(mask, rows, keys), -math.inf)
    if is_causal:
        scores = scores.masked_fill(~with_causal(None, scores.shape, device=scores.device), -math.inf)
    return scores


def _cut(table: Tensor, rows: slice, keys: slice) -> Tensor:
    """A block of what broadcasts to (…, L, S)."""
    if table.dim() > 1 and table.size(-2) > 1:
        table = table[..., rows, :]
    return table[..., keys] if table.dim() and table.size(-1) > 1 else table


def linear_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    is_causal: bool = False,
    key_mask: Tensor | None = None,
    feature_map: Callable[[Tensor], Tensor] | None = None,
    block_size: int = 64,
) -> Tensor:
    """Attention with ``φ(query) · φ(key)`` in place of the exponential of a score: its sums are taken over keys first.

    ``output = φ(q) Σ φ(k)ᵀ v / φ(q) Σ φ(k)ᵀ``: a table (D, Dv) and a vector (D,) hold all that the keys say, however
    many there are. With ``is_causal`` they are a state that goes from block to block, and each query sees the state so
    far and the keys of its own block up to its own.

    Args:
        query: (…, L, D).
        key: (…, S, D); with ``is_causal`` S = L.
        value: (…, S, Dv).
        is_causal: hide the keys after the query's own position.
        key_mask: bool (B, S), True = may attend: hides padding.
        feature_map: φ, from (…, D) to numbers of at least 0, of any width; elu(x) + 1 when not given.
        block_size: how many tokens the causal form reads at a time.

    Returns:
        output (…, L, Dv); zeros where all that a query sees has no weight.

    Raises:
        TypeError, ValueError: as :func:`attention.scaled_dot_product_attention`, or causal with other numbers of keys
            and queries.

    Source: Katharopoulos et al. (2020), equations 4 to 7 and 18 to 20.

    >>> linear_attention(torch.randn(3, 4), torch.randn(7, 4), torch.randn(7, 2)).shape
    torch.Size([3, 2])
    """
    weights_shape = weights_shape_of(query, key)
    check_value(query, key, value)
    check_flags(is_causal=is_causal)
    check_counts(least=1, block_size=block_size)
    if is_causal and query.size(-2) != key.size(-2):
        raise ValueError(f"causal queries and keys must be as many, found {shapes(query=query, key=key)}")
    seen = with_keys(None, key_mask, weights_shape)  # (B, …, 1, S)
    dtype = at_least_float32(query)
    feature_map = feature_map or (lambda x: nn.functional.elu(x) + 1)
    if seen is not None:  # zeros in place of padding, which may be no number
        key, value = (each.masked_fill(~seen.mT, 0.0) for each in (key, value))
    with without_autocast(query):
        q, k, v = feature_map(query.to(dtype)), feature_map(key.to(dtype)), value.to(dtype)
        if seen is not None:
            k = k * seen.mT
        v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)  # (…, S, Dv + 1): its last column adds the weights
        found = _linear_causal(q, k, v, block_size) if is_causal else q @ (k.mT @ v)
    total = found[..., -1:]
    return (found[..., :-1] / total.masked_fill(total == 0, 1.0)).to(query.dtype)


def _linear_causal(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
    state = None  # (…, D, Dv + 1), what the blocks before say
    found = []
    for q, k, v in zip(*(each.split(block_size, dim=-2) for each in (query, key, value)), strict=True):
        within = (q @ k.mT).tril() @ v
        found.append(within if state is None else q @ state + within)
        state = k.mT @ v if state is None else state + k.mT @ v
    return torch.cat(found, dim=-2)
