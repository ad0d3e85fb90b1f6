"""What makes the book look like itself: the plate of a figure, its number, its typefaces; and what all that weighs."""

import gzip
import re

import pytest
import torch

from attention.explorer import bars, explore, heatmap
from attention.explorer.front import script, stylesheet
from conftest import BOOK

STATIC = BOOK / "_static"
MOST = {"scripts and styles": 68_000, "fonts": 200_000}  # bytes that travel: a server sends text gzipped


def page_of_chapter(visit, origins, name, **options):
    return visit(f"{origins['disk']}/book/{name}.html", origins["disk"], **options)


def test_scripts_and_styles_stay_within_their_budget():
    own = [STATIC / name for name in ("explorer.js", "explorer.css", "softlookup.js", "softlookup.css", "find.js")]
    assert sum(len(gzip.compress(path.read_bytes())) for path in own) <= MOST["scripts and styles"]


def test_fonts_stay_within_their_budget_and_have_their_licences():
    fonts = [*(STATIC / "fonts").glob("*.woff2")]
    assert len(fonts) == 3
    assert sum(path.stat().st_size for path in fonts) <= MOST["fonts"]
    for name in ("serif", "sans"):
        assert "SIL Open Font License" in (STATIC / "fonts" / f"{name}-OFL.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("origin", ["disk", "server"])
def test_the_book_is_set_in_its_own_fonts(visit, origins, origin):
    opened = visit(f"{origins[origin]}/book/notation.html", origins[origin])
    loaded = opened.page.evaluate(
        "document.fonts.ready.then((all) => [...all].flatMap(({family, status}) => status === 'loaded' ? family : []))"
    )
    assert {name.strip('"').lower() for name in loaded} >= {"soft lookup serif", "soft lookup sans"}
    first = opened.page.evaluate("getComputedStyle(document.querySelector('article p')).fontFamily").split(",")[0]
    assert first.strip('"').lower() == "soft lookup serif"
    assert opened.complaints == []


def test_a_figure_has_its_number_its_permalink_and_a_name(visit, origins):
    page = page_of_chapter(visit, origins, "02-scores").page
    second = page.locator("attention-explorer").nth(1)
    link = second.locator(".head a")
    assert link.inner_text() == "Figure 2.2"
    assert link.get_attribute("href") == f"#{second.get_attribute('id')}"
    assert second.get_attribute("role") == "group"
    title = second.locator(".head").inner_text().partition("·")[2].strip()
    assert second.get_attribute("aria-label") == f"Figure 2.2: {title}"


def test_the_number_is_there_without_scripts(visit, origins):
    page = page_of_chapter(visit, origins, "02-scores", java_script_enabled=False).page
    assert page.locator("attention-explorer .head a").all_inner_texts()[:2] == ["Figure 2.1", "Figure 2.2"]


def test_the_list_of_figures_leads_to_each(visit, origins):
    page = page_of_chapter(visit, origins, "figures").page
    links = page.locator("article li a[href*='#']")
    entry = links.filter(has_text=re.compile(r"^Figure 2\.2$"))
    entry.click()
    page.wait_for_url("**/02-scores.html#*")
    anchor = page.url.partition("#")[2]
    assert page.evaluate("(id) => document.getElementById(id).dataset.number", anchor) == "2.2"


def test_the_code_of_a_figure_is_below_it(visit, origins):
    page = page_of_chapter(visit, origins, "03-scaling").page
    cells = page.locator("div.cell.with-figure:has(details.hide)")
    assert cells.count() >= 3
    for cell in cells.all():
        figure, code = cell.locator("attention-explorer"), cell.locator("details.hide > summary")
        assert code.bounding_box()["y"] > figure.bounding_box()["y"] + figure.bounding_box()["height"] - 40
        assert code.evaluate(
            "(code) => code.closest('.cell').querySelector('attention-explorer').compareDocumentPosition(code) & 4"
        )


def test_controls_of_a_tall_figure_stay_in_sight(visit, origins):
    page = page_of_chapter(visit, origins, "07-multi-head").page
    page.set_viewport_size({"width": 1280, "height": 500})
    figure = page.locator("#pass")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector("#pass.tall")
    page.evaluate("document.querySelector('#pass .panels').scrollIntoView({block: 'end', behavior: 'instant'})")
    controls, caption = figure.locator(".controls").bounding_box(), figure.locator("figcaption").first.bounding_box()
    assert 0 <= controls["y"] < 100
    page.evaluate("document.querySelector('#pass').scrollIntoView({block: 'start', behavior: 'instant'})")
    controls, caption = figure.locator(".controls").bounding_box(), figure.locator("figcaption").first.bounding_box()
    assert controls["y"] + controls["height"] <= caption["y"]


def test_a_pinned_state_is_named(show):
    page = show(explore(lambda heat: bars([heat, 1.0]), title="Pinned", heat=(1, 4), name="pin"))
    page.locator("input[type=range]").press("ArrowRight")
    label = page.locator(".pinned")
    before = page.locator("input[type=range]").get_attribute("aria-valuetext")
    assert label.inner_text() == ""
    page.get_by_role("button", name="pin").click()
    page.locator("input[type=range]").press("Home")
    assert label.inner_text() == f"pinned: heat = {before}"
    page.get_by_role("button", name="unpin").click()
    assert label.inner_text() == ""


def test_a_word_s_index_is_set_below_the_line_and_a_function_s_name_is_not(show):
    from attention.explorer import choice

    asked = choice(
        "W_q or causal_mask?", ["a", "b"], lambda panel: int(panel.numbers["values"][0] > 1), at={"x": 2}, because="So."
    )
    page = show(explore(lambda x: bars([x]), title="Indices", predict=asked, x=[1, 2]))
    assert page.locator(".question").inner_html() == "W<sub>q</sub> or causal_mask?"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_the_same_without_light_dark(visit, tmp_path, theme):
    """Its fallback is let in, and its own rules are taken away, as in a browser that lacks the function."""
    css = stylesheet()
    older = css.replace("@supports not (color: light-dark(#000, #fff))", "@supports (color: red)")
    assert older != css
    older = re.sub(r"light-dark\((?!#000)", "unknown-function(", older)
    map_ = explore(lambda: heatmap(torch.eye(2)), title="A map")._repr_mimebundle_()["text/html"]
    seen = []
    for name, text in (("newer", css), ("older", older)):
        path = tmp_path / f"{name}.html"
        path.write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>{name}</title>'
            f"<style>{text}</style><script>{script()}</script>{map_}",
            encoding="utf-8",
        )
        opened = visit(path.as_uri())
        assert opened.complaints == []
        seen.append(
            opened.page.evaluate(
                """['attention-explorer', 'attention-explorer td[data-value="1"]'].map((place) => {
                    const {backgroundColor, color} = getComputedStyle(document.querySelector(place));
                    return [backgroundColor, color];
                })"""
            )
        )
    assert seen[0] == seen[1]


def test_the_print_of_code_is_wrapped(visit, origins):
    page = page_of_chapter(visit, origins, "02-scores").page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('article pre')).whiteSpace") in (
        "pre-wrap",
        "preserve wrap",
    )


def test_nothing_lies_on_figures_on_a_phone(visit, origins):
    page = page_of_chapter(visit, origins, "02-scores", width=360).page
    page.evaluate("scrollTo(0, 3000)")
    page.evaluate("scrollTo(0, 2500)")
    assert not page.locator("#pst-back-to-top").is_visible()
