"""Attention as three readable functions, and the steps that they are made of.

Dimensions: … leading (batch B, heads H), L queries, S keys, D query and key width, Dv value width. *Scores* enter
the softmax, *weights* leave it.
"""

import contextlib
import math

import torch
from torch import Tensor, nn

from attention.arguments import check_flags, check_floating, check_probability, check_value, weights_shape_of
from attention.masks import check_bias, check_mask, with_causal, with_keys


def masked_softmax(scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
    """Turn scores into weights that sum to 1 over what the mask lets through.

    ``weights = exp(scores) · mask / Σ exp(scores) · mask``, computed stably. A row with nothing to attend to
    is all zeros and its gradient is zero: a row that is hidden, or whose visible scores are all −∞. Without a mask
    this is PyTorch's softmax. ``scores`` is never changed; float16 and bfloat16 are computed in float32.

    Args:
        scores: floating point, (…, L, S).
        mask: bool, True = may attend, broadcastable to the scores' shape, with all of its dimensions or at most two.
        dim: the dimension that sums to 1.

    >>> masked_softmax(torch.zeros(2, 2), torch.tensor([[True, False], [False, False]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    check_floating("scores", scores)
    if mask is None:
        return scores.softmax(dim, dtype=at_least_float32(scores)).to(scores.dtype)
    check_mask("mask", mask, scores.shape)
    return softmax_where(mask & (scores != -math.inf), scores.to(at_least_float32(scores)), dim).to(scores.dtype)


def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    attn_bias: Tensor | None = None,
    key_mask: Tensor | None = None,
) -> Tensor:
    """How much each query attends to each key: ``softmax(query · keyᵀ · scale + attn_bias)``.

    The weights (…, L, S) have the query's dtype and are computed in float32 or better, under autocast too. Each row
    sums to 1, or is all zeros where every key is hidden.

    Args:
        query: (…, L, D).
        key: (…, S, D), with leading dimensions that broadcast with the query's.
        attn_mask: bool, True = may attend, broadcastable to (…, L, S), with all of its dimensions or at most two,
            which are (L, S).
        is_causal: also hide the keys after the query's own position (aligned at the top left).
        scale: factor on the scores; 1/√D when not given.
        attn_bias: numbers that are added to the scaled scores, broadcastable to (…, L, S); −∞ hides a key. Unlike a
            mask's, any shape that broadcasts is taken: a batch's (B, 1, S) meets the heads of (B, H, L, S).
        key_mask: bool (B, S), True = may attend, of weights with a batch, (B, …, L, S): hides padding from all of a
            sequence's queries.

    Source: Vaswani et al. (2017), equation 1.

    >>> attention_weights(torch.zeros(1, 4), torch.randn(2, 4)).tolist()
    [[0.5, 0.5]]
    """
    weights_shape = weights_shape_of(query, key)
    check_flags(is_causal=is_causal)
    check_mask("attn_mask", attn_mask, weights_shape)
    check_bias(attn_bias, weights_shape)
    mask = with_keys(attn_mask, key_mask, weights_shape)
    return weights_of(query, key, mask, attn_bias, is_causal=is_causal, scale=scale)


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
    key_mask: Tensor | None = None,
) -> Tensor:
    """Average the values by how well their keys match each query: ``softmax(query · keyᵀ / √D) · value``.

    Answers as :func:`torch.nn.functional.scaled_dot_product_attention` does with a boolean mask, but a query that
    may attend to nothing gets zeros in every version, and a mask may be combined with ``is_causal``. It is the
    readable form: it holds the whole (…, L, S) matrix of weights, which PyTorch's fused kernels never form.

    Args:
        query: (…, L, D).
        key: (…, S, D).
        value: (…, S, Dv), one row for each key.
        attn_mask: as in :func:`attention_weights`.
        dropout_p: probability of dropping a weight; applied whenever it is not 0, so pass 0 to evaluate.
        is_causal: also hide the keys after the query's own position.
        scale: factor on the scores; 1/√D when not given.
        attn_bias: numbers that are added to the scaled scores; PyTorch's function takes them as its ``attn_mask``.
        key_mask: bool (B, S), True = may attend.

    Source: Vaswani et al. (2017), equation 1.

    >>> query, key = torch.zeros(1, 4), torch.randn(2, 4)
    >>> scaled_dot_product_attention(query, key, torch.tensor([[10.0], [5.0]])).tolist()
    [[7.5]]
    """
    check_probability("dropout_p", dropout_p)
    options = {"is_causal": is_causal, "scale": scale, "attn_bias": attn_bias, "key_mask": key_mask}
    weights = attention_weights(query, key, attn_mask, **options)
    check_value(query, key, value)
    return nn.functional.dropout(weights, dropout_p) @ value


def weights_of(
    query: Tensor, key: Tensor, mask: Tensor | None, bias: Tensor | None, *, is_causal: bool, scale: float | None = None
) -> Tensor:
    """:func:`attention_weights` without its checks."""
    dtype = at_least_float32(query)
    with without_autocast(query):  # float16 may not hold the score of two float16 vectors
        scores = scaled(query.to(dtype), scale) @ key.to(dtype).mT  # (…, L, S)
    if is_causal and mask is None and bias is None:
        _hide_the_future(scores)
    elif is_causal:
        mask = with_causal(mask, scores.shape, device=query.device)
    if bias is not None:
        scores = scores + clamped(bias, dtype)
    shown = where_shown(mask, bias)
    return (scores.softmax(-1) if shown is None else softmax_where(shown, scores)).to(query.dtype)


def scaled(query: Tensor, scale: float | None) -> Tensor:
    return query * (1 / math.sqrt(max(query.size(-1), 1)) if scale is None else scale)


def softmax_where(shown: Tensor, scores: Tensor, dim: int = -1) -> Tensor:
    """The softmax over what is shown, and zeros in a row with nothing: −∞ alone would give NaN, in its gradient too."""
    is_blind = ~shown.any(dim, keepdim=True)
    hidden = torch.zeros_like(is_blind, dtype=scores.dtype).masked_fill(~is_blind, -math.inf)
    return torch.where(shown, scores, hidden).softmax(dim).masked_fill(is_blind, 0.0)


def where_shown(mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """Which keys are hidden neither by the mask nor by a bias of −∞; None if all are shown."""
    if bias is None:
        return mask
    return bias != -math.inf if mask is None else mask & (bias != -math.inf)


def clamped(bias: Tensor, dtype: torch.dtype) -> Tensor:
    """The bias in this dtype, whose largest numbers stand for what it does not hold, and for ∞."""
    return bias.to(dtype).clamp(torch.finfo(dtype).min, torch.finfo(dtype).max)


def at_least_float32(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def without_autocast(tensor: Tensor):
    """Where autocast is on it would cast the two tensors of a product down, whatever they are."""
    # A device such as meta has none and may not be asked; torch.compile can't trace the question.
    device_type = tensor.device.type
    has_autocast = torch.compiler.is_compiling() or torch.amp.is_autocast_available(device_type)
    is_on = has_autocast and torch.is_autocast_enabled(device_type)
    return torch.autocast(device_type, enabled=False) if is_on else contextlib.nullcontext()


def _hide_the_future(scores: Tensor) -> None:
    """Overwrite the scores of the keys after the query's own with −∞: on a CPU faster than a mask.

    Their weights are 0, and so are their gradients, without a record of this step.
    """
    with torch.no_grad():
        scores.tril_()  # first, as NaN - inf is NaN
        scores += torch.full(scores.shape[-2:], -math.inf, dtype=scores.dtype, device=scores.device).triu(1)
