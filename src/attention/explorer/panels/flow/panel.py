"""A computation from matrix to matrix, each made from those before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from attention.explorer.panels import given
from attention.explorer.panels.base import Panel, color_scale, finite
from attention.explorer.panels.tables import matrix_table

__all__ = ["Station", "flow"]

PARTS = ("i:", "j:", ":j", "ij", "::", "≤i:")


@dataclass(frozen=True)
class Station:
    """A matrix of a :func:`flow`.

    Args:
        name: how it is called, "Q".
        values: (rows, columns), as :func:`heatmap`'s.
        operation: how it is made, in a few words or signs: "X W_q". A letter after ``_`` is set as a subscript.
        sources: for each station that it is made from, the part that makes its number in row i and column j:
            ``"i:"`` that station's row i, ``"j:"`` its row j, ``":j"`` its column j, ``"ij"`` its number there,
            ``"::"`` all of it, ``"≤i:"`` its rows up to row i.
        color: as :func:`heatmap`'s.
        rows: labels for the rows; the flow's own when not given.
        columns: labels for the columns; none when not given.
        mask: bool, broadcastable to the values, True = may attend.
        digits: decimals in a cell.
        step: the step that computes it, from 0; one more than the station's before it when not given.
    """

    name: str
    values: Any
    operation: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    color: str = "ink"
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    mask: Any = None
    digits: int = 2
    step: int | None = None


def flow(
    lines: Sequence[Sequence[Station]],
    *,
    rows: Sequence[str] | None = None,
    step: int | None = None,
    query: int | None = None,
    control: str = "",
    query_control: str = "",
    caption: str = "",
) -> Panel:
    """A computation as matrices, line by line, with arrows from those that each is made from.

    A step lights the matrices that it computes and the numbers that they are made of. A matrix that no step has
    computed yet is empty. Pointing at a number lights what it is made of.

    Args:
        lines: the stations, from left to right and from top to bottom. Where a line is wider than the page, it goes on
            in the next.
        rows: labels for the rows of each station that has none of its own.
        step: the step that is lit, from 0; the last when not given.
        query: the row that is followed, in each station whose rows are queries: those that no other station takes
            whole, as it does keys and values. All rows when not given.
        control: a control of the explorer that choosing a station sets, to the number of its step.
        query_control: a control of the explorer that choosing such a row sets, to its number from 0.
        caption: one line above the picture.

    Raises:
        ValueError: names that stand twice; sources that come later or nowhere, or a part of them that there is not;
            labels or masks that do not fit; a step, a query or a colour that there is not.
        TypeError: as :func:`heatmap`.

    >>> x = Station("x", [[1.0, 2.0], [3.0, 4.0]])
    >>> doubled = Station("y", [[2.0, 4.0], [6.0, 8.0]], "2 x", {"x": "ij"})
    >>> panel = flow([[x, doubled]])
    >>> [station["step"] for station in panel.words["stations"]]
    [0, 1]
    """
    stations = [station for line in lines for station in line]
    names = [station.name for station in stations]
    if not stations or len(set(names)) < len(names):
        raise ValueError(f"lines must hold stations, each with a name of its own, found {', '.join(names) or 'none'}")
    taken = {name for station in stations for name, part in station.sources.items() if part not in ("i:", "ij")}
    places = [line for line, some in enumerate(lines) for _ in some]
    numbers: dict[str, Any] = {}
    drawn: list[dict[str, Any]] = []
    for index, (station, line) in enumerate(zip(stations, places, strict=True)):
        values = given.numbers(f"values of {station.name}", station.values, 2)
        numbers[f"{index}_values"] = values
        if station.mask is not None:
            numbers[f"{index}_mask"] = given.mask(station.mask, values.shape)
        following = drawn[-1]["step"] + 1 if drawn else 0
        drawn.append(
            _words(station, values.shape, rows, names[:index])
            | {"line": line, "step": following if station.step is None else station.step}
            | {"whole": station.name in taken}
        )
    steps = max(station["step"] for station in drawn) + 1
    queries = min(len(station["rows"]) for station in drawn if not station["whole"])
    words = {
        "stations": drawn,
        "step": steps - 1 if step is None else given.index("step", step, steps),
        "steps": steps,
        "query": given.index("query", query, queries),
        "queries": queries,
        "control": str(control),
        "query_control": str(query_control),
        "caption": str(caption),
    }
    return Flow(numbers, words)


class Flow(Panel):
    kind = "flow"

    def plain(self):
        """A table for each station."""
        tables = [
            matrix_table(
                self,
                station["rows"],
                station["columns"],
                self.numbers[f"{index}_values"],
                self.numbers.get(f"{index}_mask"),
                caption=" = ".join(filter(None, [station["name"], station["operation"]])),
                digits=station["digits"],
            )
            for index, station in enumerate(self.words["stations"])
        ]
        return "\n".join([f"<p>{escape(self.words['caption'])}</p>", *tables])

    @staticmethod
    def scales(panels):
        names = (name for name in panels[0].numbers if name.endswith("values"))
        return {"limits": [color_scale(finite(panels, name)) for name in names]}

    def sets(self):
        words = self.words
        return [(words["control"], words["steps"]), (words["query_control"], words["queries"])]


def _words(station: Station, shape: tuple[int, ...], rows: Sequence[str] | None, before: list[str]) -> dict[str, Any]:
    """What is written at a station, and the stations that it is made from, as [number, part]."""
    for name, part in station.sources.items():
        if name not in before:
            raise ValueError(f"{station.name} is made from {name!r}, which does not stand before it")
        given.one_of(f"the part of {name!r} that {station.name} takes", part, PARTS)
    columns = [""] * shape[1] if station.columns is None else station.columns
    return {
        "name": station.name,
        "operation": station.operation,
        "color": given.one_of(f"the colour of station {station.name!r}", station.color, given.COLORS),
        "rows": given.labels(f"rows of {station.name}", rows if station.rows is None else station.rows, shape[0]),
        "columns": given.labels(f"columns of {station.name}", columns, shape[1]),
        "digits": station.digits,
        "sources": [[before.index(name), part] for name, part in station.sources.items()],
    }
