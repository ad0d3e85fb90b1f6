"""Links in prose that set controls: each names an explorer of a page, its controls, and states that there are."""

import re

import nbformat
import pytest

from payloads import payloads, state_faults
from tools.notebooks.execute import BOOK, NOTEBOOKS, page_name

PAGES = [*NOTEBOOKS, *sorted(BOOK.glob("*.md"))]
LINK = re.compile(r"\]\(([\w./-]*?)#([\w-]+)\?([^)\s]+)\)")


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_every_link_to_a_state_leads_to_one(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = nbformat.reads(text, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    found = []
    for page, name, query in LINK.findall(text):
        explorers = payloads(nbformat.read(path.parent / page if page else path, as_version=4))
        found += [page + fault for fault in state_faults(explorers, name, query.removesuffix("&present"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=page_name)
def test_no_two_explorers_of_a_page_have_one_name(path):
    names = [each["name"] for each in payloads(nbformat.read(path, as_version=4)) if "name" in each]
    assert len(names) == len(set(names)), names
