"""A matrix as a table of coloured cells."""

from collections.abc import Sequence

from attention.explorer.panels.base import (
    Panel,
    as_axes,
    as_controls,
    as_index,
    as_labels,
    as_mask,
    as_numbers,
    common_words,
    finite,
)
from attention.explorer.panels.scales import color_scale
from attention.explorer.panels.tables import matrix_table

__all__ = ["heatmap"]


def heatmap(
    values,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    mask=None,
    row: int | None = None,
    column: int | None = None,
    ringed: Sequence[tuple[int, int]] = (),
    control: str | Sequence[str] = "",
    caption: str = "",
    axes: tuple[str, str] = ("query", "key"),
    color: str = "weights",
    limits: tuple[float, float] | None = None,
    digits: int | None = 2,
) -> Panel:
    """A matrix as a table of coloured cells: queries down, keys across.

    Pointing at a cell lights its row and its column, here and in every panel that names one of the two axes.

    Args:
        values: (L, S), a tensor on any device, an array or nested lists.
        rows: L labels for the rows; their numbers when not given.
        columns: S labels for the columns.
        mask: bool, broadcastable to (L, S), True = may attend; the other cells are drawn as masked, unlike a zero.
        row: the index of a row to mark.
        column: the index of a column to mark; with a row, their cell.
        ringed: further cells to mark, (row, column) each.
        control: the control that choosing a row sets, to the row's number from 0; ``("query", "key")`` where a column
            sets one too, ``("", "key")`` where it alone does.
        caption: one line above the table.
        axes: what a row and a column are.
        color: ``"weights"``, ``"query"``, ``"key"``, ``"value"`` or ``"ink"``. Numbers below zero have
            a colour of their own.
        limits: the numbers drawn palest and strongest. When not given: 0 and 1 if all numbers of all states lie
            between, else 0 and the largest, else symmetric about 0.
        digits: decimals in a cell; the read-out has more. With None a cell has two significant digits, and one
            below 0.01, so that a small number is told from 0.

    Raises:
        ValueError: the values are not a matrix, labels or mask do not fit them, or there is no such row or
            column.
        TypeError: a mask that is not boolean, or values that are not numbers.

    >>> panel = heatmap([[0.25, 0.75]], rows=["fruit"], columns=["apple", "chair"])
    >>> panel.kind
    'heatmap'
    """
    values = as_numbers("values", values, dimensions=2)
    numbers = {"values": values}
    if mask is not None:
        numbers["mask"] = as_mask(mask, values.shape)
    words = {
        "rows": as_labels("rows", rows, values.shape[0]),
        "columns": as_labels("columns", columns, values.shape[1]),
        "row": as_index("row", row, values.shape[0]),
        "column": as_index("column", column, values.shape[1]),
        "control": as_controls(control, 2),
        "axes": as_axes(axes),
        **common_words(caption, color, limits, digits),
    }
    if ringed:
        cells = [(as_index("ringed", i, values.shape[0]), as_index("ringed", j, values.shape[1])) for i, j in ringed]
        words["ringed"] = [list(cell) for cell in cells]
    return Heatmap(numbers, words)


class Heatmap(Panel):
    kind = "heatmap"

    def plain(self):
        words = self.words
        return matrix_table(self, words["rows"], words["columns"], self.numbers["values"], self.numbers.get("mask"))

    def axes(self):
        return list(zip(self.words["axes"], (self.words["rows"], self.words["columns"]), strict=True))

    @staticmethod
    def scales(panels):
        return {"limits": color_scale(finite(panels, "values"))}

    def choosers(self):
        labels = self.words["rows"], self.words["columns"]
        return list(zip(self.words["control"], ("row", "column"), map(len, labels), strict=True))

    def row_names(self):
        return self.words["rows"]
