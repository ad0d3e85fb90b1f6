"""Chapter 10's experiments: what is counted, and what stands in place of attention."""

import pytest
import torch
from torch.testing import assert_close

from attention.course.experiments import sequence_to_sequence

pytestmark = pytest.mark.usefixtures("on_the_cpu")


def test_shares_are_counted_place_by_place_and_as_a_whole():
    """A translator that knows every answer but the last digit."""
    task = sequence_to_sequence.dictionaries(torch.device("cpu"))

    class AllButTheLast:
        def translate(self, source, lengths, *, max_steps):
            texts = task.characters.decode(source)
            answers = ["".join(entry[1] for entry in sorted(text.split())) for text in texts]
            wrong = [answer[:-1] + str((int(answer[-1]) + 1) % 10) for answer in answers]
            return task.digits.encode(wrong)[0], None

    found = sequence_to_sequence.test_dictionaries(AllButTheLast(), task)
    assert found["digits"] == pytest.approx([(size - 1) / size for size in range(2, 9)])
    assert found["answers"] == [0] * 7


def test_only_without_a_mask_is_there_weight_on_padding():
    for masked in (True, False):
        settings = {"task": "dates", "attention": "additive", "masked": masked, "steps": 200, "seed": 0}
        found = sequence_to_sequence.examine(settings, torch.device("cpu"), steps=1)["on_padding"]
        assert (found == [0, 0, 0]) == masked


def test_one_vector_is_the_same_for_every_query_and_never_padding():
    value = torch.arange(12.0).view(1, 3, 4)
    mask = torch.tensor([[[True, True, False]]])
    output, weights = sequence_to_sequence.OneVector()(torch.randn(1, 2, 4), value, value, mask)
    assert output.tolist() == [[[4.0, 5.0, 2.0, 3.0]] * 2]  # the last word's first half, the first word's second
    assert_close(weights, torch.zeros(1, 2, 3))
