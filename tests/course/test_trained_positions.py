"""Chapter 8's experiment with positions: what counts as right, and what a reader sees."""

import pytest
import torch
from torch.testing import assert_close

from attention.course.experiments import positions

pytestmark = pytest.mark.usefixtures("on_the_cpu")


@pytest.mark.parametrize(("place", "share"), [(64 - 16, 1), (64 - 8, 0.5)])
def test_only_the_last_letters_of_a_sequence_count(place, share):
    """A reader that names the letter three back from some place on, and is wrong before."""

    class RightFrom(torch.nn.Module):
        name = torch.nn.Linear(1, 1)

        def forward(self, letters):
            answers = torch.where(torch.arange(letters.size(1)) < place, 11, letters.roll(3, dims=1))
            return torch.nn.functional.one_hot(answers, 12)

    assert positions.right(RightFrom(), 64) == share


def test_a_window_and_options_change_what_a_reader_sees():
    model, letters = positions.Reader("rotary").double(), torch.randint(10, (2, 9))
    whole, near = model(letters), model(letters, window=4)
    assert_close(near[:, :4], whole[:, :4])
    assert not torch.allclose(near[:, 4:], whole[:, 4:])
    back = torch.arange(9)[:, None] - torch.arange(9)
    assert_close(model(letters, attn_mask=back < 4), near)
    assert_close(model(letters, attn_bias=torch.where(back < 4, 0.0, -1e9).double()), near)
