"""Training against its steps written out, against a second run, and against a task that it must learn."""

import functools
import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.functional import log_softmax
from torch.testing import assert_close

from attention import EOS, PAD, AdditiveAttention, Decoder, Encoder, Translator, exact_matches, train
from reads import can_pretend, reads
from refusals import refuses

assert_equal = functools.partial(assert_close, rtol=0, atol=0)
LENGTHS = torch.tensor([4, 2, 3])
SOURCE = torch.tensor([[3, 4, 5, EOS], [6, EOS, PAD, PAD], [4, 3, EOS, PAD]])
TARGET = torch.tensor([[5, 4, EOS], [6, EOS, PAD], [3, 4, EOS]])
OPTIONS = {"steps": 4, "batch_size": 2, "learning_rate": 0.01}


def translator(width=8, dropout=0.0):
    torch.manual_seed(0)
    encoder = Encoder(8, width, dropout=dropout)
    return Translator(encoder, Decoder(8, width, AdditiveAttention(width, width, width), dropout=dropout))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def trained(model, **options):
    return list(train(model, SOURCE, LENGTHS, TARGET, **(OPTIONS | {"generator": seeded()} | options)))


def test_the_first_loss_is_minus_the_mean_logarithm_of_what_was_right():
    model = translator().double()
    rows = torch.randint(3, (4, 5), generator=seeded(), device="cpu")[0]
    assert (TARGET[rows] == PAD).any()
    losses = []
    for row in rows:
        length = LENGTHS[row]
        logits, _ = model(SOURCE[row, None, :length], TARGET[row, None])
        right = TARGET[row][TARGET[row] != PAD]
        losses += (-log_softmax(logits[0], -1)[range(len(right)), right]).tolist()
    assert math.isclose(trained(model, batch_size=5)[0], sum(losses) / len(losses), rel_tol=1e-12)


def test_the_rate_s_cycle_runs_over_all_steps():
    """Adam divides by the gradients' size, so a step moves no number by much more than the rate."""
    model, moved = translator().double(), []
    before = nn.utils.parameters_to_vector(model.parameters())
    for _ in train(model, SOURCE, LENGTHS, TARGET, generator=seeded(), **(OPTIONS | {"steps": 50})):
        after = nn.utils.parameters_to_vector(model.parameters())
        moved.append((after - before).abs().max().item())
        before = after
    assert math.isclose(moved[0], 0.01 / 25, rel_tol=1e-3)
    assert 0.3 * 50 - 5 < max(range(50), key=moved.__getitem__) < 0.3 * 50 + 5
    assert moved[-1] < 0.01 / 1000


def test_training_is_the_same_from_the_same_seed_and_another_from_another():
    runs = [trained(translator(), generator=seeded(seed)) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


def test_a_loop_may_look_at_the_model_between_two_steps():
    plain, watched = translator(dropout=0.3), translator(dropout=0.3)
    torch.manual_seed(1)
    expected, found = trained(plain), []
    torch.manual_seed(1)
    for loss in train(watched, SOURCE, LENGTHS, TARGET, generator=seeded(), **OPTIONS):
        found.append(loss)
        watched.eval()
        exact_matches(watched, SOURCE, LENGTHS, TARGET)
    assert found == expected


def test_it_learns_to_turn_three_letters_round():
    source = torch.cat([torch.cartesian_prod(*[torch.arange(3, 8)] * 3), torch.full((125, 1), EOS)], 1)
    target = torch.cat([source[:, :3].flip(1), source[:, 3:]], 1)
    lengths = torch.full((125,), 4)
    model = translator(width=24)
    assert exact_matches(model, source, lengths, target).float().mean() < 0.1
    list(train(model, source, lengths, target, steps=200, batch_size=32, learning_rate=0.02, generator=seeded()))
    assert exact_matches(model, source, lengths, target).float().mean() > 0.97


# Counting


@pytest.mark.parametrize(
    ("ids", "right"),
    [
        ([[5, 4, EOS], [6, EOS, PAD], [3, 4, EOS]], [True, True, True]),
        ([[5, 4, EOS], [6, 6, EOS], [4, 3, EOS]], [True, False, False]),
        ([[5, EOS], [6, EOS], [3, 4]], [False, True, False]),
        ([[5, 4, 4], [6, 4, EOS], [3, 4, EOS]], [False, False, True]),
    ],
)
def test_a_match_is_right_to_its_end(ids, right):
    parrot = SimpleNamespace(translate=lambda source, lengths, max_steps: (torch.tensor(ids)[:, :max_steps], None))
    assert exact_matches(parrot, SOURCE, LENGTHS, TARGET).tolist() == right


# Devices


@can_pretend
def test_a_step_reads_four_tensors_back_from_an_accelerator():
    from accelerator import DEVICE

    model, (source, lengths, target) = translator().to(DEVICE), (t.to(DEVICE) for t in (SOURCE, LENGTHS, TARGET))

    def run(steps):
        return list(train(model, source, lengths, target, generator=seeded(), **(OPTIONS | {"steps": steps})))

    few, more = (reads(lambda steps=steps: run(steps), DEVICE) for steps in (2, 5))
    assert more - few == 3 * 4  # the loss, what PyTorch's pad_packed_sequence reads, and the extremes of both ids
    assert few == 2 * 4 + 1  # and the lengths, once


# What is said of a mistake


@pytest.mark.parametrize(
    ("error", "message", "wrong"),
    [
        (TypeError, "steps must be an integer, found 2.0", {"steps": 2.0}),
        (ValueError, "batch_size must be at least 1, found 0", {"batch_size": 0}),
        (ValueError, "learning_rate must be positive, found 0.0", {"learning_rate": 0.0}),
        (ValueError, "target must have one row for each source", {"target": TARGET[:2]}),
        (ValueError, "lengths must have one number a source", {"lengths": LENGTHS[:2]}),
        (ValueError, "lengths must lie between 1 and the source's length 4", {"lengths": torch.tensor([4, 0, 3])}),
    ],
)
def test_training_says_what_is_wrong_before_it_starts(error, message, wrong):
    arguments = {"model": translator(), "source": SOURCE, "lengths": LENGTHS, "target": TARGET, "generator": seeded()}
    refuses(train, arguments | OPTIONS | wrong, error, message)


def test_counting_says_what_is_wrong():
    arguments = {"model": translator(), "source": SOURCE, "lengths": LENGTHS, "target": TARGET[:2]}
    refuses(exact_matches, arguments, ValueError, "target must have one row for each source")
