"""What a reader does on each page: point, drag, follow links, swipe, tab. Nothing broken stays unseen.

That every prediction takes every answer is seen in test_predictions.py.

Each page is opened at the address of a state, as a reader does who was sent a link.
"""

from urllib.parse import parse_qsl

import nbformat
import pytest
from playwright.sync_api import expect

from conftest import PAGES, ROOT, new_visit
from payloads import payloads

MOVING = [name for name in PAGES if (ROOT / name).with_suffix(".ipynb").exists()]
WHOLLY_SEEN = """(name) => {
    const { top, bottom, height } = document.getElementById(name).getBoundingClientRect();
    return height > innerHeight - 60 ? top >= -1 && top < innerHeight / 2 : top >= -1 && bottom <= innerHeight + 1;
}"""
SETTLED = """async () => {
    for (let y; y !== scrollY; ) {
        y = scrollY;
        await new Promise((later) => setTimeout(later, 60));
    }
}"""
STATE = """(element) => Object.fromEntries([...element.querySelectorAll('.control')].map((control) => {
    const input = control.querySelector('input, select');
    const shown = {
        checkbox: input.checked ? 'on' : 'off', range: input.getAttribute('aria-valuetext'), text: input.value,
    };
    return [control.querySelector('.name').textContent, shown[input.type] ?? input.selectedOptions[0].text];
}))"""


def drawn(name: str) -> list[dict]:
    return payloads(nbformat.read((ROOT / name).with_suffix(".ipynb"), as_version=4))


@pytest.fixture(scope="module")
def windows(browser, origins):
    """Two windows for all pages: ``windows(name, "desk")`` opens a page at a state's address, once."""
    desk = new_visit(browser, origins["disk"], reduced_motion="reduce")  # so that nothing is still under way
    phone = new_visit(browser, origins["disk"], width=390, has_touch=True, is_mobile=True)
    shown = {}

    def show(name: str, which: str):
        visit = {"desk": desk, "phone": phone}[which]
        if shown.get(which) != name:
            visit.complaints.clear()
            visit.page.goto("about:blank")  # so that the address with a state is opened, not only gone to
            visit.page.goto(f"{origins['disk']}/{name}{shared(name)}")
            visit.page.wait_for_function("window.MathJax?.startup?.promise")
            visit.page.evaluate("MathJax.startup.promise")
            shown[which] = name
        return visit

    yield show
    for visit in (desk, phone):
        visit.page.context.close()


def shared(name: str) -> str:
    """The address of the last state of the page's last figure that has a name and a control."""
    named = [payload for payload in drawn(name) if payload.get("name") and payload["controls"]]
    if not named:
        return ""
    control = named[-1]["controls"][0]
    return f"#{named[-1]['name']}?{control['name']}={control['labels'][-1].replace(' ', '%20')}"


every_moving = pytest.mark.parametrize("name", MOVING, scope="module")


@every_moving
def test_a_shared_state_is_opened_with_its_figure_wholly_on_screen(windows, name):
    visit = windows(name, "desk")
    address = shared(name)
    if address:
        figure, (control, label) = address[1:].split("?")[0], parse_qsl(address.split("?")[1])[0]
        visit.page.wait_for_function(WHOLLY_SEEN, arg=figure)
        (payload,) = (payload for payload in drawn(name) if payload.get("name") == figure)
        (spec,) = (spec for spec in payload["controls"] if spec["name"] == control)
        assert visit.page.locator(f"[id='{figure}']").evaluate(STATE)[spec["label"]] == label
    assert visit.complaints == []


@every_moving
def test_tab_reaches_every_control(windows, name):
    page = windows(name, "desk").page
    page.evaluate("document.activeElement?.blur(); getSelection().removeAllRanges(); scrollTo(0, 0)")
    wanted = page.evaluate(
        """() => {
            const all = [...document.querySelectorAll('attention-explorer :is(input, select, button, [tabindex="0"])')];
            window.reached = new Set();
            const isSeen = (each) => each.checkVisibility({visibilityProperty: true});
            window.wanted = all.filter((each) => !each.disabled && each.tabIndex >= 0 && isSeen(each)
                && !each.closest('[inert]') && each.type !== 'radio');
            document.addEventListener('focusin', (event) => window.reached.add(event.target));
            const stops = 'a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex="-1"])';
            return document.querySelectorAll(stops).length;
        }"""
    )
    page.locator("article").first.evaluate("(article) => { article.tabIndex = -1; article.focus(); }")
    for _ in range(wanted):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break  # the page's end
    missed = "window.wanted.filter((each) => !window.reached.has(each)).map((each) => each.outerHTML.slice(0, 120))"
    assert page.evaluate(missed) == []


# ------------------------------------------------------------------------------------------------ links


@every_moving
def test_every_link_to_a_state_sets_it_and_loses_no_sentence(windows, name):
    visit = windows(name, "desk")
    page = visit.page
    specs = {payload["name"]: payload["controls"] for payload in drawn(name) if payload.get("name")}
    page.locator("article details").evaluate_all("(folds) => folds.forEach((fold) => (fold.open = true))")
    page.mouse.wheel(0, 1)  # the reader is here, and the page no longer scrolls by itself
    for link in page.locator("article a[href^='#'][href*='?']").all():
        link.scroll_into_view_if_needed()
        figure, query = link.get_attribute("href")[1:].split("?", 1)
        link.click()
        state = page.locator(f"[id='{figure}']").evaluate(STATE)
        for control, label in parse_qsl(query, keep_blank_values=True):
            (spec,) = (spec for spec in specs[figure] if spec["name"] == control)
            place = spec["labels"].index(label) if label in spec["labels"] else spec["states"].index(float(label))
            assert state[spec["label"]] == spec["labels"][place]
        page.evaluate(SETTLED)
        back = page.get_by_role("button", name="back to the text")
        if back.is_visible():
            back.click()
        expect(link).to_be_in_viewport()
    assert visit.complaints == []


# ------------------------------------------------------------------------------------------------ pointing and dragging

MARKS = "tbody td[data-value], figure.tokens .token:not([aria-hidden]), .plane .points, .plane .arrowhead"
OPACITY = """(mark) => {
    let seen = 1;
    for (let each = mark; each && each.tagName !== 'ATTENTION-EXPLORER'; each = each.parentElement)
        seen *= Number(getComputedStyle(each).opacity);
    return seen;
}"""


@every_moving
def test_what_is_pointed_at_is_never_fainter_than_before(windows, name):
    visit = windows(name, "desk")
    page = visit.page
    page.locator(".choices .quiet").evaluate_all("(buttons) => buttons.forEach((button) => button.click())")
    pointed = 0
    for panel in page.locator("attention-explorer .panel").all():
        marks = [mark for mark in panel.locator(MARKS).all() if mark.is_visible()]
        for mark in {0: marks[:1], 1: marks[len(marks) // 2 :][:1], 2: marks[-1:]}.values():
            for each in mark:
                before = each.evaluate(OPACITY)
                each.hover(force=True)
                assert each.evaluate(OPACITY) >= before, each.evaluate("(mark) => mark.outerHTML")
                page.mouse.move(0, 0)
                pointed += 1
    assert pointed or not page.locator(f":is({MARKS})").count()
    assert visit.complaints == []


@every_moving
def test_every_handle_moves_what_it_holds(windows, name):
    visit = windows(name, "desk")
    page = visit.page
    for explorer in page.locator("attention-explorer:has(.grip)").all():
        for grip in explorer.locator(".grip").all():
            if not grip.is_visible():
                continue
            grip.scroll_into_view_if_needed()
            before = explorer.evaluate(STATE)
            for dx, dy in ((60, 0), (-60, 0), (0, 60), (0, -60)):
                at = grip.bounding_box()
                x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
                page.mouse.move(x, y)
                page.mouse.down()
                page.mouse.move(x + dx, y + dy, steps=6)
                page.mouse.up()
                if explorer.evaluate(STATE) != before:
                    break
            assert explorer.evaluate(STATE) != before, explorer.get_attribute("id")
    assert visit.complaints == []


# ------------------------------------------------------------------------------------------------ a phone


@every_moving
def test_a_swipe_on_a_phone_reaches_every_last_column(windows, name):
    """Wide tables scroll under a finger; all others show their last column at once."""
    visit = windows(name, "phone")
    page = visit.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    session = page.context.new_cdp_session(page)
    for panel in page.locator("attention-explorer .panel:has(table, svg)").all():
        box = panel.locator("table, svg").first
        box.scroll_into_view_if_needed()
        last = panel.locator("thead th:last-child, tbody tr:last-child td:last-child").last
        if not last.count():
            continue
        if last.evaluate("(cell) => cell.getBoundingClientRect().right > innerWidth"):
            at = box.bounding_box()
            swipe = {"x": 200, "y": at["y"] + at["height"] / 2, "xDistance": -900, "gestureSourceType": "touch"}
            session.send("Input.synthesizeScrollGesture", swipe)
        right = last.evaluate("(cell) => cell.getBoundingClientRect().right")
        assert right <= 390, last.evaluate("(cell) => cell.closest('attention-explorer').id")
    assert visit.complaints == []
