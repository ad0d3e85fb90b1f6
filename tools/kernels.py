"""Kernels in half the time: one process imports what notebooks import, and forks a kernel for each notebook.

A kernel so made is as a fresh one: what a notebook defines, seeds or changes, it does in a process of its own. The
process that forks ends with whoever started it, since its input then ends, and a kernel ends when its parent does.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from threading import Lock
from typing import Any

from jupyter_client.provisioning import local_provisioner

IMPORTED = (
    "ipykernel.debugger",
    "ipykernel.kernelapp",
    "matplotlib.backends.backend_agg",
    "matplotlib.pyplot",
    "torch._dynamo",  # optimizers import it, and assert_close half of it
    "attention.exercises",
    "attention.explorer",
    "attention.formula",
)


def fork_kernels() -> None:
    """Fork the kernels that this process starts from now on; not on macOS and Windows, where none can be forked."""
    if sys.platform == "linux":
        local_provisioner.launch_kernel = _launch


class Kernel:
    """A forked kernel, with as much of :class:`subprocess.Popen` as Jupyter uses."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int):
        self.pid = pid

    def poll(self) -> int | None:
        """None while the kernel lives."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 1
        return None

    def wait(self) -> int:
        """Return when the kernel has ended."""
        while self.poll() is None:
            time.sleep(0.01)
        return 1

    def send_signal(self, number: int) -> None:
        """Send the kernel a signal."""
        os.kill(self.pid, number)


class _Server:
    """The process that forks, started by the first kernel."""

    def __init__(self):
        self.lock = Lock()
        self.process = None

    def fork(self, order: list[Any]) -> int:
        with self.lock:
            if self.process is None:
                command = [sys.executable, "-Xfrozen_modules=off", __file__]  # else the debugger warns
                self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                atexit.register(self.process.communicate)
            print(json.dumps(order), file=self.process.stdin, flush=True)
            return int(self.process.stdout.readline())


_server = _Server()


def _launch(command: list[str], env: dict[str, str], cwd: str | None = None, **_: Any) -> Kernel:
    options = command[command.index("ipykernel_launcher") + 1 :]
    return Kernel(_server.fork([options, env, str(cwd or os.getcwd())]))


def _serve() -> None:
    """Fork a kernel for each line of the input, and print its process id."""
    del sys.path[0]  # this file's folder
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as a kernel sets it
    for name in IMPORTED:
        import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _reap)
    server = os.getpid()
    for line in sys.stdin:
        kernel = os.fork()
        if kernel == 0:
            try:
                _become_kernel(*json.loads(line), server)
            finally:
                os._exit(1)
        os.setpgid(kernel, kernel)  # a Ctrl-C in the terminal is not for the kernel
        print(kernel, flush=True)


def _reap(*_: Any) -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _become_kernel(options: list[str], environment: dict[str, str], folder: str, parent: int) -> None:
    import ipywidgets
    import numpy as np
    import torch
    from ipykernel.kernelapp import IPKernelApp

    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.environ.update(environment)
    os.chdir(folder)
    np.random.seed()  # as in a fresh one, at random
    torch.default_generator.seed()
    sys.argv[1:] = options
    kernel = IPKernelApp.instance(parent_handle=parent)
    kernel.initialize()
    ipywidgets.register_comm_target()  # as its import does in a kernel
    kernel.start()


if __name__ == "__main__":
    _serve()
