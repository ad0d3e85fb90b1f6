"""What every panel is, and how its arguments are read."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

COLORS = ("weights", "query", "key", "value", "ink")
SCALES = ("linear", "log")
SHAPES = ("a number", "a list of numbers, (N,)", "a matrix, (rows, columns)", "matrices, (heads, rows, columns)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Handle = tuple[str, str | Sequence[str]]


@dataclass(frozen=True)
class Panel(ABC):
    """One picture of one state: ``numbers`` keep their shape from state to state, ``words`` are plain JSON.

    Panels of one ``group`` are small multiples: they stand in one grid and share their scales.

    A kind of panel is a folder here, and its name that folder's: ``histogram/``. ``panel.py`` holds the function
    ``histogram``, whose docstring has an example that makes a ``panel``, and the subclass that it returns; its
    ``__all__`` lists what an author writes. ``draw.js`` registers what draws it, ``draw.css`` is its style.
    """

    kind: ClassVar[str]
    coarse: ClassVar[tuple[str, ...]] = ()  # the numbers of which three digits are enough where they are many
    guesses: ClassVar[tuple[str, ...]] = ()  # the kinds of question that can be drawn in it, besides a choice

    numbers: dict[str, np.ndarray]
    words: dict[str, Any]
    group: int | None = None

    @abstractmethod
    def plain(self) -> str:
        """HTML for a reader without scripts: its numbers as a table."""

    @abstractmethod
    def axes(self) -> list[tuple[str, list[str]]]:
        """Each axis that it names, and its labels there; panels that name the same one light each other."""

    @staticmethod
    @abstractmethod
    def scales(panels: "Sequence[Panel]") -> dict[str, Any]:
        """What is said of the scales that these panels share, of all states and of a group, where they set none."""

    def choosers(self) -> list[tuple[str, str, int]]:
        """The controls that choosing in it sets: a control's name, what is chosen, and how many of that there are."""
        return []

    def row_names(self) -> list[str]:
        """The rows beside which a guess can be written."""
        return []


def finite(panels: Sequence[Panel], *starts: str) -> np.ndarray:
    """All finite numbers of the fields whose names start so."""
    arrays = [array.ravel() for panel in panels for name, array in panel.numbers.items() if name.startswith(starts)]
    return np.concatenate([array[np.isfinite(array)] for array in arrays] or [np.empty(0)])


def as_numbers(name: str, values, dimensions: int | tuple[int, ...]) -> np.ndarray:
    """The values as float32 if they are, else as float64; raise unless they have so many dimensions."""
    try:
        array = np.asarray(_without_tensors(values))
        if np.iscomplexobj(array):
            raise TypeError("complex numbers have no one size to draw")
        array = array if array.dtype == np.float32 else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers, found {type(values).__name__}: {error}") from error
    wanted = (dimensions,) if isinstance(dimensions, int) else dimensions
    if array.ndim not in wanted:
        known = " or ".join(SHAPES[dimension] for dimension in wanted)
        raise ValueError(f"{name} must be {known}, found shape {array.shape}")
    return array


def _without_tensors(values):
    """The values with arrays in place of tensors, also of those in a list."""
    if isinstance(values, (list, tuple)):
        return [_without_tensors(value) for value in values]
    if not isinstance(values, torch.Tensor):
        return values
    values = values.detach().cpu()
    return (values.float() if values.dtype in (torch.bfloat16, torch.float16) else values).numpy()


def as_mask(mask, shape: tuple[int, ...]) -> np.ndarray:
    """The mask as an array of this shape; raise unless it is boolean and broadcasts to it."""
    array = mask.detach().cpu().numpy() if isinstance(mask, torch.Tensor) else np.asarray(mask)
    if array.dtype != bool:
        raise TypeError(f"mask must be boolean, True = may attend, found {array.dtype}")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"mask of shape {array.shape} does not broadcast to the values' shape {shape}") from None


def as_labels(name: str, labels: Iterable | None, count: int) -> list[str]:
    """So many labels as texts; numbers from 0 when there are none."""
    labels = list(range(count) if labels is None else labels)
    if len(labels) != count:
        raise ValueError(f"{name} must be {count} labels, found {len(labels)}: {', '.join(map(str, labels))}")
    return [str(label) for label in labels]


def as_index(name: str, index: int | None, count: int) -> int | None:
    """The index itself; raise unless it is None or counts one of so many things."""
    if index is not None and not 0 <= index < count:
        raise ValueError(f"{name} must lie between 0 and {count - 1}, found {index}")
    return None if index is None else int(index)


def as_caption(caption) -> str:
    """A caption as it is set: ``2.5e-03`` as 2.5×10⁻³."""
    return re.sub(r"(?<=\d)e([+-]\d+)\b", lambda found: f"×10{str(int(found[1])).translate(RAISED)}", str(caption))


def as_handles(handle: Handle | Sequence[Handle] | None, names: Iterable[str], kind: str) -> list[dict[str, Any]]:
    """What can be taken by hand, and the one or two controls that each moves; raise where a panel has no such name."""
    pairs = [] if handle is None else [handle] if isinstance(handle[0], str) else list(handle)
    names, handles = list(names), []
    for name, controls in pairs:
        controls = [controls] if isinstance(controls, str) else list(controls)
        if name not in names:
            raise ValueError(f"handle names {name!r}, which is not a {kind}; there are {', '.join(names) or 'none'}")
        if not 1 <= len(controls) <= 2:
            raise ValueError(f"handle {name!r} must move one or two controls, found {len(controls)}")
        handles.append({"name": str(name), "controls": controls})
    return handles


def as_controls(control: str | Sequence[str], count: int) -> list[str]:
    """The names of the controls that choosing sets, one for each axis; an empty one where an axis sets none."""
    names = [control] if isinstance(control, str) else list(control)
    if len(names) > count:
        raise ValueError(f"control must name at most {count}, one for each axis, found {', '.join(names)}")
    return [*names, *[""] * (count - len(names))]


def as_scale(name: str, scale: str) -> str:
    """The scale of an axis."""
    if scale not in SCALES:
        raise ValueError(f"{name} must be one of {', '.join(SCALES)}, found {scale!r}")
    return scale


def check_above_zero(name: str, numbers: np.ndarray) -> None:
    """Raise where a number has no place on a logarithmic axis; NaN is a gap."""
    for number in numbers[numbers <= 0][:1]:
        raise ValueError(f"{name} must be above 0 on a log axis, found {number:g}")


def as_limits(limits) -> list[float] | None:
    """The two ends of a scale; raise unless they are finite and in order."""
    if limits is None:
        return None
    low, high = map(float, limits)
    if not low < high or not np.isfinite([low, high]).all():
        raise ValueError(f"limits must be finite, low below high, found {(low, high)}")
    return [low, high]


def as_axes(axes: Sequence[str]) -> list[str]:
    """The names of two axes."""
    return [str(axis) for axis in axes]


def as_colors(names: Sequence[str], colors: dict[str, str] | None) -> list[str]:
    """A colour for each name: the given ones, the others in the order of the palette."""
    chosen = {name: COLORS[index % len(COLORS)] for index, name in enumerate(names)} | dict(colors or {})
    for name, color in chosen.items():
        if name not in names:
            raise ValueError(f"colors names {name!r}, which is not drawn; there are {', '.join(names)}")
        check_color(f"colors[{name!r}]", color)
    return [chosen[name] for name in names]


def check_color(name: str, color: str) -> None:
    """Raise unless the colour is one of the palette."""
    if color not in COLORS:
        raise ValueError(f"{name} must be one of {', '.join(COLORS)}, found {color!r}")


def common_words(caption: str, color: str, limits, digits: int | None) -> dict[str, Any]:
    """What panels of coloured numbers share."""
    check_color("color", color)
    return {
        "caption": as_caption(caption),
        "color": color,
        "limits": as_limits(limits),
        "digits": digits if digits is None else int(digits),
    }
