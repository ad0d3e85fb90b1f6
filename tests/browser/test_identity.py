"""What makes the book look like itself: the plate of a figure, its number, its typefaces; and what all that weighs."""

import gzip

import pytest

from conftest import BOOK

STATIC = BOOK / "_static"
MOST = {"scripts and styles": 80_000, "fonts": 200_000}  # of what travels


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
    page = visit(f"{origins['disk']}/book/02-scores.html").page
    second = page.locator("attention-explorer").nth(1)
    link = second.locator(".head a")
    assert link.inner_text() == "Figure 2.2"
    assert link.get_attribute("href") == f"#{second.get_attribute('id')}"
    assert second.get_attribute("role") == "group"
    title = second.locator(".head").inner_text().partition("·")[2].strip()
    assert second.get_attribute("aria-label") == f"Figure 2.2: {title}"
