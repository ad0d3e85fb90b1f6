"""Vectors and points in the plane, with equal axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attention.explorer.panels import given
from attention.explorer.panels.base import Panel, axis_range
from attention.explorer.panels.tables import names_row, numbers_row, table

__all__ = ["plane"]


def plane(
    vectors: Mapping[str, Any],
    *,
    points: Mapping[str, Any] | None = None,
    lines: Mapping[str, Any] | None = None,
    areas: Mapping[str, Any] | None = None,
    handle: given.Handle | Sequence[given.Handle] | None = None,
    caption: str = "",
    axes: tuple[str, str] = ("", ""),
    axis: str = "",
    colors: Mapping[str, str] | None = None,
    x_limits: tuple[float, float] | None = None,
    limits: tuple[float, float] | None = None,
) -> Panel:
    """Arrows from the origin, and points, with one scale for both axes, so that an angle looks as large as it is.

    A handle lets the reader take an arrow by its tip, or a point: dragging it chooses, of all states of the named
    controls, the one in which it lies nearest, and the sliders follow. An area is taken at the middle one of its
    corners, and its two controls move by the same number of states.

    A question before the figure (:func:`choice`) hides what the controls compute. Arrows and points that no control
    moves, and those with a handle, are given, and stay in sight.

    Args:
        vectors: name → (x, y), the arrow's tip.
        points: name → (x, y), or (M, 2) for many.
        lines: name → a line through (K, 2), or several, (M, K, 2): projections, lines of equal score. The first name's
            are thin, the second's dashed.
        areas: name → a filled polygon with the corners (K, 2).
        handle: the name of a vector, of a point that is alone or of an area, and the control or controls that move it:
            ``("query", ["angle", "length"])``; or a list of such pairs.
        caption: one line above the picture.
        axes: names of the horizontal and the vertical axis.
        axis: what a vector or a point is, such as ``"key"``: panels that name it light each other.
        colors: name → colour, as :func:`heatmap`'s; in the order of the palette when not given, lines and
            areas in ink.
        x_limits: lowest and highest x; the range over all states, the origin included, when not given.
        limits: lowest and highest y, likewise.

    Raises:
        ValueError: a vector or point that is not a pair, a name that stands for two things, a handle that is none of
            the three, an unknown colour.
        TypeError: numbers that are not numbers.

    >>> panel = plane({"query": [1.0, 2.0]}, points={"apple": [2.0, 0.0]})
    >>> panel.words["names"]
    ['query']
    """
    points, lines, areas = points or {}, lines or {}, areas or {}
    everything = [*vectors, *points, *lines, *areas]
    for name in everything:
        if everything.count(name) > 1:
            raise ValueError(f"{name!r} names two things of the plane")
    tips = {name: given.numbers(f"vectors[{name!r}]", tip, 1) for name, tip in vectors.items()}
    spots = {name: np.atleast_2d(given.numbers(f"points[{name!r}]", spot, 1, 2)) for name, spot in points.items()}
    drawn = {name: given.numbers(f"lines[{name!r}]", line, 2, 3) for name, line in lines.items()}
    filled = {name: given.numbers(f"areas[{name!r}]", area, 2) for name, area in areas.items()}
    for name, pair in [*tips.items(), *spots.items(), *drawn.items(), *filled.items()]:
        if pair.shape[-1] != 2:
            raise ValueError(f"{name!r} must have two numbers, x and y, found shape {pair.shape}")
    alone = [*vectors, *(name for name, spot in spots.items() if len(spot) == 1)]
    numbers = {"vectors": np.stack([*tips.values()]) if tips else np.empty((0, 2))}
    numbers |= {f"points_{index}": spot for index, spot in enumerate(spots.values())}
    numbers |= {f"lines_{index}": line.reshape(-1, *line.shape[-2:]) for index, line in enumerate(drawn.values())}
    numbers |= {f"areas_{index}": area for index, area in enumerate(filled.values())}
    inks = dict.fromkeys([*lines, *areas], "ink") | dict(colors or {})
    words = {
        "names": [str(name) for name in vectors],
        "point_names": [str(name) for name in points],
        "line_names": [str(name) for name in lines],
        "area_names": [str(name) for name in areas],
        "handles": given.handles(handle, [*alone, *areas], "vector, a point that is alone or an area"),
        "axes": list(axes),
        "axis": str(axis),
        "colors": given.colors(everything, inks),
        "caption": given.caption(caption),
        "x_limits": given.limits(x_limits),
        "limits": given.limits(limits),
    }
    return Plane(numbers, words)


class Plane(Panel):
    kind = "plane"

    def plain(self):
        """Each vector and each point that is alone, with its two numbers."""
        words, numbers = self.words, self.numbers
        lines = [names_row("", *words["axes"])]
        lines += [numbers_row(name, tip) for name, tip in zip(words["names"], numbers["vectors"], strict=True)]
        for index, name in enumerate(words["point_names"]):
            spots = numbers[f"points_{index}"]
            lines += [numbers_row(name, spots[0])] if len(spots) == 1 else []
        return table("plane", words["caption"], lines)

    def axes(self):
        return [(self.words["axis"], [*self.words["names"], *self.words["point_names"]])]

    @staticmethod
    def scales(panels):
        drawn = ("vectors", "points", "areas")  # lines may lead out of the picture
        pairs = [a.reshape(-1, 2) for panel in panels for name, a in panel.numbers.items() if name.startswith(drawn)]
        both = np.concatenate([np.zeros((1, 2)), *pairs])
        across, up = (side[np.isfinite(side)] for side in both.T)
        return {"x_limits": axis_range(across, margin=0.08), "limits": axis_range(up, margin=0.08)}
