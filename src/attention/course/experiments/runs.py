"""A run that lasts for minutes or hours: the command that makes it, and a file that is whole at every moment."""

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from attention.devices import checked_device, default_device


def save(path: str | os.PathLike, run: dict) -> None:
    """Write a run beside its file, then put it in its place, so that whoever is killed leaves the old file or the new.

    Args:
        path: the file.
        run: numbers, strings and tensors, in lists and dictionaries.
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        torch.save(run, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def load(path: str | os.PathLike) -> dict:
    """Read a run.

    Args:
        path: a file that :func:`save` wrote; nothing in it is executed.

    Returns:
        the run, its tensors on the CPU.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged or holds something else. It is left as it is.
    """
    with Path(path).open("rb") as file:
        try:
            return torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # a damaged file fails in a dozen ways
            raise ValueError(f"{path} is cut off or no run at all; it was left as it is: move it away") from error


def stored(name: str) -> dict:
    """Read a run that comes with the package, by the name of its file."""
    return load(Path(__file__).parent / "stored" / f"{name}.pt")


def session(device: torch.device, start: float) -> dict:
    """Where a run was computed, and for how many seconds since ``start``, a time of ``time.monotonic``."""
    where = {"device": device.type, "processor": platform.machine(), "torch": str(torch.__version__)}
    return where | {"threads": torch.get_num_threads(), "seconds": time.monotonic() - start}


def one_by_one(settings: Sequence[dict], one: Callable[[dict], dict], device: torch.device) -> dict:
    """Make several runs, and say after each what came out.

    Args:
        settings: of each run.
        one: from the settings of a run to what came out.
        device: where they run.

    Returns:
        ``runs``: of each its settings and what came out; ``session``: where they ran, for how many seconds.
    """
    start = time.monotonic()
    runs = []
    for chosen in settings:
        found = one(chosen)
        runs.append(chosen | found)
        print(chosen, found, flush=True)
    return {"runs": runs, "session": session(device, start)}


def command(module: str, description: str, output: str, run: Callable, arguments: list[str] | None) -> None:
    """The command line of an experiment in float64: which device computes it, and which file keeps it.

    Args:
        module: the experiment's, for the line that says how it is used.
        description: what it does.
        output: the file's name, where none is given.
        run: from a device to what is to be kept.
        arguments: of the command line; the program's own when None.
    """
    parser = argparse.ArgumentParser(usage=f"python -m {module} [options]", description=description)
    parser.add_argument("--output", type=Path, default=Path(output), help="the file to write")
    parser.add_argument("--device", help="cpu, cuda, cuda:1; the fastest at hand when not given")
    options = parser.parse_args(arguments)
    try:
        if options.device:
            device = checked_device("--device", options.device, torch.float64)
        else:
            device = default_device(torch.float64)
        save(options.output, {})  # what can not be written is said before minutes are spent
    except (ValueError, OSError) as error:
        parser.error(str(error))
    save(options.output, run(device))
