"""Panels: what an explorer's function returns. Each holds the numbers and the words of one picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

COLORS = ("weights", "query", "key", "value", "ink")


@dataclass(frozen=True)
class Panel:
    """One picture of one state: ``numbers`` keep their shape from state to state, ``words`` are plain JSON."""

    kind: str
    numbers: dict[str, np.ndarray]
    words: dict[str, Any]


def heatmap(
    values,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    mask=None,
    caption: str = "",
    axes: tuple[str, str] = ("query", "key"),
    color: str = "weights",
    limits: tuple[float, float] | None = None,
    digits: int = 2,
) -> Panel:
    """A matrix as a table of coloured cells: queries down, keys across.

    Args:
        values: (L, S), a tensor on any device, an array or nested lists.
        rows: L labels for the rows; their numbers when not given.
        columns: S labels for the columns.
        mask: bool, broadcastable to (L, S), True = may attend; the other cells are drawn as masked, unlike a zero.
        caption: one line above the table.
        axes: what a row and a column are.
        color: ``"weights"``, ``"query"``, ``"key"``, ``"value"`` or ``"ink"``.
        limits: the numbers drawn palest and strongest. When not given: 0 and 1 if all numbers of all states lie
            between, else 0 and the largest, else symmetric about 0.
        digits: decimals in a cell; the read-out has more.

    Raises:
        ValueError: the values are no matrix, or labels or mask do not fit them.
        TypeError: a mask that is not boolean, or values that are no numbers.

    >>> heatmap([[0.25, 0.75]], rows=["fruit"], columns=["apple", "chair"]).kind
    'heatmap'
    """
    values = _numbers("values", values, dimensions=2)
    numbers = {"values": values}
    if mask is not None:
        numbers["mask"] = _mask(mask, values.shape)
    words = {
        "rows": _labels("rows", rows, values.shape[0]),
        "columns": _labels("columns", columns, values.shape[1]),
        "axes": [str(axis) for axis in axes],
        **_common(caption, color, limits, digits),
    }
    return Panel("heatmap", numbers, words)


def bars(
    values,
    labels: Sequence[str] | None = None,
    *,
    mask=None,
    caption: str = "",
    color: str = "weights",
    limits: tuple[float, float] | None = None,
    digits: int = 2,
) -> Panel:
    """A row of numbers as labelled bars, each with its number.

    Args:
        values: (N,).
        labels: N labels; their numbers when not given.
        mask: bool (N,), True = may attend.
        caption: one line above the bars.
        color: as :func:`heatmap`'s.
        limits: the numbers at the two ends of the track; as :func:`heatmap`'s when not given.
        digits: decimals behind a bar.

    Raises:
        ValueError, TypeError: as :func:`heatmap`.

    >>> bars([0.6, 0.4, 0.0], ["apple", "banana", "chair"]).words["labels"]
    ['apple', 'banana', 'chair']
    """
    values = _numbers("values", values, dimensions=1)
    numbers = {"values": values}
    if mask is not None:
        numbers["mask"] = _mask(mask, values.shape)
    words = {"labels": _labels("labels", labels, len(values)), **_common(caption, color, limits, digits)}
    return Panel("bars", numbers, words)


def curves(
    x,
    lines: Mapping[str, Any],
    *,
    points: Mapping[str, tuple[Any, Any]] | None = None,
    caption: str = "",
    axes: tuple[str, str] = ("", ""),
    colors: Mapping[str, str] | None = None,
    limits: tuple[float, float] | None = None,
) -> Panel:
    """Lines over a common x, and points.

    Args:
        x: (N,), where the lines are known.
        lines: name → y (N,).
        points: name → (x, y), each (M,).
        caption: one line above the picture.
        axes: names of the horizontal and the vertical axis.
        colors: name of a line or of points → colour, as :func:`heatmap`'s; in the order of the palette when not given.
        limits: lowest and highest y; the range over all states when not given.

    Raises:
        ValueError: a line that is not as long as x, points whose two halves differ, an unknown colour.

    >>> curves([0.0, 1.0], {"identity": [0.0, 1.0]}).words["names"]
    ['identity']
    """
    x = _numbers("x", x, dimensions=1)
    points = points or {}
    if not isinstance(lines, Mapping):
        raise TypeError(f"lines must map names to numbers, one for each x, found {type(lines).__name__}")
    ys = [_numbers(f"lines[{name!r}]", y, dimensions=1) for name, y in lines.items()]
    for name, y in zip(lines, ys, strict=True):
        if len(y) != len(x):
            raise ValueError(f"lines[{name!r}] must have one number for each x, found {len(y)} and {len(x)}")
    numbers = {"x": x, "y": np.stack(ys) if ys else np.empty((0, len(x)))}
    for index, (name, pair) in enumerate(points.items()):
        across, up = (_numbers(f"points[{name!r}]", half, dimensions=1) for half in pair)
        if len(across) != len(up):
            raise ValueError(f"points[{name!r}] must have as many x as y, found {len(across)} and {len(up)}")
        numbers |= {f"points_x_{index}": across, f"points_y_{index}": up}
    names = [*lines, *points]
    colors = {name: COLORS[index % len(COLORS)] for index, name in enumerate(names)} | dict(colors or {})
    for name, color in colors.items():
        if name not in names:
            raise ValueError(f"colors names {name!r}, which is neither a line nor points; there are {', '.join(names)}")
        _check_color(f"colors[{name!r}]", color)
    words = {
        "names": [str(name) for name in lines],
        "point_names": [str(name) for name in points],
        "axes": [str(axis) for axis in axes],
        "colors": [colors[name] for name in names],
        "caption": str(caption),
        "limits": _limits(limits),
    }
    return Panel("curves", numbers, words)


def _numbers(name: str, values, dimensions: int) -> np.ndarray:
    try:
        array = np.asarray(_without_tensors(values))
        if np.iscomplexobj(array):
            raise TypeError("complex numbers have no one size to draw")
        array = array if array.dtype == np.float32 else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers, found {type(values).__name__}: {error}") from error
    if array.ndim != dimensions:
        shape = "a matrix, (rows, columns)" if dimensions == 2 else "a list of numbers, (N,)"
        raise ValueError(f"{name} must be {shape}, found shape {array.shape}")
    return array


def _without_tensors(values):
    """The values with arrays in place of tensors, also of those in a list."""
    if isinstance(values, (list, tuple)):
        return [_without_tensors(value) for value in values]
    if not isinstance(values, torch.Tensor):
        return values
    values = values.detach().cpu()
    return (values.float() if values.dtype in (torch.bfloat16, torch.float16) else values).numpy()


def _mask(mask, shape: tuple[int, ...]) -> np.ndarray:
    array = mask.detach().cpu().numpy() if isinstance(mask, torch.Tensor) else np.asarray(mask)
    if array.dtype != bool:
        raise TypeError(f"mask must be boolean, True = may attend, found {array.dtype}")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"mask of shape {array.shape} does not broadcast to the values' shape {shape}") from None


def _labels(name: str, labels: Sequence[str] | None, count: int) -> list[str]:
    labels = range(count) if labels is None else labels
    if len(labels) != count:
        raise ValueError(f"{name} must be {count} labels, found {len(labels)}: {', '.join(map(str, labels))}")
    return [str(label) for label in labels]


def _common(caption: str, color: str, limits, digits: int) -> dict[str, Any]:
    _check_color("color", color)
    return {"caption": str(caption), "color": color, "limits": _limits(limits), "digits": int(digits)}


def _check_color(name: str, color: str) -> None:
    if color not in COLORS:
        raise ValueError(f"{name} must be one of {', '.join(COLORS)}, found {color!r}")


def _limits(limits) -> list[float] | None:
    if limits is None:
        return None
    low, high = map(float, limits)
    if not low < high or not np.isfinite([low, high]).all():
        raise ValueError(f"limits must be finite, low below high, found {(low, high)}")
    return [low, high]
