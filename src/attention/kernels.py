"""The two roads from queries, keys and values to an answer: in plain sight, with weights, and PyTorch's, without.

Dimensions: B batch, H heads, L queries, S keys, D width of a head.
"""

import math

import torch
from torch import Tensor, nn

from attention.functional import at_least_float32, attention_weights, without_autocast


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
    weights = attention_weights(query, key, mask, is_causal=is_causal, attn_bias=bias)
    return nn.functional.dropout(weights, dropout_p) @ value, weights


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
    if mask is None and bias is None:
        return kernel(query, key, value, None, dropout_p, is_causal), None
    if bias is None:
        is_blind = ~mask.any(-1, keepdim=True)
        return kernel(query, key, value, mask | is_blind, dropout_p).masked_fill(is_blind, 0.0), None
    bias = torch.atleast_2d(bias)  # the kernel takes no less
    is_shown = bias != -math.inf if mask is None else mask & (bias != -math.inf)
    is_blind = ~is_shown.any(-1, keepdim=True)
    dtype = at_least_float32(query)
    held = torch.finfo(dtype)  # a number outside would become −∞, and hide a key, or ∞
    added = bias.to(dtype).clamp(held.min, held.max).masked_fill(~is_shown, -math.inf).masked_fill(is_blind, 0.0)
    with without_autocast(query):
        output = kernel(query.to(dtype), key.to(dtype), value.to(dtype), added, dropout_p)
    return output.masked_fill(is_blind, 0.0).to(value.dtype), None
