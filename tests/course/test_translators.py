"""Chapter 10's dictionaries: what is counted, and what stands in place of attention."""

import pytest
import torch
from torch.testing import assert_close

from attention.course.experiments import sequence_to_sequence

pytestmark = pytest.mark.usefixtures("on_the_cpu")


def test_shares_are_counted_place_by_place():
    """A translator that knows every answer but the last digit."""
    reads, writes = sequence_to_sequence.READS, sequence_to_sequence.WRITES

    class AllButTheLast:
        def translate(self, source, lengths, *, max_steps):
            answers = ["".join(entry[1] for entry in sorted(text.split())) for text in reads.decode(source)]
            wrong = [answer[:-1] + str((int(answer[-1]) + 1) % 10) for answer in answers]
            return writes.encode(wrong)[0], None

    found = sequence_to_sequence.digits_right(AllButTheLast(), torch.device("cpu"))
    assert found == pytest.approx([(size - 1) / size for size in range(2, 9)])


def test_one_vector_is_the_same_for_every_query_and_never_padding():
    value = torch.arange(12.0).view(1, 3, 4)
    mask = torch.tensor([[[True, True, False]]])
    output, weights = sequence_to_sequence.OneVector()(torch.randn(1, 2, 4), value, value, mask)
    assert output.tolist() == [[[4.0, 5.0, 2.0, 3.0]] * 2]  # the last word's first half, the first word's second
    assert_close(weights, torch.zeros(1, 2, 3))
