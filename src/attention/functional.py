"""Attention as three readable functions.

Dimensions: … leading (batch, heads), L queries, S keys, D query and key width, Dv value width. *Scores* enter
the softmax, *weights* leave it.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import dropout

from attention.arguments import (
    check_floating,
    check_mask,
    check_probability,
    check_query_key,
    check_same,
    check_value,
)
from attention.masks import causal_mask


def masked_softmax(scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
    """Turn scores into weights that sum to 1 over what the mask lets through.

    ``weights = exp(scores) · mask / Σ exp(scores) · mask``, computed stably. A row with nothing to attend to
    is all zeros and its gradient is zero; ``scores`` is never changed; float16 and bfloat16 are computed in
    float32.

    Args:
        scores: floating point, (…, L, S).
        mask: bool, True = may attend, broadcastable to the scores' shape, with all of its dimensions or at most two.
        dim: the dimension that sums to 1.

    Returns:
        weights, of the scores' shape, dtype and device.

    Raises:
        TypeError: the scores are no floating-point tensor, or the mask is not boolean.
        ValueError: the mask does not broadcast to the scores' shape, or lies on another device.

    >>> masked_softmax(torch.zeros(2, 2), torch.tensor([[True, False], [False, False]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    check_floating("scores", scores)
    if mask is not None:
        check_mask("mask", mask, scores.shape)
        check_same("device", scores=scores, mask=mask)
        scores = scores.clone()
    return _overwriting_softmax(scores, mask, dim).to(scores.dtype)


def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Tensor:
    """How much each query attends to each key: ``softmax(query · keyᵀ · scale)``.

    Args:
        query: (…, L, D).
        key: (…, S, D), with leading dimensions that broadcast with the query's.
        attn_mask: bool, True = may attend, broadcastable to (…, L, S), with all of its dimensions or at most two.
        is_causal: also hide the keys after the query's own position (aligned at the top left).
        scale: factor on the scores; 1/√D when not given.

    Returns:
        weights (…, L, S); each row sums to 1, or is all zeros where the mask hides every key.

    Raises:
        TypeError: query and key are no floating-point tensors of one dtype, or the mask is not boolean.
        ValueError: shapes or devices that do not fit, with both named.

    Source: Vaswani et al. (2017), equation 1.

    >>> attention_weights(torch.zeros(1, 4), torch.randn(2, 4)).tolist()
    [[0.5, 0.5]]
    """
    weights_shape = check_query_key(query, key)
    if attn_mask is not None:
        check_mask("attn_mask", attn_mask, weights_shape)
        check_same("device", query=query, attn_mask=attn_mask)
        if is_causal:
            attn_mask = attn_mask & causal_mask(*weights_shape[-2:], device=query.device)
    scale = 1 / math.sqrt(max(query.size(-1), 1)) if scale is None else scale
    # A score of two float16 vectors can lie beyond float16's largest number.
    scores = (_at_least_float32(query) * scale) @ _at_least_float32(key).mT
    only_causal = is_causal and attn_mask is None
    weights = _overwriting_causal_softmax(scores) if only_causal else _overwriting_softmax(scores, attn_mask)
    return weights.to(query.dtype)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
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
        dropout_p: probability of dropping a weight; applied whenever it is not 0, so pass 0 to evaluate.
        is_causal: also hide the keys after the query's own position.
        scale: factor on the scores; 1/√D when not given.

    Returns:
        output (…, L, Dv).

    Raises:
        TypeError, ValueError: as :func:`attention_weights`; also a value that has not one row for each key,
            or a ``dropout_p`` outside 0 … 1.

    Source: Vaswani et al. (2017), equation 1.

    >>> query, key = torch.zeros(1, 4), torch.randn(2, 4)
    >>> scaled_dot_product_attention(query, key, torch.tensor([[10.0], [5.0]])).tolist()
    [[7.5]]
    """
    check_query_key(query, key)
    check_value(query, key, value)
    check_probability("dropout_p", dropout_p)
    weights = attention_weights(query, key, attn_mask, is_causal, scale=scale)
    return dropout(weights, dropout_p) @ value


def _overwriting_softmax(scores: Tensor, mask: Tensor | None, dim: int = -1) -> Tensor:
    """:func:`masked_softmax` of scores that nobody else holds: they are large, and a copy of them takes its time."""
    scores = _at_least_float32(scores)
    if mask is None:
        return scores.softmax(dim)
    with torch.no_grad():  # what is hidden has a weight of 0, so its gradient is 0 without a record of this step
        # The lowest finite number, not -inf: a row of -inf would be NaN, in the backward pass too.
        scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim) * mask


def _overwriting_causal_softmax(scores: Tensor) -> Tensor:
    """The same for the causal mask, a quarter faster: each query sees the first key, so no row is all -inf."""
    with torch.no_grad():
        scores.tril_()  # first, as NaN - inf is NaN
        scores += torch.full(scores.shape[-2:], -math.inf, dtype=scores.dtype, device=scores.device).triu(1)
    return scores.softmax(-1)


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
