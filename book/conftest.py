"""nbval for this book: a tolerance, pictures too, and a dead kernel noticed."""

import time
from queue import Empty

from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile
from tools.compare import Output

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


IPyNbFile.setup = _setup_with_pictures
IPyNbCell.sanitize = _sanitize_to_output
RunningKernel.await_reply = _await_reply_of_the_living
