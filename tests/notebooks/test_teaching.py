"""The instructors' page: plans, questions, and estimates of time; chapters whose visible code reads by itself."""

import ast
import re

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.notebooks.execute import BOOK, CHAPTERS
from tools.site import workload
from tools.site.workload import FOLDED

PAGE = (BOOK / "teaching.md").read_text(encoding="utf-8")
SECTIONS = {part.splitlines()[0]: part for part in re.split(r"(?m)^## ", PAGE)[1:]}
HOURS = {"six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


@every_chapter
def test_a_plan_has_its_chapter_s_title_and_figures_three_questions_and_what_to_leave_out(path):
    plans = [part for title, part in SECTIONS.items() if f"]({path.name})" in title]
    assert len(plans) == 1, f"the instructors' page has no section for {path.stem}"
    welcome = (BOOK / "index.ipynb").read_text(encoding="utf-8")
    assert f"]({path.name}) | " in welcome, f"the table of book/index.ipynb has no row for {path.stem}"
    title = nbformat.read(path, as_version=4).cells[0].source.splitlines()[0].removeprefix("# ")
    assert title.startswith(f"{int(path.stem[:2])}. "), f"the title of {path.stem} has not its number: {title}"
    assert plans[0].startswith(f"[{title}]")
    assert re.search(rf"\]\({path.name}#[\w-]+\?", plans[0]), f"the plan of {path.stem} leads to no state of a figure"
    asked = re.findall(r"(?m)^\d\. \*\*(.+\?.*)\*\* (?:Expect|Most say): \*(.+?)\* (.+)$", plans[0])
    assert len(asked) == 3, "a plan has three questions: 1. **…?** Expect: *a wrong answer* Its correction."
    assert "Leave out: " in plans[0]


def test_a_lecture_and_its_exercises_are_counted_apart_and_what_is_folded_not_at_all():
    """1200 words, 60 lines of code, two figures: 16 + 10 + 6 minutes."""
    explorer = new_output("display_data", {"text/html": "<attention-explorer></attention-explorer>"})
    cells = [
        new_markdown_cell("# 3. Title\n\n<details><summary>Why</summary>\n\nword</details> " + "word " * 1191),
        new_code_cell("x = 1\n" * 36, metadata={"tags": ["hide-input"]}),
        new_code_cell("\n\n".join(["x = 1"] * 60), outputs=[explorer, explorer]),
        new_markdown_cell("## Exercises\n\n### 1. By hand\n\n" + "word " * 100),
        new_code_cell("x = ..."),
        new_markdown_cell("### 2. Think"),
        new_markdown_cell("## What you can do\n\nYou."),
    ]
    assert workload.count(new_notebook(cells=cells)) == (1200, 60, 2, 30, 2)


def test_the_page_has_a_row_for_each_chapter():
    page = [PAGE]
    workload.add_table(None, "book/teaching", page)
    assert page[0].count("\n| [") - PAGE.count("\n| [") == len(CHAPTERS)


def test_the_welcome_page_says_how_many_hours_all_lectures_take():
    """A sum that is more than three quarters of an hour away from the number said is told here."""
    text = "\n".join(cell.source for cell in nbformat.read(BOOK / "index.ipynb", as_version=4).cells)
    said = HOURS[re.search(r"about (\w+) hours", text)[1]]
    chapters = [workload.count(nbformat.read(path, as_version=4)) for path in CHAPTERS]
    hours = sum(load.lecture for load in chapters) / 60
    assert abs(hours - said) <= 0.75, f"the lectures take {hours:.1f} hours, and book/index.ipynb says {said}"


def hidden_names(notebook: NotebookNode) -> list[str]:
    """The names that a visible cell reads, and that so far folded cells alone have made."""
    visible, folded, found = set(), set(), []
    for cell in notebook.cells:
        tags = set(cell.metadata.get("tags", ()))
        if cell.cell_type != "code" or {"remove-cell", "solution"} & tags:
            continue
        nodes = [*ast.walk(ast.parse(TransformerManager().transform_cell(cell.source)))]  # IPython's lines, too
        names = [node for node in nodes if isinstance(node, ast.Name)]
        made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        imports = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
        made |= {(alias.asname or alias.name).partition(".")[0] for alias in imports}
        if FOLDED & tags:
            folded |= made
        else:
            visible |= made
            found += sorted(({node.id for node in names if isinstance(node.ctx, ast.Load)} & folded) - visible)
    return list(dict.fromkeys(found))


def test_a_name_that_a_folded_cell_makes_is_found():
    makes, uses = new_code_cell("x = 1", metadata={"tags": ["hide-input"]}), new_code_cell("print(x)")
    assert hidden_names(new_notebook(cells=[makes, uses])) == ["x"]
    assert hidden_names(new_notebook(cells=[makes, new_code_cell("x = 2"), uses])) == []


@every_chapter
def test_visible_code_uses_what_is_seen(path):
    assert hidden_names(nbformat.read(path, as_version=4)) == []
