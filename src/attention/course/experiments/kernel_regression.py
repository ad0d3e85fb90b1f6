"""Kernel regression at its published size: ``python -m attention.course.experiments.kernel_regression --help``.

6000 noisy points of a curve, one w a key, 120,001 full-batch epochs of gradient descent: once as published, where each
training point is among its own keys, and once with each point left out.

Both runs together take some three hours on one processor core.
"""

import torch
from torch import Tensor
from torch.nn.functional import mse_loss, one_hot

from attention.course.experiments.gradient import BLOCK, loss_and_gradient
from attention.course.experiments.runs import command, stored
from attention.regression import NadarayaWatson

SPAN = 20.0  # the points lie between 0 and this
POINTS = 6000
NOISE = 0.5
RATE = 0.5  # of gradient descent on the mean squared error
EPOCHS = 120_001
FIGURES = {0, 10, 100, 1000, 5000, 10_000, *range(20_000, EPOCHS, 10_000)}
CURVE = 600  # a figure keeps every so many-th point of a curve, that about this many are left
BINS = 50  # and a heatmap of so many stretches of queries and of keys
RUNS = [{"leave_one_out": False}, {"leave_one_out": True}]


def true_curve(x: Tensor) -> Tensor:
    """The curve to be found: ``2 sin x + 0.4 sin 3x + 0.6 sin 6x + √x``."""
    return 2 * x.sin() + 0.4 * (3 * x).sin() + 0.6 * (6 * x).sin() + x.sqrt()


def draw(points: int, seed: int) -> tuple[Tensor, Tensor]:
    """Noisy points of the curve, x uniform and ascending, (points,) and (points,); on the CPU, the same everywhere."""
    chance = {"generator": torch.Generator().manual_seed(seed), "device": "cpu"}
    x = (SPAN * torch.rand(points, **chance)).sort().values
    return x, true_curve(x) + NOISE * torch.randn(points, **chance)


@torch.no_grad()
def figure(x: Tensor, y: Tensor, w: Tensor) -> dict[str, Tensor | float]:
    """What there is to see of a w (n,), on the n training points x, y and on as many test points on a grid.

    Returns:
        ``curve``, the answers to every n/600th test point, and ``w`` at as many keys; the mean squared errors
        ``train``, ``leave_one_out`` and ``test``, the last against the curve without noise; ``heatmap`` (50, 50), for
        the queries in each stretch of the axis the mean weight of all keys in each stretch, so that rows sum to 1.
    """
    grid = torch.linspace(0, SPAN, len(x), device=x.device)
    rows, columns = (
        one_hot((place * (BINS / SPAN)).long().clamp(max=BINS - 1), BINS).to(x.dtype) for place in (grid, x)
    )
    kernel = NadarayaWatson(x, torch.cat([y[:, None], columns], dim=-1), per_key=True)
    kernel.w.copy_(w)
    answers = torch.cat([kernel(queries) for queries in grid.split(max(BLOCK // len(x), 1))])
    step = -(-len(x) // CURVE)
    return {
        "curve": answers[::step, 0].clone(),
        "w": w[::step].clone(),
        "train": loss_and_gradient(x, y, w)[0].item(),
        "leave_one_out": loss_and_gradient(x, y, w, leave_one_out=True)[0].item(),
        "test": mse_loss(answers[:, 0], true_curve(grid)).item(),
        "heatmap": rows.mT @ answers[:, 1:] / rows.sum(0)[:, None].clamp(min=1),
    }


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``: its ``epochs``, the ``w`` (6000,) after them, and ``figures`` of the w before some of them."""
    x, y = (points.to(device) for points in draw(POINTS, seed=0))
    epochs = EPOCHS if steps is None else steps
    w, figures = torch.ones_like(x), {}
    for epoch in range(epochs):
        if epoch in FIGURES:
            figures[epoch] = figure(x, y, w)
        w = w - RATE * loss_and_gradient(x, y, w, **settings)[1]
    return {"epochs": epochs, "w": w, "figures": figures}


def published(leave_one_out: bool = False) -> dict:
    """The stored run as published, or that in which each point was left out; as :func:`examine` returns it."""
    return stored("kernel_regression")["runs"][leave_one_out]


if __name__ == "__main__":
    command("kernel_regression", __doc__, RUNS, examine)
