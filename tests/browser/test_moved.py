"""Addresses that readers may have kept still lead to what stood there (tests/anchors.json: the second edition's)."""

import json
import re
from posixpath import dirname, join, normpath

import pytest
from tools.moved import moved

from conftest import BOOK, ROOT

ANCHORS = json.loads((ROOT / "tests" / "anchors.json").read_text(encoding="utf-8"))
MOVED = moved()


def places(page: str) -> set[str]:
    """The anchors of a built page."""
    return set(re.findall(r'\bid="([^"]+)"', (BOOK / "book" / f"{page}.html").read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", ANCHORS)
def test_every_anchor_leads_somewhere(page):
    leads_on = MOVED.get(page, {})
    lost = [anchor for anchor in ANCHORS[page] if anchor not in places(page) and anchor not in leads_on]
    assert lost == [], "enter them in book/moved.yml"


@pytest.mark.parametrize("page", MOVED)
def test_what_has_moved_is_where_the_list_says_and_no_longer_here(page):
    for old, new in MOVED[page].items():
        to, anchor = new.split("#")
        assert old not in places(page), old
        there = normpath(join(dirname(page), to.removesuffix(".html"))) if to else page
        assert anchor in places(there), new


def test_an_old_address_opens_the_new_place_with_its_state(visit, origins):
    page, old, new = next((page, old, new) for page in MOVED for old, new in MOVED[page].items() if "/" in new)
    opened = visit(f"{origins['disk']}/book/{page}.html#{old}?a=1").page
    opened.wait_for_url(f"**/{new}?a=1")
