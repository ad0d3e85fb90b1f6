"""``explore``: a function and its controls, alive in a static page and in a notebook."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ipywidgets import fixed

from attention.explorer.controls import Control, make_control
from attention.explorer.page import page
from attention.explorer.states import as_panels, tabulate
from attention.explorer.widget import ExplorerWidget


def explore(function: Callable, /, **controls: Any) -> "Explorer":
    """Show what a function returns, with a control for each of its arguments.

    Reads like ``ipywidgets.interact``. The function is called in every state of the controls at once, so the result
    moves where no kernel runs; only a text box waits for a running notebook.

    Args:
        function: returns a :func:`heatmap`, :func:`bars` or :func:`curves`, or a list of them, of the same kinds and
            shapes in every state.
        **controls: for each argument ``(min, max[, step])``, a list or dict of options, a bool, a str, or an
            ipywidget: FloatSlider, FloatLogSlider, IntSlider, SelectionSlider, Dropdown, Checkbox, Text, ….
            A control begins at the function's own default, else where ``interact`` would.

    Returns:
        an :class:`Explorer`; as the last line of a cell, it shows itself.

    Raises:
        TypeError: a control for an argument that the function lacks, an argument without a control or default, or
            something that is no control.
        ValueError: an empty range, too many states or too much data (with the control to coarsen), or a panel whose
            shape changes from state to state.

    >>> explore(lambda temperature: bars([temperature, 1.0]), temperature=(1, 3)).state
    {'temperature': 2}
    """
    constants = {name: given.value for name, given in controls.items() if isinstance(given, fixed)}
    controls = {name: given for name, given in controls.items() if name not in constants}
    defaults = _check_arguments(function, [*controls, *constants])
    made = [make_control(name, given, defaults[name]) for name, given in controls.items()]
    return Explorer(lambda **values: function(**constants, **values), made)


class Explorer:
    """A figure with controls; see :func:`explore`, which makes it."""

    def __init__(self, function: Callable, controls: list[Control]):
        self._function = function
        self._controls = {control.name: control for control in controls}
        self._texts = {control.name: control.states[0] for control in controls if control.kind == "text"}
        state = {control.name: control.states[control.initial] for control in controls}
        self._widget = ExplorerWidget(self._checked, payload=self._payload(), state=state)
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

    def _compute(self, change: dict[str, Any]) -> None:
        """Compute all states anew when a text has changed; what goes wrong is shown, and the old figure stays."""
        texts = {name: change["new"][name] for name in self._texts}
        if texts == self._texts:
            self._widget.error = ""
            return
        before, self._texts = self._texts, texts
        try:
            self._widget.payload = self._payload()
            self._widget.error = ""
        except Exception as error:
            self._texts = before
            self._widget.error = f"{type(error).__name__}: {error}"

    def _payload(self) -> dict[str, Any]:
        controls = self._controls.values()
        finite = [control for control in controls if control.kind != "text"]
        return {
            "controls": [control.payload() for control in controls],
            "panels": tabulate(self._function, finite, self._converted()),
        }

    def _converted(self) -> dict[str, Any]:
        return {name: self._controls[name].convert(text) for name, text in self._texts.items()}

    def _page(self) -> str:
        """The static form, which opens in the present state."""
        controls = [
            replace(control, states=(self._texts[name],))
            if control.kind == "text"
            else replace(control, initial=control.position(self.state[name]))
            for name, control in self._controls.items()
        ]
        payload = self._widget.payload | {"controls": [control.payload() for control in controls]}
        values = {control.name: control.values[control.initial] for control in controls} | self._converted()
        return page(payload, as_panels(self._function(**values)))

    def _repr_mimebundle_(self, **_) -> dict[str, Any]:
        # A wrapper, not a widget: ipywidgets 7, which Colab has, ignores a widget's own bundle.
        return {
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self._widget.model_id,
            },
            "text/html": self._page(),
            "text/plain": repr(self),
        }

    def __repr__(self) -> str:
        controls = ", ".join(
            f"{control.name}={control.labels[control.initial]} of {len(control.labels)}"
            for control in self._controls.values()
        )
        return f"Explorer({controls})"


def _check_arguments(function: Callable, names: list[str]) -> dict[str, Any]:
    """Raise unless each name is an argument of the function and no argument is left out; return the defaults."""
    arguments = inspect.signature(function).parameters.values()
    known = {argument.name: argument.default for argument in arguments if argument.kind in _BY_NAME}
    if any(argument.kind is argument.VAR_KEYWORD for argument in arguments):
        return {name: known.get(name, inspect.Parameter.empty) for name in names}
    for name in names:
        if name not in known:
            raise TypeError(f"the function has no argument {name!r}; it has {', '.join(known) or 'none'}")
    for name, default in known.items():
        if default is inspect.Parameter.empty and name not in names:
            raise TypeError(f"the function's argument {name!r} needs a control or a default")
    return known


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
