"""One thread and fixed seeds: every run of the tests is the same run."""

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("same-every-run", deadline=None, derandomize=True)
settings.load_profile("same-every-run")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
