"""One thread and fixed seeds: every run of the tests is the same run. ``ATTENTION_DEVICE`` says on which device."""

import itertools
import os
from contextlib import nullcontext

import pytest
import torch
from hypothesis import settings

from attention import default_device
from attention.exercises import exercise

torch.set_num_threads(1)
settings.register_profile("same-every-run", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("same-every-run")
if os.environ.get("ATTENTION_DEVICE"):
    if os.environ["ATTENTION_DEVICE"] == "lazy":
        import accelerator  # noqa: F401  (it makes that device)
    torch.set_default_device(default_device())
    seed = torch.manual_seed
else:
    seed = torch.default_generator.manual_seed  # the other notes the caller's stack for devices that are not there


@pytest.fixture(autouse=True)
def _seed(monkeypatch):
    """The default generator's seed, and those of an exercise's checks, each of which has inputs of its own."""
    seed(0)
    seeds = itertools.count()
    monkeypatch.setattr(exercise, "fresh", lambda: torch.Generator().manual_seed(next(seeds)))


@pytest.fixture
def on_the_cpu():
    """On the CPU whatever the default device, as the runs that come with the package."""
    is_cpu = torch.get_default_device().type == "cpu"
    with nullcontext() if is_cpu else torch.device("cpu"):  # a context slows down every operation
        yield
