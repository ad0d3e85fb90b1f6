"""The built book as a whole: everything linked, found and led to."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

from conftest import BOOK, PAGES
from payloads import PAYLOAD, state_faults
from tools.editions import edition


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
    published = urlsplit(edition.site()).path + "/"  # the page for none has whole addresses
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if ":" in link.split("/")[0] or link.startswith("//"):
                continue
            file, anchor = urldefrag(link.removeprefix(published))
            anchor = anchor.partition("?")[0]  # behind it, the state of an explorer, which has the name for its id
            target = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            if not target.exists() or (anchor and target in pages and unquote(anchor) not in pages[target].anchors):
                broken.append(f"{path.relative_to(BOOK)} → {link}")
    assert len(pages) > len(PAGES)
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_a_link_to_a_state_asks_for_one_that_the_figure_has(page):
    """As built: the address has been through Markdown and Sphinx."""
    found = []
    for address in re.findall(r'href="([^":]*#[\w-]+\?[^"]*)"', (BOOK / page).read_text(encoding="utf-8")):
        target, _, state = unescape(address).partition("#")
        name, _, query = state.partition("?")
        file = (BOOK / page).parent / target.partition("?")[0] if target else BOOK / page
        text = file.read_text(encoding="utf-8")
        found += state_faults(list(map(json.loads, PAYLOAD.findall(text))), name, query)
    assert not found, "\n".join(found)


def test_index_leads_to_the_welcome_page(visit, origins):
    page = visit(f"{origins['disk']}/index.html").page
    page.wait_for_url("**/book/index.html")
    assert page.locator("attention-explorer").first.get_attribute("id") == "ask"


def test_a_chapter_offers_itself_as_a_notebook():
    """That what lies beside it is there, is tested with all links."""
    links = Links((BOOK / "book" / "01-dictionary.html").read_text(encoding="utf-8")).links
    assert "../_sources/book/01-dictionary.ipynb" in links
    assert sum("colab.research" in link and link.endswith("/book/01-dictionary.ipynb") for link in links) == 1
