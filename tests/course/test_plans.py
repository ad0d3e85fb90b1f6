"""Chapter 12's two plans that copy: what is kept from the second block, and the runs that come with the package."""

import pytest
import torch
from torch.testing import assert_close

from attention.course.experiments import induction, plans
from attention.course.experiments.runs import load

pytestmark = pytest.mark.usefixtures("on_the_cpu")


@pytest.fixture(scope="module")
def runs():
    return plans.published()["runs"]


def test_a_barred_block_sees_all_but_the_token_right_before():
    sees = induction.bar(4)[0, 0] & torch.ones(4, 4).tril().bool()
    assert sees.nonzero().tolist() == [[0, 0], [1, 1], [2, 0], [2, 2], [3, 0], [3, 1], [3, 3]]


def test_what_is_missing_is_missing_from_one_role_alone():
    torch.manual_seed(0)
    model = induction.make().double()
    tokens, _ = induction.draw(3, torch.Generator().manual_seed(0))
    assert_close(plans.without(model, tokens, None), model(tokens))
    for role in ("query", "key", "value"):
        assert_close(plans.without(model, tokens, role), induction.without(model, tokens, [0, 1], role))


def test_under_a_mask_of_the_first_block_the_rest_is_as_without():
    torch.manual_seed(0)
    model = induction.make().double()
    tokens, _ = induction.draw(3, torch.Generator().manual_seed(0))
    mask = induction.bar(induction.LENGTH)
    assert_close(plans.without(model, tokens, None, mask), model(tokens, attn_masks={0: mask}))


def test_each_start_finds_the_plan_through_the_keys(runs):
    learned = [run for run in runs if run["kind"] == "learned"]
    assert [run["seed"] for run in learned] == [*range(32)]
    assert min(run["right"] for run in learned) > 0.99
    assert min(run["without"]["key"] for run in learned) > 4
    assert max(max(run["without"]["query"], run["without"]["value"]) for run in learned) < 0.12


def test_seven_of_eight_barred_ones_mostly_find_the_plan_through_the_queries(runs):
    barred = [run for run in runs if run["kind"] == "barred"]
    assert [run["seed"] for run in barred] == [*range(8)]
    for run in barred[:7]:
        roles = run["without"]
        assert run["right"] > 0.96
        assert roles["query"] > 1.9 * max(roles["key"], roles["value"])
    assert max(barred[7]["without"], key=barred[7]["without"].get) == "value"


@pytest.mark.parametrize("settings", plans.RUNS[::4], ids=lambda settings: "-".join(map(str, settings.values())))
def test_published_runs_begin_as_they_would_today(runs, settings):
    (run,) = [run for run in runs if settings.items() <= run.items()]
    _, losses, _ = induction.learn(settings, torch.device("cpu"), steps=2)
    assert losses == pytest.approx(run["losses"][:2], rel=1e-6)


def test_the_command_trains_tests_and_saves(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(plans, "RUNS", [{"kind": kind, "seed": 0} for kind in plans.STEPS])
    monkeypatch.setattr(plans, "STEPS", dict.fromkeys(plans.STEPS, 2))
    monkeypatch.setattr(induction, "SEQUENCES", 4)
    plans.main(["--device", "cpu", "--output", str(tmp_path / "run.pt")])
    found = load(tmp_path / "run.pt")
    assert [run["without"].keys() for run in found["runs"]] == [{"query", "key", "value"}] * 2
    assert "barred" in capsys.readouterr().out
