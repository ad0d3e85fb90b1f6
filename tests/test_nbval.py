"""Recording notebooks and checking them with nbval, on a small book of which every other cell has gone stale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from tools.notebooks import main, run

ROOT = Path(__file__).parent.parent
FLAGS = "--nbval --nbval-current-env --nbval-cell-timeout=60 -p no:cacheprovider --junitxml=results.xml"

# Each cell when it is recorded, and when it is checked.
CELLS = {
    "imports": ["import matplotlib.pyplot as plt\nfrom attention.explorer import bars, explore"] * 2,
    "right number": ["print(f'root {2**0.5:.6f}')"] * 2,
    "number a rounding away": ["1.414213", "1.414214"],
    "stale number": ["6 * 7", "6 * 8"],
    "right picture": ["plt.plot([1, 3, 2], color='blue')\nplt.show()"] * 2,
    "stale picture": [f"plt.plot([1, 3, 2], color='{color}')\nplt.show()" for color in ("blue", "red")],
    "right explorer": ["explore(lambda x: bars([x, 1.00]), x=(1, 3))"] * 2,
    "stale explorer": [f"explore(lambda x: bars([x, {end}]), x=(1, 3))" for end in ("1.00", "1.01")],
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
def results(folder):
    """Whether each cell passed, and its time in seconds: of the recorded notebook, changed, and of one that dies."""
    changed = nbformat.read(folder / "book.ipynb", as_version=4)
    for cell, (_, checked) in zip(changed.cells, CELLS.values(), strict=True):
        cell.source = checked
    nbformat.write(changed, folder / "changed.ipynb")
    two = new_output("execute_result", {"text/plain": "2"}, execution_count=1)
    sum_, exit_ = new_code_cell("1 + 1", outputs=[two], execution_count=1), new_code_cell("import os\nos._exit(1)")
    nbformat.write(new_notebook(cells=[sum_, exit_, new_code_cell("pass")]), folder / "dying.ipynb")

    command = [sys.executable, "-m", "pytest", *FLAGS.split(), "changed.ipynb", "dying.ipynb"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    found = {}
    for case in ElementTree.parse(folder / "results.xml").iter("testcase"):
        found.setdefault(case.get("classname"), []).append((len(case) == 0, float(case.get("time"))))
    return found


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_passes_unless_it_is_stale(results, name):
    passed, _ = results["changed.ipynb"][list(CELLS).index(name)]
    assert passed == (not name.startswith("stale"))


def test_a_dead_kernel_fails_in_seconds(results):
    passed, seconds = zip(*results["dying.ipynb"], strict=True)
    assert passed == (True, False, False)
    assert sum(seconds) < 15


def test_a_second_run_changes_nothing(folder):
    before = (folder / "book.ipynb").read_bytes()
    run(folder / "book.ipynb")
    assert (folder / "book.ipynb").read_bytes() == before


def test_a_notebook_that_fails_is_left_as_it_was(tmp_path):
    path = tmp_path / "failing.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    command = [sys.executable, "-m", "tools.notebooks", path]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    assert f"{path}: " in finished.stderr
    assert "ZeroDivisionError" in finished.stderr
    assert path.read_bytes() == before


def test_a_notebook_that_does_not_exist_is_named(capsys):
    assert main(["book/99-nothing.ipynb"]) == 1
    assert capsys.readouterr().err == "There is no notebook book/99-nothing.ipynb.\n"
