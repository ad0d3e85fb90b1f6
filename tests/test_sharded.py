"""Attention over several processes: equal to one process's, its bytes counted, and never a wait without an end."""

import os
import re
import socket
import subprocess
import sys
import time

import pytest

MODULE = "attention.experiments.sharded"
PATIENCE = 3
JOIN = f"""
import os, signal, time
from datetime import timedelta
import torch.distributed as dist
dist.init_process_group("gloo", timeout=timedelta(seconds={PATIENCE}))
"""


def launch(*options, count):
    """All processes, by PyTorch's launcher; what they print."""
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={count}", "-m", MODULE, *options]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )


@pytest.mark.parametrize("count", [2, 3])
def test_processes_answer_as_one_does_and_count_what_they_receive(count):
    run = launch("--length=60", "--heads=2", "--width=5", count=count)
    assert run.returncode == 0, run.stderr
    counted = dict(re.findall(r"(\w+) +answer and gradients agree .* ([\d,]+) bytes", run.stdout))
    part = 60 * 2 * (5 + 2) * 4  # queries, heads, a mixture and two numbers, bytes of a float32
    assert counted == {"gather": f"{(count - 1) * part:,}", "ring": f"{2 * (count - 1) * part // count:,}"}


def first_of_two(other: str | None):
    """The first of two processes, where the second runs this program, or never comes: status, errors, seconds."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    places = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    options = {"text": True, "stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    second = other and subprocess.Popen(
        [sys.executable, "-c", JOIN + other], env=os.environ | places | {"RANK": "1", "LOCAL_RANK": "1"}, **options
    )
    first = subprocess.Popen(
        [sys.executable, "-m", MODULE, f"--patience={PATIENCE}"],
        env=os.environ | places | {"RANK": "0", "LOCAL_RANK": "0"},
        **options,
    )
    start = time.monotonic()
    try:
        _, errors = first.communicate(timeout=60)
        return first.returncode, errors, time.monotonic() - start
    finally:
        for process in filter(None, (first, second)):
            process.kill()
            process.communicate()


SILENT = {
    "one is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "one hangs": "time.sleep(60)",
    "one never comes": None,
}


@pytest.mark.parametrize("other", SILENT.values(), ids=SILENT)
def test_a_process_that_waits_says_so_and_ends(other):
    status, errors, seconds = first_of_two(other)
    assert status == 1
    assert "process 0 of 2: " in errors
    if other is not None:
        assert "another process does not answer" in errors
    assert seconds < PATIENCE + 25  # the start of Python and PyTorch included


def test_without_a_launcher_it_says_how_to_start_it():
    run = subprocess.run([sys.executable, "-m", MODULE], capture_output=True, text=True)
    assert run.returncode == 2
    assert f"--nproc-per-node=2 -m {MODULE}" in run.stderr
