"""Lines over a common x, and points."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attention.explorer.panels import given
from attention.explorer.panels.base import Panel, axis_range, finite
from attention.explorer.panels.tables import names_row, numbers_row, table, written

__all__ = ["curves"]

SCALES = ("linear", "log")
MOST_ROWS = 11  # of the plain table
APART = 0.02  # of a plot's height: lines whose ends lie so far apart, in most states, are named there


def curves(
    x,
    lines: Mapping[str, Any],
    *,
    points: Mapping[str, tuple[Any, Any]] | None = None,
    moments: Mapping[str, float] | None = None,
    handle: given.Handle | Sequence[given.Handle] | None = None,
    caption: str = "",
    axes: tuple[str, str] = ("", ""),
    axis: str = "",
    colors: Mapping[str, str] | None = None,
    limits: tuple[float, float] | None = None,
    x_scale: str = "linear",
    y_scale: str = "linear",
) -> Panel:
    """Lines over a common x, and points. Lines differ by their dashes as well as by their colours.

    A line has its name at its right end where the ends lie apart in most states, else in a legend. A handle lets the
    reader take a point, or a moment, and move a control with it.

    Reading a place lights, in other panels of the horizontal axis, the label that is the same number.

    Args:
        x: (N,), where the lines are known.
        lines: name → y (N,).
        points: name → (x, y), each (M,), or two numbers.
        moments: name → x: a vertical line, such as the present step of a training.
        handle: the name of a moment, or of a point that is alone, and the control that moves it: ``("now", "step")``;
            or a list of such pairs.
        caption: one line above the picture.
        axes: names of the horizontal and the vertical axis.
        axis: what a line is, such as ``"key"``: lines and other panels of that axis light each other.
        colors: name of a line or of points → colour, as :func:`heatmap`'s; in the order of the palette when not given.
        limits: lowest and highest y; the range over all states when not given.
        x_scale: ``"linear"`` or ``"log"``.
        y_scale: likewise.

    Raises:
        ValueError: a line that is not as long as x, points whose two halves differ, a handle that is neither a moment
            nor a point that is alone, an unknown colour or scale, a number that is not above 0 on a log axis.

    >>> panel = curves([0.0, 1.0], {"identity": [0.0, 1.0]})
    >>> panel.words["names"]
    ['identity']
    """
    logs = [given.one_of(f"{name}_scale", scale, SCALES) == "log" for name, scale in (("x", x_scale), ("y", y_scale))]
    x = given.numbers("x", x, 1, above_zero=logs[0])
    points, moments = points or {}, moments or {}
    ys = [given.numbers(f"lines[{name!r}]", y, 1, above_zero=logs[1]) for name, y in lines.items()]
    for name, y in zip(lines, ys, strict=True):
        if len(y) != len(x):
            raise ValueError(f"lines[{name!r}] must have one number for each x, found {len(y)} and {len(x)}")
    numbers = {"x": x} | {f"line_{index}": y for index, y in enumerate(ys)}  # one field a line: many stand still
    alone = [*moments]
    for index, (name, pair) in enumerate(points.items()):
        halves = zip(pair, logs, strict=True)
        across, up = (
            np.atleast_1d(given.numbers(f"points[{name!r}]", half, 0, 1, above_zero=is_log)) for half, is_log in halves
        )
        if len(across) != len(up):
            raise ValueError(f"points[{name!r}] must have as many x as y, found {len(across)} and {len(up)}")
        numbers |= {f"points_x_{index}": across, f"points_y_{index}": up}
        alone += [name] if len(across) == 1 else []
    if moments:
        numbers["moments"] = given.numbers("moments", list(moments.values()), 1, above_zero=logs[0])
    words = {
        "names": [str(name) for name in lines],
        "point_names": [str(name) for name in points],
        "moment_names": [str(name) for name in moments],
        "handles": given.handles(handle, alone, "moment or a point that is alone"),
        "axes": list(axes),
        "axis": str(axis),
        "colors": given.colors([*lines, *points], colors),
        "caption": given.caption(caption),
        "limits": given.limits(limits, above_zero=logs[1]),
        "x_scale": x_scale,
        "y_scale": y_scale,
    }
    return Curves(numbers, words)


class Curves(Panel):
    kind = "curves"
    guesses = ("sketch",)

    def plain(self):
        """Lines in at most so many rows, evenly spaced."""
        x = self.numbers["x"]
        lines = [self.numbers[f"line_{index}"] for index in range(len(self.words["names"]))]
        kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_ROWS)).round().astype(int)) if len(x) else []
        kept = [index for index in kept if not lines or not np.isnan([line[index] for line in lines]).all()]
        rows = [names_row(self.words["axes"][0], *self.words["names"])]
        rows += [numbers_row(written(x[index]), [line[index] for line in lines]) for index in kept]
        note = f" ({len(kept)} of {len(x)} points)" if len(kept) < len(x) else ""
        return table("curves", self.words["caption"] + note, rows)

    def axes(self):
        return [(self.words["axis"], [*self.words["names"], *self.words["point_names"]])]

    @staticmethod
    def scales(panels):
        x_scale, y_scale = (panels[0].words[f"{axis}_scale"] for axis in "xy")
        limits = axis_range(finite(panels, "line", "points_y"), margin=0.05, scale=y_scale)
        apart = [panel.ends_apart(panel.words["limits"] or limits) for panel in panels]
        return {
            "x_limits": axis_range(finite(panels, "x", "points_x", "moments"), scale=x_scale),
            "limits": limits,
            "direct": bool(np.mean(apart) > 0.5),
        }

    def ends_apart(self, limits: Sequence[float]) -> bool:
        """Whether the lines end at the right edge, each at a height of its own, where its name can stand."""
        x, scale = self.numbers["x"], np.log if self.words["y_scale"] == "log" else np.asarray
        ends = np.array([self.numbers[f"line_{index}"][-1:] for index in range(len(self.words["names"]))]).ravel()
        if not ends.size or x[-1] < x.max():
            return False
        low, high = scale(np.array(limits))
        heights = np.sort((scale(ends) - low) / (high - low))
        inside = np.isfinite(heights) & (heights > -0.01) & (heights < 1.01)
        return bool(inside.all() and (np.diff(heights) > APART).all())
