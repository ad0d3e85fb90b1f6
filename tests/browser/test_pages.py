"""Each page of the built book in a real browser, opened once in each of two windows.

A page is checked as it was loaded first, then its sliders are moved; what it asked for and complained of comes last.
"""

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import ROOT, every_page
from explorers import SHOW_ALL, move_and_compare
from payloads import payloads

LIGHT = {"where": "disk", "theme": "light"}
PHONE = {"where": "server", "theme": "dark", "width": 360}
DARK = {"where": "server", "theme": "dark"}  # for one page: its contents stand beside it, as on all pages

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


def serious_faults(page, rules):
    page.evaluate(LEAVE_OUT_REPEATED)
    found = AXE.run(page, options=AXE_OPTIONS | rules)
    return [
        f"{fault['id']}: {node['html']}"
        for fault in found.response["violations"]
        for node in fault["nodes"]
        if fault["impact"] in ("serious", "critical") and THEME_FAULTS.get(fault["id"], "\0") not in node["html"]
    ]


@every_page
def test_axe_finds_nothing_serious(chapter, name):
    assert serious_faults(chapter(name, **LIGHT).page, {}) == []


@every_page
def test_explorers_move_and_show_what_the_notebook_computed(chapter, name):
    """When notebooks are tested, each is executed anew and must come to the outputs that are compared with here."""
    path = (ROOT / name).with_suffix(".ipynb")
    drawn = payloads(nbformat.read(path, as_version=4)) if path.exists() else []
    elements = chapter(name, **LIGHT).page.locator("attention-explorer").all()
    assert len(elements) == len(drawn)
    assert bool(drawn) == path.exists()
    for element, payload in zip(elements, drawn, strict=True):
        move_and_compare(element, payload)


@every_page
def test_page_fits_a_phone(chapter, name):
    page = chapter(name, **PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@every_page
def test_axe_finds_nothing_serious_in_the_dark(chapter, name):
    """After the page's width was measured: where words look alike, only the first of them is left."""
    assert serious_faults(chapter(name, **PHONE).page, CONTRAST_ALONE) == []


def test_axe_finds_nothing_serious_in_the_contents_in_the_dark(chapter):
    assert serious_faults(chapter("book/index.html", **DARK).page, CONTRAST_ALONE) == []


STANDS_OUT = """() => [...document.querySelectorAll('attention-explorer, attention-explorer *')].filter((part) =>
    part.clientWidth && part.scrollWidth > part.clientWidth + 1
    && !part.matches('.bar:has(.drag), text')  // an end to drag is as wide as a finger; a text counts with its outline
    && !part.matches('.bar:has(.drag), text')
    && getComputedStyle(part).overflowX === 'visible')
    .map((part) => `${part.tagName}.${part.className}: ${part.scrollWidth} in ${part.clientWidth}`)"""
CUT_OFF = """() => [...document.querySelectorAll('attention-explorer svg text')].filter((text) => {
    const [own, all] = [text, text.ownerSVGElement].map((part) => part.getBoundingClientRect());
    return getComputedStyle(text).visibility === 'visible' && (own.right > all.right + 1 || own.left < all.left - 1);
}).map((text) => text.textContent)"""


TO_THE_END = """(end) => document.querySelectorAll('attention-explorer input[type=range]').forEach((slider) => {
    slider.value = slider[end];
    slider.dispatchEvent(new Event('input', {bubbles: true}));
})"""


@pytest.mark.parametrize("window", [PHONE, LIGHT], ids=["360", "1280"])
@every_page
def test_nothing_stands_out_of_an_explorer(chapter, name, window):
    page = chapter(name, **window).page
    assert page.evaluate(STANDS_OUT) == []
    assert page.evaluate(CUT_OFF) == []
    page.evaluate(SHOW_ALL)
    for end in ("min", "max"):
        page.evaluate(TO_THE_END, end)
        assert page.evaluate(STANDS_OUT) == []
        assert page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize("window", [LIGHT, PHONE], ids=["disk", "server"])
@every_page
def test_page_asks_for_nothing_and_complains_of_nothing(chapter, name, window):
    opened = chapter(name, **window)
    opened.page.wait_for_timeout(100)  # for what a page asks for after it was loaded
    assert opened.abroad == []
    assert opened.complaints == []
