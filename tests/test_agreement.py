"""Chapter 11's grammar, and each model that is trained on it."""

from random import Random

import pytest
import torch

from attention.experiments import agreement


def test_the_pattern_takes_what_the_grammar_makes_and_no_verb_of_the_other_number():
    random = Random(1)
    for _ in range(500):
        subject, rest, number = agreement.sentence(random)
        assert agreement.grammatical(" ".join([*subject, *rest]))
        verbs = " ".join([agreement.DOES[number], agreement.SEES[number]]).split()
        others = " ".join([agreement.DOES[1 - number], agreement.SEES[1 - number]]).split()
        wrong = others[verbs.index(rest[0])]
        assert not agreement.grammatical(" ".join([*subject, wrong, *rest[1:]]))


@pytest.mark.parametrize("without", agreement.WITHOUT)
def test_each_model_learns_and_sees_no_later_word(without):
    _, read, losses = agreement.learn(without, 0, torch.device("cpu"), steps=12)
    assert losses[-1] < losses[0]
    ids = torch.arange(20)[None]
    changed = torch.cat([ids[:, :12], ids[:, 12:] + 1], dim=1)
    torch.testing.assert_close(read(ids)[:, :12], read(changed)[:, :12])
