"""Kernel regression at its published size: ``python -m attention.course.experiments.kernel_regression --help``.

6000 noisy points of a curve, one w a key, 120,001 full-batch epochs of gradient descent. The published run scores
each training point with itself among the keys; ``--leave-one-out`` leaves it out. A killed run goes on where its file
ends, and ends as if it had not been killed.
"""

import argparse
import platform
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import mse_loss, one_hot

from attention.arguments import check_count
from attention.course.experiments.gradient import BLOCK, loss_and_gradient
from attention.course.experiments.runs import load, save, stored
from attention.devices import checked_device, default_device
from attention.regression import NadarayaWatson

SPAN = 20.0  # the points lie between 0 and this
NOISE = 0.5
RATE = 0.5  # of gradient descent on the mean squared error
EPOCHS = 120_001
FIGURES = {0, 10, 100, 1000, 5000, 10_000, *range(20_000, EPOCHS, 10_000)}
CURVE = 600  # a figure keeps every so many-th point of a curve, that about this many are left
BINS = 50  # and a heatmap of so many stretches of queries and of keys
PAUSE = 30.0  # seconds from one writing of the file to the next


def target(x: Tensor) -> Tensor:
    """The curve to be found: ``2 sin x + 0.4 sin 3x + 0.6 sin 6x + √x``."""
    return 2 * x.sin() + 0.4 * (3 * x).sin() + 0.6 * (6 * x).sin() + x.sqrt()


def draw(points: int, seed: int) -> tuple[Tensor, Tensor]:
    """Noisy points of the curve, x uniform and ascending, (points,) and (points,); on the CPU, the same everywhere."""
    chance = {"generator": torch.Generator().manual_seed(seed), "device": "cpu"}
    x = (SPAN * torch.rand(points, **chance)).sort().values
    return x, target(x) + NOISE * torch.randn(points, **chance)


@torch.no_grad()
def figure(x: Tensor, y: Tensor, w: Tensor) -> dict[str, Tensor | float]:
    """What there is to see of one epoch, on the training points and on as many test points on a grid.

    Args:
        x: training points, (n,).
        y: their values, (n,).
        w: one a key, (n,).

    Returns:
        ``curve``, the answers to every n/600th test point, and ``w`` at as many keys; the mean squared errors
        ``train``, ``leave_one_out`` and ``test``, the last against the curve without noise; ``heatmap`` (50, 50), for
        the queries in each stretch of the axis the mean weight of all keys in each stretch, so that rows sum to 1.
    """
    grid = torch.linspace(0, SPAN, len(x), device=x.device)
    stretch = one_hot((x * (BINS / SPAN)).long().clamp(max=BINS - 1), BINS).to(x.dtype)
    kernel = NadarayaWatson(x, torch.cat([y[:, None], stretch], dim=-1), per_key=True)
    kernel.w.copy_(w)
    answers = torch.cat([kernel(queries) for queries in grid.split(max(BLOCK // len(x), 1))])
    rows = one_hot((grid * (BINS / SPAN)).long().clamp(max=BINS - 1), BINS).to(x.dtype)
    step = -(-len(x) // CURVE)
    return {
        "curve": answers[::step, 0].clone(),
        "w": w[::step].clone(),
        "train": loss_and_gradient(x, y, w)[0].item(),
        "leave_one_out": loss_and_gradient(x, y, w, leave_one_out=True)[0].item(),
        "test": mse_loss(answers[:, 0], target(grid)).item(),
        "heatmap": rows.mT @ answers[:, 1:] / rows.sum(0)[:, None].clamp(min=1),
    }


def published(leave_one_out: bool = False) -> dict:
    """The run at its full size that comes with the package.

    Args:
        leave_one_out: the run in which each training point was left out of its own answer, not the one as published.

    Returns:
        ``settings``, ``sessions`` (where it ran, for how many seconds), ``epochs``, the last ``w`` (6000,), ``losses``
        by epoch, and by epoch the ``figures`` of :func:`figure`.
    """
    name = "leave_one_out" if leave_one_out else "published"
    return stored(name)


def begin(points: int, seed: int, leave_one_out: bool) -> dict:
    """A run before its first epoch."""
    check_count("points", points, least=2)
    check_count("seed", seed)
    settings = {"points": points, "seed": seed, "leave_one_out": leave_one_out}
    return {"settings": settings, "sessions": [], "epochs": 0, "w": torch.ones(points), "losses": {}, "figures": {}}


def train(run: dict, epochs: int, device: torch.device) -> Iterator[None]:
    """Carry a run on, in place, until it has had so many epochs; yields after each.

    The loss and the figure of an epoch are those of the w with which it began, so those of epoch 0 are of w = 1. Losses
    are kept of the epochs whose number has two leading digits and then zeros.
    """
    x, y = (tensor.to(device) for tensor in draw(run["settings"]["points"], run["settings"]["seed"]))
    run["w"] = run["w"].to(device)
    for epoch in range(run["epochs"], epochs):
        if epoch in FIGURES:
            run["figures"][epoch] = figure(x, y, run["w"])
        loss, gradient = loss_and_gradient(x, y, run["w"], leave_one_out=run["settings"]["leave_one_out"])
        if epoch % 10 ** max(len(str(epoch)) - 2, 0) == 0:
            run["losses"][epoch] = loss.item()
        run["w"] = run["w"] - RATE * gradient
        run["epochs"] = epoch + 1
        yield


def carry_on(run: dict, epochs: int, device: torch.device, output: Path) -> None:
    """Train, saying how far it is and writing the file now and then, and at the end."""
    first, start = run["epochs"], time.monotonic()
    session = {"device": _name(device), "torch": str(torch.__version__), "threads": torch.get_num_threads()}
    run["sessions"].append(session)
    written = start
    for _ in train(run, epochs, device):
        now, done = time.monotonic(), run["epochs"]
        session |= {"epochs": done - first, "seconds": now - start}
        if done == epochs or now - written >= PAUSE:
            save(output, run)
            written = now
        if done == epochs or done % 100 == 0:
            left = (now - start) / (done - first) * (epochs - done) / 60
            print(
                f"\r{_bar(done / epochs)} {done:,} of {epochs:,} epochs, {left:.1f} minutes left ", end="", flush=True
            )
    print()


def resume(path: Path, settings: dict) -> dict:
    """The run in a file, if it is one with these settings; a ValueError if not."""
    run = load(path)
    found = run.get("settings") if isinstance(run, dict) else None
    if found != settings:
        raise ValueError(f"{path} holds a run with {found}, not {settings}: choose another --output")
    return run


def _name(device: torch.device) -> str:
    return f"{device.type}, {torch.cuda.get_device_name(device) if device.type == 'cuda' else platform.machine()}"


def _bar(share: float) -> str:
    return f"{'█' * int(20 * share):·<20}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        usage="python -m attention.course.experiments.kernel_regression [options]", description=__doc__
    )
    parser.add_argument("--output", type=Path, default=Path("kernel-regression.pt"), help="the run's file")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="how many in all, those in the file included")
    parser.add_argument("--points", type=int, default=6000, help="training points, and test points")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--leave-one-out", action="store_true", help="hide each training point from itself")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, mps; the fastest at hand when not given")
    options = parser.parse_args(arguments)
    try:
        check_count("--epochs", options.epochs, least=1)
        device = checked_device("--device", options.device) if options.device else default_device()
        run = begin(options.points, options.seed, options.leave_one_out)
        if options.output.exists():
            run = resume(options.output, run["settings"])
        if run["epochs"] < options.epochs:
            save(options.output, run)  # what can not be written is said before hours are spent
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if run["epochs"] < options.epochs:
        carry_on(run, options.epochs, device, options.output)
    print(f"{options.output} has {run['epochs']:,} epochs")


if __name__ == "__main__":
    main()
