"""How the arguments of panels are read: each as what a page needs, or an error that names it and what was found."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

COLORS = ("weights", "query", "key", "value", "ink")
SHAPES = ("a number", "a list of numbers, (N,)", "a matrix, (rows, columns)", "matrices, (heads, rows, columns)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Handle = tuple[str, str | Sequence[str]]


def one_of(name: str, found: Any, known: Sequence) -> Any:
    """What was given; raise unless it is known."""
    if found not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(str, known))}, found {found!r}")
    return found


def numbers(name: str, values, *dimensions: int, above_zero: bool = False) -> np.ndarray:
    """The values as float32 if they are, else as float64; raise unless they have one of these numbers of dimensions.

    On a log axis they lie above zero; NaN is a gap.
    """
    try:
        array = np.asarray(_without_tensors(values))
        if np.iscomplexobj(array):
            raise TypeError("complex numbers have no one size to draw")
        array = array if array.dtype == np.float32 else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers, found {type(values).__name__}: {error}") from error
    if array.ndim not in dimensions:
        known = " or ".join(SHAPES[dimension] for dimension in dimensions)
        raise ValueError(f"{name} must be {known}, found shape {array.shape}")
    if above_zero and (array <= 0).any():
        raise ValueError(f"{name} must be above 0 on a log axis, found {array[array <= 0][0]:g}")
    return array


def _without_tensors(values):
    """The values with arrays in place of tensors, also of those in a list."""
    if isinstance(values, (list, tuple)):
        return [_without_tensors(value) for value in values]
    if not isinstance(values, torch.Tensor):
        return values
    values = values.detach().cpu()
    return (values.float() if values.dtype in (torch.bfloat16, torch.float16) else values).numpy()


def mask(given, shape: tuple[int, ...]) -> np.ndarray:
    """The mask as an array of this shape; raise unless it is boolean and broadcasts to it."""
    array = given.detach().cpu().numpy() if isinstance(given, torch.Tensor) else np.asarray(given)
    if array.dtype != bool:
        raise TypeError(f"mask must be boolean, True = may attend, found {array.dtype}")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"mask of shape {array.shape} does not broadcast to the values' shape {shape}") from None


def labels(name: str, given: Iterable | None, count: int) -> list[str]:
    """So many labels as texts; numbers from 0 when there are none."""
    found = list(map(str, range(count) if given is None else given))
    if len(found) != count:
        raise ValueError(f"{name} must be {count} labels, found {len(found)}: {', '.join(found)}")
    return found


def index(name: str, given: int | None, count: int) -> int | None:
    """The index itself; raise unless it is None or counts one of so many things."""
    if given is not None and not 0 <= given < count:
        raise ValueError(f"{name} must lie between 0 and {count - 1}, found {given}")
    return None if given is None else int(given)


def caption(given) -> str:
    """A caption as it is set: ``2.5e-03`` as 2.5×10⁻³."""
    return re.sub(r"(?<=\d)e([+-]\d+)\b", lambda found: f"×10{str(int(found[1])).translate(RAISED)}", str(given))


def limits(given, above_zero: bool = False) -> list[float] | None:
    """The two ends of a scale; raise unless they are finite and in order."""
    if given is None:
        return None
    low, high = map(float, given)
    if not low < high or not np.isfinite([low, high]).all():
        raise ValueError(f"limits must be finite, low below high, found {(low, high)}")
    return numbers("limits", [low, high], 1, above_zero=above_zero).tolist()


def colors(names: Sequence[str], given: dict[str, str] | None) -> list[str]:
    """A colour for each name: the given ones, the others in the order of the palette."""
    chosen = {name: COLORS[place % len(COLORS)] for place, name in enumerate(names)} | dict(given or {})
    for name, color in chosen.items():
        if name not in names:
            raise ValueError(f"colors names {name!r}, which is not drawn; there are {', '.join(names)}")
        one_of(f"colors[{name!r}]", color, COLORS)
    return [chosen[name] for name in names]


def handles(given: Handle | Sequence[Handle] | None, names: Iterable[str], kind: str) -> list[dict[str, Any]]:
    """What can be taken by hand, and the controls that each moves; raise where a panel has no such name."""
    pairs = [] if given is None else [given] if isinstance(given[0], str) else list(given)
    names, found = list(names), []
    for name, controls in pairs:
        controls = [controls] if isinstance(controls, str) else list(controls)
        if name not in names:
            raise ValueError(f"handle names {name!r}, which is not a {kind}; there are {', '.join(names) or 'none'}")
        found.append({"name": str(name), "controls": controls})
    return found


def look(title, color: str, ends, digits: int | None) -> dict[str, Any]:
    """What panels of coloured numbers share: their caption, colour, limits and decimals."""
    return {
        "caption": caption(title),
        "color": one_of("color", color, COLORS),
        "limits": limits(ends),
        "digits": digits if digits is None else int(digits),
    }
