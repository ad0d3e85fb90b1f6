"""The handwritten digits against their source, cut to patches and back; the encoder."""

import hashlib
import math

import pytest
import torch
from torch.testing import assert_close

from attention.course.digits import from_patches, read_digits, to_patches
from attention.course.experiments import digits

pytestmark = pytest.mark.usefixtures("on_the_cpu")


def encoder(positions):
    torch.manual_seed(0)
    return digits.PictureEncoder(positions).double()


def test_the_digits_are_unchanged():
    pictures, labels = read_digits()
    sums = [hashlib.sha256(each.to(torch.uint8).numpy().tobytes()).hexdigest()[:16] for each in (pictures, labels)]
    assert sums == ["8f26b2bd9d135c25", "8ba4f891220f5e4c"]


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


def test_each_digit_is_drawn_once():
    parts = digits.draw(seed=1)
    assert [len(labels) for _, labels in parts] == [1000, 197, 600]
    pictures, labels = read_digits()
    patches, drawn = (torch.cat(each) for each in zip(*parts, strict=True))

    def rows(patches, labels):
        return sorted(torch.cat([patches.flatten(1), labels[:, None]], dim=1).tolist())

    assert rows(patches, drawn) == rows(to_patches(pictures.double() / 16), labels)
    assert not torch.equal(drawn, labels)


@pytest.mark.parametrize("positions", digits.RATES)
def test_a_picture_is_a_set_of_patches_with_their_places(positions):
    model, patches, order = encoder(positions), torch.rand(3, 16, 4).double(), torch.randperm(16)
    assert_close(model(patches[:, order], order), model(patches))
    assert_close(model(patches[:, order]), model(patches, order.argsort()))
    moved = (model(patches[:, order]) - model(patches)).abs().max()
    assert (moved > 1e-6) == (positions != "none")


def test_rotary_positions_by_hand():
    """The first half of a head is turned by the row, the second by the column, each pair by 1 and 1 / 10 a step."""
    eye = torch.eye(8, dtype=torch.float64)
    turned, _ = digits.rotate_in_two(eye, eye, torch.full((8,), 4 * 2 + 3), torch.arange(8))
    for first, second, angle in ((0, 2, 2.0), (1, 3, 0.2), (4, 6, 3.0), (5, 7, 0.3)):
        cos, sin = math.cos(angle) * eye, math.sin(angle) * eye
        expected = torch.stack([cos[first] + sin[second], cos[second] - sin[first]])
        assert_close(turned[[first, second]], expected, atol=1e-6, rtol=0)


def test_all_is_right_for_one_who_knows_until_the_patches_move():
    known = {each.numpy().tobytes(): digit for part in digits.draw(3) for each, digit in zip(*part, strict=True)}

    def model(patches):
        found = [known.get(each.numpy().tobytes(), torch.tensor(10)) for each in patches]
        return torch.nn.functional.one_hot(torch.stack(found), 11)

    found = digits.test(model, 3, torch.device("cpu"))
    assert (found["choosing"], found["right"]) == (1, 1)
    assert found["moved"] < 0.2


@pytest.mark.parametrize("kind", digits.RATES)
def test_the_chosen_rate_is_the_best_on_the_digits_for_choosing(kind):
    means = {}
    for rate in digits.RATES[kind]:
        of_rate = [run for run in digits.published()["runs"] if (run["kind"], run["rate"]) == (kind, rate)]
        means[rate] = sum(run["choosing"] for run in of_rate) / len(of_rate)
    assert max(means, key=means.get) == digits.CHOSEN[kind]
