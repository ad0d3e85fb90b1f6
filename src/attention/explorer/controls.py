"""Controls: what ``interact`` takes, as a finite list of values, or a text that only a kernel can read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import ipywidgets
from ipywidgets.widgets.widget_selection import _Selection
from traitlets import TraitError

SUPPORTED = (
    "(min, max[, step]), a list or dict of options, a bool, a str, or an ipywidgets slider, dropdown, row of buttons, "
    "checkbox or text box"
)


@dataclass(frozen=True)
class Control:
    """One control of an explorer.

    ``values`` is what the function gets, ``states`` what JSON and the reader's ``state`` hold, ``labels`` what is read;
    the three run in parallel. A text control has one of each, or the options that it offers. ``look`` is
    ``"buttons"`` where options are drawn as a row of buttons.
    """

    name: str
    label: str
    kind: str
    values: tuple[Any, ...]
    states: tuple[Any, ...]
    labels: tuple[str, ...]
    initial: int = 0
    range: tuple[float, float, float] | None = None
    look: str = ""

    def position(self, state: Any) -> int:
        """Where a state stands among the control's own; numbers may be off by a rounding."""
        gaps = [_gap(known, state) for known in self.states]
        nearest = gaps.index(min(gaps))
        if gaps[nearest] < 1e-9:
            return nearest
        shown = ", ".join(self.labels if len(self.labels) < 8 else (*self.labels[:3], "…", *self.labels[-2:]))
        raise ValueError(f"{self.name} has no state {state!r}; it has {shown}")

    def read(self, state: Any) -> Any:
        """A state as the control has it: its own number for a nearby one; any text of a text box."""
        return str(state) if self.kind == "text" else self.states[self.position(state)]

    def payload(self) -> dict[str, Any]:
        """The control as the front end reads it."""
        fields = ("name", "label", "kind", "states", "labels", "initial")
        said = {name: list(found) if isinstance(found := getattr(self, name), tuple) else found for name in fields}
        bounds = dict(zip(("min", "max", "step"), self.range or (), strict=False))
        look = {"look": self.look} if self.look else {}
        return said | bounds | look


def make_control(name: str, abbreviation: Any, default: Any) -> Control:
    """Turn one of ``interact``'s abbreviations, or an ipywidget, into a control that begins at the default, if it can.

    Raises:
        TypeError: nothing a control can be made of.
        ValueError: a range that is not finite or goes back, a list without options or with two that are the same.
    """
    if isinstance(abbreviation, ipywidgets.Widget):
        return _from_widget(name, abbreviation)
    if isinstance(abbreviation, (list, dict)):
        return _options(name, abbreviation, default)
    try:
        widget = ipywidgets.interactive.widget_from_abbrev(abbreviation, default)
    except (ValueError, TraitError) as error:
        raise ValueError(f"{name}={abbreviation!r} makes no control: {error}") from error
    if widget is None:
        raise TypeError(f"{name}={abbreviation!r} makes no control; use {SUPPORTED}")
    control = _from_widget(name, widget)
    widget.close()
    return control


def _from_widget(name: str, widget: ipywidgets.Widget) -> Control:
    label = getattr(widget, "description", "") or name.replace("_", " ")
    if isinstance(widget, (ipywidgets.IntSlider, ipywidgets.FloatSlider, ipywidgets.FloatLogSlider)):
        return _slider(name, label, widget)
    if isinstance(widget, ipywidgets.Text):
        offered = getattr(widget, "options", ())
        texts = tuple(dict.fromkeys(offered if widget.value in offered else (widget.value, *offered)))
        return Control(name, label, "text", texts, texts, texts, texts.index(widget.value))
    if isinstance(widget, _Selection):
        return _selection(name, label, widget)
    if isinstance(widget, ipywidgets.Checkbox):
        return Control(name, label, "checkbox", (False, True), (False, True), ("off", "on"), int(widget.value))
    raise TypeError(f"{name}={type(widget).__name__}() makes no control; use {SUPPORTED}")


def _steps(name: str, low: float, high: float, step: float | None) -> list[float]:
    """The numbers from low to high, free of the noise of adding 0.1 again and again."""
    if not step or step <= 0:
        raise ValueError(f"{name} needs a step above 0, found {step}")
    if not all(map(math.isfinite, (low, high, step))):
        raise ValueError(f"{name} must be finite, found {low} to {high} in steps of {step}")
    count = math.floor((high - low) / step + 1e-9) + 1
    if count > 100_000:
        raise ValueError(f"{name} has {count:,} values: coarsen it")
    return [float(f"{Decimal(str(low)) + index * Decimal(str(step)):.12g}") for index in range(count)]


def _slider(name: str, label: str, slider: ipywidgets.Widget) -> Control:
    """A slider over numbers; the states of a logarithmic one are numbered on the page."""
    values = _steps(name, slider.min, slider.max, slider.step)
    bounds, digits = (slider.min, values[-1], slider.step), 6
    if isinstance(slider, ipywidgets.IntSlider):
        values = [int(value) for value in values]
    if isinstance(slider, ipywidgets.FloatLogSlider):
        values = [slider.base**exponent for exponent in values]
        bounds, digits = (0, len(values) - 1, 1), 3
    labels = tuple(f"{value:.{digits}g}" if isinstance(value, float) else str(value) for value in values)
    nearest = min(range(len(values)), key=lambda index: abs(values[index] - slider.value))
    return Control(name, label, "range", tuple(values), tuple(values), labels, nearest, bounds)


def _options(name: str, options: list | dict, default: Any) -> Control:
    """A dropdown from ``[value, …]``, ``[(label, value), …]`` or ``{label: value}``; a value may be a tensor."""
    if isinstance(options, dict):
        pairs = list(options.items())
    elif all(isinstance(option, tuple) and len(option) == 2 for option in options):
        pairs = options
    else:
        pairs = [(option, option) for option in options]
    labels, values = [str(label) for label, _ in pairs], [value for _, value in pairs]
    initial = next((i for i, value in enumerate(values) if value is default or (_plain(value) and value == default)), 0)
    return _choice(name, name.replace("_", " "), "select", labels, values, initial)


def _selection(name: str, label: str, widget: _Selection) -> Control:
    labels, values = zip(*widget._options_full, strict=True) if widget._options_full else ((), ())
    kind = "range" if isinstance(widget, ipywidgets.SelectionSlider) else "select"
    control = _choice(name, label, kind, labels, values, widget.index or 0)
    return replace(control, look="buttons") if isinstance(widget, ipywidgets.ToggleButtons) else control


def _choice(name: str, label: str, kind: str, labels: Sequence[str], values: Sequence, initial: int) -> Control:
    """A control over options; one that JSON cannot hold goes by its label."""
    if not values:
        raise ValueError(f"{name} has no options")
    states = tuple(value if _plain(value) else shown for shown, value in zip(labels, values, strict=True))
    if len({(_kind(state), state) for state in states}) < len(states) or len(set(labels)) < len(labels):
        raise ValueError(f"{name} has options that cannot be told apart: {', '.join(labels)}")
    bounds = (0, len(values) - 1, 1) if kind == "range" else None
    return Control(name, label, kind, tuple(values), states, tuple(labels), initial, bounds)


def _plain(value: Any) -> bool:
    """Whether JSON holds the value as it is."""
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))


def _kind(state: Any) -> type | None:
    """What JSON takes a state for: a text, a truth or a number, whole or not."""
    if not _plain(state):
        return None
    return str if isinstance(state, str) else bool if isinstance(state, bool) else float


def _gap(known: Any, state: Any) -> float:
    """How far a state is from a known one, as a part of its size; infinitely far where they only differ."""
    if _kind(known) is _kind(state) is float:
        return abs(known - state) / max(abs(state), 1e-3)
    return 0.0 if _kind(known) is _kind(state) and known == state else math.inf
