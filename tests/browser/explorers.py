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
    return [name, input.type === 'range' ? input.getAttribute('aria-valuetext') :
        input.selectedOptions[0].text.replace(/(?<=\\d),(?=\\d{3})/g, '')];
}))"""
NUMBERS = """(element) => [...element.querySelectorAll('.panel-heatmap, .panel-bars')].map((panel) =>
    [...panel.querySelectorAll('[data-value]')].map((cell) => cell.dataset.value))"""
READ = f"(element) => [({STATE})(element), ({NUMBERS})(element)]"

SHOW_ALL = "() => document.querySelectorAll('.choices .quiet').forEach((button) => button.click())"


def move_and_compare(explorer: Locator, payload: dict) -> None:
    """Move each slider with the keyboard, and compare what is shown with the payload; first lift the veil.

    It goes by a step, or from its end to its beginning. A slider that has no effect in the state that a question was
    about, and says so, stays.
    """
    explorer.evaluate("(element) => element.querySelector('.choices .quiet')?.click()")
    compare(explorer.evaluate(READ), payload)
    for slider in explorer.locator(".control:not([data-idle]) input[type=range]").all():
        before, (stood, _) = explorer.evaluate(SHOWN), explorer.evaluate(READ)
        slider.focus()
        at_end = slider.evaluate("(input) => Number(input.value) >= Number(input.max)")
        slider.press("Home" if at_end else "ArrowRight")
        read = explorer.evaluate(READ)
        compare(read, payload)
        if explorer.evaluate(SHOWN) == before:  # as it must be where nothing changes: a softmax under a shift
            pairs = zip(computed(payload, stood), computed(payload, read[0]), strict=True)
            equal = [np.array_equal(one, other, equal_nan=True) for one, other in pairs]
            assert equal, slider.evaluate("(input) => input.labels[0].textContent")
            assert all(equal), slider.evaluate("(input) => input.labels[0].textContent")


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
