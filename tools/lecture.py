"""Whether a chapter is one lecture: ``python -m tools.lecture [NOTEBOOK …]`` prints its counts and what is over."""

import ast
import sys
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tools.notebooks import BOOK
from tools.workload import FOLDED, FOLDS, figures_of, lines_of, unfolded

CHAPTERS = sorted(BOOK.glob("[0-9]*.ipynb"))
MOST = {"words": 1500, "lines": 110, "figures": 6, "folds": 5, "exercises": 4}
LEAST_EXERCISES = 3
WHOLE_LINES = 25
UNSEEN = {"remove-cell", "solution", *FOLDED}


def counts(notebook: NotebookNode) -> dict[str, int]:
    """What is seen with the folds closed: words, lines of code, figures; folds in the text, exercises."""
    shown = unfolded(notebook)
    text = [cell.source for cell in shown.cells if cell.cell_type == "markdown"]
    whole = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    lesson, _, tasks = whole.partition("\n## Exercises")
    return {
        "words": sum(len(part.split()) for part in text),
        "lines": sum(map(lines_of, seen(notebook))),
        "figures": sum(map(figures_of, notebook.cells)),
        "folds": len(FOLDS.findall(lesson)),
        "exercises": sum(line.startswith("### ") for line in tasks.partition("\n## ")[0].splitlines()),
    }


def seen(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells that stand open."""
    return [
        cell for cell in notebook.cells if cell.cell_type == "code" and not UNSEEN & set(cell.metadata.get("tags", ()))
    ]


def faults(notebook: NotebookNode) -> list[str]:
    """Where a chapter is more than a lecture, or hides what works; a sentence each."""
    found = [f"it has {n} {what}, more than {MOST[what]}" for what, n in counts(notebook).items() if n > MOST[what]]
    if counts(notebook)["exercises"] < LEAST_EXERCISES:
        found.append(f"it has fewer than {LEAST_EXERCISES} exercises")
    wholes = [cell for cell in seen(notebook) if "whole" in cell.metadata.get("tags", ())]
    if len(wholes) != 1:
        found.append(f"it has {len(wholes)} cells tagged whole, and should have one, unfolded")
    found += [
        f"its whole cell has {len(cell.source.splitlines())} lines, more than {WHOLE_LINES}"
        for cell in wholes
        if len(cell.source.splitlines()) > WHOLE_LINES
    ]
    if not question(notebook):
        found.append("its first cell asks no question: a bold sentence that ends in a question mark")
    return found + [f"a visible cell uses {name}, which a folded cell makes" for name in hidden_names(notebook)]


def question(notebook: NotebookNode) -> str:
    """What the chapter asks: the first bold sentence of its first cell that ends in a question mark."""
    bold = " ".join(notebook.cells[0].source.split()).split("**")[1::2]
    return next((part for part in bold if part.endswith("?")), "")


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


def main(names: list[str]) -> int:
    """Print each chapter's counts and faults; return how many chapters have a fault."""
    bad = 0
    for path in [Path(name) for name in names] or CHAPTERS:
        notebook = nbformat.read(path, as_version=4)
        print(path.stem, ", ".join(f"{n} {what}" for what, n in counts(notebook).items()))
        wrong = faults(notebook)
        bad += bool(wrong)
        for fault in wrong:
            print("   ", fault)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
