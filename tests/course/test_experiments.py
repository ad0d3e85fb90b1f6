"""The experiments: what is stored is what each module makes, the command that makes it, and chapter 9's in detail."""

import importlib

import pytest
import torch
from torch.testing import assert_close

from attention import NadarayaWatson
from attention.course.experiments import gradient, kernel_regression, runs, widths
from attention.course.experiments.gradient import loss_and_gradient

pytestmark = pytest.mark.usefixtures("on_the_cpu")
CPU = torch.device("cpu")
BEGUN = {  # of which runs the first steps are repeated, one of each kind, and what is made smaller for that
    "agreement": (slice(2, None, 10), {"WRITTEN": 4}),
    "induction": (slice(0, 1), {"SEQUENCES": 4}),
    "plans": (slice(0, None, 32), {}),
    "positions": (slice(0, None, 5), {"SEQUENCES": 2}),
    "sequence_to_sequence": (slice(0, None, 9), {"SIZES": [2]}),
    "starts": (slice(7, None, 6), {}),
    "widths": (slice(0, None, 9), {}),
}
both_losses = pytest.mark.parametrize("leave_one_out", [False, True])


@pytest.mark.parametrize(("name", "which", "smaller"), [(name, *how) for name, how in BEGUN.items()], ids=BEGUN)
def test_what_is_stored_is_what_the_module_makes(name, which, smaller, monkeypatch):
    """As many runs as there are settings; the first two steps of some, and all that is made of a model."""
    experiment, stored = importlib.import_module(f"attention.course.experiments.{name}"), runs.stored(name)["runs"]
    for key, value in smaller.items():
        monkeypatch.setattr(experiment, key, value)
    pairs = list(zip(stored, experiment.RUNS, strict=True))
    assert all(settings.items() <= run.items() for run, settings in pairs)
    for run, settings in pairs[which]:
        found = experiment.examine(settings, CPU, steps=2)
        assert (settings | found).keys() == run.keys()
        ours, theirs = (torch.as_tensor(each["losses"][:2]) for each in (found, run))
        assert_close(ours, theirs, rtol=1e-6, atol=1e-5, check_dtype=False)


def run(path, examine):
    """The command of an experiment of two runs."""
    runs.command("shares", "Shares.", [{"seed": 3}, {"seed": 4}], examine, ["--output", str(path)])


def test_the_command_keeps_settings_and_what_came_out_and_the_runs_so_far(tmp_path, capsys):
    run(tmp_path / "run.pt", lambda settings, device: {"twice": 2 * settings["seed"]})
    found = torch.load(tmp_path / "run.pt")
    assert found["runs"] == [{"seed": 3, "twice": 6}, {"seed": 4, "twice": 8}]
    assert found["session"]["seconds"] > 0
    assert "2 of 2: {'seed': 4}" in capsys.readouterr().out
    with pytest.raises(KeyError):
        run(tmp_path / "run.pt", lambda settings, device: {3: {}}[settings["seed"]])
    assert torch.load(tmp_path / "run.pt")["runs"] == [{"seed": 3}]


def test_a_file_that_can_not_be_written_is_told_before_the_first_run():
    with pytest.raises(RuntimeError, match="/nowhere"):
        run("/nowhere/run.pt", examine=None)


# Chapter 9's kernel regression


def by_autograd(x, y, w, leave_one_out):
    module = NadarayaWatson(x, y, per_key=w.dim() > 0)
    module.w.data = w.clone()
    mask = ~torch.eye(len(x), dtype=torch.bool) if leave_one_out else None
    loss = torch.nn.functional.mse_loss(module(x, mask), y)
    loss.backward()
    return loss.detach(), module.w.grad


@both_losses
@pytest.mark.parametrize("per_key", [False, True])
@pytest.mark.parametrize("width", [1.0, 40.0])
def test_loss_and_gradient_are_autograd_s(leave_one_out, per_key, width, monkeypatch):
    """In blocks of 31 queries, the last of them smaller; near keys alone, or all."""
    monkeypatch.setattr(gradient, "BLOCK", 700 * 31)
    x = (20 * torch.rand(700, dtype=torch.float64)).sort().values
    w = width * (torch.rand(700 if per_key else (), dtype=torch.float64) + 0.1)
    expected = by_autograd(x, x.sin(), w, leave_one_out)
    assert_close(loss_and_gradient(x, x.sin(), w, leave_one_out=leave_one_out), expected)


def test_points_far_from_all_others_are_answered_by_the_nearest(monkeypatch):
    """In a block of 0, 0.001 and 10 the last is answered by 19.9, of which the others need to know nothing."""
    monkeypatch.setattr(gradient, "BLOCK", 3 * 5)
    x, y, w = torch.tensor([0.0, 1e-3, 10.0, 19.9, 20.0]).double(), torch.arange(5.0).double(), torch.ones(5).double()
    assert_close(loss_and_gradient(x, y, w, leave_one_out=True), by_autograd(x, y, w, leave_one_out=True))


@both_losses
def test_a_narrow_kernel_meets_few_keys(leave_one_out, monkeypatch):
    """At w = 40 a block of a tenth of the points, 2 wide, needs keys up to 0.17 on either side."""
    monkeypatch.setattr(gradient, "BLOCK", 700 * 70)
    met, softmax = [], torch.Tensor.softmax
    monkeypatch.setattr(torch.Tensor, "softmax", lambda scores, dim: met.append(scores.numel()) or softmax(scores, dim))
    x = torch.linspace(0, 20, 700)
    loss_and_gradient(x, x.sin(), torch.full((700,), 40.0), leave_one_out=leave_one_out)
    assert max(met) < 0.14 * 700 * 70


def test_a_figure_is_what_the_package_answers():
    x, y = kernel_regression.draw(1330, seed=0)
    w = 5 * torch.rand(1330)
    figure = kernel_regression.figure(x, y, w)
    module = NadarayaWatson(x, y, per_key=True)
    module.w.data = w
    grid = torch.linspace(0, 20, 1330)
    answer = module(grid).detach()
    assert_close(figure["curve"], answer[::3])
    assert torch.equal(figure["w"], w[::3])
    test_error = (answer - kernel_regression.true_curve(grid)).square().mean().item()
    assert figure["test"] == pytest.approx(test_error, rel=1e-5)
    weights = (-0.5 * ((grid[:, None] - x) * w) ** 2).softmax(-1)
    for i, j in ((0, 0), (20, 20), (20, 21), (49, 49)):
        queries, keys = (points.div(0.4).floor().clamp(max=49) for points in (grid, x))
        assert_close(figure["heatmap"][i, j], weights[queries == i][:, keys == j].sum(-1).mean())


@both_losses
def test_the_published_run_begins_and_ends_as_it_would_today(leave_one_out):
    run = kernel_regression.published(leave_one_out)
    assert run["leave_one_out"] == leave_one_out
    assert run["epochs"] == kernel_regression.EPOCHS
    assert run["figures"].keys() == kernel_regression.FIGURES
    found = kernel_regression.examine({"leave_one_out": leave_one_out}, CPU, steps=1)
    for name, first in run["figures"][0].items():
        assert_close(torch.as_tensor(found["figures"][0][name]), torch.as_tensor(first), rtol=1e-4, atol=1e-6)
    error, _ = loss_and_gradient(
        *kernel_regression.draw(kernel_regression.POINTS, seed=0), run["w"], leave_one_out=leave_one_out
    )
    last = run["figures"][kernel_regression.EPOCHS - 1]["leave_one_out" if leave_one_out else "train"]
    assert error.item() == pytest.approx(last, rel=1e-5)


def test_an_epoch_is_a_step_of_gradient_descent(monkeypatch):
    monkeypatch.setattr(kernel_regression, "POINTS", 60)
    found = kernel_regression.examine({"leave_one_out": True}, CPU, steps=11)
    assert found["figures"].keys() == {0, 10}
    x, y = kernel_regression.draw(60, seed=0)
    w = torch.ones(60, requires_grad=True)
    descent = torch.optim.SGD([w], lr=0.5)
    for _ in range(11):
        _, w.grad = loss_and_gradient(x, y, w, leave_one_out=True)
        descent.step()
    assert_close(found["w"], w.detach())


@pytest.mark.parametrize("way", [("Adam", False), ("Adam", True), ("SGD", False)])
@pytest.mark.parametrize("per_key", [False, True])
def test_the_stored_widths_are_those_of_their_errors(way, per_key):
    """A thousand steps on, where nobody repeats them."""
    optimizer, left_out = way
    ten = widths.published(optimizer, left_out=left_out, per_key=per_key)
    assert [run["seed"] for run in ten] == list(range(10))
    x, y = (points.double() for points in kernel_regression.draw(widths.POINTS, seed=0))
    w = ten[0]["w"][widths.SHOWN.index(1000)].double()
    loss, _ = loss_and_gradient(x, y, w, leave_one_out=left_out)
    mark = widths.MARKS.index(1000)
    assert loss.item() == pytest.approx(ten[0]["losses"][mark].item(), abs=2e-4)
    assert widths.test_error(x, y, w) == pytest.approx(ten[0]["errors"][mark].item(), abs=2e-4)
