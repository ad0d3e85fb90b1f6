"""Chapters 10 and 12 from other starts: the runs that come with the package."""

import pytest
import torch
from torch.testing import assert_close

from attention.course.experiments import sequence_to_sequence, starts
from attention.course.experiments.runs import load

pytestmark = pytest.mark.usefixtures("on_the_cpu")
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def runs():
    """The runs that come with the package."""
    return starts.published()["runs"]


@pytest.fixture(scope="module")
def task():
    return sequence_to_sequence.Dates(CPU)


def test_one_vector_is_the_same_for_every_query_and_never_padding():
    value = torch.arange(12.0).view(1, 3, 4)
    mask = torch.tensor([[[True, True, False]]])
    output, weights = starts.OneVector()(torch.randn(1, 2, 4), value, value, mask)
    assert output.tolist() == [[[4.0, 5.0, 2.0, 3.0]] * 2]  # the last word's first half, the first word's second
    assert_close(weights, torch.zeros(1, 2, 3))


def test_each_start_is_stored_with_all_its_losses(runs):
    assert [{"kind": run["kind"], "seed": run["seed"]} for run in runs] == starts.RUNS
    assert all(len(run["losses"]) == starts.STEPS[run["kind"]] for run in runs)


@pytest.mark.parametrize("settings", [run for run in starts.RUNS if run["seed"] == 2], ids=lambda run: run["kind"])
def test_published_runs_begin_as_they_would_today(runs, task, settings):
    (run,) = [run for run in runs if settings.items() <= run.items()]
    with starts.double_precision():
        if settings["kind"] == "copier":
            _, losses = starts.copy(2, CPU, steps=2)
        else:
            _, losses = starts.translate(task, **settings, steps=2)
    assert losses == pytest.approx(run["losses"][:2], rel=1e-9)
    assert torch.get_default_dtype() == torch.float32


def test_the_command_trains_tests_and_saves(tmp_path, monkeypatch):
    monkeypatch.setattr(starts, "RUNS", [{"kind": kind, "seed": 0} for kind in starts.STEPS])
    monkeypatch.setattr(starts, "STEPS", dict.fromkeys(starts.STEPS, 2))
    monkeypatch.setattr(starts, "TEXTS", 4)
    starts.main(["--device", "cpu", "--output", str(tmp_path / "run.pt")])
    translator, one_vector, copier = load(tmp_path / "run.pt")["runs"]
    assert len(translator["writes"]) == len(one_vector["first"]) == len(starts.ASKED)
    assert len(copier["losses"]) == 2
    assert [len(heads) for heads in copier["without"]] == [2, 2]
