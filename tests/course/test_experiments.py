"""The experiments: a gradient against autograd, a run that is killed, cut off or mistaken, runs begun again."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attention import NadarayaWatson
from attention.course.experiments import gradient, kernel_regression, positions, sequence_to_sequence, widths
from attention.course.experiments.gradient import loss_and_gradient
from attention.course.experiments.runs import load, save
from refusals import HERE, mistakes, refuses

SEEDS = st.integers(0, 2**32 - 1)
both_losses = pytest.mark.parametrize("leave_one_out", [False, True])
both_forms = pytest.mark.parametrize("per_key", [False, True])


def published(x, y, w, leave_one_out):
    """The loss as it is published, n × n weights through autograd."""
    w = w.clone().requires_grad_()
    scores = -(((x[:, None] - x) * w) ** 2) / 2
    if leave_one_out:
        scores = scores.masked_fill(torch.eye(len(x), dtype=torch.bool), -math.inf)
    loss = ((scores.softmax(-1) @ y - y) ** 2).mean()
    return loss.detach(), torch.autograd.grad(loss, w)[0]


def noisy_points(n, dtype, per_key, spread):
    x = (20 * torch.rand(n, dtype=dtype)).sort().values
    y = kernel_regression.target(x) + 0.5 * torch.randn(n, dtype=dtype)
    return x, y, spread * (torch.rand(n if per_key else (), dtype=dtype) + 0.1)


def assert_relative(actual, expected, tolerance):
    """Each of loss and gradient, relative to its own length."""
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.shape == theirs.shape
        assert (ours - theirs).norm() <= tolerance * theirs.norm()


# The gradient in closed form


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@both_losses
@both_forms
@pytest.mark.parametrize("spread", [1.0, 5.0, 40.0])
def test_loss_and_gradient_are_autograd_s(dtype, tolerance, leave_one_out, per_key, spread, monkeypatch):
    """At 700 points, in blocks of 31 queries, the last of them smaller: near keys alone, or nearly all."""
    monkeypatch.setattr(gradient, "BLOCK", 700 * 31)
    x, y, w = noisy_points(700, dtype, per_key, spread)
    expected = published(x, y, w, leave_one_out)
    assert_relative(loss_and_gradient(x, y, w, leave_one_out=leave_one_out), expected, tolerance)


@both_losses
@both_forms
@given(n=st.integers(2, 40), rows=st.integers(1, 40), seed=SEEDS)
def test_any_points_in_any_order(leave_one_out, per_key, n, rows, seed):
    """Unsorted, repeated and alone, with a w of either sign."""
    torch.manual_seed(seed)
    x = torch.cat([torch.randn(n - 1, dtype=torch.float64).round(decimals=1), torch.full((1,), 9.0)])
    y, w = torch.randn(n, dtype=torch.float64), 2 * torch.randn(n if per_key else (), dtype=torch.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradient, "BLOCK", n * rows)
        actual = loss_and_gradient(x, y, w, leave_one_out=leave_one_out)
    assert_close(actual, published(x, y, w, leave_one_out), rtol=1e-9, atol=1e-12)


@both_losses
@both_forms
def test_the_module_learns_with_that_gradient(leave_one_out, per_key):
    x, y, _ = noisy_points(50, torch.float64, per_key, 1.0)
    module = NadarayaWatson(x, y, per_key)
    mask = ~torch.eye(50, dtype=torch.bool) if leave_one_out else None
    torch.nn.functional.mse_loss(module(x, mask), y).backward()
    actual = loss_and_gradient(x, y, module.w, leave_one_out=leave_one_out)
    assert_close(actual[1], module.w.grad)
    assert not actual[0].requires_grad


def test_the_gradient_by_hand():
    """Two points, one apart: with w² = 2 ln 2 each answers with ⅔ of its own value and ⅓ of the other's.

    So r = (⅓, −⅓) · 3, p(1 − p) = 2/9, and ∂L/∂w₁ = (2/2) · r₁ · 2/9 · 3 · (−w) = −⅔ w.
    """
    w = math.sqrt(2 * math.log(2))
    loss, slope = loss_and_gradient(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 3.0]), torch.full((2,), w))
    assert_close(loss, torch.tensor(1.0))
    assert_close(slope, torch.full((2,), -2 / 3 * w))


def test_a_point_far_from_all_others_is_answered_by_the_nearest():
    """Left out of its own answer, it scores its best key −5·10⁷; no window may lose that key."""
    x, y = torch.tensor([0.0, 1e-3, 1e4]), torch.tensor([1.0, 2.0, 5.0])
    loss, slope = loss_and_gradient(x, y, torch.ones(3), leave_one_out=True)
    assert_close(loss, published(x, y, torch.ones(3), leave_one_out=True)[0])
    assert slope.isfinite().all()


def test_a_block_s_window_is_wide_enough_for_its_loneliest_point(monkeypatch):
    """In a block of 0, 0.001 and 10, the last is answered by 19.9, of which the others need to know nothing."""
    monkeypatch.setattr(gradient, "BLOCK", 3 * 5)
    x, y, w = torch.tensor([0.0, 1e-3, 10.0, 19.9, 20.0]), torch.arange(5.0), torch.ones(5)
    assert_relative(loss_and_gradient(x, y, w, leave_one_out=True), published(x, y, w, leave_one_out=True), 1e-5)


def test_nan_is_not_swept_under_the_window():
    w = torch.ones(50)
    w[7] = math.nan
    loss, slope = loss_and_gradient(torch.arange(50.0), torch.ones(50), w, leave_one_out=True)
    assert loss.isnan()
    assert slope.isnan().any()


class Sizes(torch.overrides.TorchFunctionMode):
    """Note how many numbers each function returns."""

    def __init__(self):
        super().__init__()
        self.noted = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        answer = function(*args, **(kwargs or {}))
        if isinstance(answer, torch.Tensor):
            self.noted.append((function.__name__, answer.numel()))
        return answer


def test_no_tensor_is_larger_than_a_block(monkeypatch):
    monkeypatch.setattr(gradient, "BLOCK", 5000)
    x, y, w = noisy_points(1000, torch.float32, True, 1.0)
    with Sizes() as sizes:
        loss_and_gradient(x, y, w, leave_one_out=True)
    assert 4000 < max(size for _, size in sizes.noted) <= 5000


@both_losses
def test_a_narrow_kernel_meets_few_keys(leave_one_out, monkeypatch):
    """At w = 40 a block of a tenth of the points, 2 wide, needs keys up to 0.17 on either side."""
    monkeypatch.setattr(gradient, "BLOCK", 700 * 70)
    x, y, _ = noisy_points(700, torch.float32, True, 1.0)
    with Sizes() as sizes:
        loss_and_gradient(x, y, torch.full((700,), 40.0), leave_one_out=leave_one_out)
    assert sum(size for name, size in sizes.noted if name == "softmax") < 0.14 * 700**2


POINTS = {"x": torch.ones(5), "y": torch.ones(5), "w": torch.ones(5)}
NONE, ONE, COLUMN = ({name: torch.ones(shape) for name in POINTS} for shape in ((0,), (1,), (5, 1)))
WRONG = [
    (TypeError, "x", {"x": [1.0]}),
    (TypeError, "w", {"w": 1.0}),
    (ValueError, "y", {"y": torch.ones(4)}),
    (ValueError, "w", {"w": torch.ones(1)}),
    (ValueError, "one shape", COLUMN),
    (ValueError, "points", NONE),
    (ValueError, "leave_one_out", ONE | {"leave_one_out": True}),
]


@mistakes(WRONG)
def test_what_is_wrong_is_said(wrong, error, said):
    refuses(loss_and_gradient, POINTS | wrong, error, said)


# The experiment


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run the command at 60 points; the run that its file then holds."""
    monkeypatch.setattr(kernel_regression, "PAUSE", 0.0)

    def run(*options, output="run.pt"):
        kernel_regression.main(
            ["--points", "60", "--device", str(HERE), "--output", str(tmp_path / output), *map(str, options)]
        )
        return load(tmp_path / output)

    return run


def result(run):
    """All that does not depend on how long it took."""
    return {name: thing for name, thing in run.items() if name != "sessions"}


@pytest.fixture
def killed(monkeypatch):
    """Kill the run when it calls a function once more than so many times; returned is what brings it back to life."""

    def after(calls, name):
        count, original = itertools.count(), getattr(kernel_regression, name)

        def call(*arguments, **options):
            if next(count) >= calls:
                raise KeyboardInterrupt
            return original(*arguments, **options)

        monkeypatch.setattr(kernel_regression, name, call)
        return lambda: monkeypatch.setattr(kernel_regression, name, original)

    return after


def test_the_run_is_gradient_descent_as_published(command):
    run = command("--epochs", 12, "--seed", 3)
    x, y = (points.to(HERE) for points in kernel_regression.draw(60, seed=3))
    w = torch.ones(60, requires_grad=True)
    descent = torch.optim.SGD([w], lr=0.5)
    for epoch in range(12):
        loss, w.grad = published(x, y, w.detach(), leave_one_out=False)
        assert run["losses"][epoch] == pytest.approx(loss.item(), rel=1e-5)
        descent.step()
    assert_close(run["w"], w.detach().cpu())
    assert run["epochs"] == 12
    assert run["figures"].keys() == {0, 10}


@pytest.mark.parametrize("leave_one_out", [False, True])
@pytest.mark.usefixtures("on_the_cpu")
def test_the_stored_run_begins_and_ends_as_it_would_today(leave_one_out):
    """Its first losses, and the errors of its last weights."""
    stored = kernel_regression.published(leave_one_out)
    settings = stored["settings"]
    assert stored["epochs"] == kernel_regression.EPOCHS
    again = kernel_regression.begin(**settings)
    for _ in kernel_regression.train(again, 3, torch.device("cpu")):
        pass
    losses = [stored["losses"][epoch] for epoch in range(3)]
    assert [*again["losses"].values()] == pytest.approx(losses, rel=1e-5)
    x, y = kernel_regression.draw(settings["points"], settings["seed"])
    last = stored["figures"][kernel_regression.EPOCHS - 1]
    error, _ = loss_and_gradient(x, y, stored["w"], leave_one_out=leave_one_out)
    assert error.item() == pytest.approx(last["leave_one_out" if leave_one_out else "train"], rel=1e-5)


def test_the_target_by_hand():
    """At π/2 the sines are 1, −1 and 0."""
    x = torch.tensor([0.0, math.pi / 2])
    assert_close(kernel_regression.target(x), torch.tensor([0.0, 2 - 0.4 + math.sqrt(math.pi / 2)]))


def test_the_points_are_those_of_the_seed():
    x, y = kernel_regression.draw(2000, seed=0)
    assert torch.equal(x, kernel_regression.draw(2000, seed=0)[0])
    assert not torch.equal(x, kernel_regression.draw(2000, seed=1)[0])
    assert (x.diff() >= 0).all()
    assert 0 <= x[0] < 0.1
    assert 19.9 < x[-1] <= 20
    assert (y - kernel_regression.target(x)).std().item() == pytest.approx(0.5, rel=0.05)


def test_losses_are_kept_evenly_on_a_logarithmic_axis(command):
    kept = command("--epochs", 1234)["losses"]
    assert list(kept) == [*range(100), *range(100, 1000, 10), *range(1000, 1234, 100)]


def test_a_figure_is_what_the_package_answers():
    x, y = (points.to(HERE) for points in kernel_regression.draw(1330, seed=0))
    w = 5 * torch.rand(1330)
    figure = kernel_regression.figure(x, y, w)
    module = NadarayaWatson(x, y, per_key=True)
    module.w.data = w
    grid = torch.linspace(0, 20, 1330)
    answer = module(grid).detach()
    assert_close(figure["curve"], answer[::3])
    assert torch.equal(figure["w"], w[::3])
    assert figure["curve"].untyped_storage().nbytes() == 4 * len(answer[::3])
    test_error = (answer - kernel_regression.target(grid)).square().mean().item()
    assert figure["test"] == pytest.approx(test_error, rel=1e-5)
    for name, left_out in (("train", False), ("leave_one_out", True)):
        assert figure[name] == pytest.approx(published(x, y, w, left_out)[0].item(), rel=1e-5)
    weights = (-0.5 * ((grid[:, None] - x) * w) ** 2).softmax(-1)
    for i, j in ((0, 0), (20, 20), (20, 21), (49, 49)):
        queries, keys = (points.div(0.4).floor().clamp(max=49) for points in (grid, x))
        assert_close(figure["heatmap"][i, j], weights[queries == i][:, keys == j].sum(-1).mean())
    assert_close(figure["heatmap"].sum(-1), torch.ones(50))


@pytest.mark.parametrize(
    ("name", "kills"), {"loss_and_gradient": (7, 1, 0), "figure": (1, 0), "save": (0, 9, 2)}.items()
)
def test_a_killed_run_ends_as_if_it_had_not_been_killed(command, killed, name, kills):
    expected = command("--epochs", 15, output="whole.pt")
    for calls in kills:
        revive = killed(calls, name)
        with pytest.raises(KeyboardInterrupt):
            command("--epochs", 15)
        revive()
    assert_close(result(command("--epochs", 15)), result(expected), rtol=0, atol=0)


def test_a_run_goes_on_and_says_where_and_how_long(command):
    command("--epochs", 5)
    run = command("--epochs", 8)
    assert [session["epochs"] for session in run["sessions"]] == [5, 3]
    assert run["settings"] == {"points": 60, "seed": 0, "leave_one_out": False}
    again = command("--epochs", 2)  # it has them all, and loses none
    assert again["sessions"] == run["sessions"]
    assert_close(result(again), result(run), rtol=0, atol=0)


def test_whoever_is_killed_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    save(path, {"epochs": 1})

    def interrupted(run, file):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(path, {"epochs": 2})
    assert load(path) == {"epochs": 1}


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_refused_and_kept(command, tmp_path, capsys, kept):
    command("--epochs", 3)
    path = tmp_path / "run.pt"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(SystemExit):
        command("--epochs", 5)
    assert f"error: {path} is cut off or no run at all; it was left as it is" in capsys.readouterr().err
    assert path.read_bytes() == whole[: int(kept * len(whole))]
    with pytest.raises(ValueError, match="cut off or no run at all"):
        load(path)


def test_nothing_in_a_file_is_executed(tmp_path):
    torch.save({"w": NadarayaWatson}, tmp_path / "run.pt")
    with pytest.raises(ValueError, match="no run at all"):
        load(tmp_path / "run.pt")


@pytest.mark.parametrize("options", [["--seed", 1], ["--leave-one-out"], ["--points", 61]])
def test_another_run_s_file_is_refused_and_kept(command, tmp_path, capsys, options):
    command("--epochs", 3)
    before = (tmp_path / "run.pt").read_bytes()
    with pytest.raises(SystemExit):
        command("--epochs", 5, *options)
    assert "holds a run with {'points': 60, 'seed': 0, 'leave_one_out': False}, not {" in capsys.readouterr().err
    assert (tmp_path / "run.pt").read_bytes() == before


def test_something_else_s_file_is_refused(command, tmp_path, capsys):
    save(tmp_path / "run.pt", [1, 2])
    with pytest.raises(SystemExit):
        command()
    assert "holds a run with None, not" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epochs", 0], "--epochs must be at least 1, found 0"),
        (["--points", 1], "points must be at least 2, found 1"),
        (["--seed", -1], "seed must be at least 0, found -1"),
        (["--device", "gpu"], "--device='gpu' is not a device PyTorch knows; try cpu, cuda, cuda:0 or mps"),
        (["--output", "/nowhere/run.pt"], "No such file or directory: '/nowhere/run.pt.part'"),
    ],
)
def test_what_can_not_be_run_is_said_at_once(command, capsys, options, message):
    with pytest.raises(SystemExit):
        command(*options)
    assert message in capsys.readouterr().err


# Chapter 9's widths over ten draws


@pytest.mark.parametrize(("optimizer", "left_out"), widths.WAYS)
@both_forms
@pytest.mark.usefixtures("on_the_cpu")
def test_the_stored_widths_begin_and_end_as_they_would_today(optimizer, left_out, per_key):
    runs = widths.published(optimizer, left_out=left_out, per_key=per_key)
    assert [run["seed"] for run in runs] == list(range(10))
    for run in (runs[0], runs[9]):
        again = widths.learn(run, torch.device("cpu"), steps=3)
        for kept in ("losses", "errors"):
            assert_close(again[kept], run[kept][:4], rtol=0, atol=2e-4)
    x, y = (points.double() for points in kernel_regression.draw(widths.POINTS, seed=0))
    last = runs[0]["w"][widths.SHOWN.index(1000)].double()
    loss, _ = loss_and_gradient(x, y, last, leave_one_out=left_out)
    assert loss.item() == pytest.approx(runs[0]["losses"][widths.MARKS.index(1000)].item(), abs=2e-4)
    error = runs[0]["errors"][widths.MARKS.index(1000)].item()
    assert widths.test_error(x, y, last) == pytest.approx(error, abs=2e-4)


# Chapter 10's translators over three seeds


@pytest.fixture(scope="module")
def translators():
    """The runs that come with the package."""
    return sequence_to_sequence.published()


@pytest.fixture(scope="module")
def tasks():
    with torch.device("cpu"):
        return {name: make(torch.device("cpu")) for name, (make, _) in sequence_to_sequence.TASKS.items()}


@pytest.mark.parametrize(
    ("name", "settings"),
    [(name, settings) for name, (_, runs) in sequence_to_sequence.TASKS.items() for settings in runs],
    ids=lambda part: part if isinstance(part, str) else "-".join(map(str, part.values())),
)
@pytest.mark.usefixtures("on_the_cpu")
def test_each_published_translator_begins_as_it_would_today(translators, tasks, name, settings):
    (run,) = [run for run in translators[name] if settings.items() <= run.items()]
    _, losses = sequence_to_sequence.learn(tasks[name], settings, steps=2)
    assert losses == pytest.approx(run["losses"][:2], rel=1e-6)


@pytest.mark.usefixtures("on_the_cpu")
def test_the_command_trains_tests_and_saves(tmp_path, monkeypatch, capsys):
    """Two steps of each task: what is saved is what came out, and shares of what was asked."""
    shorten = {name: (make, [runs[0] | {"steps": 2}]) for name, (make, runs) in sequence_to_sequence.TASKS.items()}
    monkeypatch.setattr(sequence_to_sequence, "TASKS", shorten)
    sequence_to_sequence.main(["--device", "cpu", "--output", str(tmp_path / "run.pt")])
    found = load(tmp_path / "run.pt")
    (dictionaries,), (dates,) = found["dictionaries"], found["dates"]
    assert len(dictionaries["losses"]) == len(dates["losses"]) == 2
    assert len(dictionaries["digits"]) == len(dictionaries["answers"]) == 7
    assert dates["on_padding"] == [0, 0, 0]
    assert found["session"]["seconds"] > 0
    assert "dictionaries" in capsys.readouterr().out


def test_shares_are_counted_place_by_place_and_as_a_whole(tasks):
    """A translator that knows every answer but the last digit."""

    class AllButTheLast:
        def translate(self, source, lengths, *, max_steps):
            texts = tasks["dictionaries"].letters.decode(source)
            answers = ["".join(entry[1] for entry in sorted(text.split())) for text in texts]
            wrong = [answer[:-1] + str((int(answer[-1]) + 1) % 10) for answer in answers]
            return tasks["dictionaries"].digits.encode(wrong)[0], None

    with torch.device("cpu"):
        found = tasks["dictionaries"].test(AllButTheLast())
    assert found["digits"] == pytest.approx([(size - 1) / size for size in range(2, 9)])
    assert found["answers"] == [0] * 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--device", "gpu"], "--device='gpu' is not a device PyTorch knows; try cpu, cuda, cuda:0 or mps"),
        (["--output", "/nowhere/run.pt"], "No such file or directory: '/nowhere/run.pt.part'"),
    ],
)
def test_what_the_translators_can_not_do_is_said_at_once(options, message, capsys):
    with pytest.raises(SystemExit):
        sequence_to_sequence.main(options)
    assert message in capsys.readouterr().err


# Chapter 8's positions over five seeds


@pytest.fixture(scope="module")
def readers():
    """The runs that come with the package."""
    return positions.published()["runs"]


@pytest.mark.parametrize("settings", positions.RUNS, ids=lambda settings: "-".join(map(str, settings.values())))
@pytest.mark.usefixtures("on_the_cpu")
def test_each_published_reader_begins_as_it_would_today(readers, settings):
    (run,) = [run for run in readers if settings.items() <= run.items()]
    _, losses = positions.learn(settings, torch.device("cpu"), steps=2)
    assert losses == pytest.approx(run["losses"][:2], rel=1e-6)


@given(seed=SEEDS, length=st.integers(1, 20))
def test_the_answers_are_found_letter_by_letter(seed, length):
    letters = torch.randint(10, (3, length), generator=torch.Generator().manual_seed(seed), device="cpu")
    back, after = positions.three_back(letters), positions.after(letters)
    for row, backs, afters in zip(letters.tolist(), back.tolist(), after.tolist(), strict=True):
        for place, letter in enumerate(row):
            assert backs[place] == (row[place - 3] if place >= 3 else positions.UNASKED)
            before = [other for other in range(place) if row[other] == letter]
            assert afters[place] == (row[before[-1] + 1] if before else positions.UNASKED)


def test_only_the_last_letters_of_a_sequence_count():
    """A reader that is right from some place on, wrong before, and knows how many letters it may see."""

    class RightFrom(torch.nn.Module):
        def __init__(self, place):
            super().__init__()
            self.place, self.name = place, torch.nn.Linear(1, 1)

        def forward(self, letters, positions, window):
            self.seen = positions, window
            answers = torch.where(torch.arange(letters.size(1)) < self.place, letters.new_tensor(-1), three(letters))
            return torch.nn.functional.one_hot(answers % 10 + (answers < 0), 12)

    def three(letters):
        return positions.three_back(letters).clamp(min=0)

    with torch.device("cpu"):
        assert positions.right(RightFrom(64 - 16), "three back", 64) == 1
        assert positions.right(RightFrom(64 - 8), "three back", 64) == pytest.approx(0.5, abs=0.1)
        reader = RightFrom(0)
        positions.right(reader, "three back", 64, stretch=2, window=32)
    assert reader.seen[0].tolist() == [place / 2 for place in range(64)]
    assert reader.seen[1] == 32


def test_a_larger_base_stretches_the_longest_wave_and_leaves_the_shortest():
    def wavelength(base, pair):
        return 2 * math.pi * base ** (2 * pair / 8)

    longer = positions.larger_base(4, 8)
    assert wavelength(longer, 0) == wavelength(10000, 0)
    assert wavelength(longer, 3) == pytest.approx(4 * wavelength(10000, 3))


def test_a_window_and_pressed_positions_change_what_a_reader_sees():
    with torch.device("cpu"):
        model, _ = positions.learn({"task": "after", "kind": "rotary", "seed": 0}, torch.device("cpu"), steps=1)
        letters = torch.randint(10, (2, 9))
        whole = model(letters)
        assert_close(model(letters, torch.arange(9) + 100), whole)  # distances alone count
        assert_close(model(letters, window=9), whole)
        assert not torch.allclose(model(letters, window=4)[:, 4:], whole[:, 4:])
        assert_close(model(letters, window=4)[:, :4], whole[:, :4])
        assert not torch.allclose(model(letters, torch.arange(9) / 2), whole)


def test_a_reader_s_attention_takes_options():
    with torch.device("cpu"):
        rotary = positions.Reader("rotary")
        letters = torch.randint(10, (2, 9))
        back = torch.arange(9)[:, None] - torch.arange(9)
        assert_close(rotary(letters, attn_mask=back < 4), rotary(letters, window=4))
        hidden = torch.where(back < 4, 0.0, -1e9)
        assert_close(rotary(letters, attn_bias=hidden), rotary(letters, window=4))


@pytest.mark.usefixtures("on_the_cpu")
def test_the_command_trains_readers_and_saves(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(positions, "RUNS", [positions.RUNS[0], positions.RUNS[20]])
    monkeypatch.setattr(positions, "STEPS", 2)
    positions.main(["--device", "cpu", "--output", str(tmp_path / "run.pt")])
    found = load(tmp_path / "run.pt")
    assert [run["kind"] for run in found["runs"]] == ["none", "rotary"]
    assert [len(run["losses"]) for run in found["runs"]] == [2, 2]
    assert [run.keys() >= {"right", "window"} for run in found["runs"]] == [True, True]
    assert "NTK-aware" in found["runs"][1]
    assert found["session"]["seconds"] > 0
    assert "rotary" in capsys.readouterr().out
