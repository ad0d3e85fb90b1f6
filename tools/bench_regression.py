"""What an epoch of kernel regression takes, as a ratio to what the published form takes: n × n through autograd."""

import math
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from attention.experiments.gradient import loss_and_gradient
from attention.experiments.kernel_regression import draw
from tools.bench_attention import Row, time_ratio

POINTS = 6000

# What an epoch adds to the peak of memory, in megabytes: of 30,000 points, a single n × n matrix has 3,600.
MEMORY = """
import resource
import torch
from attention.experiments.gradient import loss_and_gradient
from attention.experiments.kernel_regression import draw

loss_and_gradient(*draw(100, seed=0), torch.ones(100))
points, before = draw(30_000, seed=0), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
loss_and_gradient(*points, torch.full((30_000,), 10.0), leave_one_out=True)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000)
"""


def published(x: Tensor, y: Tensor, w: Tensor, leave_one_out: bool) -> None:
    """The formula, written down as it is published; each point is left out by a mask on the diagonal."""
    scores = -(((x[:, None] - x) * w) ** 2) / 2
    if leave_one_out:
        scores = scores.masked_fill(torch.eye(len(x), dtype=torch.bool, device=x.device), -math.inf)
    mse_loss(scores.softmax(-1) @ y, y).backward()


def memory_row() -> Row:
    """To be asked for first, as a new process begins with the peak of the one that starts it."""
    added = float(subprocess.check_output([sys.executable, "-c", MEMORY]))
    return "kernel regression, memory that 30,000 points add", added, 64, "MB"


def regression_rows() -> Iterator[Row]:
    """Each benchmark's name, figure, bound and unit; on one thread, as two wait for each other on a busy machine."""
    torch.set_num_threads(1)
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        x, y = (points.to(device) for points in draw(POINTS, seed=0))
        for shape, form in (((POINTS,), "one w a key"), ((), "one w")):
            for width, leave_one_out in ((1.0, False), (1.0, True), (10.0, False)):
                w = torch.full(shape, width, device=device, requires_grad=True)
                ours = partial(loss_and_gradient, x, y, w, leave_one_out=leave_one_out)
                ratio = time_ratio(ours, partial(published, x, y, w, leave_one_out))
                own = "left out" if leave_one_out else "kept"
                yield f"kernel regression, {device}, {form} of {width:g}, own point {own}", ratio, 0.1, "×"
