"""nbval for this book: outputs may differ as those of two processors do.

Plots are compared where matplotlib is the lock's: another draws them otherwise.

With ``ATTENTION_DEVICE=lazy``, kernels have the tests' pretended accelerator.
"""

import os
from importlib.metadata import version

from nbval.plugin import IPyNbCell

from tools.notebooks.compare import differences
from tools.notebooks.execute import BOOK

LOCK = (BOOK.parent / "requirements.txt").read_text(encoding="utf-8")
IS_LOCKED = f"matplotlib=={version('matplotlib')}\n" in LOCK
UNCOMPARED = () if IS_LOCKED else ("image/svg+xml",)


def pytest_configure(config):
    if os.environ.get("ATTENTION_DEVICE") == "lazy":
        startup = BOOK.parent / "tests" / "lazy.py"  # IPython runs it
        os.environ["PYTHONSTARTUP"] = str(startup)


def compare_outputs(cell, outputs, references, skip_compare=None):
    """Whether they are the same; if not, the report says what differs."""
    skip = (*(skip_compare or cell.parent.skip_compare), *UNCOMPARED)
    cell.comparison_traceback = differences(references, outputs, skip)
    return not cell.comparison_traceback


IPyNbCell.compare_outputs = compare_outputs
