"""The dates by a Transformer: its decoding, its padding, and the runs that come with the package."""

import pytest
import torch
from torch.testing import assert_close

from attention.course.experiments import dates, sequence_to_sequence
from attention.course.experiments.runs import load
from attention.seq2seq import BOS

pytestmark = pytest.mark.usefixtures("on_the_cpu")


@pytest.fixture(scope="module")
def runs():
    """The runs that come with the package."""
    return dates.published()["runs"]


@pytest.fixture(scope="module")
def task():
    return sequence_to_sequence.Dates(torch.device("cpu"))


@pytest.fixture
def model(task):
    return dates.make(task, {"kind": "Transformer", "seed": 0}).double()


@pytest.fixture(scope="module")
def batch(task):
    """Five dates, not all of one length."""
    assert len({*task.lengths[:5].tolist()}) > 1
    return task.source[:5], task.lengths[:5], task.target[:5]


def differ(a, b):
    """At which places (B, T) two tensors (B, T, V) differ."""
    return (a - b).abs().amax(dim=-1) > 1e-9


def test_a_character_is_said_from_the_true_ones_before_it(model, batch):
    source, lengths, target = batch
    logits, weights = model(source, target, lengths)
    assert logits.shape == (5, 11, 14)
    assert weights.shape == (5, 4, 11, source.size(1))
    for place in range(11):
        changed = target.clone()
        changed[:, place] = (target[:, place] + 1) % 14
        seen = differ(model(source, changed, lengths)[0], logits)
        assert not seen[:, : place + 1].any()
        assert seen[:, place + 1 :].all()


def test_the_first_character_is_said_from_the_start_token(model, batch):
    source, lengths, target = batch
    memory, mask = model.encode(source, lengths)
    logits, _ = model.decode(torch.full((5, 1), BOS), memory, mask)
    assert_close(logits[:, 0], model(source, target, lengths)[0][:, 0])


def test_the_whole_source_is_read_in_its_order_and_no_padding(model, batch):
    source, lengths, target = batch
    memory, _ = model.encode(source, lengths)
    for n, length in enumerate(lengths.tolist()):
        one = source[n : n + 1, :length]
        assert_close(model.encode(one, lengths[n : n + 1])[0][0], memory[n, :length])
        last = torch.cat([one[:, :-1], one[:, -1:] + 1], dim=1)
        assert differ(model.encode(last, lengths[n : n + 1])[0], memory[n : n + 1, :length]).all()
        swapped = model.encode(one.flip(1), lengths[n : n + 1])[0].flip(1)
        assert differ(swapped, memory[n : n + 1, :length]).all()
    logits, weights = model(source, target, lengths)
    wider, _ = model(torch.nn.functional.pad(source, (0, 3)), target, lengths)
    assert_close(wider, logits)
    assert not weights[(torch.arange(source.size(1)) >= lengths[:, None])[:, None, None].expand_as(weights)].any()


def test_greedy_decoding_says_the_likeliest_each_time(model, batch):
    source, lengths, _ = batch
    ids, weights = model.translate(source, lengths, max_steps=11)
    logits, all_weights = model(source, ids, lengths)
    assert_close(logits.argmax(dim=-1), ids)
    assert_close(weights, all_weights)


def test_the_recurrent_one_is_chapter_10s(task):
    settings = {"kind": "recurrent", "steps": 200, "seed": 0}
    _, losses = dates.learn(task, settings, steps=2)
    theirs = [run for run in sequence_to_sequence.published()["dates"] if run["attention"] == "additive"]
    (theirs,) = [run for run in theirs if run["masked"] and run["seed"] == 0]
    assert losses == pytest.approx(theirs["losses"][:2], rel=1e-6)


def test_there_is_one_published_run_for_each_settings(runs):
    assert [{name: run[name] for name in dates.RUNS[0]} for run in runs] == dates.RUNS


def test_what_the_published_runs_show(runs):
    """After 200 steps and after 400, all five seeds with recurrence have more right than all five without."""
    found = {(kind, steps): [] for kind in dates.KINDS for steps in dates.STEPS}
    for run in runs:
        found[run["kind"], run["steps"]].append(run["right"])
    for steps, least in ((200, 0.95), (400, 0.99)):
        assert least < min(found["Transformer", steps])
        assert max(found["Transformer", steps]) < min(found["recurrent", steps])


def test_as_many_steps_take_the_transformer_less_time(runs):
    seconds = {kind: [run["seconds"] for run in runs if run["kind"] == kind] for kind in dates.KINDS}
    assert all(ours < theirs for ours, theirs in zip(seconds["Transformer"], seconds["recurrent"], strict=True))


@pytest.mark.parametrize("settings", dates.RUNS, ids=lambda settings: "-".join(map(str, settings.values())))
def test_each_published_run_begins_as_it_would_today(task, runs, settings):
    (run,) = [run for run in runs if settings.items() <= run.items()]
    model, losses = dates.learn(task, settings, steps=2)
    assert losses == pytest.approx(run["losses"][:2], rel=1e-6)
    assert sum(parameter.numel() for parameter in model.parameters()) == run["parameters"]


def test_the_command_trains_tests_and_saves(task, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dates, "RUNS", [{"kind": kind, "steps": 2, "seed": 0} for kind in dates.KINDS])
    monkeypatch.setattr(dates, "Dates", lambda device: task)
    monkeypatch.setattr(task, "held", tuple(tensor[:5] for tensor in task.held))
    dates.main(["--device", "cpu", "--output", str(tmp_path / "run.pt")])
    found = load(tmp_path / "run.pt")
    assert [run["right"] for run in found["runs"]] == [0, 0]
    assert all(run["seconds"] > 0 for run in found["runs"])
    assert "Transformer" in capsys.readouterr().out
