"""Each page of the built book in a real browser, opened once in each of three windows.

A page is checked as it was loaded first, then its sliders are moved; what it asked for and complained of comes last.
"""

import nbformat
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import ROOT, every_page
from payloads import payloads, unpack

LIGHT = {"where": "disk", "theme": "light"}
DARK = {"where": "server", "theme": "dark"}
PHONE = {"where": "disk", "width": 360}

# The theme's own faults, which no option of it mends.
THEME_FAULTS: dict[str, str] = {}

# Axe would spend most of its time on words that look alike, and on the thousands of parts of code and formulas. It is
# shown the first of those that look alike; of code and formulas the others are no longer in the page.
LEAVE_OUT_REPEATED = """() => {
    const looks = new Map();
    const look = (part) => {
        if (part && !looks.has(part)) {
            const {color, backgroundColor, opacity, fontSize, fontWeight} = getComputedStyle(part);
            const own = [color, backgroundColor, opacity, fontSize, fontWeight].join();
            looks.set(part, own + look(part.parentElement));
        }
        return looks.get(part) ?? '';
    };
    const repeated = (parts, key) => {
        const seen = new Set();
        return [...parts].map((part) => [part, key(part)]).filter(([, key]) => seen.size === seen.add(key).size);
    };
    const all = (formula) => [...new Set([formula, ...formula.querySelectorAll('[style]')].map(look))].join();
    const formulas = repeated(document.querySelectorAll('mjx-container'), all);
    const words = repeated(document.querySelectorAll('pre span:not(:has(*)), code span, dt span:not(:has(*))'), look);
    for (const [formula] of formulas) formula.replaceWith('a formula');
    for (const [word] of words) word.replaceWith(word.textContent);
    for (const [part] of repeated(document.body.querySelectorAll('*'), look)) part.dataset.repeated = '';
}"""
CONTRAST = "axe.configure({rules: [{id: 'color-contrast', selector: '*:not([data-repeated])'}]})"
AXE = Axe(f"{Axe().axe_script};\n{CONTRAST}")
# Style sheets are not asked for again: only one experimental rule, which is off, reads them.
AXE_OPTIONS = {"resultTypes": ["violations"], "preload": False}
CONTRAST_ALONE = {"runOnly": ["color-contrast"]}  # a theme changes nothing else


@pytest.mark.parametrize(("window", "rules"), [(LIGHT, {}), (DARK, CONTRAST_ALONE)], ids=["light", "dark"])
@every_page
def test_axe_finds_nothing_serious(chapter, name, window, rules):
    page = chapter(name, **window).page
    page.evaluate(LEAVE_OUT_REPEATED)
    found = AXE.run(page, options=AXE_OPTIONS | rules)
    faults = [
        f"{fault['id']}: {node['html']}"
        for fault in found.response["violations"]
        for node in fault["nodes"]
        if fault["impact"] in ("serious", "critical") and THEME_FAULTS.get(fault["id"], "\0") not in node["html"]
    ]
    assert faults == []


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


def computed(payload: dict, state: dict[str, str]) -> list[np.ndarray]:
    """The numbers of maps and bars in a state that is given by the labels a reader sees."""
    controls = payload["controls"]
    counts = [len(control["states"]) for control in controls]
    places = [control["labels"].index(state[control["label"]]) for control in controls]
    panels = [panel for panel in payload["panels"] if panel["kind"] in ("heatmap", "bars")]
    return [unpack(panel["fields"]["values"], counts, places).ravel() for panel in panels]


@every_page
def test_explorers_move_and_show_what_the_notebook_computed(chapter, name):
    """When notebooks are tested, each is executed anew and must come to the outputs that are compared with here."""
    path = (ROOT / name).with_suffix(".ipynb")
    drawn = payloads(nbformat.read(path, as_version=4)) if path.exists() else []
    elements = chapter(name, **LIGHT).page.locator("attention-explorer").all()
    assert len(elements) == len(drawn)
    assert bool(drawn) == path.exists()
    for element, payload in zip(elements, drawn, strict=True):
        sliders = element.locator(".controls input[type=range]").all()
        for slider in [None, *sliders]:
            if slider:
                before = element.evaluate(SHOWN)
                slider.focus()
                at_end = slider.evaluate("(input) => Number(input.value) >= Number(input.max)")
                slider.press("ArrowLeft" if at_end else "ArrowRight")
                assert element.evaluate(SHOWN) != before, slider.evaluate("(input) => input.labels[0].textContent")
            shown = element.evaluate(NUMBERS)
            for found, expected in zip(shown, computed(payload, element.evaluate(STATE)), strict=True):
                np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=1e-6, atol=SMALLEST)


@every_page
def test_page_fits_a_phone(chapter, name):
    page = chapter(name, **PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


STANDS_OUT = """() => [...document.querySelectorAll('attention-explorer, attention-explorer *')].filter((part) =>
    part.clientWidth && part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflowX === 'visible')
    .map((part) => `${part.tagName}.${part.className}: ${part.scrollWidth} in ${part.clientWidth}`)"""
CUT_OFF = """() => [...document.querySelectorAll('attention-explorer svg text')].filter((text) => {
    const [own, all] = [text, text.ownerSVGElement].map((part) => part.getBoundingClientRect());
    return getComputedStyle(text).visibility === 'visible' && (own.right > all.right + 1 || own.left < all.left - 1);
}).map((text) => text.textContent)"""


@pytest.mark.parametrize("window", [PHONE, LIGHT], ids=["360", "1280"])
@every_page
def test_nothing_stands_out_of_an_explorer(chapter, name, window):
    page = chapter(name, **window).page
    sliders = page.locator("attention-explorer input[type=range]")
    for key in ("Home", "End"):
        for slider in sliders.all():
            slider.press(key)
        assert page.evaluate(STANDS_OUT) == []
        assert page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize("window", [LIGHT, DARK, PHONE], ids=["disk", "server", "phone"])
@every_page
def test_page_asks_for_nothing_and_complains_of_nothing(chapter, name, window):
    opened = chapter(name, **window)
    opened.page.wait_for_load_state("networkidle")
    assert opened.abroad == []
    assert opened.complaints == []
