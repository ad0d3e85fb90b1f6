"""Vectors and points in the plane, with equal axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attention.explorer.panels.panel import Panel, as_axes, as_colors, as_limits, as_numbers


def plane(
    vectors: Mapping[str, Any],
    *,
    points: Mapping[str, Any] | None = None,
    handle: tuple[str, str | Sequence[str]] | None = None,
    caption: str = "",
    axes: tuple[str, str] = ("", ""),
    axis: str = "",
    colors: Mapping[str, str] | None = None,
    x_limits: tuple[float, float] | None = None,
    limits: tuple[float, float] | None = None,
) -> Panel:
    """Arrows from the origin, and points, with one scale for both axes, so that an angle looks as large as it is.

    A handle lets the reader take an arrow by its tip: dragging it chooses, of all states of the named controls, the one
    whose tip lies nearest, and the sliders follow.

    Args:
        vectors: name → (x, y), the arrow's tip.
        points: name → (x, y), or (M, 2) for many.
        handle: a vector's name, and the one or two controls that move it: ``("query", ["angle", "length"])``.
        caption: one line above the picture.
        axes: names of the horizontal and the vertical axis.
        axis: what a vector or a point is, such as ``"key"``: panels that name it light each other.
        colors: name → colour, as :func:`heatmap`'s; in the order of the palette when not given.
        x_limits: lowest and highest x; the range over all states, the origin included, when not given.
        limits: lowest and highest y, likewise.

    Raises:
        ValueError: a vector or point that is not a pair, a name that stands for both, a handle that is not a vector or
            that has no or more than two controls, an unknown colour.
        TypeError: numbers that are not numbers.

    >>> plane({"query": [1.0, 2.0]}, points={"apple": [2.0, 0.0]}).words["names"]
    ['query']
    """
    points = points or {}
    both = set(vectors) & set(points)
    if both:
        raise ValueError(f"{sorted(both)[0]!r} names a vector and a point")
    tips = [as_numbers(f"vectors[{name!r}]", tip, dimensions=1) for name, tip in vectors.items()]
    spots = [np.atleast_2d(as_numbers(f"points[{name!r}]", spot, dimensions=(1, 2))) for name, spot in points.items()]
    for name, pair in [*zip(vectors, tips, strict=True), *zip(points, spots, strict=True)]:
        if pair.shape[-1] != 2:
            raise ValueError(f"{name!r} must have two numbers, x and y, found shape {pair.shape}")
    numbers = {"vectors": np.stack(tips) if tips else np.empty((0, 2))}
    numbers |= {f"points_{index}": spot for index, spot in enumerate(spots)}
    words = {
        "names": [str(name) for name in vectors],
        "point_names": [str(name) for name in points],
        "handle": _handle(handle, vectors),
        "axes": as_axes(axes),
        "axis": str(axis),
        "colors": as_colors([*vectors, *points], colors),
        "caption": str(caption),
        "x_limits": as_limits(x_limits),
        "limits": as_limits(limits),
    }
    return Panel("plane", numbers, words)


def _handle(handle: tuple[str, str | Sequence[str]] | None, vectors: Mapping[str, Any]) -> dict[str, Any] | None:
    if handle is None:
        return None
    name, controls = handle
    controls = [controls] if isinstance(controls, str) else list(controls)
    if name not in vectors:
        raise ValueError(f"handle names {name!r}, which is not a vector; there are {', '.join(vectors)}")
    if not 1 <= len(controls) <= 2:
        raise ValueError(f"handle {name!r} must move one or two controls, found {len(controls)}")
    return {"name": str(name), "controls": controls}
