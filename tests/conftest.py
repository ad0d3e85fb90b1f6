"""One thread and fixed seeds: every run of the tests is the same run. ``ATTENTION_DEVICE`` says on which device."""

import os
from contextlib import nullcontext

import pytest
import torch
from hypothesis import settings

from attention import default_device

torch.set_num_threads(1)
settings.register_profile("same-every-run", deadline=10_000, derandomize=True, max_examples=50)
settings.load_profile("same-every-run")
if os.environ.get("ATTENTION_DEVICE"):
    if os.environ["ATTENTION_DEVICE"] == "lazy":
        import accelerator  # noqa: F401  (it makes that device)
    torch.set_default_device(default_device())
    seed = torch.manual_seed
else:
    seed = torch.default_generator.manual_seed  # the other notes the caller's stack for devices that are not there


@pytest.fixture(autouse=True)
def _seed():
    seed(0)


@pytest.fixture
def on_the_cpu():
    """On the CPU whatever the default device, as the runs that come with the package."""
    is_cpu = torch.get_default_device().type == "cpu"
    with nullcontext() if is_cpu else torch.device("cpu"):  # a context slows down every operation
        yield
