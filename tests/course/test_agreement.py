"""Chapter 11's grammar, and each model that is trained on it."""

from pathlib import Path
from random import Random

import nbformat
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention import Transformer
from attention.course.experiments import agreement

pytestmark = pytest.mark.usefixtures("on_the_cpu")
CHAPTER = Path(__file__).parents[2] / "book" / "11-transformer.ipynb"
NAMES = {
    "attention.q": "self_attention.q_proj",
    "attention.k": "self_attention.k_proj",
    "attention.v": "self_attention.v_proj",
    "attention.o": "self_attention.out_proj",
}
NAMES |= {"up": "feed_forward.up", "down": "feed_forward.down"}
NAMES |= {"norm_1": "before_self_attention", "norm_2": "before_feed_forward"}
WHOLE = {"words": "token_embedding", "places": "position_embedding", "norm": "final_norm", "to_logits": "output"}


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


def test_the_chapter_s_model_is_the_one_that_the_stored_runs_train():
    cells = [cell.source for cell in nbformat.read(CHAPTER, as_version=4).cells if cell.cell_type == "code"]
    names = {"nn": nn, "F": F, "torch": torch, "Norm": nn.LayerNorm}
    for beginning in ("class Attention(", "class Block(", "class Transformer("):
        (source,) = (cell for cell in cells if cell.startswith(beginning))
        exec(source, names)
    ours = names["Transformer"](V=11, E=12, H=3, longest=9, depth=2)
    theirs = Transformer(11, 12, 3, 2, 9, tied=False)
    for name, part in WHOLE.items():
        getattr(theirs, part).load_state_dict(getattr(ours, name).state_dict())
    for block, other in zip(ours.blocks, theirs.blocks, strict=True):
        for name, part in NAMES.items():
            other.get_submodule(part).load_state_dict(block.get_submodule(name).state_dict())
    ids = torch.randint(11, (2, 9))
    torch.testing.assert_close(ours(ids), theirs(ids))
