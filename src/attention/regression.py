"""Attention as regression: a value for a new point, averaged over the known points by how near they lie.

Dimensions: … leading, L queries, S keys, D width of a point, Dv value width.
"""

import torch
from torch import Tensor, nn

from attention.arguments import check_matrix, check_positive, check_value, shapes, weights_shape_of
from attention.functional import masked_softmax
from attention.masks import check_mask


def nadaraya_watson(
    query: Tensor, key: Tensor, value: Tensor, *, bandwidth: float = 1.0, attn_mask: Tensor | None = None
) -> Tensor:
    """Average the values with a Gaussian kernel, so that the keys near a query count most.

    ``output = softmax(−½ ‖query − key‖² / bandwidth²) · value``; D numbers a query and key are held for a moment.

    Args:
        query: (…, L, D), or (L,) for numbers on a line, as (L, 1).
        key: (…, S, D), or (S,), with at least one key.
        value: (…, S, Dv), or (S,) for one number a key.
        bandwidth: standard deviation σ of the kernel, in the points' unit; infinite for the plain average.
        attn_mask: bool, True = may attend, (…, L, S) or at most two of its dimensions, broadcastable.

    Returns:
        output (…, L, Dv), or (…, L) for values (S,). Far from every key the nearest takes all; a query that may
        attend to nothing gets zeros.

    Raises:
        TypeError, ValueError: points, values or a mask of another type or shape, or a bandwidth that is not positive.

    Source: Nadaraya (1964); Watson (1964).

    >>> key, value = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 1.0, 4.0])
    >>> nadaraya_watson(torch.tensor([0.5, 1e6]), key, value, bandwidth=0.1)
    tensor([0.5000, 4.0000])
    """
    if isinstance(bandwidth, Tensor) and bandwidth.numel() != 1:
        found = shapes(bandwidth=bandwidth)
        raise ValueError(f"bandwidth must be one number (NadarayaWatson with per_key=True has more), found {found}")
    check_positive("bandwidth", bandwidth)
    return _average(query, key, value, 1 / bandwidth, attn_mask)


class NadarayaWatson(nn.Module):
    """Average the values with a Gaussian kernel whose width is learned: one for all keys, or one a key.

    ``output = softmax(−½ ‖(query − key)·w‖²) · value``: w is one over the bandwidth, and its sign says nothing.

    Args:
        key: (…, S, D), or (S,) for numbers on a line.
        value: (…, S, Dv), or (S,) for one number a key.
        per_key: whether each key has a w of its own. All begin at 1.

    Raises:
        TypeError, ValueError: as :func:`nadaraya_watson`.

    >>> key = torch.tensor([0.0, 1.0, 2.0])
    >>> kernel = NadarayaWatson(key, value=key.square(), per_key=True)
    >>> kernel.w.shape, kernel(key, attn_mask=~torch.eye(3, dtype=torch.bool)).shape
    (torch.Size([3]), torch.Size([3]))
    """

    def __init__(self, key: Tensor, value: Tensor, per_key: bool = False) -> None:
        super().__init__()
        points = _matrix(key)
        check_matrix("key", points)
        _check_value(points, points, _matrix(value))
        self.register_buffer("key", key)
        self.register_buffer("value", value)
        self.w = nn.Parameter(torch.ones(points.shape[:-1] if per_key else (), dtype=key.dtype, device=key.device))

    def forward(self, query: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        """Answer queries (…, L, D) or (L,), as :func:`nadaraya_watson` does."""
        w = self.w.unsqueeze(-2) if self.w.dim() else self.w  # the same for every query
        return _average(query, self.key, self.value, w, attn_mask)


def _average(query: Tensor, key: Tensor, value: Tensor, w: Tensor | float, attn_mask: Tensor | None) -> Tensor:
    query, key, values = _matrix(query), _matrix(key), _matrix(value)
    weights_shape = weights_shape_of(query, key)
    _check_value(query, key, values)
    check_mask("attn_mask", attn_mask, weights_shape)
    weights = masked_softmax(_gaussian_scores(query, key, w), attn_mask).to(value.dtype)  # (…, L, S)
    output = weights @ values  # (…, L, Dv)
    return output.squeeze(-1) if value.dim() == 1 else output


def _gaussian_scores(query: Tensor, key: Tensor, w: Tensor | float) -> Tensor:
    """−½ ‖(query − key)·w‖² (…, L, S), but for what it is at the nearest key.

    Softmax does not see that number, and without it the nearest scores 0: far squares can not make a row of −∞.
    Not from the expanded square ‖q‖² − 2 q·k + ‖k‖², far from the origin a small difference of large numbers.
    """
    dtype = torch.promote_types(query.dtype, torch.float32)
    difference = query.unsqueeze(-2).to(dtype) - key.unsqueeze(-3)  # (…, L, S, D)
    distance = torch.linalg.vector_norm(difference, dim=-1)  # (…, L, S)
    # Above this, w makes a row's largest distance infinite, and ∞ − ∞ is NaN; the nearest takes all long before.
    most = torch.finfo(distance.dtype).max / 4 / distance.detach().amax(-1, keepdim=True).clamp(min=1)
    distance = distance * torch.as_tensor(w, dtype=distance.dtype, device=distance.device).abs().minimum(most)
    nearest = distance.detach().amin(-1, keepdim=True)
    return -0.5 * (distance - nearest) * (distance + nearest)


def _matrix(tensor: Tensor) -> Tensor:
    return tensor.unsqueeze(-1) if isinstance(tensor, Tensor) and tensor.dim() == 1 else tensor


def _check_value(query: Tensor, key: Tensor, value: Tensor) -> None:
    check_value(query, key, value)
    if not key.size(-2):
        raise ValueError(f"key must have at least one point, found {shapes(key=key, value=value)}")
