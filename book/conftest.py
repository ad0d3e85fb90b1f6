"""nbval for this book: a tolerance, pictures too, and a dead kernel noticed.

With ``ATTENTION_DEVICE=lazy``, kernels have the pretended accelerator of tests.
"""

import os
import time
from pathlib import Path
from queue import Empty

from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile
from tools.compare import Output
from tools.kernels import fork_kernels

_setup, _sanitize, _await_reply = (
    IPyNbFile.setup,
    IPyNbCell.sanitize,
    RunningKernel.await_reply,
)


def _setup_with_pictures(self):
    _setup(self)
    self.skip_compare = tuple(
        kind for kind in self.skip_compare if not kind.startswith("image/")
    )


def _sanitize_to_output(self, text):
    text = _sanitize(self, text)
    return Output(text) if isinstance(text, str) else text


def _await_reply_of_the_living(self, msg_id, timeout=None):
    deadline = time.monotonic() + timeout
    while True:
        try:
            return _await_reply(self, msg_id, timeout=1)
        except Empty:
            if not self.is_alive():
                raise RuntimeError("the kernel died") from None
            if time.monotonic() > deadline:
                raise


def pytest_configure(config):
    if os.environ.get("ATTENTION_DEVICE") != "lazy":
        fork_kernels()
        return
    tests = Path(__file__).parents[1] / "tests"
    os.environ["PYTHONSTARTUP"] = str(
        tests / "lazy.py"
    )  # IPython runs it first
    config.option.nbval_cell_timeout = 600  # it is some times slower


IPyNbFile.setup = _setup_with_pictures
IPyNbCell.sanitize = _sanitize_to_output
RunningKernel.await_reply = _await_reply_of_the_living
