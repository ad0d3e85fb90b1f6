"""A figure on the whole screen: readable from afar, nothing cut, moved by keys; and the page as it was behind it."""

import pytest
import torch

from attention.explorer import bars, choice, curves, diagram, explore, plane
from explorers import drag

SCREEN = {"width": 1920, "height": 1080}
STAGE = SCREEN | {"reduced_motion": "reduce"}  # so that nothing is still under way
CHAPTERS = ["02-scores", "04-softmax", "05-masking", "08-positions", "09-kernel-regression"]

CUT = """() => {
    const shown = document.querySelector('.big');
    const isSeen = (part) => getComputedStyle(part).visibility === 'visible'
        && !part.closest('.spoken, .printed, .readout') && !part.matches('svg :not(text)');
    const out = [...shown.querySelectorAll('*')].filter((part) => {
        const {width, left, right, top, bottom} = part.getBoundingClientRect();
        const isIn = left >= -1 && top >= -1 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
        return width > 1 && isSeen(part) && !isIn;
    });
    const scrolled = [shown, ...shown.querySelectorAll('.panels, .scroller')].filter((part) =>
        part.scrollHeight > part.clientHeight + 2 || part.scrollWidth > part.clientWidth + 4);
    return [...out, ...scrolled].map((part) => `${part.tagName} ${part.className.baseVal ?? part.className}`);
}"""
SMALLEST = """() => {
    const shown = document.querySelector('.big');
    const texts = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT);
    const sizes = [];
    while (texts.nextNode()) {
        const part = texts.currentNode.parentElement;
        const look = getComputedStyle(part);
        if (!texts.currentNode.textContent.trim() || part.closest('.spoken, .printed, option, sub, .script')) continue;
        if (look.fontSize === '0px') continue;
        if (look.visibility !== 'visible' || look.clipPath !== 'none' || !part.getClientRects().length) continue;
        sizes.push(parseFloat(look.fontSize) * (part.closest('svg') ? part.getScreenCTM().a : 1));
    }
    return Math.min(...sizes);
}"""
SETTLED = """async () => {  // until a few frames have changed nothing
    for (let [before, same] = ['', 0]; same < 4; ) {
        await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
        const now = (document.querySelector('.big') ?? document.body).innerHTML;
        same = now === before ? same + 1 : 0;
        before = now;
    }
}"""


def lookup(query=0.0, temperature=1.0):
    x = torch.linspace(-2, 2, 41)
    weights = torch.softmax(-((torch.tensor([-1.0, 0, 1]) - query) ** 2) / temperature, 0)
    return [
        curves(x, {"value": x * query}, axes=("x", "y"), caption="A line"),
        bars(weights, ["apple", "banana", "chair"], caption="Weights"),
    ]


def figure(**options):
    return explore(lookup, title="A lookup", name="lookup", query=(-2.0, 2.0, 1.0), temperature=[1.0, 2.0], **options)


def still():
    return explore(lambda: diagram([["a", "b"]], [("a", "b")]), title="Two boxes")


TALL = '<p style="height: 1500px">above</p>'


def wait(page):
    page.evaluate(SETTLED)


def test_a_key_presents_the_figure_that_is_pointed_at_and_escape_ends_it(show):
    page = show(TALL, figure(), TALL)
    explorer = page.locator("attention-explorer")
    explorer.scroll_into_view_if_needed()
    page.keyboard.press("p")
    assert page.locator(".big").count() == 0
    explorer.hover()
    before = page.evaluate("[scrollY, document.body.scrollHeight]")
    page.keyboard.press("p")
    page.wait_for_selector(".big")
    box = explorer.bounding_box()
    assert [round(box[name]) for name in ("x", "y", "width", "height")] == [0, 0, 1280, 900]
    page.keyboard.press("Escape")
    assert page.locator(".big").count() == 0
    page.mouse.move(0, 0)
    wait(page)
    assert page.evaluate("[scrollY, document.body.scrollHeight]") == before
    assert not page.evaluate("document.querySelector('attention-explorer').getAttribute('style')")


def test_arrows_step_the_first_slider_and_leave_a_focused_control_alone(show):
    page = show(figure())
    page.get_by_role("button", name="present").click()
    page.wait_for_selector(".big")
    assert page.evaluate("document.activeElement.className").startswith("attention-explorer")
    output = page.locator("output")
    for key, said in (("ArrowRight", "1"), ("ArrowRight", "2"), ("ArrowRight", "2"), ("ArrowLeft", "1")):
        page.keyboard.press(key)
        assert output.inner_text() == said
    page.locator("input[type=range]").press("ArrowLeft")
    assert output.inner_text() == "0"
    page.get_by_role("button", name="end").click()
    assert page.evaluate("document.activeElement.textContent") == "present", "the focus is given back"


def test_p_answers_the_question_and_asks_it_again(show):
    names = ["apple", "banana", "chair"]
    leader = lambda panel: int(panel.numbers["values"].argmax())
    ask = choice("Who leads at 2?", names, leader, panel=1, at={"query": 2.0}, because="It is near.")
    page = show(figure(predict=ask))
    page.get_by_role("button", name="present").click()
    page.wait_for_selector(".big[data-veiled]")
    page.keyboard.press("ArrowRight")  # tells nothing before the answer
    assert page.locator(".big[data-veiled] output").inner_text() == "2"
    assert page.get_by_role("button", name="step on").count() == 0, "nor is it offered"
    page.keyboard.press("p")
    assert page.get_by_role("button", name="step on").is_visible()
    assert "chair" in page.locator(".verdict").inner_text()
    assert page.locator("[data-veiled]").count() == 0
    page.keyboard.press("p")
    assert page.locator(".big[data-veiled]").count() == 1


def test_figures_of_a_page_are_one_sequence_and_the_page_stays(show):
    page = show(TALL, figure(), TALL, still(), TALL)
    page.evaluate("scrollTo(0, 700)")
    page.evaluate("document.querySelector('attention-explorer').present()")
    assert page.locator(".big .remote b").inner_text() == "1 / 2"
    page.keyboard.press("PageUp")
    page.keyboard.press("PageDown")
    assert page.locator(".big .head").inner_text() == "Two boxes"
    assert page.locator(".big .remote b").inner_text() == "2 / 2"
    page.keyboard.press("PageDown")
    page.get_by_role("button", name="previous").click()
    assert page.locator(".big .head").inner_text() == "A lookup"
    page.keyboard.press("Escape")
    assert page.evaluate("scrollY") == 700
    assert page.locator(".big").count() == 0
    page.evaluate("document.querySelector('attention-explorer').present()")
    page.keyboard.press("End")
    page.keyboard.press("Escape")
    top = page.locator("attention-explorer").last.evaluate("el => el.getBoundingClientRect().top")
    assert 0 < top < 900, "where the lecture ended, the reader goes on"


def test_a_handle_follows_the_hand_on_the_large_picture(show):
    def turn(angle=0):
        radians = torch.tensor(angle * torch.pi / 180)
        query = torch.stack([radians.cos(), radians.sin()])
        return plane({"query": query}, x_limits=(-1.5, 1.5), limits=(-1.5, 1.5), handle=("query", "angle"))

    page = show(explore(turn, title="A turn", angle=(-90, 90, 10)))
    page.set_viewport_size(SCREEN)
    page.get_by_role("button", name="present").click()
    page.wait_for_selector(".big")
    wait(page)
    wait(page)
    left = "all => Math.max(...all.map((line) => line.getBoundingClientRect().x))"  # that of the upright one
    origin = page.locator(".big line.zero").evaluate_all(left)
    drag(page, page.locator(".grip"), lambda x, y: (origin, y - (x - origin)))
    assert page.locator("output").inner_text() == "90"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_opens_as_its_figures_readable_from_afar(chapter, name):
    visit = chapter(f"book/{name}.html", address="?present", **STAGE)
    page = visit.page
    page.wait_for_selector(".big")
    count = page.locator("attention-explorer").count()
    for place in range(1, count + 1):
        while page.locator(".big.sheet").count():
            page.keyboard.press("PageDown")
        own = page.locator(".big").get_attribute("id")
        assert page.locator(".big .head").inner_text().startswith(f"Figure {int(name[:2])}.{place}")
        wait(page)
        assert page.evaluate(CUT) == [], own
        if page.locator(".big[data-veiled]").count():
            page.keyboard.press("p")
            wait(page)
            assert page.evaluate(CUT) == [], own
        assert page.evaluate(SMALLEST) >= 27.5, own
        page.keyboard.press("PageDown")
    page.keyboard.press("Escape")
    assert page.locator(".big").count() == 0
    assert visit.complaints == []


@pytest.mark.parametrize(("name", "own"), [("06-self-attention", "walk"), ("07-multi-head", "pass")])
def test_a_computation_of_many_matrices_is_readable_from_afar(chapter, name, own):
    page = chapter(f"book/{name}.html", address=f"?present#{own}", **STAGE).page
    page.wait_for_selector(f"#{own}.big")
    if page.locator(".big[data-veiled]").count():
        page.keyboard.press("p")
    wait(page)
    assert page.evaluate(CUT) == []
    assert page.evaluate(SMALLEST) >= 24


ARTICLE = """<article class="bd-article"><section><h1>1. A title<a class="headerlink">#</a></h1>
    <p>Text, <strong>a word</strong>, and a question. <strong>Why does it work at all?</strong></p>
    <div class="math"><svg width="20ex" viewBox="0 0 20 10"><path d="M0,0h20v10z"/></svg></div>
    <details><h3>Folded</h3></details><section id="exercises"><h2>Exercises</h2></section></section></article>"""


def test_sentences_formulas_lists_tables_and_code_are_shown_one_after_another(show):
    rest = """<section><h2>A section</h2><ul><li>one</li><li>two</li></ul><table><tr><td>a cell</td></tr></table>
        <p>Off. So:</p><div class="cell"><pre>code()</pre></div><p>And:</p><div class="cell"><pre>more()</pre></div>
        <p>A check.</p><div class="cell"><pre>check()</pre></div></section></section></article>"""
    page = show(ARTICLE.replace("</section></article>", rest), figure())
    page.set_viewport_size(SCREEN)
    page.goto(page.url + "?present")
    said = []
    for key in ("ArrowRight", "ArrowDown", " ", "PageDown", " ", " "):
        page.wait_for_selector(".big")
        said.append("".join(page.locator(".big > :is(div, p:not(.remote))").all_inner_texts()))
        page.keyboard.press(key)
    assert said == ["1. A title", "Why does it work at all?", "", "one\ntwo", "a cell", "Off. So:code()And:more()"]
    assert page.locator(".big.sheet").count() == 0  # the figure comes last
    assert page.locator(".big .remote b").inner_text() == "7 / 7"
    page.keyboard.press("Escape")
    assert "present" not in page.url
