"""Checks of arguments: each error is one sentence that names the argument and shows what was found."""

from numbers import Integral

import torch
from torch import Tensor, nn

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_integer(name: str, number) -> None:
    is_integer = isinstance(number, Integral | torch.SymInt) and not isinstance(number, bool)
    is_traced_size = isinstance(number, Tensor) and torch.jit.is_tracing()  # there a tensor's sizes are tensors too
    if not (is_integer or is_traced_size):
        raise TypeError(f"{name} must be an integer, found {number!r}")


def check_count(name: str, count, least: int = 0) -> None:
    check_integer(name, count)
    if count < least:
        raise ValueError(f"{name} must be at least {least}, found {count}")


def check_probability(name: str, probability: float) -> None:
    if isinstance(probability, bool):  # most likely meant for another argument
        raise TypeError(f"{name} must be a number, found {probability}")
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, found {probability}")


def check_positive(name: str, number: float) -> None:
    if not number > 0:  # NaN is not
        raise ValueError(f"{name} must be positive, found {number}")


def check_choice(name: str, found: object, choices: tuple) -> None:
    if found not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, found {found!r}")


def check_boolean(name: str, mask) -> None:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(f"{name} must be a boolean tensor, True = may attend, found {_kind(mask)}")


def check_mask(name: str, mask, weights_shape: tuple[int, ...]) -> None:
    """Raise unless ``mask`` is a boolean tensor that broadcasts to weights of ``weights_shape``, and in one sense only.

    Broadcasting aligns dimensions from the right, so a batch's mask (B, 1, S) would meet the heads of weights
    (B, H, L, S), silently where B = H. So a mask has at most two dimensions, or all of the weights', or only ones
    before its last two.

    Args:
        name: the argument's name, for the message.
        mask: what was passed for it.
        weights_shape: the shape (…, L, S) that the mask has to fit.
    """
    check_boolean(name, mask)
    found, wanted = tuple(mask.shape), tuple(weights_shape)
    if len(found) < len(wanted) and any(size != 1 for size in found[:-2]):
        raise ValueError(
            f"{name} of shape {found} must have all dimensions of the weights' shape {wanted}, or at most two: "
            f"pass {name}.unsqueeze(1) for one mask per batch row, {name}.unsqueeze(0) for one per head"
        )
    pairs = zip(reversed(found), reversed(wanted), strict=False)
    if len(found) > len(wanted) or any(size not in (1, full) for size, full in pairs):
        raise ValueError(f"{name} of shape {found} does not broadcast to the weights' shape {wanted}")


def check_attn_mask(attn_mask, query: Tensor, weights_shape: tuple[int, ...]) -> None:
    """Raise unless ``attn_mask`` is None, or a mask that fits the weights and lies where the query does."""
    if attn_mask is not None:
        check_mask("attn_mask", attn_mask, weights_shape)
        check_same("device", query=query, attn_mask=attn_mask)


def check_bias(attn_bias, query: Tensor, weights_shape: tuple[int, ...]) -> None:
    """Raise unless ``attn_bias`` is None, or numbers that broadcast to the weights and lie where the query does."""
    if attn_bias is None:
        return
    check_floating("attn_bias", attn_bias)
    found, wanted = tuple(attn_bias.shape), tuple(weights_shape)
    pairs = zip(reversed(found), reversed(wanted), strict=False)
    if len(found) > len(wanted) or any(size not in (1, full) for size, full in pairs):
        raise ValueError(f"attn_bias of shape {found} does not broadcast to the weights' shape {wanted}")
    check_same("device", query=query, attn_bias=attn_bias)


def check_positions(name: str, positions, rows: tuple[int, ...], device: torch.device) -> None:
    """Raise unless the positions are numbers for rows (…, L): one for each of the L, or with all dimensions."""
    if not isinstance(positions, Tensor) or not (positions.is_floating_point() or positions.dtype in INTEGERS):
        raise TypeError(f"{name} must be a tensor of numbers, found {_kind(positions)}")
    found, wanted = tuple(positions.shape), tuple(rows)
    broadcasts = len(found) == len(wanted) and all(size in (1, full) for size, full in zip(found, wanted, strict=True))
    if found != wanted[-1:] and not broadcasts:
        raise ValueError(f"{name} must have shape {wanted[-1:]} or one that broadcasts to {wanted}, found {found}")
    if positions.device != device:
        raise ValueError(f"{name} must be on the device {device}, found {positions.device}")


def check_query_key(query: Tensor, key: Tensor) -> tuple[int, ...]:
    """Raise unless every query can be compared with every key; return the shape of their weights."""
    check_matrix("query", query)
    check_matrix("key", key)
    check_same("dtype", query=query, key=key)
    check_same("device", query=query, key=key)
    if query.size(-1) != key.size(-1):
        raise ValueError(f"query and key must have the same width, found {shapes(query=query, key=key)}")
    return *broadcast(query=query, key=key), query.size(-2), key.size(-2)


def check_value(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless there is one value for each key that the query meets."""
    check_matrix("value", value)
    check_same("dtype", key=key, value=value)
    check_same("device", key=key, value=value)
    check_rows(key, value)
    broadcast(query=query, key=key, value=value)


def check_rows(key: Tensor, value: Tensor) -> None:
    if key.size(-2) != value.size(-2):
        raise ValueError(f"value must have one row for each key, found {shapes(key=key, value=value)}")


def check_batches(query: Tensor, key: Tensor, value: Tensor, layer: nn.Linear) -> None:
    """Raise unless the three are batches (B, length, width) of one size that layers such as this one can project."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_projectable(name, tensor, layer)
        if tensor.dim() != 3:
            raise ValueError(f"{name} must have three dimensions, (B, length, width), found {tuple(tensor.shape)}")
    if not query.size(0) == key.size(0) == value.size(0):
        found = shapes(query=query, key=key, value=value)
        raise ValueError(f"query, key and value must have the same batch size, found {found}")
    check_rows(key, value)


def check_projectable(name: str, tensor: Tensor, layer: nn.Linear) -> None:
    """Raise unless the layer can project the tensor."""
    check_matrix(name, tensor)
    if isinstance(layer.weight, Tensor):  # of a quantised layer it is a method
        _check_device_and_dtype(name, tensor, layer.weight)
    _check_width(name, tensor, layer.in_features)


def check_input(name: str, tensor: Tensor, weight: Tensor) -> None:
    """Raise unless a layer with this weight can project the tensor."""
    check_matrix(name, tensor)
    _check_device_and_dtype(name, tensor, weight)
    _check_width(name, tensor, weight.size(-1))


def _check_device_and_dtype(name: str, tensor: Tensor, weight: Tensor) -> None:
    if tensor.device != weight.device:
        raise ValueError(f"{name} must be on the module's device {weight.device}, found {tensor.device}")
    if tensor.dtype != weight.dtype and not _autocast_unites(tensor, weight):
        raise TypeError(f"{name} must have the module's dtype {weight.dtype}, found {tensor.dtype}")


def _check_width(name: str, tensor: Tensor, width: int) -> None:
    if tensor.size(-1) != width:
        raise ValueError(f"{name} must have the module's width {width}, found {shapes(**{name: tensor})}")


def check_matrix(name: str, tensor: Tensor) -> None:
    check_floating(name, tensor)
    if tensor.dim() < 2:
        shape = tuple(tensor.shape)
        raise ValueError(f"{name} must have at least two dimensions, (…, length, width), found {shape}")


def check_floating(name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor, found {_kind(tensor)}")


def check_integers(name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor) or tensor.dtype not in INTEGERS:
        raise TypeError(f"{name} must be a tensor of integers, found {_kind(tensor)}")


def check_ids(name: str, ids: Tensor, weight: Tensor, dims: int = 2) -> None:
    """Raise unless these are ids (B, length), or (B,) for one dimension, for which an embedding's weight has rows.

    Their numbers are looked at on the CPU alone. Reading them from an accelerator would stop the host until all earlier
    work is done, and a graph that is being compiled has no numbers yet; there the embedding has to refuse.
    """
    check_integers(name, ids)
    if ids.dim() != dims or not ids.numel():
        shape = "(B,)" if dims == 1 else "(B, length)"
        raise ValueError(f"{name} must have shape {shape} with at least one id, found {tuple(ids.shape)}")
    if ids.device != weight.device:
        raise ValueError(f"{name} must be on the module's device {weight.device}, found {ids.device}")
    if not can_be_read(ids):
        return
    least, most = ids.aminmax()
    if least < 0 or most >= len(weight):
        raise ValueError(f"{name} must hold ids from 0 to {len(weight) - 1}, found {int(least)} to {int(most)}")


def check_lengths(lengths: Tensor, source: Tensor) -> Tensor:
    """Raise unless there is one length for each source (B, S), from 1 to S; return them on the CPU.

    PyTorch packs sequences by lengths on the CPU, so lengths on an accelerator are read once, here, and not again.
    """
    check_integers("lengths", lengths)
    if lengths.shape != source.shape[:1]:
        raise ValueError(f"lengths must have one number a source, found {shapes(lengths=lengths, source=source)}")
    lengths = lengths.cpu()
    shortest, longest = lengths.aminmax()
    if shortest < 1 or longest > source.size(1):
        found = f"{int(shortest)} to {int(longest)}"
        raise ValueError(f"lengths must lie between 1 and the source's length {source.size(1)}, found {found}")
    return lengths


def check_same(attribute: str, **tensors: Tensor) -> None:
    """Raise unless the tensors agree in ``dtype`` (a TypeError) or ``device`` (a ValueError)."""
    found = {name: getattr(tensor, attribute) for name, tensor in tensors.items()}
    if len(set(found.values())) == 1 or (attribute == "dtype" and _autocast_unites(*tensors.values())):
        return
    error = TypeError if attribute == "dtype" else ValueError
    listed = ", ".join(f"{name} {which}" for name, which in found.items())
    raise error(f"{' and '.join(found)} must have the same {attribute}, found {listed}")


def broadcast(**tensors: Tensor) -> tuple[int, ...]:
    """The leading dimensions of the tensors, broadcast with each other."""
    first, *others = (tensor.shape[:-2] for tensor in tensors.values())
    if all(other == first for other in others):
        return first  # as a rule; broadcast_shapes takes its time
    try:
        return torch.broadcast_shapes(first, *others)
    except RuntimeError:
        raise ValueError(f"the leading dimensions do not broadcast, found {shapes(**tensors)}") from None


def shapes(**tensors: Tensor) -> str:
    return ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())


def _kind(thing) -> object:
    return thing.dtype if isinstance(thing, Tensor) else type(thing).__name__


def is_autocast(device_type: str) -> bool:
    return torch.amp.is_autocast_available(device_type) and torch.is_autocast_enabled(device_type)


def can_be_read(tensor: Tensor) -> bool:
    """Whether the tensor's numbers can be looked at now, and no accelerator has to be waited for."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return False
    if type(tensor) is not Tensor or tensor.device.type != "cpu":
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)  # as under vmap, where it stands for many


def _autocast_unites(*tensors: Tensor) -> bool:
    """Whether autocast brings these to one dtype: float64 it leaves alone."""
    return is_autocast(tensors[0].device.type) and all(tensor.dtype != torch.float64 for tensor in tensors)
