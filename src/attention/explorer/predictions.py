"""A question before a figure: the reader commits to an answer, then sees; the answer is computed from the figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention.explorer.panels import Panel


@dataclass(frozen=True)
class Prediction:
    """A question about one panel in one state; made by :func:`choice`, :func:`cell` or :func:`marker`."""

    question: str
    kind: str
    answer: Callable[[Panel], Any]
    at: dict[str, Any]
    panel: int = 0
    options: tuple[str, ...] = ()
    row: int = 0

    def payload(self, panels: list[Panel], state: dict[str, Any], limits: Sequence[float] | None) -> dict[str, Any]:
        """The question as the front end reads it, with the answer that these panels, those of ``state``, give."""
        panel = panels[self.panel]
        answer = self.answer(panel)
        shared = {"question": self.question, "kind": self.kind, "panel": self.panel, "state": state, "answer": answer}
        if self.kind == "option":
            rows = panel.words.get("labels") or panel.words.get("rows")
            return {**shared, "options": list(self.options), "rows": rows, "said": answer}
        if self.kind == "marker":
            digits = panel.words["digits"]
            return {**shared, "row": self.row, "limits": list(limits), "said": f"{answer:.{digits}f}".replace("-", "−")}
        names = _cell_names(panel)
        return {**shared, "cells": names, "said": names[answer[0]][answer[1]]}


def choice(
    question: str,
    options: Sequence[str],
    answer: Callable[[Panel], str | int],
    *,
    panel: int = 0,
    at: dict[str, Any] | None = None,
) -> Prediction:
    """Ask for one of some options.

    Args:
        question: one sentence.
        options: what can be chosen, two or more, all different.
        answer: from the panel to the right option, or its index: computed, not typed in.
        panel: the number of the panel that it is about, from 0.
        at: the state that the question is about; where the explorer begins when not given.

    Raises:
        TypeError: an answer that is not a function.
        ValueError: fewer than two options, or two that are the same.
    """
    options = tuple(map(str, options))
    if len(set(options)) < max(len(options), 2):
        raise ValueError(f"options must be two or more, all different, found {', '.join(options)}")
    if not callable(answer):
        raise TypeError(f"answer must be a function of the panel, found {type(answer).__name__}")

    def named(shown: Panel) -> str:
        found = answer(shown)
        found = options[int(found)] if not isinstance(found, str) else found
        if found not in options:
            raise ValueError(f"answer must be one of {', '.join(options)}, found {found!r}")
        return found

    return Prediction(question, "option", named, dict(at or {}), panel, options)


def cell(question: str, *, panel: int = 0, at: dict[str, Any] | None = None) -> Prediction:
    """Ask for the cell of a heatmap, or the bar, with the largest number.

    Args:
        question: one sentence.
        panel: the number of the heatmap or the bars that it is about, from 0.
        at: the state that the question is about; where the explorer begins when not given.
    """

    def largest(shown: Panel) -> list[int]:
        values = np.where(shown.numbers.get("mask", True), shown.numbers["values"], -np.inf)
        values = values if values.ndim == 2 else values[:, None]
        return [int(index) for index in np.unravel_index(np.nanargmax(values), values.shape)]

    return Prediction(question, "cell", largest, dict(at or {}), panel)


def marker(question: str, *, bar: int = 0, panel: int = 0, at: dict[str, Any] | None = None) -> Prediction:
    """Ask how long a bar is: the reader sets a marker on its track.

    Args:
        question: one sentence.
        bar: the number of the bar, from 0.
        panel: the number of the bars that it is about, from 0.
        at: the state that the question is about; where the explorer begins when not given.
    """

    def length(shown: Panel) -> float:
        return float(f"{shown.numbers['values'][bar]:.6g}")

    return Prediction(question, "marker", length, dict(at or {}), panel, row=bar)


def check_prediction(prediction: Prediction, states: list[list[Panel]]) -> None:
    """Raise unless the prediction is about a panel that there is, and its answer depends on a control."""
    if not isinstance(prediction, Prediction):
        raise TypeError(f"predict must be a choice, a cell or a marker, found {type(prediction).__name__}")
    kinds = {"option": None, "cell": ("heatmap", "bars"), "marker": ("bars",)}[prediction.kind]
    count = len(states[0])
    if not 0 <= prediction.panel < count:
        raise ValueError(f"predict is about panel {prediction.panel}; there are {count}, counted from 0")
    kind = states[0][prediction.panel].kind
    if kinds and kind not in kinds:
        raise ValueError(f"predict asks for a {prediction.kind}: its panel must be {' or '.join(kinds)}, found {kind}")
    if prediction.kind == "marker" and not 0 <= prediction.row < len(states[0][prediction.panel].words["labels"]):
        raise ValueError(f"predict is about bar {prediction.row}, which there is not")
    answers = [prediction.answer(panels[prediction.panel]) for panels in states]
    if all(answer == answers[0] for answer in answers):
        raise ValueError(f"predict has the answer {answers[0]!r} in every state: it must depend on a control")


def _cell_names(panel: Panel) -> list[list[str]]:
    if panel.kind == "bars":
        return [[label] for label in panel.words["labels"]]
    return [[f"{row} → {column}" for column in panel.words["columns"]] for row in panel.words["rows"]]
