"""Recording notebooks and checking them with nbval, on a small book of which some cells have gone stale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tools.notebooks.execute import run

ROOT = Path(__file__).parents[2]

# Each cell when it is recorded, and when it is checked.
CELLS = {
    "imports": ["import matplotlib.pyplot as plt\nfrom attention.explorer import bars, explore"] * 2,
    "style": ["%config InlineBackend.figure_format = 'svg'\nplt.style.use('attention.softlookup')"] * 2,
    "right number": ["print(f'root {2**0.5:.6f}')"] * 2,
    "number a rounding away": ["1.414213", "1.414214"],
    "stale number": ["6 * 7", "6 * 8"],
    "right plot": ["plt.plot([1, 3, 2], marker='o')\nplt.show()"] * 2,
    "stale plot": [f"plt.plot([1, {peak}, 2])\nplt.show()" for peak in (3, 3.02)],
    "right explorer": ["explore(lambda x: bars([x, 1.00]), x=(1, 3))"] * 2,
    "right plot again": ["plt.plot([1, 3, 2], marker='o')\nplt.show()"] * 2,
    "right explorer again": ["explore(lambda x: bars([x, 1.00]), x=(1, 3))"] * 2,
    "stale explorer": [f"explore(lambda x: bars([x, {end}]), x=(1, 3))" for end in ("1.00", "1.03")],
    "stale warning": ["6 * 7", "import sys\nprint('careful', file=sys.stderr)\n6 * 7"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A recorded notebook, book.ipynb, beside the configuration of the real book."""
    folder = tmp_path_factory.mktemp("book")
    shutil.copy(ROOT / "book" / "conftest.py", folder)
    cells = [new_code_cell(recorded) for recorded, _ in CELLS.values()]
    nbformat.write(new_notebook(cells=cells), folder / "book.ipynb")
    run(folder / "book.ipynb")
    return folder


@pytest.fixture(scope="module")
def passed(folder):
    """Whether each cell passed, in a notebook whose cells have become those that are checked."""
    changed = nbformat.read(folder / "book.ipynb", as_version=4)
    for cell, (_, checked) in zip(changed.cells, CELLS.values(), strict=True):
        cell.source = checked
    nbformat.write(changed, folder / "changed.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval", "--junitxml=results.xml", "changed.ipynb"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    return [len(case) == 0 for case in ElementTree.parse(folder / "results.xml").iter("testcase")]


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_passes_unless_it_is_stale(passed, name):
    assert passed[list(CELLS).index(name)] == (not name.startswith("stale"))


@pytest.mark.parametrize("name", ["right plot", "right explorer"])
def test_what_is_drawn_again_is_saved_as_before(folder, name):
    cells = dict(zip(CELLS, nbformat.read(folder / "book.ipynb", as_version=4).cells, strict=True))
    ((before,), (after,)) = ([output.data for output in cells[each].outputs] for each in (name, f"{name} again"))
    assert after == before


def test_a_notebook_that_fails_is_left_as_it_was(tmp_path):
    path = tmp_path / "failing.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    command = [sys.executable, "-m", "tools.notebooks.execute", path]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    assert f"{path}: " in finished.stderr
    assert "ZeroDivisionError" in finished.stderr
    assert path.read_bytes() == before
