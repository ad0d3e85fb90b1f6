"""Chapter 9's regression trained four ways over ten draws: ``python -m attention.course.experiments.widths --help``.

400 noisy points of the curve; one w or one a key, each point among its own keys or left out, 3000 steps of Adam. Then a
thousand steps of plain gradient descent, with one w and with one a key, at the rate of the published run.

All runs together take about six minutes on one processor core.
"""

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from attention.course.experiments.gradient import loss_and_gradient
from attention.course.experiments.kernel_regression import RATE, SPAN, draw, true_curve
from attention.course.experiments.runs import command, stored
from attention.regression import NadarayaWatson

POINTS = 400
STEPS = {"Adam": 3000, "SGD": 1000}
OPTIMIZERS = {"Adam": lambda w: torch.optim.Adam([w], lr=0.05), "SGD": lambda w: torch.optim.SGD([w], lr=RATE)}
RUNS = [
    {"optimizer": optimizer, "left_out": left_out, "per_key": per_key, "seed": seed}
    for optimizer, left_out in (("Adam", False), ("Adam", True), ("SGD", False))
    for per_key in (False, True)
    for seed in range(10)
]
MARKS = sorted({0, 300, *torch.logspace(0, 3.4771213, 60, dtype=torch.float64).round().int().tolist(), 1000, 3000})
SHOWN = [0, 30, 60, 100, 200, 300, 450, 600, 800, 1000, 1250, 1500, 2000, 2500, 3000]  # the first draw's w are kept


@torch.no_grad()
def test_error(x: Tensor, y: Tensor, w: Tensor) -> float:
    """The mean squared error against the curve without noise, at 400 places evenly from 0 to 20."""
    grid = torch.linspace(0, SPAN, POINTS, dtype=x.dtype, device=x.device)
    kernel = NadarayaWatson(x, y, per_key=w.dim() > 0)
    kernel.w.copy_(w)
    return mse_loss(kernel(grid), true_curve(grid)).item()


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``, from w = 1: ``losses`` and test ``errors`` after each of MARKS, and the first draw's ``w``."""
    x, y = (points.to(device, torch.float64) for points in draw(POINTS, settings["seed"]))
    w = torch.ones(POINTS if settings["per_key"] else (), dtype=torch.float64, device=device)
    optimizer = OPTIMIZERS[settings["optimizer"]](w)
    losses, errors, kept = [], [], []
    for step in range(1 + (STEPS[settings["optimizer"]] if steps is None else steps)):
        loss, w.grad = loss_and_gradient(x, y, w, leave_one_out=settings["left_out"])
        if step in MARKS:
            losses.append(loss.item())
            errors.append(test_error(x, y, w))
        if step in SHOWN and settings["seed"] == 0:
            kept.append(w.float().cpu())
        optimizer.step()
    found = {"losses": torch.tensor(losses).round(decimals=4), "errors": torch.tensor(errors).round(decimals=4)}
    return found | ({"w": torch.stack(kept)} if kept else {})


def published(optimizer: str, *, left_out: bool, per_key: bool) -> list[dict]:
    """The ten stored runs of one way to train, by seed: the settings of each, and what :func:`examine` returned."""
    asked = {"optimizer": optimizer, "left_out": left_out, "per_key": per_key}
    return [run for run in stored("widths")["runs"] if asked.items() <= run.items()]


if __name__ == "__main__":
    command("widths", __doc__, RUNS, examine)
