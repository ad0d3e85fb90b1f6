"""Attention over several processes: equal to one process's, its bytes counted."""

import os
import subprocess
import sys


def test_a_ring_of_three_processes_answers_as_one_does_and_counts_what_it_receives():
    launch = "-m torch.distributed.run --standalone --nproc-per-node=3 -m attention.course.experiments.sharded"
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, *launch.split()], capture_output=True, text=True, timeout=120, env=one_thread)
    assert run.returncode == 0, run.stderr  # each process compares its own answers
    stretch = 256 * 4 * 2 * 32 * 4  # tokens, heads, keys and values, width, bytes of a float32
    assert f"received {2 * stretch:,} bytes" in run.stdout
