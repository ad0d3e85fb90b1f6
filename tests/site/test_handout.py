"""What a class is handed: the notebooks without solutions, whose exercises wait and whose links lead somewhere."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.editions.edition import site
from tools.editions.handout import handout, write
from tools.notebooks import execute
from tools.notebooks.compare import difference

BOOK = Path(__file__).parents[2] / "book"
NAMES = [path.relative_to(BOOK).as_posix() for path in execute.NOTEBOOKS]
SITE = site()
LINK = re.compile(r"\]\(([^)\s\\]+)\)")  # no formula


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class") / "handout"
    write(folder)
    return folder


def read(path):
    return nbformat.read(path, as_version=4)


def printed(notebook):
    return "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))


PREDICTED, HINT, ANSWER = (
    f"<details><summary>{title}</summary>\n\nThis.\n\n</details>"
    for title in ("What happens?", "Hint", "A model answer")
)


def test_solutions_go_and_all_else_stays():
    cells = [
        new_markdown_cell(f"{HINT} [one](02-scores.ipynb), [two](notation.md#symbols)"),
        new_code_cell("def answer(): ..."),
        new_code_cell("def answer():\n    return 42", metadata={"tags": ["hide-cell", "solution"]}),
        new_markdown_cell(f"{PREDICTED}\n\n## Exercises\n\nWhy?\n\n{HINT}\n\n{ANSWER}"),
        new_markdown_cell(f"{ANSWER}\n\n## What you can do now\n\n{PREDICTED}"),
    ]
    notebook = new_notebook(cells=cells)
    assert [cell.source for cell in handout(notebook, "https://example.org").cells] == [
        f"{HINT} [one](02-scores.ipynb), [two](https://example.org/book/notation.html#symbols)",
        "def answer(): ...",
        f"{PREDICTED}\n\n## Exercises\n\nWhy?\n\n{HINT}\n\n",
        f"## What you can do now\n\n{PREDICTED}",
    ]
    assert notebook.cells == cells


def test_every_notebook_is_there_and_no_answer_in_it(folder):
    for name in NAMES:
        whole, part = read(BOOK / name), read(folder / name)
        left_out = [cell for cell in whole.cells if cell.id not in {kept.id for kept in part.cells}]
        assert all("solution" in cell.metadata.tags for cell in left_out)
        assert "correct: " not in printed(part)
        text = "\n\n".join(cell.source for cell in part.cells if cell.cell_type == "markdown")
        for section in re.findall(r"^## (?:Exercises|More exercises)\n.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE):
            assert set(re.findall(r"<summary>(.*?)</summary>", section)) <= {"Hint"}
        checked = [cell for cell in left_out if ".check(" in cell.source]  # the others are worked out on paper
        assert printed(part).count("not attempted yet") == len(checked) == printed(whole).count("correct: ")


def test_a_link_leads_to_a_notebook_beside_it_or_to_the_web(folder):
    for name in NAMES:
        texts = [cell.source for cell in read(folder / name).cells if cell.cell_type == "markdown"]
        for link in (link for text in texts for link in LINK.findall(text)):
            if link.startswith(f"{SITE}/book/"):
                page = link.removeprefix(f"{SITE}/book/").partition(".html")[0]
                assert (BOOK / f"{page}.md").is_file(), link
            elif not link.startswith("#"):  # a place or a figure of the same notebook
                target = (folder / name).parent / link.partition("#")[0]
                assert link.startswith("https://") or target.is_file(), link


def test_it_runs_to_its_end_and_its_exercises_wait(folder):
    path = folder / "02-scores.ipynb"
    before = printed(read(path))
    execute.run(path)
    assert difference(before, printed(read(path))) == ""
    assert before.count("not attempted yet") == 1
