"""The explorer under the hand: dragging, pointing, links, predictions, pins, and every kind of eye and finger."""

import math
import re
from functools import cache

import pytest
import torch
from playwright.sync_api import expect

from attention import attention_weights, causal_mask
from attention.explorer import Box, bars, curves, diagram, explore, graph, heatmap, plane, tokens
from explorers import drag, swipe

NAMES = ["apple", "banana", "chair"]
KEYS = torch.tensor([[2.0, 0.0], [1.5, 0.5], [0.0, 2.0]])
VALUES = torch.tensor([10.0, 5.0, 2.0])
WORDS = ["the", "cat", "saw", "我", "mat"]


def tip(angle, length):
    return length * math.cos(math.radians(angle)), length * math.sin(math.radians(angle))


def turn(angle=0.0, length=1.4):
    query = torch.tensor(tip(angle, length))
    weights = (KEYS @ query).softmax(dim=0)
    return [
        plane(
            {"query": query},
            points=dict(zip(NAMES, KEYS, strict=True)),
            handle=("query", ["angle", "length"]),
            axis="key",
        ),
        bars(weights, NAMES, axis="key", caption="Weights"),
        heatmap(KEYS, rows=NAMES, columns=["edible", "furniture"], axes=("key", "feature"), color="key"),
        bars([weights * VALUES], ["value"], parts=NAMES, parts_axis="key", color="value"),
    ]


@cache
def turning():
    return explore(turn, name="turn", angle=(-180.0, 180.0, 10.0), length=(0.2, 3.0, 0.2))


def attending(causal=True, query=4):
    torch.manual_seed(0)
    weights = attention_weights(torch.randn(2, 5, 4), torch.randn(2, 5, 4), is_causal=causal)
    mask = causal_mask(5) if causal else torch.ones(5, 5, dtype=torch.bool)
    return [
        tokens(weights[0], WORDS, mask=mask, chosen=query, control="query"),
        tokens(weights[1], WORDS, WORDS, mask=mask),
    ]


def values(page, panel):
    return [
        float(cell)
        for cell in page.locator(panel).locator("[data-value]").evaluate_all("c => c.map(e => e.dataset.value)")
    ]


# ------------------------------------------------------------------------------------------------ the plane


def test_dragging_the_tip_chooses_the_nearest_state_and_the_sliders_follow(show):
    page = show(turning())
    zero = page.locator("line.zero").evaluate_all("all => Math.max(...all.map((l) => l.getBoundingClientRect().x))")
    wanted = tip(90, 2.0)
    drag(page, page.locator(".grip"), lambda x, y: (zero + wanted[0], y - wanted[1] / 1.4 * (x - zero)))
    assert page.locator("output").all_inner_texts() == ["90", "2"]
    expected = (KEYS @ torch.tensor(wanted)).softmax(dim=0)
    torch.testing.assert_close(torch.tensor(values(page, ".panel >> nth=1")), expected)


def test_an_angle_looks_as_large_as_it_is(show):
    page = show(turning())
    page.locator("input[type=range]").first.fill("40")
    x0, y0, x1, y1 = map(
        float, page.locator("path.arrow:not(.ghost)").evaluate("p => p.getAttribute('d').match(/-?[\\d.]+/g)")
    )
    assert math.degrees(math.atan2(y0 - y1, x1 - x0)) == pytest.approx(40, abs=0.2)


def test_an_area_is_taken_as_a_whole(show):
    def pair(first=2, second=0):
        tips = {"first": tip(20 * first, 2), "second": tip(20 * second + 45, 2)}
        both = {"both": [(0, 0), tip(20 * first, 1), tip(10 * (first + second) + 22.5, 1), tip(20 * second + 45, 1)]}
        size = {"limits": (-2, 2), "x_limits": (-2, 2)}
        return plane(tips, areas=both, handle=("both", ["first", "second"]), **size)

    page = show(explore(pair, first=(0, 9), second=(0, 9)))
    grip = page.locator(".grip").bounding_box()
    zero = page.locator("line.zero").evaluate_all("all => all.map((line) => line.getBoundingClientRect())")
    left, top = zero[1]["x"], zero[0]["y"]
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for angle, least in ((102.5, 5), (160, 6)):  # both three further; there is no state as far on as 160
        dx, dy = tip(angle, math.hypot(x - left, y - top))
        page.mouse.move(left + dx, top - dy, steps=6)
        first, second = map(int, page.locator("output").all_inner_texts())
        assert first >= least
        assert first - second == 2


# ------------------------------------------------------------------------------------------------ links and read-out


def test_pointing_at_a_key_lights_it_in_every_panel_of_that_axis(show):
    page = show(turning())
    page.locator(".bars tbody tr").nth(1).hover()
    assert page.locator(".heatmap tbody th.on").all_inner_texts() == ["banana"]
    assert page.locator(".plane .points.on").evaluate_all("all => all.map(p => p.dataset.points)") == ["banana"]
    assert page.locator(".bar .on").evaluate_all("all => all.map(p => p.dataset.part)") == ["banana"]
    page.locator(".bar [data-part=apple]").hover()
    assert page.locator(".heatmap tbody th.on").all_inner_texts() == ["apple"]
    page.locator(".heatmap tbody td").nth(4).hover()  # chair
    assert page.locator(".bars tbody tr.on th").all_inner_texts() == ["chair"]
    page.mouse.move(1, 1)
    assert page.locator(".on").count() == 0


def test_a_line_lights_the_row_of_its_name_and_a_place_the_number_that_it_is(show):
    x = torch.linspace(0, 4, 41)

    drawn = curves(x, {"low": 0 * x - 1, "high": 0 * x + 1}, axes=("place", "height"), axis="line")
    page = show(explore(lambda: [drawn, heatmap(torch.eye(2), rows=["low", "high"], axes=("line", "part"))]))
    stage = page.locator(".curves .stage").bounding_box()
    page.mouse.move(stage["x"] + stage["width"] / 2, stage["y"] + 20)
    assert page.locator(".heatmap tbody th.on").all_inner_texts() == ["high"]


@pytest.mark.parametrize("touch", [False, True])
def test_the_number_stands_beside_the_finger_and_moves_nothing(show, touch):
    x = torch.linspace(0, 4, 41)
    page = show(
        explore(lambda f: curves(x, {"sine": torch.sin(f * x), "line": x / 4}, axes=("x", "y")), f=(1, 3)),
        has_touch=touch,
        width=360 if touch else 1280,
    )
    before = page.locator("attention-explorer").bounding_box()
    stage = page.locator(".stage").bounding_box()
    at = stage["x"] + stage["width"] * 0.3, stage["y"] + stage["height"] / 2
    (page.touchscreen.tap if touch else page.mouse.move)(*at)
    readout = page.locator(".readout")
    place = float(readout.inner_text().split("=")[1].split(":")[0])
    assert place < 1.6, "it reads where the finger is, not the middle"
    assert readout.inner_text() == f"x = {place:g}: sine {math.sin(2 * place):.3g}, line {place / 4:.3g}"
    assert page.locator("attention-explorer").bounding_box() == before
    if touch:
        assert readout.inner_text() != "", "it stays"
        page.touchscreen.tap(5, 5)
    else:
        page.mouse.move(1, 1)
    assert readout.inner_text() == ""


# ------------------------------------------------------------------------------------------------ tokens


def test_a_chosen_word_shows_its_weights_and_sets_its_control(show):
    page = show(explore(attending, causal=True, query=(0, 4)))
    one = page.locator("figure.tokens").first
    torch.manual_seed(0)
    weights = attention_weights(torch.randn(2, 5, 4), torch.randn(2, 5, 4), is_causal=True)
    one.locator(".token").nth(2).click()
    assert page.locator("output").inner_text() == "2"
    found = one.locator(".token").evaluate_all("all => all.map(t => Number(t.dataset.value))")
    torch.testing.assert_close(torch.tensor(found), weights[0, 2])
    assert one.locator(".token[data-masked]").all_inner_texts() == ["我\nmasked", "mat\nmasked"]
    page.keyboard.press("ArrowLeft")
    assert page.locator("output").inner_text() == "1"
    assert one.get_by_role("option", name="saw, masked").count() == 1


def test_a_tap_on_a_word_asks_what_finds_it(show):
    def ask(question="when"):
        weights = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2]])
        chosen = ["when", "where"].index(question)
        return tokens(weights, ["when", "where"], ["1969", "Moon", "the"], rows=1, chosen=chosen, control="question")

    page = show(explore(ask, question=["when", "where"]))
    question, words = page.locator(".control select"), page.locator(".token .word")
    words.nth(1).click()
    assert question.input_value() == "1"
    assert page.locator(".readout").inner_text() == "", "the words have their numbers"
    words.nth(0).click()
    words.nth(2).click()  # found by none
    assert question.input_value() == "0"


def test_pointing_at_a_key_tells_of_the_chosen_query_and_at_a_query_of_its_keys(show):
    words = ["one", "two", "three"]
    weights = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    page = show(explore(lambda: tokens(weights, words, words, chosen=1)))
    ends = "(all) => all.flatMap((path) => [...path.getAttribute('d').matchAll(/ ([\\d.]+)$/g)].map((m) => +m[1]))"
    gap = page.locator(".queries .token").first.bounding_box()["height"]

    def attended():
        return [words[int(y / gap)] for y in page.locator(".join").evaluate_all(ends)]

    assert attended() == ["three"]
    page.locator(".keys .token").nth(1).hover()
    assert attended() == ["three"]
    assert page.locator(".readout").inner_text() == "query two → key two: 0"
    page.locator(".queries .token").nth(0).hover()
    assert attended() == ["two"]
    assert page.locator(".readout").inner_text() == "", "it told of another query"
    page.mouse.move(1, 1)
    assert attended() == ["three"]


# ------------------------------------------------------------------------------------------------ graph

MAPS = torch.tensor([[[0.9, 0.1, 0.0], [0.25, 0.75, 0.0]], [[0.125, 0.5, 0.375], [0.0, 0.625, 0.375]]])


def react(layer=0):
    """Two atoms of a product, and the three that they came from."""
    places = [[0, 0], [1.5, 0], [0, 0], [0, 0], [1.5, 0]]
    nodes = {"queries": [3, 4], "keys": [0, 1, 2], "axes": ("product atom", "reactant atom")}
    return graph(["C", "O", "K⁺", "C", "O"], places, [(0, 1, 2), (3, 4)], MAPS[layer], chosen=1, **nodes)


def tinted(page):
    """The numbers of the nodes that are tinted, and which of them is the darkest on white."""
    nodes = page.locator(".graph .node[data-value]")
    fills = nodes.evaluate_all("all => all.map((node) => getComputedStyle(node.children[1]).fill)")
    sums = [sum(map(int, re.findall(r"\d+", fill))) for fill in fills]
    numbers = nodes.evaluate_all("all => all.map((node) => Number(node.dataset.value))")
    return numbers, sums.index(min(sums))


def test_a_chosen_atom_tints_the_others_by_its_weights(show):
    page = show(explore(react, layer=(0, 1)))
    asking = page.get_by_role("listbox", name="Choose a product atom").get_by_role("option")
    assert asking.evaluate_all("all => all.map(n => n.getAttribute('aria-label'))") == ["C 4", "O 5"]
    assert tinted(page) == ([0.25, 0.75, 0.0], 1)
    asking.nth(0).hover()
    assert tinted(page) == (pytest.approx(MAPS[0, 0].tolist()), 0)
    page.locator(".node[data-value]").nth(1).hover()
    assert page.locator(".readout").inner_text() == "C 4 → O 2: 0.1"
    page.mouse.move(1, 1)
    assert tinted(page) == ([0.25, 0.75, 0.0], 1)
    asking.nth(1).focus()
    page.keyboard.press("ArrowLeft")
    assert asking.nth(0).get_attribute("aria-selected") == "true"
    heard = page.locator(".node[role=img]").evaluate_all("all => all.map((node) => node.ariaLabel)")
    assert heard == ["C 1, 0.9", "O 2, 0.1", "K⁺ 3, 0"]
    page.get_by_role("slider", name="layer").press("ArrowRight")  # what was chosen stays
    assert tinted(page) == ([0.125, 0.5, 0.375], 1)


# ------------------------------------------------------------------------------------------------ diagram


def test_a_diagram_follows_its_control_and_says_itself(show):
    def shapes(heads=4):
        names = {"X": Box("X", ("B", "L", 32)), "Q": Box("Q", ("B", heads, "L", 32 // heads), "query")}
        return diagram([["X"], ["Q"]], [("X", "Q", "split")], boxes=names, lit=["Q"])

    page = show(explore(shapes, heads=[1, 4, 8]))
    page.locator("select").select_option(label="8")
    assert page.locator(".diagram [data-box=Q]").text_content() == "Q(B, 8, L, 4)"
    said = page.locator(".diagram svg").get_attribute("aria-label")
    assert said == "X (B, L, 32); Q (B, 8, L, 4). From X by split to Q."


def test_a_box_says_what_it_is_and_in_the_book_opens_its_page(show, tmp_path):
    box = Box("Q", says="what is asked for", link="01-dictionary.html")
    page = show(explore(lambda: diagram([["Q", "K"]], boxes={"Q": box})))
    assert page.locator(".diagram a").get_attribute("href") is None  # a notebook has no such page
    (tmp_path / "book").mkdir()
    (tmp_path / "page.html").rename(tmp_path / "book" / "page.html")
    page.goto((tmp_path / "book" / "page.html").as_uri())
    link = page.get_by_role("link", name="Q: what is asked for")
    link.focus()
    expect(page.locator(".readout")).to_have_text("Q: what is asked for")
    assert link.evaluate("link => new URL(link.href.baseVal, location.href).pathname").endswith(
        "book/01-dictionary.html"
    )


# ------------------------------------------------------------------------------------------------ addresses


def test_a_link_sets_the_controls_shows_them_and_reset_goes_back(show):
    link = '<p style="height: 2000px"><a href="#turn?angle=90&amp;length=3">there</a></p>'
    page = show(link, turning())
    page.locator("a").click()
    assert page.locator("output").all_inner_texts() == ["90", "3"]
    assert page.locator(".control.flash").count() == 2
    page.wait_for_function("document.querySelector('attention-explorer').getBoundingClientRect().top < innerHeight")
    page.locator("input[type=range]").first.press("ArrowRight")
    page.evaluate("scrollTo(0, 0)")
    page.locator("a").click()  # the address is there already
    assert page.locator("output").first.inner_text() == "90"
    page.get_by_role("button", name="reset").press("Enter")  # this page ends below it, where the way back stands
    assert page.locator("output").all_inner_texts() == ["0", "1.4"]


# ------------------------------------------------------------------------------------------------ every hand and eye


def test_targets_are_large_under_a_finger_and_tracks_are_long(show):
    page = show(
        turning(),
        explore(lambda on, kind, t: bars([t], ["a"]), on=False, kind=["a", "b"], t=(1, 4)),
        width=360,
        has_touch=True,
        is_mobile=True,
    )
    assert not page.get_by_role("button", name="present").is_visible(), "a small screen is no stage"
    for target in page.locator(".control :is(button, select), input[type=range], .tools button:visible").all():
        assert target.bounding_box()["height"] >= 44
    for slider in page.locator("input[type=range]").all():
        assert slider.bounding_box()["width"] >= 180
    for handle in page.locator(".grip").all():
        assert handle.bounding_box()["width"] >= 44


def test_controls_stay_in_sight_where_an_explorer_is_taller_than_the_screen(show):
    page = show(explore(lambda t: [heatmap(t * torch.eye(16)) for _ in range(4)], t=(0, 3)), width=360)
    page.wait_for_selector(".attention-explorer.tall")
    page.evaluate("scrollTo(0, 600)")
    assert page.locator("input[type=range]").bounding_box()["y"] >= 0


def test_lines_differ_without_colour(show):
    x = torch.linspace(0, 1, 11)
    lines = {"a": x, "b": x**2, "c": x, "d": x}
    page = show(explore(lambda: curves(x, lines, colors=dict.fromkeys(lines, "ink"))))
    dashes = page.locator("path.line").evaluate_all("all => all.map(l => getComputedStyle(l).strokeDasharray)")
    assert len(set(dashes)) == 4


def test_paper_shows_the_state_in_words_and_the_colours(show):
    page = show(turning(), theme="dark", own=True)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".controls").inner_text().split() == ["angle", "0", "length", "1.4"]
    assert page.locator("input:visible, button:visible").count() == 0
    assert page.locator("attention-explorer").evaluate("e => getComputedStyle(e).colorScheme") == "light"
    assert page.locator(".bar").first.evaluate("b => getComputedStyle(b).printColorAdjust") == "exact"


def test_a_thumb_that_scrolls_over_a_slider_moves_nothing(show):
    page = show(turning(), "<div style='height: 1500px'></div>", width=390, has_touch=True, is_mobile=True)
    slider = page.locator("input[type=range]").first
    stood, box = slider.input_value(), slider.bounding_box()
    x, y = box["x"] + box["width"] / 10, box["y"] + box["height"] / 2
    swipe(page, (x, y), (x, y - 80))
    page.wait_for_function("scrollY > 0")
    assert slider.input_value() == stood


def test_what_is_dragged_arrives_where_the_finger_is(show):
    def tip(x, y):
        return plane({"v": (x, y)}, limits=(-4, 4), handle=("v", ("x", "y")))

    page = show(explore(tip, x=(-4.0, 4.0, 0.1), y=(-4.0, 4.0, 0.1)), width=390, has_touch=True, is_mobile=True)
    grip = page.locator(".grip")
    for across, down in ((60, 0), (-60, 0), (0, 60), (0, -60)):
        before = grip.bounding_box()
        x, y = before["x"] + before["width"] / 2, before["y"] + before["height"] / 2
        swipe(page, (x, y), (x + across, y + down))
        page.wait_for_function("!document.querySelector('.dragging')")
        after = grip.bounding_box()
        assert [after["x"] - before["x"], after["y"] - before["y"]] == pytest.approx([across, down], abs=4)


MOVED = """(slider, place) => {
    slider.value = place;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(scrollY))));
}"""


def test_the_page_stays_while_a_figure_is_moved_whose_top_is_out_of_sight(chapter):
    page = chapter("book/08-positions.html", reduced_motion="reduce").page
    clock = page.locator("#clock")
    clock.evaluate("el => scrollBy(0, el.getBoundingClientRect().top + 99)")
    slider, top = clock.locator("input[type=range]").first, page.evaluate("scrollY")
    assert {slider.evaluate(MOVED, place) for place in range(30)} == {top}
