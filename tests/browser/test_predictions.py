"""Questions before a figure: asked, answered by every hand, and kept. Those of the book are in test_pages.py."""

import re
from functools import cache

import pytest
import torch
from playwright.sync_api import Page, expect

from attention.explorer import bars, choice, curves, explore, heatmap, plane, sketch, tokens
from conftest import reload_until_storage_works
from explorers import swipe

NAMES = ["apple", "banana", "chair"]
HEATS = [0.5, 1.0, 4.0]


def weights(heat=1.0):
    return (torch.tensor([2.0, 1.0 + heat, 0.0]) / heat).softmax(0)


def in_bars(heat=1.0):
    return bars(weights(heat), NAMES, caption="Weights")


def in_a_map(heat=1.0):
    return heatmap(weights(heat)[None], rows=["query"], columns=NAMES, caption=f"At {heat}")


def in_curves(heat=1.0):
    x = torch.linspace(0, 10, 21)
    lines = {"rising": x / 10, "falling": 1 - x / 10 * (heat > 0.7)}
    look = {"axes": ("place", "height"), "caption": "Two lines", "limits": (0, 1)}
    return curves(x, lines, moments={"now": heat}, **look)


def in_words(heat=1.0):
    return tokens(weights(heat).repeat(3, 1), NAMES)


def leader(panel):
    return int(panel.numbers["values"].ravel().argmax())


WHY = "That is so."
HOT = {"at": {"heat": 4.0}, "because": WHY}
WHO = choice("Who leads?", NAMES, leader, **HOT)
ASKED = {
    "bars": (in_bars, WHO),
    "a map": (in_a_map, WHO),
    "words": (in_words, WHO),
    "sketch": (in_curves, sketch("How does it fall?", "falling", **HOT)),
}
every_kind = pytest.mark.parametrize("kind", ASKED)


@cache
def asking(kind):
    function, predict = ASKED[kind]
    return explore(function, name="asked", predict=predict, heat=HEATS)


def verdict(page: Page) -> str:
    return page.locator(".verdict").inner_text()


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.className")


def state(page: Page) -> str:
    return page.locator(".controls select").evaluate("list => list.selectedOptions[0].text")


def come_back(page: Page) -> None:
    page.reload()
    reload_until_storage_works(page)


# ------------------------------------------------------------------------------------------------ while it is asked

FAINTER = """() => [...document.querySelectorAll('th, caption, figcaption, .frame text, .legend')].filter((part) => {
    const style = getComputedStyle(part);
    const chain = [];
    for (let at = part; at; at = at.parentElement) chain.push(at);
    return style.visibility !== 'visible'
        || chain.some((at) => getComputedStyle(at).opacity !== '1' || getComputedStyle(at).filter !== 'none');
}).map((part) => part.textContent)"""
DRAWN = ".number, td > span, .token small, path.line, .moment *"
SEEN = f"""() => [...document.querySelectorAll('{DRAWN}')].filter((part) =>
    !part.matches('.bar, .given, .legend *') && getComputedStyle(part).visibility === 'visible').length"""
FILLED = """() => [...document.querySelectorAll('.heatmap td, .word')].filter((part) => part.dataset.value
    && part.style.backgroundColor && getComputedStyle(part).backgroundColor === part.style.backgroundColor).length"""


@every_kind
def test_only_data_is_hidden_and_the_controls_wait(show, kind):
    page = show(asking(kind))
    fainter = ["At 4.0"] if kind == "a map" else []  # a caption that changes may tell
    assert page.evaluate(FAINTER) == fainter
    assert page.evaluate(SEEN) == page.evaluate(FILLED) == 0
    assert page.locator(".given:visible").count() == (kind == "sketch"), "the line that nobody asks about"
    assert page.locator(".controls").evaluate("box => box.inert")
    assert state(page) == "4.0"
    page.emulate_media(media="print")
    assert not page.locator(".verdict").is_visible(), "paper tells of no guess that nobody made"
    page.emulate_media(media="screen")
    page.mouse.click(*(page.locator(".controls").bounding_box()[side] + 20 for side in "xy"))
    assert page.locator(".question.flash").count() == 1, "a hand on what is locked is shown the question"
    page.get_by_role("button", name="just show me").click()
    assert verdict(page).endswith(WHY)
    assert page.evaluate(FAINTER) == []
    assert page.evaluate(SEEN) > 0
    assert not page.locator(".controls").evaluate("box => box.inert")
    page.reload()
    assert page.locator(".attention-explorer").get_attribute("data-veiled"), "who has not guessed is asked again"


def spoken(page: Page) -> str:
    """All that Chromium tells a screen reader."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    nodes = [node for node in tree["nodes"] if not node["ignored"]]
    words = [node.get(part, {}).get("value", "") for node in nodes for part in ("name", "description", "value")]
    return "\n".join(map(str, words))


@every_kind
def test_neither_pointing_nor_a_screen_reader_finds_what_is_hidden(show, kind):
    page = show(asking(kind))
    box = page.locator(".panel").bounding_box()
    for part in (0.3, 0.5, 0.7):
        page.mouse.move(box["x"] + part * box["width"], box["y"] + part * box["height"])
        assert page.locator(".readout").inner_text() == ""
        assert page.locator(".reading, .on, .at").count() == 0
    heard = spoken(page)
    assert not re.search(r"0\.\d\d|At 4|masked|goes from", heard), heard
    assert ("falling at place = 4" if kind == "sketch" else "banana") in heard


def test_a_caption_that_has_the_answer_in_it_is_hidden_though_nothing_changes_it(show):
    asked = choice("Who leads?", ["apple", "Banana"], leader, **HOT)
    page = show(explore(lambda heat=1.0: bars(weights(heat), NAMES, caption="Banana leads"), predict=asked, heat=HEATS))
    assert page.evaluate(FAINTER) == ["Banana leads"]
    assert "Banana leads" not in spoken(page)


# ------------------------------------------------------------------------------------------------ answered


def draw(page: Page, *points: tuple[float, float]) -> None:
    """Draw through points of the plot, in its own numbers: x from 0 to 10, y from 0 to 1."""
    ends = page.locator(".frame line").evaluate_all("""(lines) => lines.map((line) => line.getBoundingClientRect())
        .map(({left, right, top}) => [left, right, top])""")
    left, right = ends[0][0], ends[0][1]
    low, high = max(top for *_, top in ends), min(top for *_, top in ends)
    for i, (x, y) in enumerate(points):
        page.mouse.move(left + x / 10 * (right - left), low + y * (high - low), steps=20)
        if i == 0:
            page.mouse.down()
    page.mouse.up()


def commit(page: Page) -> None:
    page.get_by_role("button", name="this is my guess").click()


def by_mouse(page, kind, right):
    if kind == "sketch":
        draw(page, (0, 1), (10, 0 if right else 1))
        commit(page)
    else:
        page.get_by_role("button", name="banana" if right else "chair", exact=True).click()


RIGHT = dict.fromkeys(ASKED, "Right: “banana”. That is so.") | {
    "sketch": "Right: your line is nearly everywhere where it should be. That is so."
}
WRONG = dict.fromkeys(ASKED, "You said “chair”. The answer is “banana”. That is so.") | {
    "sketch": "Your line is furthest off at place = 10: it has 1.00 there, and right is 0.00. That is so."
}


def test_keys_draw_a_line(show):
    page = show(asking("sketch"))
    assert page.get_by_role("button", name="this is my guess").is_disabled(), "before something was drawn"
    for at, key in [(0, "End"), (5, "Home")]:
        page.locator(".support").nth(at).focus()
        page.keyboard.press(key)
    assert page.locator(".support").first.get_attribute("aria-valuetext") == "1"
    assert page.locator(".support").last.get_attribute("aria-label") == "falling at place = 10"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert verdict(page).startswith("Your line is furthest off at place = 8:")


@pytest.mark.parametrize(("across", "drawn"), [(0, False), (80, True)])
def test_a_finger_draws_and_a_thumb_that_scrolls_does_not(show, across, drawn):
    page = show(asking("sketch"), "<div style='height: 1500px'></div>", width=390, has_touch=True, is_mobile=True)
    box = page.locator(".sketch").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    swipe(page, (x, y), (x + across, y - 80 + across))
    page.wait_for_function(f"scrollY {'===' if drawn else '>'} 0")
    assert page.get_by_role("button", name="this is my guess").is_enabled() == drawn


@pytest.mark.parametrize("figure", ["01-dictionary#softmax", "06-self-attention#walk", "15-real-model#search"])
def test_on_a_phone_a_verdict_takes_the_place_of_the_choices_and_the_page_stays(chapter, figure):
    name, _, own = figure.partition("#")
    page = chapter(f"book/{name}.html", width=390, has_touch=True, is_mobile=True, reduced_motion="reduce").page
    el = page.locator(f"#{own}")
    el.evaluate("el => scrollBy({top: el.getBoundingClientRect().top - 248, behavior: 'instant'})")
    below = "part => part.getBoundingClientRect().top - part.closest('.prediction').getBoundingClientRect().top"
    chosen, scrolled = el.locator("button.pill").first.evaluate(below), page.evaluate("scrollY")
    el.locator("button.pill").first.tap()
    assert el.locator(".verdict").evaluate(below) == pytest.approx(chosen, abs=8)
    page.wait_for_timeout(300)
    assert page.evaluate("scrollY") == scrolled
    expect(el.locator(".verdict")).to_be_in_viewport(ratio=1)


def test_the_state_before_stays_in_sight_beside_the_answer(show):
    ask = choice("Who leads?", NAMES, leader, before={"heat": 0.5}, **HOT)
    page = show(explore(lambda heat=1.0: [in_bars(heat), in_words(heat), in_curves(heat)], predict=ask, heat=HEATS))
    assert page.locator("[data-pinned]").count() == 0
    assert page.locator(".pinned").inner_text() == ""
    assert page.locator(".number").first.is_visible()  # where the question starts from is given
    top = page.locator(".panels").bounding_box()["y"]
    page.get_by_role("button", name="chair").click()
    assert page.locator(".panels").bounding_box()["y"] == pytest.approx(top, abs=8)
    assert page.locator(".pinned").inner_text() == "before: heat = 0.5"
    assert page.locator(".bar[data-pinned]").count() == 3
    assert page.locator("path.ghost").last.evaluate("line => Number(getComputedStyle(line).opacity)") > 0
    assert page.locator(".token small").all_inner_texts() == ["0.72 → 0.27", "0.27 → 0.57", "0.01 → 0.16"]
    page.get_by_role("button", name="ask me again").click()
    assert page.locator("[data-pinned]").count() == 0
    page.get_by_role("button", name="just show me").click()
    assert page.locator(".panels").bounding_box()["y"] == pytest.approx(top, abs=8)
    page.get_by_role("button", name="ask me again").click()
    page.get_by_role("button", name="chair").click()
    page.get_by_role("button", name="reset").click()
    assert page.locator(".token small").all_inner_texts() == ["0.72", "0.27", "0.01"]  # where the question began


# ------------------------------------------------------------------------------------------------ kept


@every_kind
def test_a_guess_is_kept_and_asked_again(show, kind):
    page = reload_until_storage_works(show(asking(kind)))
    by_mouse(page, kind, False)
    assert focused(page) == "verdict"
    come_back(page)
    assert verdict(page) == WRONG[kind]
    guess = page.locator("[data-guess], .sketch").first
    assert guess.is_visible()
    assert focused(page) == "", "only an answer moves the focus"
    if kind == "sketch":  # the guess is seen in the state that was asked about, and in no other
        page.locator(".controls select").select_option("1.0")
        assert not guess.is_visible()
    page.get_by_role("button", name="ask me again").click()
    assert page.locator(".after:visible").count() == 0
    assert focused(page) == "question"
    assert page.evaluate(SEEN) == 0
    by_mouse(page, kind, True)
    assert verdict(page) == RIGHT[kind]


@pytest.mark.parametrize("kind", ["bars", "sketch"])
def test_a_guess_that_no_longer_fits_is_forgotten(show, kind):
    page = show(asking(kind))
    question = ASKED[kind][1].question
    for kept in ("dog", [7, 7], None, 99, "{"):
        page.evaluate(
            "([question, guess]) => localStorage.setItem(`attention-guess:${location.pathname}#asked`,"
            " guess === '{' ? guess : JSON.stringify({question, guess}))",
            [question, kept],
        )
        page.reload()
        assert page.locator(".attention-explorer").get_attribute("data-veiled"), kept


def test_a_browser_that_keeps_nothing_is_enough(show):
    page = show(asking("bars"), own=True)
    page.context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    )
    page.reload()
    by_mouse(page, "bars", False)
    assert verdict(page) == WRONG["bars"]


@pytest.mark.parametrize("kind", ["bars", "sketch"])
def test_a_link_to_a_state_lifts_the_veil_and_its_question_waits(show, kind):
    page = show('<a href="#asked?heat=1.0">at 1</a>', asking(kind))
    page.get_by_role("link").click()
    page.locator("[data-veiled]").wait_for(state="detached")
    assert page.evaluate(SEEN) > 0
    assert state(page) == "1.0"
    assert not page.locator(".controls").evaluate("box => box.inert")
    assert page.locator(".verdict:visible").count() == 0
    assert page.locator(".attention-explorer").get_attribute("data-prediction") not in ("guessed", "shown")
    page.get_by_role("button", name="ask me first").click()
    assert focused(page) == "question"
    by_mouse(page, kind, True)
    assert (verdict(page), state(page)) == (RIGHT[kind], "4.0")
    page.get_by_role("link").click()
    assert (verdict(page), state(page)) == (RIGHT[kind], "1.0"), "an answer stays"


def test_in_a_plane_what_is_given_stays_in_sight(show):
    """What no control moves, and what is moved by hand; hidden is what the controls compute."""

    def turned(angle=0.0):
        angle = torch.tensor(angle)
        tip = torch.stack([angle.cos(), angle.sin()])
        points = {"fixed": [1.0, 1.0], "computed": -tip}
        ahead = plane({"query": tip}, points=points, handle=("query", "angle"))
        return [ahead, bars([tip[1]], ["score"])]

    asked = choice("Is it positive?", ["yes", "no"], lambda panel: int(panel.numbers["values"][0] <= 0), panel=1)
    page = show(explore(turned, predict=asked, angle=[-1.0, 0.0, 1.0]))
    marks = ".arrow:not(.ghost), .arrowhead, .points, .tag"
    named = """(marks) => marks.filter((mark) => getComputedStyle(mark).visibility === 'visible')
        .map((mark) => mark.dataset.name ?? mark.dataset.points ?? (mark.textContent || 'head'))"""
    assert page.locator(marks).evaluate_all(named) == ["fixed", "query", "head", "query", "fixed"]
    page.get_by_role("button", name="just show me").click()
    assert page.locator(marks).evaluate_all(named).count("computed") == 2
