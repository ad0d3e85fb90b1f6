"""The plain tables of a page without scripts."""

from collections.abc import Iterable
from html import escape
from typing import ClassVar

import numpy as np

from attention.explorer.panels.base import Panel


def matrix_table(panel: Panel, sides: list[str], tops: list[str], values, mask=None, caption=None, digits=None) -> str:
    """Numbers between their labels, those that a mask hides left empty; the panel's caption and digits if not given."""
    mask = np.ones(values.shape, dtype=bool) if mask is None else mask
    digits = panel.words["digits"] if digits is None else digits
    lines = [f"<tr><td></td>{_heads(tops)}</tr>"] if tops else []
    for side, row, visible in zip(sides, values, mask, strict=True):
        cells = "".join(_cell(value, see, digits) for value, see in zip(row, visible, strict=True))
        lines.append(f'<tr><th scope="row">{escape(side)}</th>{cells}</tr>')
    return table(panel.kind, panel.words["caption"] if caption is None else caption, lines)


class Matrix(Panel):
    """A panel of one matrix, ``values``, whose rows and columns are named by two lists of its words, the ``sides``."""

    sides: ClassVar[tuple[str, str]]

    def plain(self):
        (_, rows), (_, columns) = self.axes()
        return matrix_table(self, rows, columns, self.numbers["values"], self.numbers.get("mask"))

    def axes(self):
        return list(zip(self.words["axes"], (self.words[side] for side in self.sides), strict=True))


def _heads(names: Iterable[str]) -> str:
    return "".join(f'<th scope="col">{escape(name)}</th>' for name in names)


def _cell(value: float, visible: bool, digits: int | None) -> str:
    exact = _exact(value)
    is_fixed = np.isfinite(value) and digits is not None
    text = f"{value:.{digits}f}".replace("-", "−") if is_fixed else written(value)
    return f'<td data-value="{exact}">{text}</td>' if visible else f'<td data-value="{exact}" data-masked></td>'


def names_row(*names: str) -> str:
    """A row of names."""
    return f"<tr>{_heads(names)}</tr>"


def numbers_row(name: str, values) -> str:
    """A name and its numbers."""
    cells = "".join(f"<td>{written(value)}</td>" for value in values)
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _exact(value: float) -> str:
    """A number as a script reads it."""
    if np.isfinite(value):
        return f"{value:.6g}"
    return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def written(value: float) -> str:
    """A number as a reader reads it."""
    if np.isfinite(value):
        return f"{value:.4g}".replace("-", "−")
    return "NaN" if np.isnan(value) else "∞" if value > 0 else "−∞"


def table(kind: str, caption: str, lines: list[str]) -> str:
    """The table of these rows."""
    return f'<table class="{kind} plain"><caption>{escape(caption)}</caption>\n' + "\n".join(lines) + "</table>"
