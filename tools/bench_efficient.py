"""What attention in blocks takes, as a ratio to the plain form, and what a second process saves."""

import re
import subprocess
import sys
from collections.abc import Iterator

import torch

from attention import scaled_dot_product_attention
from attention.efficient import streaming_attention
from tools.bench_attention import Row, time_ratio

LENGTH, WIDTH = 8192, 64

# What one call adds to the peak of memory, in megabytes.
MEMORY = """
import resource
import torch
from attention import scaled_dot_product_attention
from attention.efficient import streaming_attention

torch.set_num_threads(1)
tensors = [torch.randn({length}, {width}) for _ in range(3)]
{function}(*[tensor[:200] for tensor in tensors])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{function}(*tensors)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000)
"""
SHARDED = f"torch.distributed.run --nproc-per-node=2 -m attention.experiments.sharded --time --length={LENGTH}"


def streaming_memory_row() -> Row:
    """To be asked for first, as a new process begins with the peak of the one that starts it."""
    blocks, plain = (_added(function) for function in ("streaming_attention", "scaled_dot_product_attention"))
    return f"streaming attention, memory that {LENGTH} keys add, to the plain form's", blocks / plain, 0.05, "×"


def _added(function: str) -> float:
    program = MEMORY.format(function=function, length=LENGTH, width=WIDTH)
    return float(subprocess.check_output([sys.executable, "-c", program]))


def efficient_rows() -> Iterator[Row]:
    """Each benchmark's name, figure, bound and unit; a process has one thread."""
    torch.set_num_threads(1)
    query, key, value = (torch.randn(LENGTH, WIDTH) for _ in range(3))
    for is_causal in (False, True):
        with torch.inference_mode():
            ratio = time_ratio(
                lambda causal=is_causal: streaming_attention(query, key, value, is_causal=causal),
                lambda causal=is_causal: scaled_dot_product_attention(query, key, value, is_causal=causal),
            )
        yield f"streaming attention, {LENGTH} keys{', causal' * is_causal}, to the plain form", ratio, 1.5, "×"
    printed = subprocess.check_output([sys.executable, "-m", *SHARDED.split()], text=True)
    ratio = float(re.search(r"one process's: ([\d.]+)", printed)[1])
    yield f"attention over two processes, {LENGTH} keys, to one process", ratio, 0.65, "×"
