"""``explore``: a function and its controls, alive in a static page and in a notebook."""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from attention.explorer.controls import Control, make_control
from attention.explorer.page import page
from attention.explorer.panels import Panel
from attention.explorer.predictions import Prediction, check_prediction
from attention.explorer.states import as_panels, compute, pack
from attention.explorer.widget import ExplorerWidget


def explore(
    function: Callable,
    /,
    *,
    title: str = "",
    name: str = "",
    predict: Prediction | None = None,
    print: dict[str, Any] | Sequence[dict[str, Any]] = (),
    **controls: Any,
) -> "Explorer":
    """Show what a function returns, with a control for each of its arguments.

    Reads like ``ipywidgets.interact``. The function is called in every state of the controls at once, so the result
    moves where no kernel runs; only a text box waits for a running notebook. Without controls it is a figure.

    Args:
        function: returns a panel (a :func:`heatmap`, :func:`bars`, …), or a list of them, of the same kinds and shapes
            in every state. A list within the list is a group of small multiples: they stand side by side, small, and
            share their scales.
        title: a few plain words that say what is seen; the book puts the figure's number before it.
        name: lower-case letters, digits and hyphens: a link ``#name?control=label`` sets these controls, in the page
            and from outside.
        predict: a question that is answered before the figure is seen: a :func:`choice` or a
            :func:`sketch`.
        print: the state that the printed book shows, or a list of them, each with some controls or all; the one that
            the controls begin at when not given.
        **controls: for each argument ``(min, max[, step])``, a list or dict of options, a bool, a str, or an
            ipywidget: FloatSlider, FloatLogSlider, IntSlider, SelectionSlider, Dropdown, Checkbox, Text, Combobox, ….
            ToggleButtons are a list whose few options are drawn as large buttons.
            A control begins at the function's own default, else where ``interact`` would. A Combobox is a text box
            whose options are computed beforehand, so that a static page offers them.

    Returns:
        an :class:`Explorer`; as the last line of a cell, it shows itself.

    Raises:
        TypeError: a control for an argument that the function lacks, an argument without a control or default,
            something that is not a control, a title that is not a text, or a state for print that is not a dict.
        ValueError: an empty range, too many states or too much data (with the control to coarsen), a panel whose
            shape changes from state to state, labels that repeat on an axis that panels share, a handle without its
            controls, a prediction whose answer is the same in every state, a state for print that does not exist, or a
            name that no link can have.

    >>> explore(lambda temperature: bars([temperature, 1.0]), temperature=(1, 3)).state
    {'temperature': 2}
    """
    if not isinstance(title, str):
        raise TypeError(f"title must be a text, found {title!r}")
    if name and not re.fullmatch("[a-z][a-z0-9-]*", name):
        raise ValueError(f"name must be lower-case letters, digits and hyphens, a letter first, found {name!r}")
    defaults = {argument.name: argument.default for argument in inspect.signature(function).parameters.values()}
    made = [make_control(name, given, defaults.get(name, inspect.Parameter.empty)) for name, given in controls.items()]
    states = [*print] if isinstance(print, (list, tuple)) else [print]
    headed = {key: text for key, text in (("title", title), ("name", name)) if text}
    return Explorer(function, made, headed, predict, states)


class Explorer:
    """A figure with controls; see :func:`explore`, which makes it."""

    def __init__(
        self,
        function: Callable,
        controls: list[Control],
        headed: dict[str, str],
        predict: Prediction | None,
        printed: list[dict],
    ):
        self._function = function
        self._offered = {control.name: control for control in controls}
        self._controls = self._offered  # until a text that was not offered takes the place of those that were
        self._headed = headed
        self._predict = predict
        self._printed = [self._whole(state) for state in printed]
        self._widget = ExplorerWidget(self._checked, payload=self._payload(), state=self._beginning())
        self._widget.observe(self._compute, names="state")

    @property
    def widget(self) -> ExplorerWidget:
        """The live anywidget, for layouts of one's own."""
        return self._widget

    @property
    def state(self) -> dict[str, Any]:
        """What the controls stand at, by name; an option that JSON cannot hold goes by its label.

        Set it, with all of the controls or some, to move them; a ``ValueError`` names a state that does not exist.
        """
        return dict(self._widget.state)

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._widget.state = state

    def observe(self, callback: Callable) -> None:
        """Call ``callback(change)`` whenever the state changes; ``change.new`` is the new state."""
        self._widget.observe(callback, names="state")

    def _checked(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state, whole or in part, with each value as its control has it; raise where there is no such thing."""
        unknown = [name for name in state if name not in self._controls]
        if unknown:
            raise ValueError(f"there is no control {unknown[0]!r}; there is {', '.join(self._controls)}")
        return {name: control.read(state[name]) for name, control in self._controls.items() if name in state}

    def _beginning(self) -> dict[str, Any]:
        """Where the controls begin."""
        return {control.name: control.states[control.initial] for control in self._controls.values()}

    def _whole(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state that was computed, with the controls that it does not name where they begin."""
        if not isinstance(state, dict):
            raise TypeError(f"print must be a dict, control → value, or a list of them, found {state!r}")
        whole = self._beginning() | self._checked(state)
        for name, value in whole.items():
            self._controls[name].position(value)  # raises, also for a text that was not offered
        return whole

    def _compute(self, change: dict[str, Any]) -> None:
        """Compute all states anew for a text that none has; what goes wrong is shown, and the old figure stays."""
        before = self._controls
        self._controls = {name: _with_text(control, change["new"][name]) for name, control in self._offered.items()}
        self._widget.error = ""
        if self._controls == before:
            return
        try:
            self._widget.payload = self._payload()
        except Exception as error:
            self._controls = before
            self._widget.error = f"{type(error).__name__}: {error}"

    def _payload(self) -> dict[str, Any]:
        controls = list(self._controls.values())
        states = compute(self._function, controls)
        _check_sets(states[0], controls)
        printed = {"print": self._printed} if self._printed and self._controls == self._offered else {}
        packed = pack(states, controls)
        return {
            **self._headed,
            "controls": [control.payload() for control in controls],
            "panels": packed,
            **self._question(states, packed),
            **printed,
        }

    def _question(self, states: list[list[Panel]], packed: list[dict[str, Any]]) -> dict[str, Any]:
        """The prediction as the front end reads it, if there is one."""
        if self._predict is None:
            return {}
        check_prediction(self._predict, states)
        state = self._beginning() | self._checked(self._predict.at)
        place = 0
        for name, control in self._controls.items():
            place = place * len(control.values) + control.position(state[name])
        asked_about = states[place][self._predict.panel]
        asked = self._predict.payload(asked_about, state, packed[self._predict.panel]["fields"])
        before = {"before": state | self._checked(self._predict.before)} if self._predict.before else {}
        return {"predict": asked | before}

    def _page(self) -> str:
        """The static form, which opens in the present state."""
        controls = [replace(control, initial=self._place(control)) for control in self._controls.values()]
        panels = as_panels(self._function(**{control.name: control.values[control.initial] for control in controls}))
        return page(self._widget.payload | {"controls": [control.payload() for control in controls]}, panels)

    def _place(self, control: Control) -> int:
        """Where a control stands; a text that could not be computed has no place, and the old figure stays."""
        state = self.state[control.name]
        if control.kind == "text" and state not in control.states:
            return control.initial
        return control.position(state)

    def _repr_mimebundle_(self, **_) -> dict[str, Any]:
        # A wrapper, not a widget: ipywidgets 7, which Colab has, ignores a widget's own bundle.
        view = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        return {"application/vnd.jupyter.widget-view+json": view, "text/html": self._page(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        controls = self._controls.values()
        said = [f"{each.name}={each.labels[each.initial]} of {len(each.labels)}" for each in controls]
        return f"Explorer({', '.join(said)})"


def _with_text(control: Control, text: Any) -> Control:
    """The control, or where it is one of texts and lacks this one, one that has it alone."""
    if control.kind != "text" or text in control.states:
        return control
    return replace(control, values=(text,), states=(text,), labels=(text,), initial=0)


def _check_sets(panels: list[Panel], controls: list[Control]) -> None:
    """Raise where a hand would set a control that there is not, or that has too few states."""
    sizes = {control.name: len(control.values) for control in controls}
    for panel in panels:
        for name, count in panel.sets():
            if name and sizes.get(name, 0) < count:
                found = sizes.get(name, f"none; there is {', '.join(sizes) or 'no control'}")
                raise ValueError(f"{panel.kind} sets the control {name!r}, to one of {count} states, found {found}")
