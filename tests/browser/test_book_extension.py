"""The book's own Sphinx extension."""

import json
import re
from html import unescape

import pytest

from conftest import BOOK, PAGES
from payloads import PAYLOAD, state_faults
from tools.site.book_extension import light, readable, without_font_preloads


def test_fonts_are_not_asked_for_ahead():
    head = '<meta><link rel="preload" as="font" type="font/woff2" href="a.woff2" />\n<link href="a.css" />'
    assert without_font_preloads(head) == '<meta>\n<link href="a.css" />'


def test_signatures_hold_no_list_without_terms():
    body = '<dt class="sig py">f(<dl>\n<dd>length</dd>\n</dl>)</dt>\n<dd><dl><dt>Returns</dt><dd>it</dd></dl></dd>'
    assert readable(body) == (
        '<dt class="sig py">f(<span>\n<span class="sig-line">length</span>\n</span>)</dt>\n'
        "<dd><dl><dt>Returns</dt><dd>it</dd></dl></dd>"
    )


def test_entries_of_the_bibliography_are_items_of_its_list():
    assert readable('<div role="doc-biblioentry">') == '<div role="listitem">'


def test_code_loses_the_tags_that_give_no_colour_and_no_letter():
    code = '<span class="n">q</span><span class="w"> </span><span class="o">@</span> <span class="n"><i>k</i></span>'
    assert light(code) == 'q <span class="o">@</span> <span class="n"><i>k</i></span>'


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
