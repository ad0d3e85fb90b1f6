"""The form of notebooks: a good one has no fault, each planted fault is named, and the book's own have none."""

import copy
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbformat.warnings import DuplicateCellId

from tools.notebooks.execute import NOTEBOOKS, WIDGET_VIEW, normalise, page_name
from tools.notebooks.form import SETUP, faults

ROOT = Path(__file__).parents[2]
ADDRESS = "https://example.org/book"


def good():
    """A notebook as it should be: set-up, a sum, a figure with its alt text, a trained number within bounds."""
    cells = [
        new_markdown_cell("# A chapter"),
        new_code_cell(SETUP.format(address=ADDRESS), metadata={"tags": ["remove-cell"]}),
        new_code_cell("1 + 1", outputs=[shown({"text/plain": "2"})]),
        new_code_cell(
            "plot()",
            metadata={"mystnb": {"image": {"alt": "A line that rises"}}},
            outputs=[shown({"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"})],
        ),
        new_code_cell("assert loss < 1"),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
        if cell.cell_type == "code":
            cell.execution_count = number
    return normalise(new_notebook(cells=cells))


def shown(data):
    return new_output("display_data", data)


def change(number, **changes):
    """Change a code cell of the good notebook; they count from 1."""
    return lambda notebook: notebook.cells[number].update(changes)


NOT_NORMAL = "it is not normalised: run make notebooks"
NO_SETUP = "its first code cell is not the set-up cell of tools/notebooks/form.py"
NO_ALT = "code cell 3 shows a figure without an alt text of four words or more (cell metadata mystnb.image.alt)"
UNCHECKED = "code cell 4 has its output ignored: print it rounded, or assert its bounds"
FAULTS = {
    "widget state": (lambda notebook: notebook.metadata.update(widgets={}), [NOT_NORMAL]),
    "a widget's view": (change(2, outputs=[shown({WIDGET_VIEW: {}})]), [NOT_NORMAL]),
    "another set-up": (change(1, source="%pip install softlookup"), [NO_SETUP]),
    "26 lines": (change(2, source="\n".join(["x = 1"] * 26)), ["code cell 2 has 26 lines, more than 25"]),
    "an ignored output": (change(4, metadata={"tags": ["nbval-ignore-output"]}), [UNCHECKED]),
    "a solution in sight": (
        change(2, metadata={"tags": ["solution"]}),
        ["code cell 2 is a solution that all see: tag it hide-cell"],
    ),
    "an ignored output, indented": (
        change(4, source="if loss:\n    # NBVAL_IGNORE_OUTPUT\n    print(loss)"),
        [UNCHECKED],
    ),
    "an alt text of two words": (change(3, metadata={"mystnb": {"image": {"alt": "A line"}}}), [NO_ALT]),
    "cells run out of order": (change(2, execution_count=7), ["code cell 2 has execution count 7: run make notebooks"]),
}


def test_a_good_notebook_has_no_fault():
    assert faults(good(), ADDRESS) == []


@pytest.mark.parametrize(("plant", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_named_and_nothing_else(plant, expected):
    notebook = good()
    plant(notebook)
    assert faults(notebook, ADDRESS) == expected


# Normalising: what changes from run to run goes, all else stays.


def messy():
    """The good notebook after a run in an editor."""
    notebook = good()
    notebook.metadata.update(widgets={"state": {}}, kernelspec={"name": "my-env", "display_name": "Mine"})
    notebook.cells[2].metadata.update(collapsed=False, execution={"iopub.status.busy": "2026-01-01"})
    view = shown({WIDGET_VIEW: {"model_id": "4f0c"}, "text/html": "<b>2</b>"})
    notebook.cells[2].outputs = [view | {"transient": {"display_id": "1"}}]
    return notebook


def test_normalising_leaves_what_the_notebook_says_and_its_argument_alone():
    notebook, before, expected = messy(), messy(), good()
    expected.cells[2].outputs = [shown({"text/html": "<b>2</b>"})]
    assert normalise(notebook) == expected
    assert notebook == before


def test_a_copied_cell_gets_a_name_of_its_own():
    notebook = good()
    notebook.cells[2:2] = [copy.deepcopy(notebook.cells[1]), new_markdown_cell("pasted", id="cell-2")]
    with pytest.warns(DuplicateCellId):
        names = [cell.id for cell in normalise(notebook).cells]
    assert len(set(names)) == len(names) == 7
    assert names[:2] == ["cell-0", "cell-1"]


# The book itself.


@pytest.mark.parametrize("path", NOTEBOOKS, ids=page_name)
def test_the_book_s_notebooks_have_no_fault(path):
    address = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
    assert faults(nbformat.read(path, as_version=4), address) == []


def test_the_table_of_contents_lists_every_notebook():
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in contents["parts"] for chapter in part["chapters"]]
    more = [section for chapter in chapters for section in chapter.get("sections", ())]
    listed = [contents["root"], *(entry["file"] for entry in chapters + more)]
    missing = {f"book/{page_name(path)}" for path in NOTEBOOKS} - set(listed)
    assert not missing, f"_toc.yml does not list {missing}"
