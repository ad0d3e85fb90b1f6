"""An explorer as HTML: the element that the front end brings to life, around a plain table of the first state."""

import json
from html import escape
from typing import Any

import numpy as np

from attention.explorer.panels import Panel

MOST_ROWS = 11


def page(payload: dict[str, Any], panels: list[Panel]) -> str:
    """The static form of an explorer.

    Args:
        payload: what the front end draws.
        panels: the panels of the first state, for a reader without scripts.

    Returns:
        HTML that needs no kernel and no network; without the front end it shows tables.
    """
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    tables = "\n".join(_table(panel) for panel in panels)
    return (
        '<attention-explorer class="attention-explorer">\n'
        f'<script type="application/json">{data}</script>\n'
        f"{tables}\n</attention-explorer>"
    )


def _table(panel: Panel) -> str:
    words, numbers = panel.words, panel.numbers
    if panel.kind == "curves":
        return _curves(panel)
    values = np.atleast_2d(numbers["values"].T).T
    mask = numbers.get("mask", np.ones(values.shape, dtype=bool)).reshape(values.shape)
    sides = words["rows"] if panel.kind == "heatmap" else words["labels"]
    heads = "".join(f'<th scope="col">{escape(label)}</th>' for label in words.get("columns", []))
    lines = [f"<tr><td></td>{heads}</tr>"] if heads else []
    for side, row, visible in zip(sides, values, mask, strict=True):
        cells = "".join(_cell(value, see, words["digits"]) for value, see in zip(row, visible, strict=True))
        lines.append(f'<tr><th scope="row">{escape(side)}</th>{cells}</tr>')
    return _wrap(panel.kind, words["caption"], lines)


def _cell(value: float, visible: bool, digits: int) -> str:
    number = _number(value, 6)
    shown = f"{value:.{digits}f}" if np.isfinite(value) else number
    return f'<td data-value="{number}">{shown}</td>' if visible else f'<td data-value="{number}" data-masked></td>'


def _curves(panel: Panel) -> str:
    """Lines as a table of at most so many rows, evenly spaced; points are left to the picture."""
    x, y = panel.numbers["x"], panel.numbers["y"]
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_ROWS)).round().astype(int)) if len(x) else []
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in (panel.words["axes"][0], *panel.words["names"]))
    lines = [f"<tr>{heads}</tr>"]
    for index in kept:
        cells = "".join(f"<td>{_number(value, 4)}</td>" for value in y[:, index])
        lines.append(f'<tr><th scope="row">{_number(x[index], 4)}</th>{cells}</tr>')
    note = f" ({len(kept)} of {len(x)} places)" if len(kept) < len(x) else ""
    return _wrap("curves", panel.words["caption"] + note, lines)


def _number(value: float, digits: int) -> str:
    if np.isfinite(value):
        return f"{value:.{digits}g}"
    return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _wrap(kind: str, caption: str, lines: list[str]) -> str:
    return f'<table class="{kind} plain"><caption>{escape(caption)}</caption>\n' + "\n".join(lines) + "</table>"
