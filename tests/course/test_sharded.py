"""Attention over several processes: equal to one process's, its bytes counted, and never a wait without an end."""

import os
import re
import socket
import subprocess
import sys

import pytest

MODULE = "attention.course.experiments.sharded"
PATIENCE = 3
JOIN = """
import os, signal, time
from datetime import timedelta
import torch.distributed as dist
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
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


SILENT = {
    "one is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "one hangs": "time.sleep(600)",
    "one never comes": None,
}


def test_a_process_that_waits_says_so_and_ends():
    processes, firsts = [], {}

    def start(places, rank, *command):
        places = places | {"RANK": rank, "LOCAL_RANK": rank}
        options = {"text": True, "stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
        processes.append(subprocess.Popen([sys.executable, *command], env=os.environ | places, **options))
        return processes[-1]

    try:
        pairs = [(name, other, free_places()) for name, other in SILENT.items()]
        for _, other, places in pairs:
            if other is not None:
                start(places, "1", "-c", JOIN + other)
        for name, _, places in pairs:  # the waits of all three at the same time
            firsts[name] = start(places, "0", "-m", MODULE, f"--patience={PATIENCE}")
        for name, first in firsts.items():
            _, errors = first.communicate(timeout=300)  # a hang, however busy the machine
            assert first.returncode == 1, (name, errors)
            assert "process 0 of 2: " in errors, name
            if SILENT[name] is not None:
                assert "another process does not answer" in errors, name
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def free_places():
    """What two processes need to find each other."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}


def test_without_a_launcher_it_says_how_to_start_it():
    run = subprocess.run([sys.executable, "-m", MODULE], capture_output=True, text=True)
    assert run.returncode == 2
    assert f"--nproc-per-node=2 -m {MODULE}" in run.stderr
