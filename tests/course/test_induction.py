"""Chapter 12's experiments: sequences, scores and interventions against slow loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attention.course.experiments import induction, plans

SEEDS = st.integers(0, 2**32 - 1)
pytestmark = pytest.mark.usefixtures("on_the_cpu")


def loops(seed, count=3, length=20, periods=(2, 9)):
    return induction.draw(count, torch.Generator().manual_seed(seed), length=length, periods=periods)


@given(seed=SEEDS, by=st.integers(1, 5))
def test_a_sequence_is_a_loop_of_distinct_symbols_and_its_answers_those_of_the_loop(seed, by):
    tokens, period = loops(seed)
    later, there = induction.ahead(tokens, period, by).tolist(), induction.copied(tokens, period).tolist()
    for n, (row, p) in enumerate(zip(tokens.tolist(), period.flatten().tolist(), strict=True)):
        assert 2 <= p <= 9
        assert len({*row[:p]}) == p
        assert all(row[place] == row[place % p] for place in range(20))
        assert later[n] == [row[(place + by) % p] for place in range(20)]
        assert there[n] == [row[place] in row[:place] for place in range(20)]


@settings(max_examples=20)
@given(seed=SEEDS)
def test_scores_are_mean_weights(seed):
    tokens, period = loops(seed)
    weights = torch.rand(3, 2, 20, 20, dtype=torch.float64).tril()
    back, copy = ([], []), ([], [])
    for n, (row, p) in enumerate(zip(tokens.tolist(), period.flatten().tolist(), strict=True)):
        for head in range(2):
            back[head].extend(weights[n, head, place, place - 1].item() for place in range(1, p))
            for place in range(p, 20):
                followed = [key for key in range(1, place + 1) if row[key - 1] == row[place]]
                copy[head].append(weights[n, head, place, followed].sum().item())
    assert induction.one_back(weights, period) == pytest.approx([sum(head) / len(head) for head in back])
    assert induction.induction(weights, period) == pytest.approx([sum(head) / len(head) for head in copy])


def test_a_perfect_answer_has_no_loss():
    tokens, period = loops(0)
    answers = torch.nn.functional.one_hot(induction.ahead(tokens, period), induction.SYMBOLS).double()
    answers[~induction.copied(tokens, period)] = 0.0  # where nothing can be known, nothing counts
    loss, share = induction.loss_and_share(100 * answers, tokens, period)
    assert loss < 1e-9
    assert share == 1
    loss, _ = induction.loss_and_share(0 * answers, tokens, period)
    assert loss == pytest.approx(math.log(induction.SYMBOLS))


def test_masks_by_hand():
    assert induction.silence([1], 3).tolist() == [[[[True] * 3] * 3, [[False] * 3] * 3]]
    assert induction.pin([0], 1, 3)[0, 0].int().tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert induction.pin([0], 1, 3)[0, 1].all()
    barred = induction.bar(4)[0, 0] & torch.ones(4, 4).tril().bool()
    assert barred.nonzero().tolist() == [[0, 0], [1, 1], [2, 0], [2, 2], [3, 0], [3, 1], [3, 3]]


def written(block, x):
    """What each head of a block writes, by its own slice of each projection: (B, H, L, E)."""
    q, k, v = (
        linear(block.before_self_attention(x)).unflatten(-1, (2, 32)).transpose(1, 2)
        for linear in (block.self_attention.q_proj, block.self_attention.k_proj, block.self_attention.v_proj)
    )
    scores = (q @ k.mT / math.sqrt(32)).masked_fill(torch.ones(32, 32).triu(1) > 0, -math.inf)
    return scores.softmax(-1) @ v @ block.self_attention.out_proj.weight.unflatten(1, (2, 32)).permute(1, 2, 0)


@pytest.mark.parametrize(("number", "head"), [(0, 1), (1, 0)])
def test_a_head_adds_its_average(number, head):
    """What it writes is replaced by its mean over some sequences' places."""
    model, places = induction.make().double(), torch.rand(3, 32) < 0.5
    tokens, _ = induction.draw(3, torch.Generator().manual_seed(0))
    x = model.embed(tokens)
    for current, block in enumerate(model.blocks):
        heads = written(block, x)
        if current == number:
            heads[:, head] = heads[:, head][places].mean(dim=0)
        x = x + heads.sum(dim=1)
    expected = model.unembed(x)
    assert_close(induction.averaged(model, tokens, places, number, head), expected)
    assert (expected - model(tokens)).abs().max() > 1e-3


@pytest.mark.parametrize("role", [None, "query", "key", "value"])
def test_the_first_block_is_missing_from_one_role_alone(role):
    """Of the second block, which else reads what the first one has written under its mask."""
    model, mask = induction.make().double(), induction.bar(induction.LENGTH)
    tokens, _ = induction.draw(3, torch.Generator().manual_seed(0))
    whole = model(tokens, attn_masks={0: mask})
    found = plans.without(model, tokens, role, mask)
    assert torch.allclose(found, whole) == (role is None)
