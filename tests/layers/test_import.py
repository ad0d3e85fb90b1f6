"""Importing the package is cheap, and its documentation's examples are true."""

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import attention

HEAVY = ["matplotlib", "ipywidgets", "anywidget", "IPython"]


def test_importing_the_package_loads_no_plotting_and_no_widgets():
    code = f"import sys, attention; print([name for name in {HEAVY} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
    assert {*attention.__all__} < {*dir(attention)}  # what an editor completes


PACKAGE = Path(attention.__file__).parent
FILES = sorted({*PACKAGE.glob("[!_]*.py"), *(PACKAGE / "course").rglob("*.py")})
EXAMPLES = [path for path in FILES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_the_examples_in_the_documentation_are_true(path):
    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    with torch.device("cpu"):  # what is printed names any other
        results = doctest.testmod(importlib.import_module(module))
    assert results.failed == 0
    assert results.attempted, "each public function has an example"
