"""Chapter 12's experiment: its sequences, scores and interventions against slow loops, and the runs it comes with."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attention.course.experiments import induction
from attention.course.experiments.runs import load

SEEDS = st.integers(0, 2**32 - 1)


pytestmark = pytest.mark.usefixtures("on_the_cpu")


@pytest.fixture(scope="module")
def runs():
    """The runs that come with the package."""
    return induction.published()["runs"]


def loops(seed, count=3, length=20):
    return induction.draw(count, torch.Generator("cpu").manual_seed(seed), length=length, periods=(2, 9))


@given(seed=SEEDS)
def test_a_sequence_is_a_loop_of_distinct_symbols(seed):
    tokens, period = loops(seed)
    for row, p in zip(tokens.tolist(), period.flatten().tolist(), strict=True):
        assert 2 <= p <= 9
        assert len({*row[:p]}) == p
        assert all(row[place] == row[place % p] for place in range(20))


def test_loops_of_each_length_are_drawn():
    _, period = induction.draw(500, torch.Generator("cpu").manual_seed(0))
    assert {*period.flatten().tolist()} == {*range(8, 17)}


@given(seed=SEEDS, by=st.integers(1, 5))
def test_what_is_copied_and_what_comes_later(seed, by):
    tokens, period = loops(seed)
    later, there = induction.ahead(tokens, period, by).tolist(), induction.copied(tokens, period).tolist()
    for n, (row, p) in enumerate(zip(tokens.tolist(), period.flatten().tolist(), strict=True)):
        assert later[n] == [row[(place + by) % p] for place in range(20)]
        assert there[n] == [row[place] in row[:place] for place in range(20)]


@settings(max_examples=20)
@given(seed=SEEDS)
def test_scores_are_mean_weights(seed):
    tokens, period = loops(seed)
    weights = torch.rand(3, 2, 20, 20, dtype=torch.float64).tril()
    back, copy = ([], []), ([], [])
    for n, (row, p) in enumerate(zip(tokens.tolist(), period.flatten().tolist(), strict=True)):
        for head in range(2):
            back[head].extend(weights[n, head, place, place - 1].item() for place in range(1, p))
            for place in range(p, 20):
                followed = [key for key in range(1, place + 1) if row[key - 1] == row[place]]
                copy[head].append(weights[n, head, place, followed].sum().item())
    assert induction.one_back(weights, period) == pytest.approx([sum(head) / len(head) for head in back])
    assert induction.induction(weights, period) == pytest.approx([sum(head) / len(head) for head in copy])


def test_a_perfect_answer_has_no_loss():
    tokens, period = loops(0)
    answers = torch.nn.functional.one_hot(induction.ahead(tokens, period), induction.SYMBOLS).double()
    answers[~induction.copied(tokens, period)] = 0.0  # where nothing can be known, nothing counts
    loss, share = induction.loss_and_share(100 * answers, tokens, period)
    assert loss < 1e-9
    assert share == 1
    loss, share = induction.loss_and_share(0 * answers, tokens, period)
    assert loss == pytest.approx(math.log(induction.SYMBOLS))


def test_masks_by_hand():
    assert induction.silence(1, 3).tolist() == [[[[True] * 3] * 3, [[False] * 3] * 3]]
    assert not induction.silence([0, 1], 3).any()
    assert induction.pin([0], 1, 3)[0, 0].int().tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert induction.pin([0], 1, 3)[0, 1].all()
    assert induction.pin([0, 1], 2, 3)[0].int().tolist() == [[[0, 0, 0], [0, 0, 0], [1, 0, 0]]] * 2


@pytest.mark.parametrize("role", ["query", "key", "value"])
@pytest.mark.parametrize("head", [0, 1])
def test_a_head_is_taken_from_one_role_of_the_second_block(role, head):
    """As if what it writes were subtracted where that role reads."""
    model = induction.make().double()
    tokens, _ = induction.draw(3, torch.Generator("cpu").manual_seed(0))
    first, second = model.blocks
    x = model.embed(tokens)
    normed = first.before_attend(x)
    q, k, v = (linear(normed).unflatten(-1, (2, 32))[:, :, head] for linear in list(first.attend.children())[:3])
    scores = (q @ k.mT / math.sqrt(32)).masked_fill(torch.ones(32, 32).triu(1) > 0, -math.inf)
    written = scores.softmax(-1) @ v @ first.attend.out_proj.weight[:, 32 * head : 32 * head + 32].mT
    x, _ = first(x, is_causal=True)
    inputs = {name: second.before_attend(x) for name in ("query", "key", "value")}
    inputs[role] = second.before_attend(x - written)
    expected = model.unembed(x + second.attend(**inputs, is_causal=True)[0])
    assert_close(induction.without(model, tokens, head, role), expected)
    assert (expected - model(tokens)).abs().max() > 1e-3


@pytest.mark.parametrize("head", [0, 1])
@pytest.mark.parametrize("number", [0, 1])
def test_a_head_adds_its_average(number, head):
    """What it writes, by its own slice of each projection, is replaced by its mean over some sequences' places."""
    model = induction.make().double()
    places = torch.rand(3, 32) < 0.5
    tokens, _ = induction.draw(3, torch.Generator("cpu").manual_seed(0))
    x = model.embed(tokens)
    for current, block in enumerate(model.blocks):
        attend, normed = block.attend, block.before_attend(x)
        q, k, v = (linear(normed).unflatten(-1, (2, 32)).transpose(1, 2) for linear in list(attend.children())[:3])
        scores = (q @ k.mT / math.sqrt(32)).masked_fill(torch.ones(32, 32).triu(1) > 0, -math.inf)
        outputs = scores.softmax(-1) @ v  # (3, 2, 32, 32)
        if current == number:
            outputs[:, head] = outputs[:, head][places].mean(dim=0)
        x = x + attend.out_proj(outputs.transpose(1, 2).flatten(2))
    expected = model.unembed(x)
    assert_close(induction.averaged(model, tokens, places, number, head), expected)
    assert (expected - model(tokens)).abs().max() > 1e-3


@pytest.mark.parametrize("back", [1, 2, 3])
def test_a_model_is_steered_where_it_says_the_token_k_ahead(back):
    """A speaker that always says the second token ahead, right for 2 alone (loops of 5 or more have no token twice)."""
    tokens, period = induction.draw(3, torch.Generator("cpu").manual_seed(0), length=20, periods=(5, 9))
    seen = []

    def speaker(tokens, attn_masks):
        seen.append(attn_masks)
        return torch.nn.functional.one_hot(induction.ahead(tokens, period, 2), induction.SYMBOLS)

    assert induction.steer(speaker, tokens, period, [1], back) == (back == 2)
    assert_close(seen, [{0: induction.pin([1], back, 20)}])


def test_there_is_one_published_run_for_each_settings(runs):
    assert [{"kind": run["kind"], "seed": run["seed"]} for run in runs] == induction.RUNS
    for run in runs:
        assert [there["step"] for there in run["history"]] == list(range(0, induction.STEPS + 1, induction.EVERY))


def test_what_the_published_runs_show(runs):
    """Bounds that all five seeds of a kind keep."""
    by_kind = {kind: [run for run in runs if run["kind"] == kind] for kind in induction.KINDS}
    for run in by_kind["learned"]:
        assert run["history"][-1]["right"] > 0.99
        assert run["without"]["key"] > 0.8 > 0.1 > max(run["without"]["query"], run["without"]["value"])
        assert run["steered"][0] > 0.99
        assert min(run["both_steered"]) > 0.8
        assert min(run["both_silenced"]) > math.log(32)  # each block's heads together are needed
    redundant = {
        name: [max(run[name][1]) < 0.2 for run in by_kind["learned"]]
        for name in ("silenced", "averaged", "averaged_copied")
    }  # either head of the second block can be missed
    assert redundant == {
        "silenced": [True, True, True, False, True],
        "averaged": [False] * 5,
        "averaged_copied": [True, True, True, False, True],
    }
    jumps = {
        kind: [next(found["step"] for found in run["history"] if found["loss"] < 0.5) for run in by_kind[kind]]
        for kind in ("learned", "pinned")
    }
    assert max(jumps["pinned"]) < min(jumps["learned"])


@pytest.mark.parametrize("settings", induction.RUNS, ids=lambda settings: "-".join(map(str, settings.values())))
def test_each_published_run_begins_as_it_would_today(runs, settings):
    (run,) = [run for run in runs if settings.items() <= run.items()]
    _, losses, _ = induction.learn(settings, torch.device("cpu"), steps=2)
    assert losses == pytest.approx(run["losses"][:2], rel=1e-6)


def test_the_command_trains_proves_and_saves(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(induction, "RUNS", [{"kind": kind, "seed": 0} for kind in induction.KINDS])
    monkeypatch.setattr(induction, "STEPS", 2)
    monkeypatch.setattr(induction, "EVERY", 1)
    monkeypatch.setattr(induction, "SEQUENCES", 4)
    induction.main(["--device", "cpu", "--output", str(tmp_path / "run.pt")])
    found = load(tmp_path / "run.pt")
    learned, pinned = found["runs"]
    assert [there["step"] for there in learned["history"]] == [0, 1, 2]
    assert [there["one_back"][0] for there in pinned["history"]] == [1, 1, 1]
    assert learned["without"].keys() == {"query", "key", "value"}
    assert [len(learned[name]) for name in ("silenced", "averaged", "averaged_copied", "both_silenced")] == [2] * 4
    assert [len(learned[name]) for name in ("steered", "both_steered")] == [5, 5]
    assert "without" not in pinned
    assert found["session"]["seconds"] > 0
    assert "pinned" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--device", "gpu"], "--device='gpu' is not a device PyTorch knows; try cpu, cuda, cuda:0 or mps"),
        (["--output", "/nowhere/run.pt"], "No such file or directory: '/nowhere/run.pt.part'"),
    ],
)
def test_what_can_not_be_run_is_said_at_once(options, message, capsys):
    with pytest.raises(SystemExit):
        induction.main(options)
    assert message in capsys.readouterr().err
