"""Run notebooks and save them normalised, so that a second run changes nothing.

Usage: ``python -m tools.notebooks.execute [NOTEBOOK …]``.
"""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbformat.validator import normalize

BOOK = Path(__file__).parents[2] / "book"
CHAPTERS = sorted(BOOK.glob("[0-9]*.ipynb"))
NOTEBOOKS = sorted([*BOOK.glob("*.ipynb"), *BOOK.glob("more/*.ipynb")])
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CELL_METADATA = ("mystnb", "tags")
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}  # as Colab and JupyterLab say it
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
SVG_METADATA = re.compile(r" *<metadata>.*?</metadata>\n", re.DOTALL)  # a date, a version


def normalise(notebook: NotebookNode) -> NotebookNode:
    """The notebook without what changes from run to run: widget views, an editor's metadata.

    Code that the page folds (its cell's tag is ``hide-input`` or ``hide-cell``) is folded in JupyterLab and Colab too.
    """
    _, notebook = normalize(notebook, 4, 5)  # a copy, in which a copied cell gets a name of its own
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = {name: cell.metadata[name] for name in CELL_METADATA if cell.metadata.get(name)}
        if cell.cell_type == "code":
            if {"hide-input", "hide-cell"} & set(cell.metadata.get("tags", ())):
                cell.metadata |= FOLDED
            for output in cell.outputs:
                output.pop("transient", None)
                data = output.get("data", {})
                data.pop(WIDGET_VIEW, None)
                data |= {kind: SVG_METADATA.sub("", text) for kind, text in data.items() if kind == "image/svg+xml"}
    return notebook


def run(path: Path) -> None:
    """Execute a notebook from a fresh kernel and save it, normalised; a cell that fails leaves the file as it was."""
    notebook = nbformat.read(path, as_version=4)
    options = {"timeout": 120, "coalesce_streams": True, "record_timing": False, "store_widget_state": False}
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": path.parent}}, **options).execute()
    nbformat.write(normalise(notebook), path)


def page_name(path: Path) -> str:
    """The name of a page of the book, as in ``02-scores`` and ``more/02-scores``."""
    return path.resolve().relative_to(BOOK.resolve()).with_suffix("").as_posix()


def attempt(path: Path) -> bool:
    """Run a notebook, and say how that went."""
    try:
        run(path)
    except (CellExecutionError, FileNotFoundError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return False
    print(path)
    return True


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    with ThreadPoolExecutor(max_workers=2) as pool:
        sys.exit(not all(list(pool.map(attempt, map(Path, sys.argv[1:] or NOTEBOOKS)))))
