"""Figures for the page: drawn in the explorer's colours, on nothing, so that they suit a light and a dark book."""

import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from torch import Tensor

_CSS = (Path(__file__).parent / "explorer" / "explorer.css").read_text(encoding="utf-8")
PALETTE: dict[str, str] = dict(re.findall(r"--al-(\w+): light-dark\((#\w+)", _CSS))

STYLE = {
    "figure.dpi": 150,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.size": 11,
    "text.color": PALETTE["ink"],
    "axes.labelcolor": PALETTE["ink"],
    "axes.edgecolor": PALETTE["muted"],
    "xtick.color": PALETTE["ink"],
    "ytick.color": PALETTE["ink"],
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def heatmap(weights: Tensor, rows: Sequence[str], columns: Sequence[str], mask: Tensor | None = None) -> None:
    """Show weights as a grid of coloured cells with their numbers, queries down and keys across, from 0 to 1.

    Args:
        weights: (L, S).
        rows: L labels.
        columns: S labels.
        mask: bool (L, S), True = may attend; the other cells are hatched, not coloured.
    """
    weights = weights.detach().cpu().numpy()
    hidden = np.zeros(weights.shape, dtype=bool) if mask is None else ~mask.cpu().numpy()
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(6.4, 0.5 + 0.5 * len(rows)))
        colors = LinearSegmentedColormap.from_list("weights", ["#ffffff", PALETTE["weights"]])
        axes.imshow(np.ma.array(weights, mask=hidden), cmap=colors, vmin=0, vmax=1, aspect="auto")
        for (row, column), weight in np.ndenumerate(weights):
            if hidden[row, column]:
                place = (column - 0.5, row - 0.5)
                axes.add_patch(plt.Rectangle(place, 1, 1, fill=False, hatch="////", edgecolor=PALETTE["line"]))
            else:
                color = "#ffffff" if weight > 0.76 else "#000000"  # whichever stands out more
                axes.text(column, row, f"{weight:.2f}", ha="center", va="center", color=color)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
        axes.spines[:].set_visible(False)
        plt.show()


def hull(values: Tensor, outputs: Tensor, labels: Sequence[str], axis_names: tuple[str, str]) -> None:
    """Show values in the plane, the polygon they span, and the outputs that fell within it.

    Args:
        values: (S, 2), in the order of the polygon's corners.
        outputs: (N, 2).
        labels: S labels of the values.
        axis_names: names of the two coordinates.
    """
    corners = values.detach().cpu().numpy()
    found = outputs.detach().cpu().numpy()
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(6.4, 3.4))
        axes.fill(*corners.T, facecolor="none", edgecolor=PALETTE["muted"], linewidth=1)
        axes.scatter(*found.T, s=3, color=PALETTE["ink"], alpha=0.35, linewidths=0)
        axes.scatter(*corners.T, s=45, color=PALETTE["value"], zorder=3)
        for corner, label in zip(corners, labels, strict=True):
            _label(axes, corner, label, away_from=corners.mean(axis=0))
        axes.set(xlabel=axis_names[0], ylabel=axis_names[1])
        axes.margins(0.18)
        plt.show()


def _label(axes: Axes, place: np.ndarray, text: str, away_from: np.ndarray) -> None:
    """Write a point's label on the side that faces away from the middle."""
    right, up = np.sign(place - away_from)
    across, along = (
        {1: "left", -1: "right", 0: "center"}[int(right)],
        {1: "bottom", -1: "top", 0: "center"}[int(up)],
    )
    offset = (8 * right, 6 * up)
    axes.annotate(text, place, xytext=offset, textcoords="offset points", ha=across, va=along, color=PALETTE["value"])
