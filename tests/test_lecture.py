"""A chapter is one lecture: what counts, what is over, and that every chapter keeps within it."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from tools.lecture import CHAPTERS, MOST, counts, faults, hidden_names, question


def lecture(*more):
    """A chapter as it should be, and cells that are put in before its exercises."""
    cells = [
        new_markdown_cell("# 1. A chapter\n\nWords. **What is\nasked?** <details>Why?</details>"),
        new_code_cell("import torch", metadata={"tags": ["remove-cell"]}),
        new_code_cell("a = 1\n\nb = a"),
        *more,
        new_code_cell("def f(x): ...", metadata={"tags": ["whole"]}),
        new_markdown_cell("## Exercises\n\n### 1. One\n\n### 2. Two\n\n### 3. Three"),
        new_code_cell("c = 1", metadata={"tags": ["hide-cell", "solution"]}),
        new_markdown_cell("## What you can do now\n\n### Not an exercise"),
    ]
    return new_notebook(cells=cells)


def test_what_counts():
    assert counts(lecture()) == {"words": 29, "lines": 3, "figures": 0, "folds": 1, "exercises": 3}
    assert question(lecture()) == "What is asked?"
    assert faults(lecture()) == []


FOLDED = {"tags": ["hide-input"]}
OVER = {
    "words": ([new_markdown_cell("word " * MOST["words"])], "words, more than"),
    "lines": ([new_code_cell("\n".join("a = 1" for _ in range(MOST["lines"])))], "lines, more than"),
    "folds": ([new_markdown_cell("<details>a</details> " * 5)], "6 folds, more than"),
    "two wholes": ([new_code_cell("a", metadata={"tags": ["whole"]})], "2 cells tagged whole"),
    "a long whole": (
        [new_code_cell("\n".join(["a = 1"] * 26), metadata={"tags": ["whole"]})],
        "whole cell has 26 lines",
    ),
    "a folded name": ([new_code_cell("x = 1", metadata=FOLDED), new_code_cell("print(x)")], "uses x, which a folded"),
}


@pytest.mark.parametrize(("cells", "fault"), OVER.values(), ids=OVER)
def test_what_is_over_is_named(cells, fault):
    assert any(fault in found for found in faults(lecture(*cells)))


def test_what_a_visible_cell_makes_is_no_hidden_name():
    cells = [new_code_cell("x = 1", metadata=FOLDED), new_code_cell("x = 2"), new_code_cell("print(x)")]
    assert hidden_names(lecture(*cells)) == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_chapter_is_one_lecture(path):
    assert faults(nbformat.read(path, as_version=4)) == []
