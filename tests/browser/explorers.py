"""An explorer in a page, moved: what it shows, and what its notebook computed."""

import numpy as np
from playwright.sync_api import Locator

from payloads import unpack

SMALLEST = np.finfo(np.float32).tiny  # below it float32 keeps fewer digits
SHOWN = """(element) => JSON.stringify([...element.querySelectorAll(
    '[data-value], .station, path.line, path.points, path.arrow, .bead, .diagram :is(g, text), caption, figcaption')
    ].map((part) =>
    [part.closest('[class]').className.baseVal, part.dataset.value ?? part.dataset.when ?? part.textContent,
     'masked' in part.dataset, part.getAttribute('d'), part.getAttribute('cx')]))"""
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


LIFT_AND_READ = f"""(element) => {{
    element.querySelector('.choices .quiet')?.click();
    return ({READ})(element);
}}"""
# Each slider takes the focus in its turn; of what is shown then only a change matters.
TAKE = f"""(element, number) => {{
    const slider = element.querySelectorAll('.control input[type=range]')[number];
    if (!slider) return null;
    slider.focus();
    window.shownBefore = ({SHOWN})(element);
    const isAtEnd = Number(slider.value) >= Number(slider.max);
    return [slider.labels[0].textContent, isAtEnd ? 'Home' : 'ArrowRight', ({STATE})(element)];
}}"""
READ_AGAIN = f"(element) => [({READ})(element), ({SHOWN})(element) === window.shownBefore]"


def move_and_compare(explorer: Locator, payload: dict) -> None:
    """Move each slider with the keyboard, and compare what is shown with the payload; first lift the veil.

    It goes by a step, or from its end to its beginning.
    """
    explorer = explorer.element_handle()
    compare(explorer.evaluate(LIFT_AND_READ), payload)
    number = 0
    while taken := explorer.evaluate(TAKE, number):
        label, key, stood = taken
        explorer.owner_frame().page.keyboard.press(key)
        read, is_same = explorer.evaluate(READ_AGAIN)
        compare(read, payload)
        if is_same:  # as it must be where nothing changes: a softmax under a shift
            pairs = zip(computed(payload, stood), computed(payload, read[0]), strict=True)
            equal = [np.array_equal(one, other, equal_nan=True) for one, other in pairs]
            assert all(equal) if equal else is_drawn_alike(payload, stood, read[0]), label
        number += 1


def compare(read: list, payload: dict) -> None:
    """Compare the maps and bars that ``READ`` found in the page with those of the payload in the same state."""
    state, panels = read
    for found, numbers in zip(panels, computed(payload, state), strict=True):
        np.testing.assert_allclose(np.array(found, dtype=float), numbers, rtol=1e-6, atol=SMALLEST)


def computed(payload: dict, state: dict[str, str]) -> list[np.ndarray]:
    """The numbers of maps and bars in a state that is given by the labels a reader sees."""
    panels = [panel for panel in payload["panels"] if panel["kind"] in ("heatmap", "bars")]
    return [unpack(panel["fields"]["values"], *places(payload, state)).ravel() for panel in panels]


def is_drawn_alike(payload: dict, one: dict[str, str], other: dict[str, str]) -> bool:
    """Whether all that the panels draw is the same in two states."""
    fields = [field for panel in payload["panels"] for field in panel["fields"].values()]
    pairs = [[unpack(field, *places(payload, state)) for state in (one, other)] for field in fields]
    return all(np.array_equal(*pair, equal_nan=isinstance(pair[0], np.ndarray)) for pair in pairs)


def places(payload: dict, state: dict[str, str]) -> tuple[list[int], list[int]]:
    """How many states each control has, and which it is in."""
    controls = payload["controls"]
    return [len(each["states"]) for each in controls], [each["labels"].index(state[each["label"]]) for each in controls]


def drag(page, grip, to):
    """Take a handle by its middle and bring it to a place; nothing lies on what changes there."""
    box = grip.bounding_box()
    start = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*to(*start), steps=5)
    assert page.locator(".readout").inner_text() == ""
    page.mouse.up()


def swipe(page, start, end, steps=12):
    """Draw a finger from one place to another."""
    session = page.context.new_cdp_session(page)
    for part in range(steps + 1):
        x, y = (a + (b - a) * part / steps for a, b in zip(start, end, strict=True))
        kind = "touchMove" if part else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
