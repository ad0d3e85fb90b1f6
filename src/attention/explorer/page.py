"""An explorer as HTML: the element that the front end brings to life, around a plain table of the first state."""

import json
from html import escape
from typing import Any

import numpy as np

from attention.explorer.panels import Panel
from attention.explorer.panels.graph import names_of

MOST_ROWS = 11
LINES = {1: "–", 2: "=", 3: "≡"}  # of an edge


def page(payload: dict[str, Any], panels: list[Panel]) -> str:
    """The static form of an explorer.

    Args:
        payload: what the front end draws.
        panels: the panels of the first state, for a reader without scripts.

    Returns:
        HTML that needs no kernel and no network; without the front end it shows tables.
    """
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    head = [f'<p class="head">{escape(payload["title"])}</p>'] if payload.get("title") else []
    plain = "\n".join([*head, *_question(payload), *(PLAIN[panel.kind](panel) for panel in panels)])
    name = f' id="{escape(payload["name"])}"' if payload.get("name") else ""
    return (
        f'<attention-explorer class="attention-explorer"{name}>\n'
        f'<script type="application/json">{data}</script>\n'
        f"{plain}\n</attention-explorer>"
    )


def _question(payload: dict[str, Any]) -> list[str]:
    """A prediction in words: the question, what can be chosen, and the answer."""
    asked = payload.get("predict")
    if not asked:
        return []
    options = f" ({', '.join(asked['options'])})" if asked["kind"] == "option" else ""
    said = f"{asked['question']}{options} {asked['said']} {asked['because']}"
    return [f"<p>{escape(said.rstrip())}</p>"]


def _heatmap(panel: Panel) -> str:
    words, values = panel.words, panel.numbers["values"]
    return _matrix("heatmap", words, words["rows"], words["columns"], values, panel.numbers.get("mask"))


def _bars(panel: Panel) -> str:
    """One number a row, behind the parts that it is the sum of, where it has any."""
    words, values = panel.words, panel.numbers["values"][:, None]
    mask = panel.numbers["mask"][:, None] if "mask" in panel.numbers else None
    if "parts" not in panel.numbers:
        return _matrix("bars", words, words["labels"], [], values, mask)
    columns = [*words["parts_names"], "sum"]
    table = np.concatenate([panel.numbers["parts"], values], axis=1)
    return _matrix("bars", words, words["labels"], columns, table, None)


def _tokens(panel: Panel) -> str:
    """The weights, averaged over the heads."""
    words, values = panel.words, panel.numbers["values"]
    note = f" (mean of {len(values)} heads)" if len(values) > 1 else ""
    words = words | {"caption": words["caption"] + note}
    return _matrix("tokens", words, words["queries"], words["keys"], values.mean(axis=0), panel.numbers.get("mask"))


def _graph(panel: Panel) -> str:
    """The weights, and in words what is joined."""
    words, (queries, keys) = panel.words, names_of(panel.words["drawing"])
    names = words["drawing"]["names"]
    joined = ", ".join(f"{names[start]}{LINES[lines]}{names[end]}" for start, end, lines in words["drawing"]["edges"])
    words = words | {"caption": "; ".join(filter(None, [words["caption"], joined]))}
    values = panel.numbers["values"][: len(queries), : len(keys)]
    return _matrix("graph", words, queries, keys, values, None)


def _matrix(kind: str, words: dict[str, Any], sides: list[str], tops: list[str], values, mask) -> str:
    mask = np.ones(values.shape, dtype=bool) if mask is None else mask
    heads = "".join(f'<th scope="col">{escape(label)}</th>' for label in tops)
    lines = [f"<tr><td></td>{heads}</tr>"] if heads else []
    for side, row, visible in zip(sides, values, mask, strict=True):
        cells = "".join(_cell(value, see, words["digits"]) for value, see in zip(row, visible, strict=True))
        lines.append(f'<tr><th scope="row">{escape(side)}</th>{cells}</tr>')
    return _wrap(kind, words["caption"], lines)


def _cell(value: float, visible: bool, digits: int | None) -> str:
    exact = _exact(value)
    written = np.isfinite(value) and digits is not None
    shown = f"{value:.{digits}f}".replace("-", "−") if written else _shown(value)
    return f'<td data-value="{exact}">{shown}</td>' if visible else f'<td data-value="{exact}" data-masked></td>'


def _curves(panel: Panel) -> str:
    """Lines as a table of at most so many rows, evenly spaced; moments and points that are alone in the caption."""
    x = panel.numbers["x"]
    lines_of = [panel.numbers[f"line_{index}"] for index in range(len(panel.words["names"]))]
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_ROWS)).round().astype(int)) if len(x) else []
    lines = [_heads(panel.words["axes"][0], *panel.words["names"])]
    lines += [_row(_shown(x[index]), [line[index] for line in lines_of]) for index in kept]
    note = f" ({len(kept)} of {len(x)} places)" if len(kept) < len(x) else ""
    return _wrap("curves", panel.words["caption"] + note + _marks(panel), lines)


def _marks(panel: Panel) -> str:
    """Where the moments, and the points that are alone, stand."""
    words, numbers = panel.words, panel.numbers
    marks = [
        f"{name} at {_shown(x)}" for name, x in zip(words["moment_names"], numbers.get("moments", []), strict=True)
    ]
    for index, name in enumerate(words["point_names"]):
        x, y = numbers[f"points_x_{index}"], numbers[f"points_y_{index}"]
        marks += [f"{name} at {_shown(x[0])}, {_shown(y[0])}"] if len(x) == 1 else []
    return f"; {', '.join(marks)}" if marks else ""


def _plane(panel: Panel) -> str:
    """Each vector and each point that is alone, with its two numbers, and the strengths of what is joined."""
    words, numbers = panel.words, panel.numbers
    lines = [_heads("", *words["axes"])]
    lines += [_row(name, tip) for name, tip in zip(words["names"], numbers["vectors"], strict=True)]
    for index, name in enumerate(words["point_names"]):
        spots = numbers[f"points_{index}"]
        lines += [_row(name, spots[0])] if len(spots) == 1 else []
    joined = [
        f"{start} to {end} {', '.join(_shown(weight) for weight in numbers[f'joins_{index}'])}"
        for index, (start, end) in enumerate(words["join_names"])
    ]
    note = f"; joined: {'; '.join(joined)}" if joined else ""
    return _wrap("plane", words["caption"] + note, lines)


def _diagram(panel: Panel) -> str:
    words = panel.words
    return f"<p>{escape(' '.join(filter(None, [words['caption'], words['alt']])))}</p>"


def _flow(panel: Panel) -> str:
    """A table for each station."""
    numbers = panel.numbers
    return f"<p>{escape(panel.words['caption'])}</p>\n" + "\n".join(
        _matrix(
            "flow",
            station | {"caption": " = ".join(filter(None, [station["name"], station["operation"]]))},
            station["rows"],
            station["columns"],
            numbers[f"{index}_values"],
            numbers.get(f"{index}_mask"),
        )
        for index, station in enumerate(panel.words["stations"])
    )


PLAIN = {
    "heatmap": _heatmap,
    "bars": _bars,
    "curves": _curves,
    "tokens": _tokens,
    "plane": _plane,
    "diagram": _diagram,
    "flow": _flow,
    "graph": _graph,
}


def _heads(*names: str) -> str:
    return "<tr>" + "".join(f'<th scope="col">{escape(name)}</th>' for name in names) + "</tr>"


def _row(name: str, values) -> str:
    cells = "".join(f"<td>{_shown(value)}</td>" for value in values)
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _exact(value: float) -> str:
    """A number as a script reads it."""
    if np.isfinite(value):
        return f"{value:.6g}"
    return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _shown(value: float) -> str:
    """A number as a reader reads it."""
    if np.isfinite(value):
        return f"{value:.4g}".replace("-", "−")
    return "NaN" if np.isnan(value) else "∞" if value > 0 else "−∞"


def _wrap(kind: str, caption: str, lines: list[str]) -> str:
    return f'<table class="{kind} plain"><caption>{escape(caption)}</caption>\n' + "\n".join(lines) + "</table>"
