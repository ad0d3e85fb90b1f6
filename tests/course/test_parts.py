"""Chapter 12's removals: the tasks against plain Python, each part that is taken away, and the published runs."""

import pytest
import torch
from torch.testing import assert_close

from attention.course.experiments import parts
from attention.course.experiments.runs import load

TABLE = torch.randint(10, (10, 10), generator=torch.Generator("cpu").manual_seed(0), device="cpu").tolist()

pytestmark = pytest.mark.usefixtures("on_the_cpu")


@pytest.fixture(scope="module")
def runs():
    """The runs that come with the package."""
    return parts.published()["runs"]


def settings_of(without="nothing", task="sums", blocks=2, recipe="pre-norm, warm-up"):
    return {"task": task, "without": without, "blocks": blocks, "recipe": recipe, "seed": 0}


def answer(task, question):
    """The right answer to a question, as a list of digits."""
    digits = question[:-1]
    if task == "reversing":
        return digits[::-1]
    if task == "sorting":
        return sorted(digits)
    if task == "sums":
        a, b, plus, c, d = digits
        assert plus == parts.PLUS
        return [int(digit) for digit in f"{10 * a + b + 10 * c + d:03}"]
    a, b = digits
    return [TABLE[a][b]]


@pytest.mark.parametrize("test", [False, True])
@pytest.mark.parametrize("task", ["reversing", "sorting", "sums", "table"])
def test_the_answer_stands_one_place_before_it_is_read(task, test):
    tokens, answers = parts.TASKS[task]["draw"](50, torch.Generator("cpu").manual_seed(3), test)
    for read, asked in zip(tokens.tolist(), answers.tolist(), strict=True):
        question = read[: read.index(parts.EQUALS) + 1]
        right = answer(task, question)
        assert read == question + right[:-1]
        assert asked == [parts.UNASKED] * (len(question) - 1) + right


def test_in_a_loop_each_symbol_that_comes_again_is_asked():
    tokens, answers = parts.loops(20, torch.Generator("cpu").manual_seed(3))
    for read, asked in zip(tokens.tolist(), answers.tolist(), strict=True):
        period = len({*read})
        assert asked[:period] == [parts.UNASKED] * period
        assert asked[period:] == [read[(place + 1) % period] for place in range(period, len(read))]


def test_no_sum_of_the_test_is_seen_in_training():
    training, test = (parts.sums(20_000, torch.Generator("cpu").manual_seed(0), test)[0] for test in (False, True))
    training, test = ({*map(tuple, tokens[:, :6].tolist())} for tokens in (training, test))
    assert not training & test
    assert len(test) == 1000  # all that are kept for it


@pytest.mark.parametrize("task", parts.TASKS)
@pytest.mark.parametrize("without", parts.WITHOUT)
def test_what_is_taken_away_is_not_there_and_the_rest_is(without, task):
    model = parts.make(settings_of(without, task, parts.TASKS[task]["blocks"]))
    heads = 1 if without == "all heads but one" else parts.TASKS[task]["heads"]
    assert [block.attend.num_heads for block in model.blocks] == [heads] * len(model.blocks)
    assert [block.feed_forward is None for block in model.blocks] == [without == "feed-forward"] * len(model.blocks)
    assert (model.position_embedding is None) == (without == "positions")
    assert any(isinstance(part, torch.nn.LayerNorm) for part in model.modules()) != ("norm" in without)


@pytest.mark.parametrize("layer", ["blocks.0.attend.out_proj", "blocks.1.attend.out_proj"])
@pytest.mark.parametrize("without", ["residual", "nothing"])
def test_without_a_residual_nothing_gets_past_a_layer(layer, without):
    tokens, _ = parts.sums(5, torch.Generator("cpu").manual_seed(0))
    model = parts.make(settings_of(without)).double()
    assert parts.read(model, tokens, without).std(dim=0).max() > 1e-3
    torch.nn.init.zeros_(model.get_submodule(layer).weight)
    differ = parts.read(model, tokens, without).std(dim=0).max() > 1e-9
    assert differ == (without == "nothing")


def test_without_a_residual_by_hand():
    """Each layer in turn, on the norm of what the one before it wrote."""
    model = parts.make(settings_of("residual")).double()
    tokens, _ = parts.sums(5, torch.Generator("cpu").manual_seed(0))
    x = model.embed(tokens)
    for block in model.blocks:
        for norm, layer in (
            (block.before_attend, lambda x, attend=block.attend: attend(x, x, x, is_causal=True)[0]),
            (block.before_feed_forward, block.feed_forward),
        ):
            x = layer(torch.nn.functional.layer_norm(x, [parts.WIDTH], norm.weight, norm.bias))
    assert_close(parts.read(model, tokens, "residual"), model.output(model.final_norm(x)))


@pytest.mark.parametrize(("warm_up", "rates"), [(0, [1.0, 0.75, 0.5, 0.25]), (2, [0.5, 1.0, 1.0, 0.5])])
def test_the_rate_rises_and_falls(warm_up, rates, monkeypatch):
    """Up in as many steps as the warm-up has, then down to 0, which the step after the last would reach."""
    monkeypatch.setitem(parts.RECIPES, "tried", {"norm": "pre", "warm_up": warm_up, "clip": None, "decay": 0.0})
    monkeypatch.setitem(parts.TASKS["sums"], "steps", 4)
    seen = []
    step = torch.optim.AdamW.step

    def watched(self):
        seen.append(self.param_groups[0]["lr"] / parts.RATE)
        return step(self)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    parts.learn(settings_of(recipe="tried"), torch.device("cpu"))
    assert seen == pytest.approx(rates)


def test_shares_by_hand(monkeypatch):
    """Of two answers of three symbols, one whole and one with one symbol right."""
    answers = torch.tensor([[parts.UNASKED, 1, 2, 3], [parts.UNASKED, 4, 5, 6]])
    said = torch.tensor([[9, 1, 2, 3], [9, 4, 6, 5]])
    monkeypatch.setitem(parts.TASKS["sums"], "draw", lambda count, generator, test: (said, answers))
    monkeypatch.setattr(parts, "read", lambda model, tokens, without: torch.nn.functional.one_hot(tokens, 12))
    found = parts.test(parts.make(settings_of()), settings_of())
    assert found == pytest.approx({"symbols": 4 / 6, "answers": 1 / 2})


def test_there_is_one_published_run_for_each_settings(runs):
    assert [{name: run[name] for name in parts.RUNS[0]} for run in runs] == parts.RUNS


def test_what_the_published_runs_show(runs):
    """Bounds that all five seeds keep."""

    def shares(name, **wanted):
        found = [run[name] for run in runs if wanted.items() <= run.items()]
        assert len(found) == len(parts.SEEDS)
        return found

    for task, least in (("reversing", 0.99), ("sorting", 0.9), ("induction", 0.99), ("sums", 0.9), ("table", 0.8)):
        assert min(shares("answers", task=task, without="nothing", blocks=parts.TASKS[task]["blocks"])) > least
    assert max(shares("answers", task="induction", without="residual")) < 0.01
    assert max(shares("answers", task="sums", without="residual")) < 0.2
    for task in ("reversing", "induction"):
        assert max(shares("answers", task=task, without="positions")) < 0.01
    assert min(shares("symbols", task="sorting", without="positions")) > 0.8
    assert max(shares("answers", task="table", without="feed-forward")) < 0.75
    assert min(shares("answers", task="table, four heads", without="feed-forward")) > 0.95
    for recipe in parts.RECIPES.keys() - {"pre-norm, warm-up"}:
        found = shares("answers", blocks=6, recipe=recipe)
        assert max(found) < 0.01 if recipe in ("post-norm", "post-norm, no warm-up") else min(found) > 0.99


FIRST = [settings for settings in parts.RUNS if settings["seed"] == 0]


@pytest.mark.parametrize("settings", FIRST, ids=lambda settings: "-".join(map(str, settings.values())))
def test_a_published_run_begins_as_it_would_today(runs, settings):
    (run,) = [run for run in runs if settings.items() <= run.items()]
    _, losses = parts.learn(settings, torch.device("cpu"), steps=2)
    assert losses == pytest.approx(run["losses"][:2], rel=1e-6)


def test_the_command_trains_tests_and_saves(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(parts, "RUNS", [settings_of("feed-forward", "table", 1), settings_of("residual", "sums")])
    monkeypatch.setattr(parts, "SEQUENCES", 4)
    for task in ("table", "sums"):
        monkeypatch.setitem(parts.TASKS[task], "steps", 2)
    monkeypatch.setitem(parts.RECIPES["pre-norm, warm-up"], "warm_up", 1)
    parts.main(["--device", "cpu", "--output", str(tmp_path / "run.pt")])
    found = load(tmp_path / "run.pt")
    assert [len(run["losses"]) for run in found["runs"]] == [2, 2]
    assert all(0 <= run["answers"] <= run["symbols"] <= 1 for run in found["runs"])
    assert found["session"]["seconds"] > 0
    assert "feed-forward" in capsys.readouterr().out
