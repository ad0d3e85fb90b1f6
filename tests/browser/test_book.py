"""The built book in a real browser: nothing fetched, nothing complained of, everything drawn, everything linked."""

from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import BOOK, PAGES

# The theme's own faults, which no option of it mends.
THEME_FAULTS: dict[str, str] = {}

RENDERED = """() => [...document.querySelectorAll('.math')].filter(
    (math) => !math.querySelector('mjx-container') || math.querySelector('mjx-merror, [data-mjx-error]')).length"""


@pytest.mark.parametrize("origin", ["disk", "server"])
@pytest.mark.parametrize("name", PAGES)
def test_page_asks_for_nothing_and_complains_of_nothing(visit, origins, origin, name):
    opened = visit(f"{origins[origin]}/{name}", origins[origin])
    opened.page.wait_for_function(f"({RENDERED})() === 0")
    opened.page.wait_for_load_state("networkidle")
    assert opened.abroad == []
    assert opened.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(visit, origins, theme, name):
    page = visit(f"{origins['disk']}/{name}", theme=theme).page
    page.wait_for_function(f"({RENDERED})() === 0")
    faults = [
        f"{fault['id']}: {node['html']}"
        for fault in Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        for node in fault["nodes"]
        if fault["impact"] in ("serious", "critical") and THEME_FAULTS.get(fault["id"], "\0") not in node["html"]
    ]
    assert faults == []


@pytest.mark.parametrize("name", PAGES)
def test_page_fits_a_phone(visit, origins, name):
    page = visit(f"{origins['disk']}/{name}", width=360).page
    page.wait_for_function(f"({RENDERED})() === 0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


STANDS_OUT = """() => [...document.querySelectorAll('attention-explorer, attention-explorer *')].filter((part) =>
    part.clientWidth && part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflowX === 'visible')
    .map((part) => `${part.tagName}.${part.className}: ${part.scrollWidth} in ${part.clientWidth}`)"""
CUT_OFF = """() => [...document.querySelectorAll('attention-explorer svg text')].filter((text) => {
    const [own, all] = [text, text.ownerSVGElement].map((part) => part.getBoundingClientRect());
    return getComputedStyle(text).visibility === 'visible' && (own.right > all.right + 1 || own.left < all.left - 1);
}).map((text) => text.textContent)"""


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_stands_out_of_an_explorer(visit, origins, name, width):
    page = visit(f"{origins['disk']}/{name}", width=width).page
    sliders = page.locator("attention-explorer input[type=range]")
    for key in ("Home", "End"):
        for slider in sliders.all():
            slider.press(key)
        assert page.evaluate(STANDS_OUT) == []
        assert page.evaluate(CUT_OFF) == []


class Links(HTMLParser):
    """What a page points to, and what can be pointed to in it."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]


def test_every_internal_link_resolves():
    pages = {
        path: Links(path.read_text(encoding="utf-8")) for path in BOOK.rglob("*.html") if "_static" not in path.parts
    }
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if ":" in link.split("/")[0] or link.startswith("//"):
                continue
            file, anchor = urldefrag(link)
            target = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            if not target.exists() or (anchor and target in pages and unquote(anchor) not in pages[target].anchors):
                broken.append(f"{path.relative_to(BOOK)} → {link}")
    assert len(pages) > len(PAGES)
    assert broken == []


@pytest.mark.parametrize("origin", ["disk", "server"])
def test_search_finds_a_word(visit, origins, origin):
    opened = visit(f"{origins[origin]}/search.html?q=temperature", origins[origin])
    opened.page.wait_for_selector("#search-results li a")
    found = opened.page.locator("#search-results li a").all_inner_texts()
    assert any("dictionary" in title.lower() for title in found)
    assert opened.complaints == []


def test_index_leads_to_the_welcome_page(visit, origins):
    page = visit(f"{origins['disk']}/index.html").page
    page.wait_for_url("**/book/index.html")
    assert page.locator("attention-explorer input[type=range]").count() == 2


def test_chapter_offers_itself_as_a_notebook(origins, visit):
    page = visit(f"{origins['disk']}/book/01-dictionary.html").page
    notebook = page.locator(
        "a[download][href$='01-dictionary.ipynb'], a[href*='_sources'][href$='.ipynb']"
    ).first.get_attribute("href")
    assert (BOOK / "book" / notebook).resolve().is_file()
    assert page.locator("a[href*='colab.research.google.com'][href$='book/01-dictionary.ipynb']").count() == 1
