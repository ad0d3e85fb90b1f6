"""Chapter 11's exercises ask for what PyTorch and the package compute."""

import torch
from torch import nn
from torch.testing import assert_close

from attention import DecoderBlock, MultiHeadAttention, next_probabilities
from attention.exercises import transformer


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
