"""Chapter 11's exercises ask for what PyTorch and the package compute."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from attention import DecoderBlock, MultiHeadAttention, next_probabilities
from attention.exercises import transformer
from attention.exercises.exercise import TRIALS

pytestmark = pytest.mark.usefixtures("on_the_cpu")


def random_numbers(seed, *shape):
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed), dtype=torch.float64, device="cpu")


def test_rms_norm_is_pytorch_s():
    norm = nn.RMSNorm(7, eps=1e-5, device="cpu", dtype=torch.float64)
    x, weight = random_numbers(0, 5, 7), random_numbers(1, 7)
    norm.weight.data = weight
    assert_close(transformer.rms_norm.specification(x, weight), norm(x))


def test_the_decoder_block_is_the_package_s():
    block = DecoderBlock(embed_dim=6, num_heads=2, norm_layer=lambda E: nn.LayerNorm(E, elementwise_affine=False))
    block = block.to("cpu", torch.float64)
    x, memory = random_numbers(0, 1, 5, 6), random_numbers(1, 1, 7, 6)

    def attend(tokens):
        return block.attend(tokens[None], tokens[None], tokens[None], is_causal=True)[0][0]

    def cross_attend(query, memory):
        return block.cross_attend(query[None], memory[None], memory[None])[0][0]

    layers = block.before_attend, attend, cross_attend, block.feed_forward
    expected, _ = block(x, memory, is_causal=True)
    assert_close(transformer.decoder_block.specification(x[0], memory[0], *layers), expected[0])


def test_top_p_is_the_package_s():
    for seed in range(20):
        probabilities, p = transformer.top_p.draw(torch.Generator("cpu").manual_seed(seed))
        found = transformer.top_p.specification(probabilities, p)
        assert_close(found, next_probabilities(probabilities.log(), top_p=p))


def test_a_head_is_taken_away_as_by_an_empty_mask():
    layer = MultiHeadAttention(embed_dim=6, num_heads=3).to("cpu", torch.float64)  # its bias is 0
    x = random_numbers(0, 1, 5, 6)
    _, weights = layer(x, x, x, need_weights=True)
    heads = weights[0] @ layer.v_proj(x)[0].unflatten(1, (3, 2)).transpose(0, 1)  # (H, T, D)
    for head in range(3):
        mask = torch.ones(1, 3, 5, 5, dtype=torch.bool, device="cpu")
        mask[:, head] = False
        silenced, _ = layer(x, x, x, mask)
        found = transformer.without_head.specification(heads, layer.out_proj.weight, head)
        assert_close(found, silenced[0])


# What tells a mistake from a right answer is in every check, not in most.

CHECKS = 50


def seen_by(exercise):
    """The arguments of each input of one check."""
    seen = []
    exercise.verdict(lambda *arguments: seen.append(arguments) or exercise.specification(*arguments))
    return seen


def test_every_check_of_top_p_has_one_token_that_is_enough():
    for _ in range(CHECKS):
        enough = [bool(probabilities.max() > p) for probabilities, p in seen_by(transformer.top_p)]
        assert enough[: TRIALS + 1] == [False] * TRIALS + [True]


def test_every_check_takes_away_the_first_head_once():
    for _ in range(CHECKS):
        is_first = [head == 0 for _, _, head in seen_by(transformer.without_head)]
        assert is_first[: TRIALS + 1] == [False] * TRIALS + [True]


def test_every_input_of_rms_norm_has_one_small_token():
    for _ in range(CHECKS):
        for x, _ in seen_by(transformer.rms_norm):
            assert x.square().mean(dim=1).min() < 100 * transformer.EPS


def never_the_first_head(heads, W_o, head):
    return transformer.without_head.specification(heads, W_o, head or 1)


def test_an_answer_that_is_wrong_for_the_first_head_alone_is_wrong():
    for _ in range(CHECKS):
        assert ", 0 it gives" in transformer.without_head.verdict(never_the_first_head)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pytorch_s_own_epsilon_is_too_small(dtype):
    def answer(x, weight):
        return F.rms_norm(x.to(dtype), x.shape[1:], weight.to(dtype))

    for _ in range(CHECKS):
        assert "The 1e-5 is missing or too small" in transformer.rms_norm.verdict(answer)


def shift_and_forget(probabilities, p):
    """As in many programs, without the line that keeps the first."""
    ranked, order = probabilities.sort(descending=True)
    remove = ranked.cumsum(dim=0) > p
    remove[1:] = remove[:-1].clone()
    kept = ranked.masked_fill(remove, 0.0)
    return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())


def shift_and_keep_the_first(probabilities, p):
    ranked, order = probabilities.sort(descending=True)
    remove = ranked.cumsum(dim=0) >= p
    remove[1:] = remove[:-1].clone()
    remove[0] = False
    kept = ranked.masked_fill(remove, 0.0)
    return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())


def test_the_likeliest_token_is_kept():
    for _ in range(CHECKS):
        assert "you keep none" in transformer.top_p.verdict(shift_and_forget)
        assert transformer.top_p.verdict(shift_and_keep_the_first).startswith("correct")
