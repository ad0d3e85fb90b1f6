"""Boolean masks: True means that this query may attend to this key; they combine with ``&``, ``|``, ``~``."""

import torch
from torch import Tensor

from attention.arguments import broadcasts, check_counts, check_floating, check_integers, extremes, type_of


def causal_mask(length: int, key_length: int | None = None, *, offset: int = 0, device=None) -> Tensor:
    """Let query i attend to keys 0 … i + offset, so that nothing is seen before its time.

    Args:
        length: number of queries L.
        key_length: number of keys S; L when not given.
        offset: number of keys that stand before the first query's own. With 0 the mask is aligned at the top left, as
            PyTorch's ``is_causal`` is. With S − L it is aligned at the bottom right, as for L new queries that meet
            S − L kept keys. Below 0, the first queries see nothing.
        device: where to make the mask.

    Returns:
        bool tensor (L, S).

    Source: Vaswani et al. (2017), section 3.2.3.

    >>> causal_mask(2, 5, offset=3).int().tolist()
    [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    """
    key_length = length if key_length is None else key_length
    check_counts(length=length, key_length=key_length)
    check_counts(least=None, offset=offset)
    return with_causal(None, (length, key_length), offset, device=device)


def padding_mask(lengths: Tensor, length: int) -> Tensor:
    """Hide the padding behind each sequence's valid keys.

    Args:
        lengths: integers, (B,) for one valid length a sequence, or (B, L) for one a query; from 0 to S.
        length: number of keys S, padding included.

    Returns:
        bool tensor on the device of ``lengths``: (B, 1, S) from (B,), (B, L, S) from (B, L). Functions whose weights
        have heads, (B, H, L, S), take it as ``mask.unsqueeze(1)`` alone; :class:`MultiHeadAttention` takes it as it is.
        Without the dimension in the middle, (B, S), it is a ``key_mask``.

    Raises:
        TypeError: ``lengths`` is not an integer tensor.
        ValueError: ``lengths`` has another shape, or a length outside 0 … S, which is not looked for while the
            function is compiled or mapped over: there it counts as the nearest of these.

    >>> padding_mask(torch.tensor([1, 3]), 3).int().tolist()
    [[[1, 0, 0]], [[1, 1, 1]]]
    """
    check_counts(length=length)
    check_integers("lengths", lengths)
    if lengths.dim() not in (1, 2):
        raise ValueError(f"lengths must have shape (B,) or (B, L), found {tuple(lengths.shape)}")
    shortest, longest = extremes(lengths) or (0, 0)
    if shortest < 0 or longest > length:
        raise ValueError(f"lengths must lie between 0 and length={length}, found {shortest} to {longest}")
    lengths = lengths[:, None, None] if lengths.dim() == 1 else lengths.unsqueeze(-1)  # (B, 1, 1) or (B, L, 1)
    return torch.arange(length, device=lengths.device) < lengths


def window_mask(length: int, window: int, key_length: int | None = None, *, offset: int = 0, device=None) -> Tensor:
    """Let each query attend to the last ``window`` keys up to and including its own position.

    Args:
        length: number of queries L.
        window: number of keys a query sees, itself included; at least 1. The first queries have fewer.
        key_length: number of keys S; L when not given.
        offset: number of keys that stand before the first query's own, as in :func:`causal_mask`.
        device: where to make the mask.

    Returns:
        bool tensor (L, S); causal, so combining it with :func:`causal_mask` changes nothing.

    Source: Beltagy et al. (2020), section 3.1, in its one-sided form.

    >>> window_mask(4, 2).int().tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    """
    check_counts(least=1, window=window)
    return causal_mask(length, key_length, offset=offset, device=device).triu(1 + offset - window)


def check_mask(name: str, mask: Tensor | None, weights_shape: tuple[int, ...]) -> None:
    """Raise unless ``mask`` is a boolean tensor that broadcasts to weights of ``weights_shape``, and in one sense only.

    Broadcasting aligns dimensions from the right, so a batch's mask (B, 1, S) would meet the heads of weights
    (B, H, L, S), silently where B = H. So a mask has at most two dimensions, or all of the weights', or only ones
    before its last two.
    """
    if mask is None:
        return
    check_boolean(name, mask)
    found, wanted = tuple(mask.shape), tuple(weights_shape)
    if len(found) < len(wanted) and any(size != 1 for size in found[:-2]):
        raise ValueError(
            f"{name} of shape {found} must have all dimensions of the weights' shape {wanted}, or at most two: "
            f"pass {name}.unsqueeze(1) for one mask per batch row, {name}.unsqueeze(0) for one per head"
        )
    check_broadcast(name, mask, wanted)


def check_bias(attn_bias: Tensor | None, weights_shape: tuple[int, ...]) -> None:
    if attn_bias is not None:
        check_floating("attn_bias", attn_bias)
        check_broadcast("attn_bias", attn_bias, weights_shape)


def check_bias_of_heads(attn_bias: Tensor | None, weights_shape: tuple[int, ...]) -> None:
    """Raise unless the bias fits weights (B, H, L, S), and three dimensions of it in one sense only."""
    check_bias(attn_bias, weights_shape)
    if attn_bias is not None and attn_bias.dim() == 3 and attn_bias.size(0) == weights_shape[0] == weights_shape[1] > 1:
        ways = "pass attn_bias.unsqueeze(1) or attn_bias.unsqueeze(0)"
        raise ValueError(f"attn_bias of shape {tuple(attn_bias.shape)} may be of texts or of heads here: {ways}")


def check_broadcast(name: str, tensor: Tensor, wanted: tuple[int, ...]) -> None:
    if not broadcasts(tensor, wanted):
        found = tuple(tensor.shape)
        raise ValueError(f"{name} of shape {found} does not broadcast to the weights' shape {tuple(wanted)}")


def check_boolean(name: str, mask: Tensor) -> None:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(f"{name} must be a boolean tensor, True = may attend, found {type_of(mask)}")


def with_keys(attn_mask: Tensor | None, key_mask: Tensor | None, weights_shape: tuple[int, ...]) -> Tensor | None:
    """One mask of both, for weights (B, …, L, S); raise unless ``key_mask`` is (B, S)."""
    if key_mask is None:
        return attn_mask
    check_boolean("key_mask", key_mask)
    found, wanted = tuple(key_mask.shape), tuple(weights_shape)
    if len(wanted) < 3 or found != (wanted[0], wanted[-1]):
        raise ValueError(f"key_mask must have shape (B, S) for weights (B, …, L, S), here {wanted}, found {found}")
    key_mask = key_mask.view(found[0], *[1] * (len(wanted) - 2), found[1])  # (B, …, 1, S)
    return key_mask if attn_mask is None else attn_mask & key_mask


def with_causal(attn_mask: Tensor | None, weights_shape: tuple[int, ...], offset: int = 0, *, device) -> Tensor:
    """The mask, with what comes after a query's own place hidden too."""
    causal = torch.ones(weights_shape[-2:], dtype=torch.bool, device=device).tril(offset)
    return causal if attn_mask is None else attn_mask & causal


def with_head_axis(attn_mask: Tensor | None, weights_shape: tuple[int, ...]) -> Tensor | None:
    """The mask, a batch's with an axis for its heads; raise unless it fits weights (B, H, L, S)."""
    if attn_mask is None:
        return None
    check_boolean("attn_mask", attn_mask)
    B, H, L, S = weights_shape
    mask = attn_mask.unsqueeze(1) if attn_mask.dim() == 3 else attn_mask
    if mask.dim() not in (2, 4) or mask.size(-1) != S or not broadcasts(mask, weights_shape):
        raise ValueError(
            f"attn_mask must have shape (L, S), (B, 1 or L, S) or (B, 1 or H, 1 or L, S), "
            f"here with B, H, L, S = {B}, {H}, {L}, {S}, found {tuple(attn_mask.shape)}"
        )
    return mask
