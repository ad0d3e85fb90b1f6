"""Checks of arguments, where a mistake would be silent or PyTorch's message a riddle.

Each error is one sentence that names the argument and shows what was found. What PyTorch reports clearly, such as
tensors on two devices, is left to it.
"""

from numbers import Integral, Real

import torch
from torch import Tensor

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_counts(least: int | None = 0, **counts: int) -> None:
    for name, count in counts.items():
        if not isinstance(count, Integral | torch.SymInt) or isinstance(count, bool):
            raise TypeError(f"{name} must be an integer, found {count!r}")
        if least is not None and count < least:
            raise ValueError(f"{name} must be at least {least}, found {count}")


def check_probability(name: str, probability: float) -> None:
    _check_number(name, probability)
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, found {probability}")


def check_positive(name: str, number: float) -> None:
    _check_number(name, number)
    if not number > 0:  # NaN is not
        raise ValueError(f"{name} must be positive, found {number}")


def _check_number(name: str, number: float) -> None:
    is_number = number.numel() == 1 if isinstance(number, Tensor) else isinstance(number, Real)
    if not is_number or isinstance(number, bool):  # a bool was most likely meant for another
        raise TypeError(f"{name} must be a number, found {number!r}")


def check_choice(name: str, found: object, choices: tuple) -> None:
    if found not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, found {found!r}")


def check_flags(**flags: bool) -> None:
    for name, flag in flags.items():
        if not isinstance(flag, bool) and str(getattr(flag, "dtype", None)) != "bool":  # NumPy's
            raise TypeError(f"{name} must be True or False, found {flag!r}")


def check_floating(name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor, found {type_of(tensor)}")


def check_integers(name: str, tensor: Tensor, dtypes: tuple = INTEGERS, wanted: str = "integers") -> None:
    if not isinstance(tensor, Tensor) or tensor.dtype not in dtypes:
        raise TypeError(f"{name} must be a tensor of {wanted}, found {type_of(tensor)}")


def check_matrix(name: str, tensor: Tensor, width: int | None = None) -> None:
    """Raise unless the tensor is (…, length, width), of this width where one is said."""
    check_floating(name, tensor)
    if tensor.dim() < 2 or tensor.size(-1) != (width or tensor.size(-1)):
        raise ValueError(f"{name} must have shape (…, length, {width or 'width'}), found {tuple(tensor.shape)}")


def weights_shape_of(query: Tensor, key: Tensor) -> tuple[int, ...]:
    """The weights' shape, (…, L, S); raise unless every query can be compared with every key."""
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


def check_ids(name: str, ids: Tensor, count: int, dims: int = 2) -> int | None:
    """Raise unless these are ids from 0 to ``count`` − 1, as an embedding takes them; return the least where known."""
    check_integers(name, ids, (torch.int32, torch.int64), "int32 or int64")
    if ids.dim() != dims or not ids.numel():
        raise ValueError(f"{name} must have {dims} dimensions and at least one id, found {tuple(ids.shape)}")
    least, most = extremes(ids) or (None, None)
    if least is not None and (least < 0 or most >= count):
        raise ValueError(f"{name} must hold ids from 0 to {count - 1}, found {least} to {most}")
    return least


def extremes(tensor: Tensor) -> list | None:
    """The least and the largest number, or None where none is known: compiled, mapped over, on meta."""
    if torch.compiler.is_compiling() or not tensor.numel():
        return None
    try:
        return [int(number) for number in torch.stack(tensor.aminmax()).tolist()]  # one wait for an accelerator
    except RuntimeError:
        return None


def broadcasts(tensor: Tensor, shape: tuple[int, ...]) -> bool:
    try:
        tensor.expand(shape)
    except RuntimeError:
        return False
    return True


def leading(**tensors: Tensor) -> tuple[int, ...]:
    """The leading dimensions of the tensors, broadcast with each other."""
    first, *others = (tensor.shape[:-2] for tensor in tensors.values())
    if all(other == first for other in others):
        return first  # as a rule, and broadcast_shapes takes as long as a small layer's product
    try:
        return torch.broadcast_shapes(first, *others)
    except RuntimeError:
        raise ValueError(f"the leading dimensions do not broadcast, found {shapes(**tensors)}") from None


def shapes(**tensors: Tensor) -> str:
    return ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())


def type_of(thing: object) -> object:
    return thing.dtype if isinstance(thing, Tensor) else type(thing).__name__
