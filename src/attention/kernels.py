"""The two roads from queries, keys and values to an answer: in plain sight, with weights, and PyTorch's, without.

Dimensions: B batch, H heads, L queries, S keys, D width of a head.
"""

import math

import torch
from torch import Tensor, nn

from attention.functional import at_least_float32, clamped, weights_of, where_shown, without_autocast


def plain_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    *,
    dropout_p: float = 0.0,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor]:
    """What each head finds (B, H, L, D), and with which weights (B, H, L, S)."""
    weights = weights_of(query, key, mask, bias, is_causal=is_causal)
    dropped = nn.functional.dropout(weights, dropout_p) if dropout_p else weights
    return dropped @ value, weights


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    *,
    dropout_p: float = 0.0,
    is_causal: bool = False,
) -> tuple[Tensor, None]:
    """The same without the weights, by PyTorch's kernel: of a mask and ``is_causal`` it takes one.

    It is asked to show each query something: what it answers otherwise, zeros or NaN, its version and the device
    decide. Beside a bias it computes in float32 or better: in 16 bits there are not enough digits for one.
    """
    kernel = nn.functional.scaled_dot_product_attention
    shown = where_shown(mask, bias)
    if shown is None:
        return kernel(query, key, value, None, dropout_p, is_causal), None
    is_blind = ~shown.any(-1, keepdim=True)
    if bias is None:
        return kernel(query, key, value, shown | is_blind, dropout_p).masked_fill(is_blind, 0.0), None
    dtype = at_least_float32(query)
    added = clamped(bias, dtype).masked_fill(~shown, -math.inf).masked_fill(is_blind, 0.0)
    with without_autocast(query):
        output = kernel(query.to(dtype), key.to(dtype), value.to(dtype), torch.atleast_2d(added), dropout_p)
    return output.masked_fill(is_blind, 0.0).to(value.dtype), None
