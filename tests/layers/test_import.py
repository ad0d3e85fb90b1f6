"""Importing the package is cheap, and its documentation's examples are true."""

import doctest
import importlib
import subprocess
import sys

import pytest
import torch

HEAVY = ["matplotlib", "ipywidgets", "anywidget", "IPython"]


def test_importing_the_package_loads_no_plotting_and_no_widgets():
    code = f"import sys, attention; print([name for name in {HEAVY} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "module",
    [
        "attention.masks",
        "attention.functional",
        "attention.regression",
        "attention.modules",
        "attention.positions",
        "attention.contexts",
        "attention.seq2seq",
        "attention.course.data",
        "attention.course.digits",
        "attention.blocks",
        "attention.transformer",
        "attention.cache",
        "attention.sampling",
        "attention.course.reaction",
        "attention.course.experiments.gradient",
    ],
)
def test_the_examples_in_the_documentation_are_true(module):
    with torch.device("cpu"):  # what is printed names any other
        results = doctest.testmod(importlib.import_module(module))
    assert results.failed == 0
    assert results.attempted, "each public function has an example"
