"""Chapter 8's experiment with positions: its two tasks, what counts, and what a reader can be told."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attention.course.experiments import positions

pytestmark = pytest.mark.usefixtures("on_the_cpu")


@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 20))
def test_the_answers_are_found_letter_by_letter(seed, length):
    letters = torch.randint(10, (3, length), generator=torch.Generator().manual_seed(seed))
    back, after = positions.three_back(letters), positions.after(letters)
    for row, backs, afters in zip(letters.tolist(), back.tolist(), after.tolist(), strict=True):
        for place, letter in enumerate(row):
            assert backs[place] == (row[place - 3] if place >= 3 else positions.UNASKED)
            before = [other for other in range(place) if row[other] == letter]
            assert afters[place] == (row[before[-1] + 1] if before else positions.UNASKED)


def test_only_the_last_letters_of_a_sequence_count():
    """A reader that is right from some place on, and wrong before."""

    class RightFrom(torch.nn.Module):
        def __init__(self, place):
            super().__init__()
            self.place, self.name = place, torch.nn.Linear(1, 1)

        def forward(self, letters):
            answers = positions.three_back(letters).clamp(min=0)
            answers = torch.where(torch.arange(letters.size(1)) < self.place, 11, answers)
            return torch.nn.functional.one_hot(answers, 12)

    assert positions.right(RightFrom(64 - 16), "three back", 64) == 1
    assert positions.right(RightFrom(64 - 8), "three back", 64) == 0.5


def test_a_larger_base_stretches_the_longest_wave_and_leaves_the_shortest():
    """For heads of width 8 and texts four times as long; the model that is copied stays as it is."""
    model = positions.Reader("rotary")
    stretched = positions.with_larger_base(model, 128).blocks[0].attend.process_heads.keywords["base"]
    assert stretched ** (6 / 8) == pytest.approx(4 * 10000 ** (6 / 8))  # over 2π; the shortest is 1 for any base
    assert model.blocks[0].attend.process_heads is positions.rotate_heads


def test_a_window_positions_and_options_change_what_a_reader_sees():
    model, letters = positions.Reader("rotary").double(), torch.randint(10, (2, 9))
    whole = model(letters)
    assert_close(model(letters, torch.arange(9) + 100), whole)  # distances alone count
    assert not torch.allclose(model(letters, torch.arange(9) / 2), whole)
    near = model(letters, window=4)
    assert_close(near[:, :4], whole[:, :4])
    assert not torch.allclose(near[:, 4:], whole[:, 4:])
    back = torch.arange(9)[:, None] - torch.arange(9)
    assert_close(model(letters, attn_mask=back < 4), near)
    assert_close(model(letters, attn_bias=torch.where(back < 4, 0.0, -1e9).double()), near)
