"""A question before a figure: the reader commits to an answer, then sees; the answer is computed from the figure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention.explorer.panels import Panel


@dataclass(frozen=True)
class Prediction:
    """A question about one panel in one state; made by :func:`choice` or :func:`sketch`."""

    question: str
    kind: str
    answer: Callable[[Panel], Any]
    tell: Callable[[Panel, Any, dict[str, Any]], dict[str, Any]]  # what else this kind of question needs
    at: dict[str, Any]
    panel: int
    because: str
    line: str = ""  # that is to be drawn, or tells the answer
    before: dict[str, Any] | None = None

    def payload(self, panel: Panel, state: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
        """The question as the front end reads it, with the answer of its panel in ``state``, packed in ``fields``."""
        answer = self.answer(panel)
        asked = {"question": self.question, "kind": self.kind, "panel": self.panel, "state": state}
        return asked | {"answer": answer, "because": self.because} | self.tell(panel, answer, fields)


def choice(
    question: str,
    options: Sequence[str],
    answer: Callable[[Panel], str | int],
    *,
    because: str = "",
    panel: int = 0,
    at: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    line: str = "",
) -> Prediction:
    """Ask for one of some options.

    Args:
        question: one sentence.
        options: what can be chosen, two or more, all different.
        answer: from the panel to the right option, or its index: computed, not typed in.
        because: why it is so, one whole sentence; it follows the answer.
        panel: the number of the panel that it is about, from 0.
        at: the state that the question is about; where the explorer begins when not given.
        before: for a question about a change, the state that it starts from, with some controls or all: it is asked
            there, and after the answer that state stays in sight as if it were pinned. Controls that it does not name
            stand as in ``at``.
        line: the name of a line that tells the answer; the other lines are drawn from the start.

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

    def tell(_, answer: str, __) -> dict[str, Any]:
        told = {"options": list(options), "said": f"The answer is “{answer}”."}
        return told | ({"line": line} if line else {})

    return Prediction(question, "option", named, tell, dict(at or {}), panel, because, line, before)


def sketch(
    question: str, line: str, *, because: str = "", panel: int = 0, at: dict[str, Any] | None = None
) -> Prediction:
    """Ask how a line goes: the reader draws it over the horizontal axis.

    Args:
        question: one sentence.
        line: the name of the line.
        because: as :func:`choice`'s.
        panel: the number of the curves that it is about, from 0.
        at: the state that the question is about; where the explorer begins when not given.
    """

    def heights(shown: Panel) -> list[float | None]:
        y = shown.numbers[f"line_{shown.words['names'].index(line)}"]
        return [float(f"{value:.4g}") if np.isfinite(value) else None for value in y]

    def tell(shown: Panel, answer: list[float | None], fields) -> dict[str, Any]:
        low, high = limits = shown.words["limits"] or fields["limits"]["items"][0]
        x = [float(f"{place:.6g}") for place in shown.numbers["x"]]
        axis = shown.words["axes"][0] or "x"
        known = [index for index, y in enumerate(answer) if y is not None]
        digits = max(0, math.ceil(2 - math.log10(high - low)))  # a hundredth of the axis
        ends = [f"{answer[index]:.{digits}f} at {axis} = {x[index]:.3g}" for index in (known[0], known[-1])]
        said = f"It goes from {' to '.join(ends)}.".replace("-", "−")
        return {"line": line, "x": x, "axis": axis, "limits": list(limits), "digits": digits, "said": said}

    return Prediction(question, "sketch", heights, tell, dict(at or {}), panel, because, line)


def check_prediction(prediction: Prediction, states: list[list[Panel]]) -> None:
    """Raise unless the prediction is about something that there is, and its answer depends on a control."""
    if not isinstance(prediction, Prediction):
        raise TypeError(f"predict must be a choice or a sketch, found {type(prediction).__name__}")
    kind, count = prediction.kind, len(states[0])
    if not 0 <= prediction.panel < count:
        raise ValueError(f"predict is about panel {prediction.panel}; there are {count}, counted from 0")
    panel = states[0][prediction.panel]
    if kind not in ("option", *panel.guesses):
        raise ValueError(f"predict asks for a {kind}, which nobody can draw in {panel.kind}")
    if kind == "sketch":
        if prediction.line not in panel.words["names"]:
            known = ", ".join(panel.words["names"]) or "none"
            raise ValueError(f"predict is about the line {prediction.line!r}; there is {known}")
        return  # a line may stand still: it is hidden, whatever the controls
    answers = [prediction.answer(panels[prediction.panel]) for panels in states]
    if all(answer == answers[0] for answer in answers):
        raise ValueError(f"predict has the answer {answers[0]!r} in every state: it must depend on a control")
