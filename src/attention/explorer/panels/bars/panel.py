"""A row of numbers as labelled bars, whole or stacked from parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attention.explorer.panels import given
from attention.explorer.panels.base import Panel
from attention.explorer.panels.tables import matrix_table

__all__ = ["bars"]


def bars(
    values,
    labels: Sequence[str] | None = None,
    *,
    parts: Sequence[str] | None = None,
    parts_axis: str = "",
    mask=None,
    caption: str = "",
    axis: str = "",
    color: str = "weights",
    limits: tuple[float, float] | None = None,
    digits: int = 2,
) -> Panel:
    """A row of numbers as labelled bars, each with its number.

    With ``parts`` a bar is stacked from contributions, such as weight × value for each key; its number is their sum.

    Args:
        values: (N,), or (N, P) with parts.
        labels: N labels; their numbers when not given.
        parts: P names, for bars that are sums.
        parts_axis: what a part is, such as ``"key"``: parts light up with panels of that axis.
        mask: bool (N,), True = may attend; the other bars are left out, a dash in place of their number.
        caption: one line above the bars.
        axis: what a bar is, such as ``"key"``: bars and other panels of that axis light each other.
        color: as :func:`heatmap`'s.
        limits: the lowest and the highest number that there is room for; as :func:`heatmap`'s when not given.
        digits: decimals behind a bar.

    Raises:
        ValueError: values that are not a list (or, with parts, not a matrix with a column for each part), labels or
            mask that do not fit them.
        TypeError: as :func:`heatmap`.

    >>> panel = bars([0.6, 0.4, 0.0], ["apple", "banana", "chair"])
    >>> panel.words["labels"]
    ['apple', 'banana', 'chair']
    >>> float(bars([[6.0, 2.0]], ["fruit"], parts=["apple", "banana"]).numbers["values"][0])
    8.0
    """
    values = given.numbers("values", values, 1 if parts is None else 2)
    numbers = {"values": values if parts is None else values.sum(axis=1)}
    words: dict[str, Any] = {"labels": given.labels("labels", labels, len(values)), "axis": str(axis)}
    if parts is not None:
        numbers["parts"] = values
        words["parts_names"] = given.labels("parts", parts, values.shape[1])
        words["parts_axis"] = str(parts_axis)
    if mask is not None:
        numbers["mask"] = given.mask(mask, numbers["values"].shape)
    return Bars(numbers, words | given.look(caption, color, limits, digits))


class Bars(Panel):
    kind = "bars"

    def plain(self):
        """One number a row, behind the parts that it is the sum of, where it has any."""
        labels, values = self.words["labels"], self.numbers["values"][:, None]
        mask = self.numbers["mask"][:, None] if "mask" in self.numbers else None
        if "parts" not in self.numbers:
            return matrix_table(self, labels, [], values, mask)
        columns = [*self.words["parts_names"], "sum"]
        return matrix_table(self, labels, columns, np.concatenate([self.numbers["parts"], values], axis=1))

    def axes(self):
        parts = self.words.get("parts_axis", ""), self.words.get("parts_names", [])
        return [(self.words["axis"], self.words["labels"]), parts]
