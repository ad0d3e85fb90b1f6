"""An explorer in a page, moved: what it shows, and what its notebook computed."""

import numpy as np
from playwright.sync_api import Locator

from payloads import unpack

SMALLEST = np.finfo(np.float32).tiny  # below it float32 keeps fewer digits
SHOWN = """(element) => JSON.stringify([...element.querySelectorAll(
    '[data-value], path.line, path.points, path.arrow, .diagram text, caption, figcaption')].map((part) =>
    [part.dataset.value ?? part.textContent, part.hasAttribute('data-masked'), part.getAttribute('d')]))"""
STATE = """(element) => Object.fromEntries([...element.querySelectorAll('.control')].map((control) => {
    const input = control.querySelector('input, select');
    const name = control.querySelector('.name').textContent;
    if (input.type === 'checkbox') return [name, input.checked ? 'on' : 'off'];
    if (input.type === 'text') return [name, input.value];
    return [name, input.type === 'range' ? input.getAttribute('aria-valuetext') : input.selectedOptions[0].text];
}))"""
NUMBERS = """(element) => [...element.querySelectorAll('.panel-heatmap, .panel-bars')].map((panel) =>
    [...panel.querySelectorAll('[data-value]')].map((cell) => cell.dataset.value))"""
READ = f"(element) => [({STATE})(element), ({NUMBERS})(element)]"


def move_and_compare(explorer: Locator, payload: dict) -> None:
    """Move each slider by a step with the keyboard, and compare what is shown with the payload."""
    compare(explorer.evaluate(READ), payload)
    for slider in explorer.locator(".controls input[type=range]").all():
        before = explorer.evaluate(SHOWN)
        slider.focus()
        at_end = slider.evaluate("(input) => Number(input.value) >= Number(input.max)")
        slider.press("ArrowLeft" if at_end else "ArrowRight")
        assert explorer.evaluate(SHOWN) != before, slider.evaluate("(input) => input.labels[0].textContent")
        compare(explorer.evaluate(READ), payload)


def compare(read: list, payload: dict) -> None:
    """Compare the maps and bars that ``READ`` found in the page with those of the payload in the same state."""
    state, panels = read
    for found, numbers in zip(panels, computed(payload, state), strict=True):
        np.testing.assert_allclose(np.array(found, dtype=float), numbers, rtol=1e-6, atol=SMALLEST)


def computed(payload: dict, state: dict[str, str]) -> list[np.ndarray]:
    """The numbers of maps and bars in a state that is given by the labels a reader sees."""
    controls = payload["controls"]
    counts = [len(control["states"]) for control in controls]
    places = [control["labels"].index(state[control["label"]]) for control in controls]
    panels = [panel for panel in payload["panels"] if panel["kind"] in ("heatmap", "bars")]
    return [unpack(panel["fields"]["values"], counts, places).ravel() for panel in panels]
