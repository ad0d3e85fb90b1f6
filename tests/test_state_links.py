"""Links in prose that set controls: each names an explorer of a page, its controls, and states that there are."""

import json
import re
from urllib.parse import parse_qsl

import nbformat
import pytest
from tools.notebooks import BOOK, NOTEBOOKS, page_name

from payloads import payloads

PAGES = [*NOTEBOOKS, *sorted(BOOK.glob("*.md"))]
LINK = re.compile(r"\]\(#([\w-]+)\?([^)\s]+)\)")
ABROAD = re.compile(r"\]\(([\w./-]+\.ipynb)#([\w-]+)\?([^)\s]+)\)")  # to a figure of another page


def broken(notebook) -> list[str]:
    """What is wrong with a notebook's links to states, a sentence each."""
    found = []
    explorers = payloads(notebook)
    names = [explorer["name"] for explorer in explorers if "name" in explorer]
    found += [f"two explorers are named {name!r}" for name in set(names) if names.count(name) > 1]
    for name, query in LINK.findall(prose(notebook)):
        found += faults(explorers, name, query)
    return found


def faults(explorers: list[dict], name: str, query: str) -> list[str]:
    """What is wrong with one link to a state of one of a page's explorers."""
    controls = {each["name"]: {c["name"]: c for c in each["controls"]} for each in explorers if "name" in each}
    if name not in controls:
        return [f"#{name}?{query} names no explorer; there are {', '.join(controls) or 'none'}"]
    found = []
    for control, label in parse_qsl(query, keep_blank_values=True):
        if control not in controls[name]:
            found.append(f"#{name}?{query} names no control {control!r}; there are {', '.join(controls[name])}")
        elif label not in [*controls[name][control]["labels"], *map(str, controls[name][control]["states"])]:
            found.append(f"#{name}?{query}: {control} has no state {label!r}")
    return found


def prose(notebook) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=page_name)
def test_every_link_to_a_state_leads_to_one(path):
    assert broken(nbformat.read(path, as_version=4)) == []


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_every_link_to_a_state_on_another_page_leads_to_one(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = prose(nbformat.reads(text, as_version=4))
    found = []
    for page, name, query in ABROAD.findall(text):
        notebook = nbformat.read(path.parent / page, as_version=4)
        found += [f"{page}{fault}" for fault in faults(payloads(notebook), name, query)]
    assert found == []


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("#lookup?temperature=0.5&key=apple%20pie", None),
        ("#look?temperature=0.5", "#look?temperature=0.5 names no explorer; there are lookup"),
        ("#lookup?heat=0.5", "#lookup?heat=0.5 names no control 'heat'; there are temperature, key"),
        ("#lookup?temperature=0.7", "#lookup?temperature=0.7: temperature has no state '0.7'"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link, fault):
    controls = [
        {"name": "temperature", "labels": ["0.5", "1"], "states": [0.5, 1.0]},
        {"name": "key", "labels": ["apple pie"], "states": ["apple pie"]},
    ]
    page = f'<script type="application/json">{json.dumps({"name": "lookup", "controls": controls})}</script>'
    output = nbformat.v4.new_output("display_data", {"text/html": page})
    cells = [nbformat.v4.new_markdown_cell(f"as [here]({link})"), nbformat.v4.new_code_cell("", outputs=[output])]
    assert broken(nbformat.v4.new_notebook(cells=cells)) == ([fault] if fault else [])
