"""Checks of arguments, where a mistake would be silent or PyTorch's message a riddle.

Each error is one sentence that names the argument and shows what was found. What PyTorch reports clearly, such as
tensors on two devices, is left to it.
"""

from numbers import Integral

import torch
from torch import Tensor

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_integer(name: str, number) -> None:
    if not isinstance(number, Integral | torch.SymInt) or isinstance(number, bool):
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


def check_flags(**flags: bool) -> None:
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} must be True or False, found {flag!r}")


def check_function(name: str, function, example: str) -> None:
    if not callable(function):
        raise TypeError(f"{name} must be a function such as {example}, found {function!r}")


def check_floating(name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor, found {kind(tensor)}")


def check_matrix(name: str, tensor: Tensor, width: int | None = None, dims: int | None = None) -> None:
    """Raise unless the tensor is (…, length, width): of this width, and with so many dimensions, where that is said."""
    check_floating(name, tensor)
    found = tuple(tensor.shape)
    if len(found) < 2:
        raise ValueError(f"{name} must have at least two dimensions, (…, length, width), found {found}")
    if width is not None and found[-1] != width:
        raise ValueError(f"{name} must have the module's width {width}, found {shapes(**{name: tensor})}")
    if dims is not None and len(found) != dims:
        raise ValueError(f"{name} must have three dimensions, (B, length, width), found {found}")


def check_query_key(query: Tensor, key: Tensor) -> tuple[int, ...]:
    """Raise unless every query can be compared with every key; return the shape of their weights."""
    check_matrix("query", query)
    check_matrix("key", key)
    if query.size(-1) != key.size(-1):
        raise ValueError(f"query and key must have the same width, found {shapes(query=query, key=key)}")
    return *leading(query=query, key=key), query.size(-2), key.size(-2)


def check_value(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless there is one value for each key that the query meets."""
    check_matrix("value", value)
    if key.size(-2) != value.size(-2):
        raise ValueError(f"value must have one row for each key, found {shapes(key=key, value=value)}")
    leading(query=query, key=key, value=value)


def check_broadcast(name: str, tensor: Tensor, wanted: tuple[int, ...], of: str = "the weights' shape") -> None:
    if not broadcasts(tensor.shape, wanted):
        raise ValueError(f"{name} of shape {tuple(tensor.shape)} does not broadcast to {of} {tuple(wanted)}")


def check_bias(attn_bias: Tensor, weights_shape: tuple[int, ...]) -> None:
    check_floating("attn_bias", attn_bias)
    check_broadcast("attn_bias", attn_bias, weights_shape)


def check_positions(name: str, positions: Tensor, rows: tuple[int, ...]) -> None:
    """Raise unless the positions are numbers for rows (…, L): one for each of the L, or with all dimensions."""
    if not isinstance(positions, Tensor) or not (positions.is_floating_point() or positions.dtype in INTEGERS):
        raise TypeError(f"{name} must be a tensor of numbers, found {kind(positions)}")
    if positions.shape != rows[-1:] and positions.dim() != len(rows):
        wanted = f"shape {tuple(rows[-1:])}, or all dimensions of {tuple(rows)}"
        raise ValueError(f"{name} must have {wanted}, found {tuple(positions.shape)}")
    check_broadcast(name, positions, rows, "the rows' shape")


def check_integers(name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor) or tensor.dtype not in INTEGERS:
        raise TypeError(f"{name} must be a tensor of integers, found {kind(tensor)}")


def check_ids(name: str, ids: Tensor, count: int, shape: str = "(B, length)") -> None:
    """Raise unless these are ids of this shape from 0 to ``count`` − 1, as far as :func:`can_be_read`."""
    check_integers(name, ids)
    if ids.dim() != len(shape.split()) or not ids.numel():
        raise ValueError(f"{name} must have shape {shape} with at least one id, found {tuple(ids.shape)}")
    if can_be_read(ids):
        least, most = ids.aminmax()
        if least < 0 or most >= count:
            raise ValueError(f"{name} must hold ids from 0 to {count - 1}, found {int(least)} to {int(most)}")


def broadcasts(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether a tensor of the one shape can be expanded to the other."""
    pairs = zip(reversed(found), reversed(wanted), strict=False)
    return len(found) <= len(wanted) and all(size in (1, full) for size, full in pairs)


def leading(**tensors: Tensor) -> tuple[int, ...]:
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


def kind(thing: object) -> object:
    return thing.dtype if isinstance(thing, Tensor) else type(thing).__name__


def can_be_read(tensor: Tensor) -> bool:
    """Whether the tensor's numbers can be looked at now, and no accelerator has to be waited for."""
    if torch.compiler.is_compiling() or type(tensor) is not Tensor or tensor.device.type != "cpu":
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)  # as under vmap, where it stands for many
