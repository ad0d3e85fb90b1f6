"""Visible code of a chapter uses no name that only a folded cell makes."""

import ast

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from tools.notebooks.execute import CHAPTERS
from tools.site.workload import FOLDED


def hidden_names(notebook: NotebookNode) -> list[str]:
    """The names that a visible cell reads, and that so far folded cells alone have made."""
    visible, folded, found = set(), set(), []
    for cell in notebook.cells:
        if cell.cell_type != "code" or {"remove-cell", "solution"} & set(cell.metadata.get("tags", ())):
            continue
        tree = ast.parse(TransformerManager().transform_cell(cell.source))  # IPython's lines, such as %config, too
        made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        made |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        made |= {
            (alias.asname or alias.name).partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        if FOLDED & set(cell.metadata.get("tags", ())):
            folded |= made
            continue
        visible |= made
        read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        found += sorted((read & folded) - visible)
    return list(dict.fromkeys(found))


def test_a_name_that_a_folded_cell_makes_is_found():
    makes, uses = new_code_cell("x = 1", metadata={"tags": ["hide-input"]}), new_code_cell("print(x)")
    assert hidden_names(new_notebook(cells=[makes, uses])) == ["x"]
    assert hidden_names(new_notebook(cells=[makes, new_code_cell("x = 2"), uses])) == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_visible_code_uses_what_is_seen(path):
    assert hidden_names(nbformat.read(path, as_version=4)) == []
