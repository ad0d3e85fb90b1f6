"""Every explorer of every page: each slider moves its panels, and what they show is what the package computes."""

import contextlib
import io

import nbformat
import numpy as np
import pytest

from attention import explorer as package
from attention.explorer.controls import make_control
from attention.explorer.states import as_panels
from conftest import PAGES, ROOT

SMALLEST = np.finfo(np.float32).tiny  # below it float32 keeps fewer digits

NOTEBOOKS = [name for name in PAGES if (ROOT / name).with_suffix(".ipynb").exists()]

SHOWN = """(element) => JSON.stringify(
    [...element.querySelectorAll('[data-value], path.line, path.points, caption, figcaption')].map((part) =>
    [part.dataset.value ?? part.textContent, part.hasAttribute('data-masked'), part.getAttribute('d')]))"""
STATE = """(element) => Object.fromEntries([...element.querySelectorAll('.control')].map((control) => {
    const input = control.querySelector('input, select');
    const name = control.querySelector('.name').textContent;
    if (input.type === 'checkbox') return [name, input.checked ? 'on' : 'off'];
    if (input.type === 'text') return [name, input.value];
    return [name, input.type === 'range' ? input.getAttribute('aria-valuetext') : input.selectedOptions[0].text];
}))"""
NUMBERS = """(element) => [...element.querySelectorAll('.panel')].map((panel) =>
    [...panel.querySelectorAll('[data-value]')].map((cell) => cell.dataset.value))"""


def explorers(name: str, monkeypatch) -> list[tuple]:
    """Run a notebook's code here, and keep what it passes to ``explore``."""
    calls = []
    monkeypatch.setattr(package, "explore", lambda function, /, **controls: calls.append((function, controls)))
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    notebook = nbformat.read((ROOT / name).with_suffix(".ipynb"), as_version=4)
    namespace = {"__name__": "notebook"}
    for cell in [cell for cell in notebook.cells if cell.cell_type == "code"][1:]:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(cell.source, namespace)
    return calls


def computed(function, controls: dict, state: dict[str, str]) -> list[np.ndarray]:
    """The panels' numbers in a state that is given by the labels a reader sees."""
    values = {}
    for name, given in controls.items():
        control = make_control(name, given, None)
        values[name] = control.values[control.labels.index(state[control.label])]
    return [
        panel.numbers["values"].ravel() if "values" in panel.numbers else [] for panel in as_panels(function(**values))
    ]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_explorers_move_and_show_what_the_package_computes(visit, origins, name, monkeypatch):
    calls = explorers(name, monkeypatch)
    elements = visit(f"{origins['disk']}/{name}").page.locator("attention-explorer").all()
    assert len(elements) == len(calls) > 0
    for element, (function, controls) in zip(elements, calls, strict=True):
        sliders = element.locator("input[type=range]").all()
        for slider in [None, *sliders]:
            if slider:
                before = element.evaluate(SHOWN)
                slider.focus()
                at_end = slider.evaluate("(input) => Number(input.value) >= Number(input.max)")
                slider.press("ArrowLeft" if at_end else "ArrowRight")
                assert element.evaluate(SHOWN) != before, slider.evaluate("(input) => input.labels[0].textContent")
            shown = element.evaluate(NUMBERS)
            for found, expected in zip(shown, computed(function, controls, element.evaluate(STATE)), strict=True):
                np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=1e-6, atol=SMALLEST)
