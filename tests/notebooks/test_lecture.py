"""Visible code of a chapter uses no name that only a folded cell makes."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tools.notebooks.lecture import CHAPTERS, hidden_names

FOLDED = {"tags": ["hide-input"]}


def test_a_name_that_a_folded_cell_makes_is_found():
    makes, uses = new_code_cell("x = 1", metadata=FOLDED), new_code_cell("print(x)")
    assert hidden_names(new_notebook(cells=[makes, uses])) == ["x"]
    assert hidden_names(new_notebook(cells=[makes, new_code_cell("x = 2"), uses])) == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_visible_code_uses_what_is_seen(path):
    assert hidden_names(nbformat.read(path, as_version=4)) == []
