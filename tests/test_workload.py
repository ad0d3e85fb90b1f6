"""The table of the instructor's page counts what is in the notebooks."""

from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tools import workload

BOOK = Path(__file__).parent.parent / "book"


@pytest.fixture
def notebook():
    """480 words, 24 lines of code, two explorers, one exercise: 4 + 2 + 6 minutes, and 10."""
    explorer = new_output("display_data", {"text/html": "<attention-explorer></attention-explorer>"})
    cells = [
        new_markdown_cell("# 3. Title"),
        new_code_cell("import sys", metadata={"tags": ["remove-cell"]}),
        new_markdown_cell("word " * 477),
        new_code_cell("\n\n".join(["x = 1"] * 24), outputs=[explorer, explorer]),
        new_code_cell("x = 2", metadata={"tags": ["hide-cell", "solution"]}),
    ]
    return new_notebook(cells=cells)


def test_the_set_up_and_the_solutions_do_not_count(notebook):
    assert workload.count(notebook) == (480, 24, 2, 1)


def test_a_row_holds_the_counts_and_the_times(notebook, tmp_path, monkeypatch):
    (tmp_path / "index.ipynb").write_text("no chapter")
    workload.nbformat.write(notebook, tmp_path / "03-title.ipynb")
    monkeypatch.setattr(workload, "BOOK", tmp_path)
    assert workload.table() == workload.TABLE + "| [3. Title](03-title.ipynb) | 480 | 24 | 2 | 1 | 10 | 20 |\n"


def test_the_instructor_s_page_has_the_table_and_speaks_of_every_chapter():
    page = [(BOOK / "teaching.md").read_text(encoding="utf-8")]
    assert workload.MARK in page[0]
    chapters = {path.name for path in BOOK.glob("[0-9]*.ipynb")}
    assert {name for name in chapters if f"]({name}" in page[0]} == chapters
    workload.add_table(None, "book/teaching", page)
    assert workload.MARK not in page[0]
    assert workload.table() in page[0]


def test_what_is_folded_is_left_out_of_the_main_path(notebook):
    notebook.cells += [
        new_markdown_cell("<details><summary>Why</summary>\n\n" + "word " * 500 + "</details> " + "word " * 120),
        new_code_cell("x = 1\n" * 36, metadata={"tags": ["hide-input"]}),
    ]
    assert workload.minutes(notebook) == (20, 30)  # 12, 4 + 1 and 3
    assert workload.count(workload.unfolded(notebook)) == (600, 24, 2, 1)
    assert workload.minutes(workload.unfolded(notebook)) == (15, 25)
