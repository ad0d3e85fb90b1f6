"""Each page of the built book under every hand: what is seen as it opens, and what a reader does there.

A page is opened three times. At a desk it is read by axe, gone through by keys, and its predictions are answered; then
it is opened again at the address of a state, as by a reader who comes back through a link, and all of it is moved,
dragged and followed. On a phone, in the dark, it comes from the disk. What it asked for and complained of is last.
"""

import re
from functools import lru_cache
from urllib.parse import parse_qsl, quote

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, expect

from conftest import ROOT, every_page
from explorers import SHOW_ALL, STATE, move_and_compare, swipe
from payloads import payloads

DESK = {"where": "server", "reduced_motion": "reduce"}  # so that nothing is still under way
PHONE = {"where": "disk", "theme": "dark", "width": 360, "has_touch": True, "is_mobile": True}
DARK = {"where": "server", "theme": "dark"}  # for one page: its contents stand beside it, as on all pages


@lru_cache
def drawn(name: str) -> list[dict]:
    """What the explorers of a page were built from."""
    path = (ROOT / name).with_suffix(".ipynb")
    return payloads(nbformat.read(path, as_version=4)) if path.exists() else []


def shared(name: str) -> str:
    """The address of the last state of the page's last figure that has a name and a control."""
    named = [payload for payload in drawn(name) if payload.get("name") and payload["controls"]]
    if not named:
        return ""
    control = named[-1]["controls"][0]
    return f"#{named[-1]['name']}?{control['name']}={quote(control['labels'][-1])}"


@pytest.fixture
def opened(chapter):
    """The page at a desk, as it was opened first."""
    return lambda name: chapter(name, **DESK)


@pytest.fixture
def returned(chapter):
    """The page at a desk, opened again at the address of a state."""
    return lambda name: chapter(name, address=shared(name) or "#" * bool(drawn(name)), **DESK)


# ------------------------------------------------------------------------------------------------ as it opens


# Axe would spend most of its time on words that look alike, and on the thousands of parts of code and formulas. It is
# shown the first of those that look alike, among all pages that this worker has opened in the same theme: that have one
# colour, size and weight on the same grounds. Of code and formulas the others are out of the page until it is done.
LEAVE_OUT_REPEATED = """(shown) => {
    const number = (words) => [...words].reduce((sum, each) => (31 * sum + each.codePointAt()) % (2 ** 48 - 59), 0);
    const grounds = new Map([[null, 0]]);
    const ground = (part) => {
        if (!grounds.has(part)) {
            const {backgroundColor, backgroundImage, opacity} = getComputedStyle(part);
            const own = [backgroundColor, backgroundImage, opacity].join();
            const below = ground(part.parentElement);
            grounds.set(part, own === 'rgba(0, 0, 0, 0),none,1' ? below : number(`${own} on ${below}`));
        }
        return grounds.get(part);
    };
    const look = (part) => {
        const {color, fontSize, fontWeight} = getComputedStyle(part);
        return number([color, fontSize, fontWeight, ground(part)].join());
    };
    const repeated = (parts, key, seen = new Set()) =>
        [...parts].map((part) => [part, key(part)]).filter(([, key]) => seen.size === seen.add(key).size);
    const all = (formula) => [...new Set([formula, ...formula.querySelectorAll('[style]')].map(look))].join();
    const formulas = repeated(document.querySelectorAll('mjx-container'), all);
    const words = repeated(document.querySelectorAll('pre span:not(:has(*)), code span, dt span:not(:has(*))'), look);
    window.leftOut = [];
    for (const [part] of [...formulas, ...words]) {
        const standIn = document.createTextNode(part.matches('mjx-container') ? 'a formula' : part.textContent);
        part.replaceWith(standIn);
        window.leftOut.push([standIn, part]);
    }
    const texts = [...document.body.querySelectorAll('*')].filter((part) =>
        (part.matches('input, select')
            || [...part.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()))
        && part.checkVisibility({visibilityProperty: true, opacityProperty: true}) && part.offsetWidth !== 1);
    const [seen, fresh] = [new Set(shown), new Set(texts)];
    for (const [part] of repeated(texts, look, seen)) fresh.delete(part);
    for (const part of document.body.querySelectorAll('*')) if (!fresh.has(part)) part.dataset.repeated = '';
    return [...seen];
}"""
PUT_BACK = """() => {
    for (const [standIn, part] of window.leftOut.reverse()) standIn.replaceWith(part);
    for (const part of document.querySelectorAll('[data-repeated]')) delete part.dataset.repeated;
}"""
CONTRAST = "axe.configure({rules: [{id: 'color-contrast', selector: '*:not([data-repeated])'}]})"
AXE = Axe(f"{Axe().axe_script};\n{CONTRAST}")
# Style sheets are not asked for again: one experimental rule reads them, which is off. A region is no serious fault.
AXE_OPTIONS = {"resultTypes": ["violations"], "preload": False, "rules": {"region": {"enabled": False}}}
CONTRAST_ALONE = {"runOnly": ["color-contrast"]}  # a theme changes nothing else


@pytest.fixture(scope="module")
def looks():
    """What axe has been shown, by theme."""
    return {"light": [], "dark": []}


def serious_faults(page, looks, theme):
    known, looks[theme] = looks[theme], page.evaluate(LEAVE_OUT_REPEATED, looks[theme])
    faults = []
    if theme == "light" or len(looks[theme]) > len(known):
        found = AXE.run(page, options=AXE_OPTIONS | (CONTRAST_ALONE if theme == "dark" else {}))
        faults = [fault for fault in found.response["violations"] if fault["impact"] in ("serious", "critical")]
    page.evaluate(PUT_BACK)
    return [f"{fault['id']}: {node['html']}" for fault in faults for node in fault["nodes"]]


@every_page
def test_axe_finds_nothing_serious(chapter, looks, name):
    for window, theme in ((DESK, "light"), (PHONE, "dark")):
        page = chapter(name, **window).page
        assert page.evaluate("document.documentElement.scrollWidth") <= window.get("width", 1280)
        assert serious_faults(page, looks, theme) == [], theme


def test_axe_finds_nothing_serious_in_the_contents_in_the_dark(chapter, looks):
    assert serious_faults(chapter("book/index.html", **DARK).page, looks, "dark") == []


# ------------------------------------------------------------------------------------------------ keys

# Beginning before a figure: what of it Tab should reach is noted, and struck out as it is.
BEFORE_FIGURE = """(explorer) => {
    const all = [...explorer.querySelectorAll('input, select, button, [tabindex="0"]')];
    const isSeen = (each) => each.checkVisibility({visibilityProperty: true});
    window.missed = new Set(all.filter((each) => !each.disabled && each.tabIndex >= 0 && isSeen(each)
        && !each.closest('[inert]') && each.type !== 'radio'));
    explorer.addEventListener('focusin', (event) => window.missed.delete(event.target));
    explorer.tabIndex = -1;
    explorer.focus();
    return window.missed.size;
}"""
IS_INSIDE = "(explorer) => explorer.contains(document.activeElement)"
MISSED = "[...window.missed].map((each) => each.outerHTML.slice(0, 120))"


@every_page
def test_tab_reaches_every_control_and_leaves_the_figure(opened, name):
    page = opened(name).page
    for explorer in page.locator("attention-explorer").all():
        for _ in range(explorer.evaluate(BEFORE_FIGURE)):
            page.keyboard.press("Tab")
        for _ in range(30):  # links, and one of each group of radio buttons, are reached too
            if not explorer.evaluate(IS_INSIDE):
                break
            page.keyboard.press("Tab")
        assert page.evaluate(MISSED) == []
        assert not explorer.evaluate(IS_INSIDE)


# ------------------------------------------------------------------------------------------------ predictions

SENTENCES = re.compile(r"(Right|You said|Your line|The answer is).*\. .*[.!?]$")

ANSWER_ALL = """() => [...document.querySelectorAll('attention-explorer[data-prediction]')].flatMap((explorer) => {
    const again = explorer.querySelector('.after .quiet');
    again?.click();
    const parts = {option: '.choices button.pill', sketch: '.support'};
    const pick = parts[explorer.dataset.veiled];
    const count = explorer.querySelectorAll(pick).length;
    return Array.from({length: count}, (_, i) => {
        if (i) explorer.querySelector('.after .quiet').click();
        const part = explorer.querySelectorAll(pick)[i];
        if (part.matches('input')) {
            part.value = part.max;
            part.dispatchEvent(new Event('input', {bubbles: true}));
            explorer.querySelector('.commit button').click();
        } else part.click();
        const verdict = explorer.querySelector('.verdict');
        return [verdict.textContent, verdict === document.activeElement, 'veiled' in explorer.dataset];
    });
})"""
VERDICTS = "() => [...document.querySelectorAll('.verdict')].map((verdict) => verdict.innerText)"


@every_page
def test_every_prediction_of_the_book_takes_every_answer_and_keeps_the_last(opened, returned, name):
    page = opened(name).page
    asked = page.locator("attention-explorer[data-prediction]").count()
    found = page.evaluate(ANSWER_ALL)
    assert len(found) >= asked
    for said, is_focused, is_veiled in found:
        assert SENTENCES.match(said), said
        assert (is_focused, is_veiled) == (True, False)
    last = page.evaluate(VERDICTS)
    assert len(last) == asked
    page = returned(name).page
    expect(page.locator(".verdict")).to_have_text(last, use_inner_text=True, timeout=30_000)
    page.evaluate("localStorage.clear()")


# ------------------------------------------------------------------------------------------------ a reader comes back

WHOLLY_SEEN = """(name) => {
    const { top, bottom, height } = document.getElementById(name).getBoundingClientRect();
    return height > innerHeight - 60 ? top >= -1 && top < innerHeight / 2 : top >= -1 && bottom <= innerHeight + 1;
}"""


@every_page
def test_a_shared_state_is_opened_with_its_figure_wholly_on_screen(returned, name):
    page = returned(name).page
    address = shared(name)
    if address:
        figure, (control, label) = address[1:].split("?")[0], parse_qsl(address.split("?")[1])[0]
        page.wait_for_function(WHOLLY_SEEN, arg=figure)
        (payload,) = (payload for payload in drawn(name) if payload.get("name") == figure)
        (spec,) = (spec for spec in payload["controls"] if spec["name"] == control)
        assert page.locator(f"[id='{figure}']").evaluate(STATE)[spec["label"]] == label


FOLLOW_ALL = f"""async () => {{
    const settled = async () => {{
        for (let [y, still] = [scrollY, 0]; still < 3; still = scrollY === y ? still + 1 : 0, y = scrollY)
            await new Promise(requestAnimationFrame);
    }};
    const until = async (holds) => {{
        for (const end = Date.now() + 10_000; !holds() && Date.now() < end;) await new Promise(requestAnimationFrame);
    }};
    const followed = [];
    for (const link of document.querySelectorAll('article a[href^="#"][href*="?"]')) {{
        link.scrollIntoView({{block: 'center', behavior: 'instant'}});
        const {{left, top, width, height}} = link.getClientRects()[0];
        const isOnTop = link.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        link.click();
        const [figure] = link.getAttribute('href').slice(1).split('?');
        const state = ({STATE})(document.getElementById(figure));
        const isSeen = () => link.getBoundingClientRect().top < innerHeight && link.getBoundingClientRect().bottom > 0;
        const wayBack = () => document.querySelector('.al-back:not([hidden])');
        await settled();
        await until(() => isSeen() || wayBack());
        wayBack()?.click();
        await until(isSeen);
        followed.push([link.getAttribute('href'), isOnTop, state, isSeen()]);
    }}
    return followed;
}}"""


@every_page
def test_every_link_to_a_state_sets_it_and_loses_no_sentence(returned, name):
    page = returned(name).page
    specs = {payload["name"]: payload["controls"] for payload in drawn(name) if payload.get("name")}
    page.locator("article details").evaluate_all("(folds) => folds.forEach((fold) => (fold.open = true))")
    page.evaluate("window.wheeled = new Promise((done) => addEventListener('wheel', done, {once: true})); 0")
    page.mouse.wheel(0, 1)  # the reader is here, and the page no longer scrolls by itself
    page.evaluate("() => window.wheeled.then(() => 0)")
    for address, is_on_top, state, is_seen in page.evaluate(FOLLOW_ALL):
        figure, query = address[1:].split("?", 1)
        for control, label in parse_qsl(query, keep_blank_values=True):
            (spec,) = (spec for spec in specs[figure] if spec["name"] == control)
            place = spec["labels"].index(label) if label in spec["labels"] else spec["states"].index(float(label))
            assert state[spec["label"]] == spec["labels"][place]
        assert is_on_top, address
        assert is_seen, address


COVERED = """() => [...document.querySelectorAll('attention-explorer .tools button, .with-figure > details > summary')]
    .filter((part) => part.checkVisibility({visibilityProperty: true})).filter((part) => {
        part.scrollIntoView({block: 'center', behavior: 'instant'});
        const {left, top, width, height} = part.getBoundingClientRect();
        return !part.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    }).map((part) => `${part.closest('.cell')?.querySelector('attention-explorer')?.id}: ${part.textContent}`)"""


@every_page
def test_nothing_covers_what_stands_at_a_figure_s_foot(returned, name):
    assert returned(name).page.evaluate(COVERED) == []


# ------------------------------------------------------------------------------------------------ numbers and places


@every_page
def test_explorers_move_and_show_what_the_notebook_computed(returned, name):
    """When notebooks are tested, each is executed anew and must come to the outputs that are compared with here."""
    elements = returned(name).page.locator("attention-explorer").all()
    assert len(elements) == len(drawn(name))
    for element, payload in zip(elements, drawn(name), strict=True):
        move_and_compare(element, payload)


STANDS_OUT = """() => [...document.querySelectorAll('attention-explorer, attention-explorer *')].filter((part) =>
    part.clientWidth && part.scrollWidth > part.clientWidth + 1
    // an end to drag is as wide as a finger; a text counts with its outline; a menu's text is its browser's to clip
    && !part.matches('.bar:has(.drag), text, select')
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


@every_page
def test_nothing_stands_out_of_an_explorer(chapter, returned, name):
    for page in (chapter(name, **PHONE).page, returned(name).page):
        assert page.evaluate(STANDS_OUT) == []
        assert page.evaluate(CUT_OFF) == []
        page.evaluate(SHOW_ALL)
        for end in ("min", "max"):
            page.evaluate(TO_THE_END, end)
            assert page.evaluate(STANDS_OUT) == []
            assert page.evaluate(CUT_OFF) == []


# ------------------------------------------------------------------------------------------------ a finger

# The tables whose last column is beyond the edge, each with that column's last cell.
BEYOND = """() => [...document.querySelectorAll('attention-explorer .panel:has(table)')].map((panel) => ({
    table: panel.querySelector('table'),
    last: [...panel.querySelectorAll('thead th:last-child, tbody tr:last-child td:last-child')].at(-1),
})).filter(({last}) => last?.getBoundingClientRect().right > innerWidth)"""
BRING = """(number) => {
    const {table} = window.wide[number];
    table.scrollIntoView({block: 'center', inline: 'start', behavior: 'instant'});
    const {top, width, height} = table.getBoundingClientRect();
    return [top + height / 2, Math.ceil(width / 300)];
}"""


@every_page
def test_a_swipe_on_a_phone_reaches_every_last_column(chapter, name):
    """Wide tables scroll under a finger; all others show their last column at once."""
    page = chapter(name, **PHONE).page
    for number in range(page.evaluate(f"() => (window.wide = ({BEYOND})()).length")):
        y, swipes = page.evaluate(BRING, number)
        for _ in range(swipes):
            swipe(page, (340, y), (20, y))
    missed = f"() => ({BEYOND})().map(({{last}}) => last.closest('attention-explorer').id)"
    assert page.evaluate(missed) == []


TO_THE_MIDDLE = """(explorer) => explorer.querySelectorAll('input[type=range]').forEach((slider) => {
    slider.value = (Number(slider.min) + Number(slider.max)) / 2;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
})"""
MIDDLE = """async (grip) => {
    for (let [still, before] = [0, -1]; still < 3; still = scrollY === before ? still + 1 : 0) {
        before = scrollY; // until all that came into sight is laid out
        grip.scrollIntoView({block: 'center', behavior: 'instant'});
        await new Promise(requestAnimationFrame);
    }
    const {left, top, width, height} = grip.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
}"""


@every_page
def test_every_handle_follows_a_finger_there_and_back_and_the_page_stays(chapter, name):
    page = chapter(name, **PHONE).page
    page.evaluate(SHOW_ALL)
    for explorer in page.locator("attention-explorer:has(.grip)").all():
        for grip in filter(Locator.is_visible, explorer.locator(".grip").all()):
            explorer.evaluate(TO_THE_MIDDLE)  # at its end a control may leave a handle nowhere to go
            follows = []
            for dx, dy in ((60, 0), (-60, 0), (0, 60), (0, -60)):
                x, y = grip.evaluate(MIDDLE)
                top, state = page.evaluate("scrollY"), explorer.evaluate(STATE)
                swipe(page, (x, y), (x + dx, y + dy))
                follows.append(explorer.evaluate(STATE) != state)
                assert page.evaluate("scrollY") == top or not follows[-1]
            assert all(follows[:2]) or all(follows[2:]), explorer.get_attribute("id")


# ------------------------------------------------------------------------------------------------ in the end


@every_page
def test_page_asks_for_nothing_and_complains_of_nothing(chapter, returned, name):
    """Neither as it was opened nor under any of the hands above."""
    for visit in (returned(name), chapter(name, **PHONE)):
        assert visit.abroad == []
        assert visit.complaints == []
