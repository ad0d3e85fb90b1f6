"""The table of the instructor's page counts what is in the notebooks, and the ways through say as many hours."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.notebooks.execute import CHAPTERS
from tools.site import workload

BOOK = Path(__file__).parents[2] / "book"
HOURS = {"six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}


@pytest.fixture
def notebook():
    """1200 words, 60 lines of code, two figures: 16 + 10 + 6 minutes; two exercises: 20 minutes."""
    explorer = new_output("display_data", {"text/html": "<attention-explorer></attention-explorer>"})
    cells = [
        new_markdown_cell("# 3. Title"),
        new_code_cell("import sys", metadata={"tags": ["remove-cell"]}),
        new_markdown_cell("word " * 1191),
        new_code_cell("\n\n".join(["x = 1"] * 60), outputs=[explorer, explorer]),
        new_markdown_cell("## Exercises\n\n### 1. By hand\n\n" + "word " * 100),
        new_code_cell("x = ..."),
        new_code_cell("x = 2", metadata={"tags": ["hide-cell", "solution"]}),
        new_markdown_cell("### 2. Think"),
        new_markdown_cell("## What you can do\n\nYou."),
    ]
    return new_notebook(cells=cells)


def test_a_lecture_and_its_exercises_are_counted_apart(notebook):
    load = workload.count(notebook)
    assert load == (1200, 60, 2, 2)
    assert (*load.parts, load.lecture) == (16, 10, 6, 30)


def test_the_instructor_s_page_has_the_table_and_speaks_of_every_chapter():
    page = [(BOOK / "teaching.md").read_text(encoding="utf-8")]
    assert workload.MARK in page[0]
    chapters = {path.name for path in CHAPTERS}
    assert {name for name in chapters if f"]({name}" in page[0]} == chapters
    workload.add_table(None, "book/teaching", page)
    assert workload.MARK not in page[0]
    assert workload.table() in page[0]


def test_what_is_folded_is_left_out(notebook):
    notebook.cells[2:2] = [
        new_markdown_cell("<details><summary>Why</summary>\n\n" + "word " * 500 + "</details> " + "word " * 120),
        new_code_cell("x = 1\n" * 36, metadata={"tags": ["hide-input"]}),
    ]
    assert workload.count(notebook) == (1320, 60, 2, 2)


def test_the_welcome_page_says_how_many_hours_all_lectures_take():
    """A sum that is more than three quarters of an hour away from the number said is told here."""
    text = "\n".join(cell.source for cell in nbformat.read(BOOK / "index.ipynb", as_version=4).cells)
    said = HOURS[re.search(r"about (\w+) hours", text)[1]]
    chapters = [workload.count(nbformat.read(path, as_version=4)) for path in CHAPTERS]
    hours = sum(load.lecture for load in chapters) / 60
    assert abs(hours - said) <= 0.75, f"the lectures take {hours:.1f} hours, and book/index.ipynb says {said}"
