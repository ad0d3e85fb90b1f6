"""What the experiments share: steps of a training, the command that makes all runs, and the file that keeps them.

An experiment has ``RUNS``, the settings of each run; ``examine``, from a run's settings, a device and a number of steps
(all when not given) to what came out; and ``published``, the runs that come with the package.
"""

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from attention.devices import default_device

FIRST_LOSSES = 5  # kept of each run, so that a test can repeat its beginning


def descend(
    optimizer: Optimizer, loss_of: Callable[[int], Tensor], steps: int, schedule: LRScheduler | None = None
) -> list[float]:
    """Take so many steps down the loss that ``loss_of`` makes of a step's number; the loss of each step."""
    losses = []
    for step in range(steps):
        loss = loss_of(step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(loss.item())
    return losses


def stored(name: str) -> dict:
    """Read the runs of an experiment that come with the package, by its name.

    Returns:
        ``runs``: of each its settings and what came out; ``session``: where they ran, for how many seconds.
    """
    return torch.load(Path(__file__).parent / "stored" / f"{name}.pt", map_location="cpu", weights_only=True)


def command(
    name: str,
    description: str,
    runs: list[dict],
    examine: Callable[[dict, torch.device], dict],
    arguments: list[str] | None = None,
) -> None:
    """The command line of an experiment: make its runs one by one on the fastest device, or on ``ATTENTION_DEVICE``.

    The file is written anew after each run; ``arguments`` are the program's own when None.
    """
    usage = f"python -m attention.course.experiments.{name} [--output FILE]"
    parser = argparse.ArgumentParser(usage=usage, description=description)
    parser.add_argument("--output", type=Path, default=Path(f"{name}.pt"), help="the file to write")
    output, device = parser.parse_args(arguments).output, default_device(torch.float64)
    found: dict = {"runs": []}
    torch.save(found, output)  # what can not be written is said before minutes are spent
    where = {"device": device.type, "processor": platform.machine(), "torch": str(torch.__version__)}
    start = time.monotonic()
    for number, settings in enumerate(runs, start=1):
        found["runs"].append(settings | examine(settings, device))
        found["session"] = where | {"threads": torch.get_num_threads(), "seconds": time.monotonic() - start}
        torch.save(found, output)
        print(f"{number} of {len(runs)}: {settings}", flush=True)
