"""Notebooks train on the device at hand. Two are run on the pretended accelerator here, all of them each week."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
RUN = ("05-masking.ipynb", "11-transformer.ipynb")
DEVICE = re.compile(r"^device = (?:attention\.)?default_device\(.*?\)", re.MULTILINE)
TRAINS = re.compile(r"\btorch\.optim\.|\battention\.train\(|\bexperiment\.learn\(\w")


def code(path):
    notebook = nbformat.read(path, as_version=4)
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


TRAINING = [path for path in sorted([*BOOK.glob("*.ipynb"), *BOOK.glob("more/*.ipynb")]) if TRAINS.search(code(path))]


@pytest.mark.parametrize("path", TRAINING, ids=lambda path: str(path.relative_to(BOOK)))
def test_a_notebook_that_trains_says_on_which_device(path):
    assert len(DEVICE.findall(code(path))) == 1


def test_on_the_accelerator_they_print_the_same_and_a_step_elsewhere_is_found(tmp_path):
    if not hasattr(torch.library.Library, "fallback"):
        pytest.skip("this PyTorch cannot pretend")
    for name in RUN:
        shutil.copy(BOOK / name, tmp_path)
    step = "import torch\ntorch.optim.Adam([torch.zeros(6, 6, requires_grad=True, device='cpu')]).step()"
    nbformat.write(new_notebook(cells=[new_code_cell(step)]), tmp_path / "planted.ipynb")
    flags = "--nbval --nbval-current-env --rootdir=. -p book.conftest -p no:cacheprovider --junitxml=results.xml"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = os.environ | {"ATTENTION_DEVICE": "lazy", "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", *flags.split(), *RUN, "planted.ipynb"]
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    found = {}
    for case in ElementTree.parse(tmp_path / "results.xml").iter("testcase"):
        found.setdefault(case.get("classname"), []).extend(part.text for part in case)
    assert [found[name] for name in RUN] == [[], []]
    (failure,) = found["planted.ipynb"]
    assert "Adam trains a parameter of shape (6, 6) on cpu" in failure
