"""Each page of the built book in a real browser, opened once in each of three windows.

A page is checked as it was loaded first, then its sliders are moved; what it asked for and complained of comes last.
"""

import contextlib
import io
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from attention import explorer as package
from attention.explorer.controls import make_control
from attention.explorer.states import as_panels
from conftest import ROOT, every_page

LIGHT = {"where": "disk", "theme": "light"}
DARK = {"where": "server", "theme": "dark"}
PHONE = {"where": "disk", "width": 360}

# The theme's own faults, which no option of it mends.
THEME_FAULTS: dict[str, str] = {}

# Most of a page's text is code, cut into thousands of words of some dozens of kinds. Looking at each word's contrast
# takes axe most of its time: of each kind it looks at the first.
MARK_REPEATED = """() => {
    const seen = new Set();
    for (const word of document.querySelectorAll('pre span:not(:has(*)), dt span:not(:has(*))')) {
        const names = [];
        for (let part = word; part; part = part.parentElement) names.push(part.tagName, part.className);
        const kind = names.join();
        word.toggleAttribute('data-repeated', seen.has(kind));
        seen.add(kind);
    }
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
    page.evaluate(MARK_REPEATED)
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


@pytest.fixture(autouse=True)
def _dtype():
    """What a notebook that runs here sets does not reach the next."""
    yield
    torch.set_default_dtype(torch.float32)


def explorers(path: Path, monkeypatch) -> list[tuple]:
    """Run a notebook's code here, and keep what it passes to ``explore``."""
    calls = []

    def keep(function, /, *, name="", predict=None, print=(), **controls):
        calls.append((function, controls))

    monkeypatch.setattr(package, "explore", keep)
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    notebook = nbformat.read(path, as_version=4)
    namespace = {"__name__": "notebook"}
    for cell in [cell for cell in notebook.cells if cell.cell_type == "code"][1:]:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(cell.source, namespace)
    return calls


def computed(function, controls: dict, state: dict[str, str]) -> list[np.ndarray]:
    """The numbers of maps and bars in a state that is given by the labels a reader sees."""
    values = {}
    for name, given in controls.items():
        control = make_control(name, given, None)
        values[name] = control.values[control.labels.index(state[control.label])]
    panels = [panel for panel in as_panels(function(**values)) if panel.kind in ("heatmap", "bars")]
    return [panel.numbers["values"].ravel() for panel in panels]


@every_page
def test_explorers_move_and_show_what_the_package_computes(chapter, name, monkeypatch):
    path = (ROOT / name).with_suffix(".ipynb")
    calls = explorers(path, monkeypatch) if path.exists() else []
    elements = chapter(name, **LIGHT).page.locator("attention-explorer").all()
    assert len(elements) == len(calls)
    assert bool(calls) == path.exists()
    for element, (function, controls) in zip(elements, calls, strict=True):
        sliders = element.locator(".controls input[type=range]").all()
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
