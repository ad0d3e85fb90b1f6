"""A matrix as a table of coloured cells."""

from collections.abc import Sequence

from attention.explorer.panels import given
from attention.explorer.panels.tables import Matrix

__all__ = ["heatmap"]


def heatmap(
    values,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    mask=None,
    row: int | None = None,
    ringed: Sequence[tuple[int, int]] = (),
    caption: str = "",
    axes: tuple[str, str] = ("query", "key"),
    color: str = "weights",
    limits: tuple[float, float] | None = None,
    digits: int | None = 2,
) -> Matrix:
    """A matrix as a table of coloured cells: queries down, keys across.

    Pointing at a cell lights its row and its column, here and in every panel that names one of the two axes.

    Args:
        values: (L, S), a tensor on any device, an array or nested lists.
        rows: L labels for the rows; their numbers when not given.
        columns: S labels for the columns.
        mask: bool, broadcastable to (L, S), True = may attend; the other cells are drawn as masked, unlike a zero.
        row: the index of a row to mark.
        ringed: cells to mark, (row, column) each.
        caption: one line above the table.
        axes: what a row and a column are.
        color: ``"weights"``, ``"query"``, ``"key"``, ``"value"`` or ``"ink"``. Numbers below zero have
            a colour of their own.
        limits: the numbers drawn palest and strongest. When not given: 0 and 1 if all numbers of all states lie
            between, else 0 and the largest, else symmetric about 0.
        digits: decimals in a cell; the read-out has more. With None a cell has two significant digits, and one
            below 0.01, so that a small number is told from 0.

    Raises:
        ValueError: the values are not a matrix, labels or mask do not fit them, or there is no such row or cell.
        TypeError: a mask that is not boolean, or values that are not numbers.

    >>> panel = heatmap([[0.25, 0.75]], rows=["fruit"], columns=["apple", "chair"])
    >>> panel.kind
    'heatmap'
    """
    values = given.numbers("values", values, 2)
    L, S = values.shape
    numbers = {"values": values}
    if mask is not None:
        numbers["mask"] = given.mask(mask, values.shape)
    words = {
        "rows": given.labels("rows", rows, L),
        "columns": given.labels("columns", columns, S),
        "row": given.index("row", row, L),
        "axes": list(axes),
        **given.look(caption, color, limits, digits),
    }
    if ringed:
        words["ringed"] = [[given.index("ringed", i, L), given.index("ringed", j, S)] for i, j in ringed]
    return Heatmap(numbers, words)


class Heatmap(Matrix):
    kind = "heatmap"
    sides = ("rows", "columns")
