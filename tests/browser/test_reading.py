"""Finding a place in the book, and not losing it: the search, citations, links to states, figures beside the text."""

import itertools
import re

import pytest
from playwright.sync_api import expect

from conftest import BOOK, PAGES

# ------------------------------------------------------------------------------------------------ the search

FOUND = """() => [...document.querySelectorAll('#search-results li')].map((item) => [
    item.querySelector('a').href, item.querySelector('a').textContent, item.querySelector('p').textContent])"""


@pytest.mark.parametrize("origin", ["disk", "server"])
def test_search_leads_to_the_section_that_answers(visit, origins, origin):
    opened = visit(f"{origins[origin]}/search.html?q=why+divide+by+root+d", origins[origin])
    page = opened.page
    page.wait_for_selector("#search-results li")
    found = page.evaluate(FOUND)
    addresses = [address for address, *_ in found]
    assert len(set(addresses)) == len(addresses), "a section is found once"
    address, title, excerpt = found[0]
    assert "/book/03-scaling.html#" in address
    assert title.startswith("3. Why the root? › ")
    assert page.locator("#search-results li").first.locator("mark").count() >= 2
    assert excerpt in page.locator("#search-results li").first.inner_text()
    page.locator("#search-results a").first.click()
    page.wait_for_function("document.querySelector(':target')")
    heading = page.locator(":target > :is(h2, h3)")
    assert title.removeprefix("3. Why the root? › ") in heading.inner_text()
    page.wait_for_function(
        "(() => { const {top} = document.querySelector(':target').getBoundingClientRect();"
        " return top > 0 && top < innerHeight / 2; })()"
    )
    assert (opened.abroad, opened.complaints) == ([], [])


# What is asked, and the beginning of a title that must be among the first three.
ASKED = {
    "by": "",  # of words that say nothing, what has them
    "softmax overflow": "4. Softmax, and what can learn through it › In a computer",
    "GQA": "13. ",  # other words for it
    "resid": "11. The Transformer: can it write a sentence? › The residual stream",  # still being typed
    "padding_mask": "The package › padding_mask",
    "MultiHeadAttention": "The package › MultiHeadAttention",
    "Vaswani": "Bibliography › Ashish Vaswani, Noam Shazeer, Niki Parmar and others, 2017",
    "Why is there no order?": "6. Where Q, K, V come from › No order at all",
}


def test_search_answers_while_it_is_typed(visit, origins):
    page = visit(f"{origins['disk']}/search.html").page
    field = page.locator(".bd-search-container input")
    for asked, title in ASKED.items():
        field.fill(asked)
        first = [found for _, found, _ in page.evaluate(FOUND)[:3]]
        assert any(found.startswith(title) for found in first), (asked, first)
    field.fill("zqxv")
    assert page.evaluate(FOUND) == []
    assert "Try fewer" in page.locator("#search-results [role=status]").inner_text()


# ------------------------------------------------------------------------------------------------ citations

CITED = re.compile(
    r"<a class=\"[^\"]*\" href=\"(?:\.\./)*(?:book/)?bibliography\.html(#?[^\"]*)\"><span[^>]*>([^<]*\d{4})"
)


def test_every_citation_leads_to_its_work():
    cited = [found for name in PAGES for found in CITED.findall((BOOK / name).read_text("utf-8"))]
    assert len(cited) > 100
    for anchor, text in cited:
        who, year = re.search(r"\w+", text)[0], re.search(r"\d{4}", text)[0]
        assert anchor == f"#{who.lower()}{year}"


# ------------------------------------------------------------------------------------------------ links to states

LAPTOP = {"height": 800, "reduced_motion": "reduce"}
PHONE = {"width": 390, "has_touch": True, "is_mobile": True}
IN_WINDOW = """(part) => { const {top, bottom} = part.getBoundingClientRect();
    return top >= 48 && bottom <= innerHeight; }"""
STILL = """() => new Promise((done) => {
    let [last, same] = [scrollY, 0];
    const look = () => {
        same = scrollY === last ? same + 1 : 0;
        last = scrollY;
        same > 3 ? done() : requestAnimationFrame(look);
    };
    look();
})"""
PLACE = "(link) => link.getBoundingClientRect().top"
OPEN_FOLDS = "document.querySelectorAll('details:has(a.state)').forEach((fold) => { fold.open = true; })"


@pytest.fixture
def reading(chapter):
    """A chapter that is opened anew, with its folds open and a hand on the wheel."""

    def read(name, **options):
        page = chapter(f"book/{name}.html", anew=True, **options).page
        page.evaluate(OPEN_FOLDS)
        page.mouse.wheel(0, 1)
        return page

    return read


@pytest.mark.parametrize(("name", "figures"), [("01-dictionary", "lookup softmax"), ("04-softmax", "reaction gap")])
def test_a_link_and_its_figure_s_panels_are_seen_together(reading, name, figures):
    page = reading(name, **LAPTOP)
    for figure, block in itertools.product(figures.split(), ("start", "end")):
        panels = page.locator(f"#{figure} .panels")
        for link in page.locator(f"a.state[href^='#{figure}?']").all():
            link.evaluate("(link, block) => link.scrollIntoView({block, behavior: 'instant'})", block)
            link.evaluate("link => link.click()")
            page.evaluate(STILL)
            assert link.evaluate(IN_WINDOW), link.get_attribute("href")
            assert panels.evaluate(IN_WINDOW), link.get_attribute("href")
            assert page.locator(".al-back").count() == 0


def test_a_link_far_from_its_figure_offers_the_way_back(reading):
    page = reading("04-softmax", reduced_motion="reduce")
    figure, link = page.locator("#reaction"), page.locator("a.state[href^='#reaction']").last
    link.evaluate("link => link.closest('p').style.paddingTop = '900px'")
    link.evaluate("link => scrollBy({top: link.getBoundingClientRect().top - 300, behavior: 'instant'})")
    link.click()
    back = page.locator(".al-back")
    back.wait_for()
    page.evaluate(STILL)
    box, way = figure.bounding_box(), back.bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= way["y"], "it covers nothing of the figure"
    assert way["y"] + way["height"] <= 900
    page.go_back()
    page.evaluate(STILL)
    assert 48 < link.evaluate(PLACE) < 500, "the browser's own way back"  # its question has gone from the figure above
    link.click()
    back.wait_for()
    page.evaluate(STILL)
    back.click()
    page.evaluate(STILL)
    assert link.evaluate("link => link === document.activeElement")
    assert 0 < link.evaluate(PLACE) < 900
    assert back.count() == 0


@pytest.mark.parametrize(("name", "figure"), [("02-scores", "turn"), ("04-softmax", "gap")])
def test_a_question_that_a_link_set_aside_is_in_reach_beside_the_link(reading, name, figure):
    page = reading(name, **LAPTOP)
    link = page.locator(f"a.state[href^='#{figure}?']").first
    link.evaluate("link => link.scrollIntoView({block: 'center', behavior: 'instant'})")
    link.click()
    page.evaluate(STILL)
    ask = page.locator(f"#{figure}").get_by_role("button", name="ask me first")
    assert ask.evaluate(IN_WINDOW)
    assert link.evaluate(IN_WINDOW)
    ask.click()
    page.evaluate(STILL)
    question = page.locator(f"#{figure} .question")
    assert question.evaluate(IN_WINDOW)
    assert question.evaluate("question => question === document.activeElement")
    assert ask.count() == 0


def test_on_a_phone_a_link_leads_to_its_figure_and_back(reading):
    page = reading("04-softmax", **PHONE)
    link, figure = page.locator("a.state[href^='#reaction?']").last, page.locator("#reaction")
    link.evaluate("link => link.closest('p').style.paddingTop = '900px'")
    link.tap()
    expect(figure).to_be_in_viewport(ratio=0.4)
    page.locator(".al-back").tap()
    expect(link).to_be_in_viewport()
    assert page.locator(".al-back").count() == 0


# ------------------------------------------------------------------------------------------------ beside the text


def test_a_figure_stands_beside_its_paragraphs_and_stays(reading):
    page = reading("04-softmax", width=1600, reduced_motion="reduce")
    figure = page.locator("#gap")
    page.locator(".beside").evaluate("group => group.scrollIntoView({behavior: 'instant'})")
    said = page.locator(".beside .said").last.bounding_box()
    assert figure.bounding_box()["x"] >= said["x"] + said["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1600
    for link in page.locator(".beside a.state").all():
        before = page.evaluate("scrollY")
        link.click()
        page.evaluate(STILL)
        assert page.evaluate("scrollY") == before
    assert figure.locator("input[type=range]").get_attribute("aria-valuetext") == "20"
    group, cell = page.locator(".beside"), page.locator(".beside > .cell")
    page.locator(".beside .said p").last.evaluate("p => { p.style.paddingBottom = '600px'; }")  # as if it said more
    room = group.bounding_box()["height"] - cell.bounding_box()["height"]
    assert room > 40
    group.evaluate("(group, by) => scrollBy({top: group.getBoundingClientRect().top + by, behavior: 'instant'})", -50)
    first = figure.bounding_box()["y"]
    page.evaluate("by => scrollBy({top: by, behavior: 'instant'})", room - 20)
    assert figure.bounding_box()["y"] == pytest.approx(first, abs=1), "it stays while its paragraphs pass"


def test_formulas_in_a_sentence_are_no_stops_for_the_tab_key(chapter):
    page = chapter("book/04-softmax.html", **LAPTOP).page
    assert page.locator("mjx-container").count() > 30
    assert page.locator("mjx-container[tabindex='0'], p mjx-container [tabindex='0']").count() == 0


def test_a_part_of_a_formula_says_what_it_is_and_lights_its_box(chapter):
    page = chapter("book/05-masking.html", has_touch=True).page
    for by in ("tap", "focus", "hover"):
        for box in ("query", "key", "value", "weights", "scaled", "masked"):
            getattr(page.locator(f"div.math [data-box={box}]").first, by)()
            said = page.locator(".diagram .told").get_attribute("aria-label")
            assert page.locator("div.math[data-says]").get_attribute("data-says") == said, by
            assert page.locator(f".diagram .told [data-box={box}]").count() == 1
        getattr(page.locator("h1 + .place a"), "hover" if by == "hover" else "focus")()
        assert page.locator("[data-says], .told").count() == 0
