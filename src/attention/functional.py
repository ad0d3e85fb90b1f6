"""Attention as three readable functions.

Dimensions: … leading (batch, heads), L queries, S keys, D query and key width, Dv value width. *Scores* enter
the softmax, *weights* leave it.
"""

import contextlib
import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attention.arguments import (
    check_attn_mask,
    check_bias,
    check_floating,
    check_mask,
    check_probability,
    check_query_key,
    check_same,
    check_value,
    is_autocast,
)
from attention.masks import lower_triangle


def masked_softmax(scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
    """Turn scores into weights that sum to 1 over what the mask lets through.

    ``weights = exp(scores) · mask / Σ exp(scores) · mask``, computed stably. A row with nothing to attend to
    is all zeros and its gradient is zero: a row that is hidden, or whose visible scores are all −∞. Without a mask
    this is PyTorch's softmax. ``scores`` is never changed; float16 and bfloat16 are computed in float32.

    Args:
        scores: floating point, (…, L, S).
        mask: bool, True = may attend, broadcastable to the scores' shape, with all of its dimensions or at most two.
        dim: the dimension that sums to 1.

    Returns:
        weights, of the scores' shape, dtype and device.

    Raises:
        TypeError: the scores are not a floating-point tensor, or the mask is not boolean.
        ValueError: the mask does not broadcast to the scores' shape, or lies on another device.

    >>> masked_softmax(torch.zeros(2, 2), torch.tensor([[True, False], [False, False]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    check_floating("scores", scores)
    if mask is not None:
        check_mask("mask", mask, scores.shape)
        check_same("device", scores=scores, mask=mask)
    return unchecked_softmax(scores, mask, dim)


def unchecked_softmax(scores: Tensor, mask: Tensor | None, dim: int = -1) -> Tensor:
    """:func:`masked_softmax` without its checks."""
    dtype = _at_least_float32(scores.dtype)
    if mask is None or not scores.size(dim):
        return scores.softmax(dim, dtype=dtype).to(scores.dtype)
    scores = torch.where(mask, scores, -math.inf)
    with torch.no_grad():  # a row of −∞ alone is lifted to 0: its softmax would be NaN, and its gradient too
        sees = scores.amax(dim, keepdim=True) > -math.inf
        scores.clamp_min_(torch.where(sees, -math.inf, 0.0))
    return (scores.softmax(dim, dtype=dtype) * sees).to(scores.dtype)


def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    attn_bias: Tensor | None = None,
) -> Tensor:
    """How much each query attends to each key: ``softmax(query · keyᵀ · scale + attn_bias)``.

    Args:
        query: (…, L, D).
        key: (…, S, D), with leading dimensions that broadcast with the query's.
        attn_mask: bool, True = may attend, broadcastable to (…, L, S), with all of its dimensions or at most two.
            Two are (L, S): a padding mask (B, S) must become (B, 1, S), and where B = L nothing fails if it does not.
        is_causal: also hide the keys after the query's own position (aligned at the top left).
        scale: factor on the scores; 1/√D when not given.
        attn_bias: numbers that are added to the scaled scores, broadcastable to (…, L, S); −∞ hides a key. Unlike a
            mask's, any shape that broadcasts is taken: a batch's (B, 1, S) meets the heads of (B, H, L, S).

    Returns:
        weights (…, L, S) of the query's dtype, computed in float32 or better, under autocast too; each row sums to 1,
        or is all zeros where the mask hides every key.

    Raises:
        TypeError: query and key are not floating-point tensors of one dtype (under autocast, which leaves float64
            alone, they may differ in others), the mask is not boolean, or the bias is not floating-point.
        ValueError: shapes or devices that do not fit, with both named.

    Source: Vaswani et al. (2017), equation 1.

    >>> attention_weights(torch.zeros(1, 4), torch.randn(2, 4)).tolist()
    [[0.5, 0.5]]
    """
    weights_shape = check_query_key(query, key)
    check_attn_mask(attn_mask, query, weights_shape)
    check_bias(attn_bias, query, weights_shape)
    return unchecked_weights(query, key, attn_mask, is_causal, scale, attn_bias)


def unchecked_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool = False,
    scale: float | None = None,
    attn_bias: Tensor | None = None,
) -> Tensor:
    """:func:`attention_weights` without its checks."""
    scale = 1 / math.sqrt(max(query.size(-1), 1)) if scale is None else scale
    scores = _scores(query, key, scale)
    if attn_bias is not None:
        scores = scores + attn_bias
        attn_mask = visible(attn_mask, attn_bias)
    if is_causal and attn_mask is None:
        return _overwriting_causal_softmax(scores).to(query.dtype)
    if is_causal:
        attn_mask = attn_mask & lower_triangle(query.size(-2), key.size(-2), device=query.device)
    return unchecked_softmax(scores, attn_mask).to(query.dtype)


def visible(attn_mask: Tensor | None, attn_bias: Tensor) -> Tensor:
    """What the mask shows and the bias does not hide: a bias of −∞ is a mask's False."""
    shown = attn_bias != -math.inf
    return shown if attn_mask is None else attn_mask & shown


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    attn_bias: Tensor | None = None,
) -> Tensor:
    """Average the values by how well their keys match each query: ``softmax(query · keyᵀ / √D) · value``.

    Answers as :func:`torch.nn.functional.scaled_dot_product_attention` does, with two differences: a query
    that may attend to nothing gets zeros in every version, and a mask may be combined with ``is_causal``. It is
    the readable form: it holds the whole (…, L, S) matrix of weights, which PyTorch's fused kernels never form.
    On a CPU, with 8 heads of width 64, that takes two to three times as long; and 50 times the memory at a length
    of 2048, 110 times at 4096.

    Args:
        query: (…, L, D).
        key: (…, S, D).
        value: (…, S, Dv).
        attn_mask: bool, True = may attend, broadcastable to (…, L, S), with all of its dimensions or at most two.
            Two are (L, S): a padding mask (B, S) must become (B, 1, S), and where B = L nothing fails if it does not.
        dropout_p: probability of dropping a weight; applied whenever it is not 0, so pass 0 to evaluate.
        is_causal: also hide the keys after the query's own position.
        scale: factor on the scores; 1/√D when not given.
        attn_bias: numbers that are added to the scaled scores, broadcastable to (…, L, S) in any way, as in
            :func:`attention_weights`; −∞ hides a key. PyTorch's function takes them as a floating-point ``attn_mask``.

    Returns:
        output (…, L, Dv); of the inputs' dtype, or of autocast's where that is on.

    Raises:
        TypeError, ValueError: as :func:`attention_weights`; also if the value does not have one row for each key, or
            ``dropout_p`` is a bool or lies outside 0 … 1.

    Source: Vaswani et al. (2017), equation 1.

    >>> query, key = torch.zeros(1, 4), torch.randn(2, 4)
    >>> scaled_dot_product_attention(query, key, torch.tensor([[10.0], [5.0]])).tolist()
    [[7.5]]
    """
    weights_shape = check_query_key(query, key)
    check_attn_mask(attn_mask, query, weights_shape)
    check_bias(attn_bias, query, weights_shape)
    check_value(query, key, value)
    check_probability("dropout_p", dropout_p)
    weights = unchecked_weights(query, key, attn_mask, is_causal, scale, attn_bias)
    return F.dropout(weights, dropout_p) @ value


def _scores(query: Tensor, key: Tensor, scale: float) -> Tensor:
    """query · keyᵀ · scale (…, L, S), in float32 or better: float16 may not hold the score of two float16 vectors."""
    dtype = _at_least_float32(query.dtype)
    with _without_autocast(query.device.type):
        return (query.to(dtype) * scale) @ key.to(dtype).mT


def _overwriting_causal_softmax(scores: Tensor) -> Tensor:
    """The softmax over keys 0 … i alone, a quarter faster than with a mask; the scores are overwritten.

    Each query sees the first key, so no row is all −∞.
    """
    with torch.no_grad():  # the weight of what is hidden is 0, so its gradient is 0 without a record of this step
        scores.tril_()  # first, as NaN - inf is NaN
        scores += torch.full(scores.shape[-2:], -math.inf, dtype=scores.dtype, device=scores.device).triu(1)
    return scores.softmax(-1)


def _at_least_float32(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _without_autocast(device_type: str):
    """Where autocast is on it would cast the two tensors of a product down, whatever they are."""
    return torch.autocast(device_type, enabled=False) if is_autocast(device_type) else contextlib.nullcontext()
