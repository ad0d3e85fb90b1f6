"""What a reader of a chapter sees, and whether the visible code runs on names that a reader has seen made."""

import ast

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tools.notebooks.execute import BOOK
from tools.site.workload import FOLDED

CHAPTERS = sorted(BOOK.glob("[0-9]*.ipynb"))
UNSEEN = {"remove-cell", "solution", *FOLDED}


def seen(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells that stand open."""
    return [
        cell for cell in notebook.cells if cell.cell_type == "code" and not UNSEEN & set(cell.metadata.get("tags", ()))
    ]


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
