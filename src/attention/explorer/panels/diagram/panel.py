"""Boxes for tensors, arrows for operations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from attention.explorer.panels import given
from attention.explorer.panels.base import Panel

__all__ = ["Box", "diagram"]


@dataclass(frozen=True)
class Box:
    """A tensor: its label, its shape (text or numbers), its colour (see :func:`heatmap`), a sentence and a link."""

    label: str
    shape: str | tuple[int, ...] = ""
    color: str = "ink"
    says: str = ""
    link: str = ""


def diagram(
    rows: Sequence[Sequence[str | None]],
    arrows: Sequence[tuple[str, ...]] = (),
    *,
    boxes: Mapping[str, Box] | None = None,
    lit: Sequence[str | tuple[str, str]] = (),
    caption: str = "",
) -> Panel:
    """Boxes with their shapes in rows and columns, and arrows between them.

    Shapes, labels, the boxes that are there and the parts that are lit may differ from state to state.

    Args:
        rows: names of the boxes, row by row from the top; ``None`` leaves a place empty. A shorter row stands in the
            middle.
        arrows: operations, ``(start, end)`` or ``(start, end, label)``, in any order.
        boxes: name → :class:`Box`, where a box is more than its name.
        lit: boxes by their names, arrows by their two, that stand out; the rest then steps back.
        caption: one line above the picture.

    Raises:
        ValueError: a name that stands twice or nowhere, an unknown colour.

    >>> panel = diagram([["X"], ["Q", "K"]], [("X", "Q", "W_q"), ("X", "K", "W_k")], boxes={"X": Box("X", (5, 9))})
    >>> panel.words["alt"]
    'X (5, 9); Q; K. From X by W_q to Q; from X by W_k to K.'
    """
    names = [name for row in rows for name in row if name is not None]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"rows name the box {name!r} twice")
    boxes = dict(boxes or {})
    drawn = [dict(zip(("from", "to", "label"), (*arrow, ""), strict=False)) for arrow in arrows]
    ends = {arrow[side] for arrow in drawn for side in ("from", "to")}
    parts_lit = {part if isinstance(part, str) else tuple(part) for part in lit}
    named_lit = {part for part in parts_lit if isinstance(part, str)}
    for name in [*boxes, *sorted(ends), *sorted(named_lit)]:
        if name not in names:
            raise ValueError(f"there is no box {name!r} in rows; there are {', '.join(names)}")
    widest = max((len(row) for row in rows), default=0)
    placed = [
        _place(name, boxes.get(name, Box(name)), index, column + (widest - len(row)) / 2, name in named_lit)
        for index, row in enumerate(rows)
        for column, name in enumerate(row)
        if name is not None
    ]
    drawn = [arrow | {"lit": (arrow["from"], arrow["to"]) in parts_lit} for arrow in drawn]
    words = {"boxes": placed, "arrows": drawn, "alt": _alt(placed, drawn), "caption": given.caption(caption)}
    return Diagram({}, words)


class Diagram(Panel):
    kind = "diagram"

    def plain(self):
        return f"<p>{escape(' '.join(filter(None, [self.words['caption'], self.words['alt']])))}</p>"


def _place(name: str, box: Box, row: int, column: float, is_lit: bool) -> dict[str, Any]:
    given.one_of(f"the colour of box {name!r}", box.color, given.COLORS)
    shape = box.shape if isinstance(box.shape, str) else f"({', '.join(map(str, box.shape))})"
    look = {"label": box.label, "shape": shape, "color": box.color, "lit": is_lit}
    opens = {"says": box.says, "link": box.link} if box.link else {}
    return {"name": name, "row": row, "column": column, **look, **opens}


def _alt(boxes: list[dict[str, Any]], arrows: list[dict[str, Any]]) -> str:
    """What the picture shows, in words."""
    label = {box["name"]: box["label"] for box in boxes}
    things = "; ".join(f"{box['label']} {box['shape']}".strip() for box in boxes)
    ways = []
    for arrow in arrows:
        by = f" by {arrow['label']}" if arrow["label"] else ""
        ways.append(f"from {label[arrow['from']]}{by} to {label[arrow['to']]}")
    told = "; ".join(ways)
    return f"{things}. {told[:1].upper()}{told[1:]}." if told else f"{things}."
