"""Lines over a common x, and points."""

from collections.abc import Mapping
from typing import Any

from attention.explorer.panels.panel import Panel, as_axes, as_colors, as_limits, as_numbers


def curves(
    x,
    lines: Mapping[str, Any],
    *,
    points: Mapping[str, tuple[Any, Any]] | None = None,
    caption: str = "",
    axes: tuple[str, str] = ("", ""),
    axis: str = "",
    colors: Mapping[str, str] | None = None,
    limits: tuple[float, float] | None = None,
) -> Panel:
    """Lines over a common x, and points. Lines differ by their dashes as well as by their colours.

    Reading a place lights, in other panels of the horizontal axis, the label that is the same number.

    Args:
        x: (N,), where the lines are known.
        lines: name → y (N,).
        points: name → (x, y), each (M,).
        caption: one line above the picture.
        axes: names of the horizontal and the vertical axis.
        axis: what a line is, such as ``"key"``: lines and other panels of that axis light each other.
        colors: name of a line or of points → colour, as :func:`heatmap`'s; in the order of the palette when not given.
        limits: lowest and highest y; the range over all states when not given.

    Raises:
        ValueError: a line that is not as long as x, points whose two halves differ, an unknown colour.

    >>> curves([0.0, 1.0], {"identity": [0.0, 1.0]}).words["names"]
    ['identity']
    """
    x = as_numbers("x", x, dimensions=1)
    points = points or {}
    if not isinstance(lines, Mapping):
        raise TypeError(f"lines must map names to numbers, one for each x, found {type(lines).__name__}")
    ys = [as_numbers(f"lines[{name!r}]", y, dimensions=1) for name, y in lines.items()]
    for name, y in zip(lines, ys, strict=True):
        if len(y) != len(x):
            raise ValueError(f"lines[{name!r}] must have one number for each x, found {len(y)} and {len(x)}")
    numbers = {"x": x} | {f"line_{index}": y for index, y in enumerate(ys)}  # one field a line: many stand still
    for index, (name, pair) in enumerate(points.items()):
        across, up = (as_numbers(f"points[{name!r}]", half, dimensions=1) for half in pair)
        if len(across) != len(up):
            raise ValueError(f"points[{name!r}] must have as many x as y, found {len(across)} and {len(up)}")
        numbers |= {f"points_x_{index}": across, f"points_y_{index}": up}
    words = {
        "names": [str(name) for name in lines],
        "point_names": [str(name) for name in points],
        "axes": as_axes(axes),
        "axis": str(axis),
        "colors": as_colors([*lines, *points], colors),
        "caption": str(caption),
        "limits": as_limits(limits),
    }
    return Panel("curves", numbers, words)
