"""The handwritten digits against their source, cut to patches and back; the encoder by hand, and the published runs."""

import hashlib

import pytest
import torch
from torch.testing import assert_close

from attention.course.digits import from_patches, read_digits, to_patches
from attention.course.experiments import digits
from attention.course.experiments.runs import load
from refusals import refuses

ENCODERS = ("learned", "rotary", "none")
CPU = torch.device("cpu")

pytestmark = pytest.mark.usefixtures("on_the_cpu")


@pytest.fixture(scope="module")
def runs():
    """The runs that come with the package."""
    return digits.published()["runs"]


def encoder(positions):
    torch.manual_seed(0)
    return digits.PictureEncoder(positions).double()


def test_the_digits_are_those_of_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed: the weekly job has it")
    theirs = datasets.load_digits()
    pictures, labels = read_digits()
    assert_close(pictures.double(), torch.from_numpy(theirs.images))
    assert_close(labels, torch.from_numpy(theirs.target).long())


def test_the_digits_are_unchanged():
    pictures, labels = read_digits()
    sums = [hashlib.sha256(each.to(torch.uint8).numpy().tobytes()).hexdigest()[:16] for each in (pictures, labels)]
    assert sums == ["8f26b2bd9d135c25", "8ba4f891220f5e4c"]


def test_the_first_digit_is_a_ring():
    """By eye: a 0, with ink round a hole."""
    pictures, labels = read_digits()
    assert labels[0] == 0
    assert ["".join("#" if ink > 7 else "." for ink in row) for row in pictures[0].tolist()] == [
        "...##...",
        "..####..",
        "..#..##.",
        "..#..##.",
        "..#..##.",
        "..#..#..",
        "..#.##..",
        "...##...",
    ]


def test_patches_by_hand():
    patches = to_patches(torch.arange(64).view(8, 8))
    assert patches.shape == (16, 4)
    for number, patch in enumerate(patches.tolist()):
        corner = 16 * (number // 4) + 2 * (number % 4)  # of the patch, at its top left
        assert patch == [corner, corner + 1, corner + 8, corner + 9]


@pytest.mark.parametrize("shape", [(8, 8), (3, 8, 8), (0, 8, 8), (2, 3, 8, 8)])
def test_patches_make_the_picture_again(shape):
    pictures = torch.rand(shape)
    assert to_patches(pictures).shape == (*shape[:-2], 16, 4)
    assert torch.equal(from_patches(to_patches(pictures)), pictures)


def test_other_shapes_are_refused():
    for shape in ((3, 8, 7), (64,)):
        refuses(
            to_patches, {"pictures": torch.zeros(shape)}, ValueError, f"pictures must be 8 × 8, found pictures {shape}"
        )
    patches = {"patches": torch.zeros(4, 16)}
    refuses(from_patches, patches, ValueError, "patches must be 16 of 4 numbers, found patches (4, 16)")


def test_each_digit_is_drawn_once():
    parts = digits.draw(seed=1)
    assert [len(labels) for _, labels in parts] == [1000, 197, 600]
    pictures, labels = read_digits()
    patches = to_patches(pictures.double() / 16)
    whole = torch.cat([part for part, _ in parts])
    rows = {tuple(row) for row in torch.cat([whole.flatten(1), torch.cat([y for _, y in parts])[:, None]], 1).tolist()}
    assert rows == {tuple(row) for row in torch.cat([patches.flatten(1), labels[:, None]], 1).tolist()}
    assert not torch.equal(torch.cat([y for _, y in parts]), labels)


@pytest.mark.parametrize("positions", ENCODERS)
def test_a_picture_is_a_set_of_patches_with_their_places(positions):
    model, patches, order = encoder(positions), torch.rand(3, 16, 4).double(), torch.randperm(16)
    assert_close(model(patches[:, order], order), model(patches))
    assert_close(model(patches[:, order]), model(patches, order.argsort()))
    moved = (model(patches[:, order]) - model(patches)).abs().max()
    assert (moved > 1e-6) == (positions != "none")


def test_rotary_positions_tell_how_far_apart_in_rows_and_columns():
    """Moving all patches down or right by as much changes no score; turning the picture on its side does."""
    query, key = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    rows, columns = torch.randint(4, (2, 5))

    def scores(row, column):
        q, k = digits.rotate_in_two(query, key, 4 * row + column, 4 * row + column)
        return q @ k.mT

    assert_close(scores(rows + 2, columns), scores(rows, columns))
    half = columns % 2  # a column beyond the third would be the next row
    assert_close(scores(rows, half + 2), scores(rows, half))
    assert (scores(columns, rows) - scores(rows, columns)).abs().max() > 1e-3


def test_rotary_positions_by_hand():
    """The first half of a head is turned by the row, the second by the column, each pair by 1 and 1 / 10 a step."""
    query, key = torch.eye(8, dtype=torch.float64), torch.eye(8, dtype=torch.float64)
    turned, _ = digits.rotate_in_two(query, key, torch.full((8,), 4 * 2 + 3), torch.arange(8))
    for first, second, angle in ((0, 2, 2.0), (1, 3, 0.2), (4, 6, 3.0), (5, 7, 0.3)):
        cos, sin = torch.tensor(angle).double().cos(), torch.tensor(angle).double().sin()
        expected = torch.zeros(2, 8).double()
        expected[0, first], expected[0, second], expected[1, first], expected[1, second] = cos, sin, -sin, cos
        assert_close(turned[[first, second]], expected, atol=1e-6, rtol=0)


def test_the_encoder_by_hand():
    model, patches = encoder("learned"), torch.rand(3, 16, 4).double()
    x = patches @ model.embed.weight.T + model.embed.bias + model.place.weight
    for block in model.blocks:
        x, _ = block(x)
    assert_close(model(patches), model.output(model.norm(x).mean(dim=1)))


class Knows(torch.nn.Module):
    """Names each digit rightly, as long as each patch stands where it stood."""

    def __init__(self, seed):
        super().__init__()
        self.unused = torch.nn.Parameter(torch.zeros(1))
        self.known = {
            tuple(patches.flatten().tolist()): label
            for part in digits.draw(seed)
            for patches, label in zip(*part, strict=True)
        }

    def forward(self, patches):
        found = [self.known.get(tuple(picture.flatten().tolist()), torch.tensor(-1)) for picture in patches]
        return torch.nn.functional.one_hot(torch.stack(found) + 1, 11)[:, 1:].double()


def test_all_is_right_for_one_who_knows_until_the_patches_move():
    found = digits.test(Knows(3), {"seed": 3})
    assert (found["choosing"], found["right"]) == (1, 1)
    assert found["moved"] < 0.2


def test_there_is_one_published_run_for_each_settings(runs):
    assert [{name: run[name] for name in digits.RUNS[0]} for run in runs] == digits.RUNS


@pytest.mark.parametrize("kind", digits.KINDS)
def test_the_chosen_rate_is_the_best_on_the_digits_for_choosing(runs, kind):
    means = {}
    for rate in digits.RATES[kind]:
        of_rate = [run for run in runs if (run["kind"], run["rate"]) == (kind, rate)]
        means[rate] = sum(run["choosing"] for run in of_rate) / len(of_rate)
    assert max(means, key=means.get) == digits.CHOSEN[kind]


def test_what_the_published_runs_show(runs):
    """Bounds that all five seeds of a kind keep, and what holds in each seed."""

    def shares(kind, name="right"):
        wanted = {"kind": kind, "rate": digits.CHOSEN[kind]}
        found = [run[name] for run in runs if wanted.items() <= run.items()]
        assert len(found) == len(digits.SEEDS)
        return found

    assert all(0.96 < share < 0.98 for share in shares("learned"))
    assert min(shares("rotary")) > 0.92
    assert 0.65 < min(shares("none")) <= max(shares("none")) < 0.75
    assert shares("none", name="moved") == shares("none")
    assert max(shares("learned", name="moved")) < 0.15


FIRST = [
    settings
    for settings in digits.RUNS
    if settings["rate"] == digits.CHOSEN[settings["kind"]] and settings["seed"] == 0
]


@pytest.mark.parametrize("settings", FIRST, ids=lambda settings: "-".join(map(str, settings.values())))
def test_a_published_run_begins_as_it_would_today(runs, settings):
    (run,) = [run for run in runs if settings.items() <= run.items()]
    _, losses = digits.learn(settings, CPU, steps=3)
    assert losses == pytest.approx(run["losses"][:3], rel=1e-6)


def test_the_command_trains_tests_and_saves(tmp_path, monkeypatch, capsys):
    chosen = [{"kind": kind, "rate": 0.01, "seed": 0} for kind in ("rotary", "none")]
    monkeypatch.setattr(digits, "RUNS", chosen)
    monkeypatch.setattr(digits, "STEPS", 2)
    digits.main(["--device", "cpu", "--output", str(tmp_path / "run.pt")])
    found = load(tmp_path / "run.pt")
    assert [len(run["losses"]) for run in found["runs"]] == [2, 2]
    assert all(0 <= run[name] <= 1 for run in found["runs"] for name in ("choosing", "right", "moved"))
    assert found["session"]["seconds"] > 0
    assert "rotary" in capsys.readouterr().out
