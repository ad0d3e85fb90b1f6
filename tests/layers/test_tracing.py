"""Compiled or exported, with lengths left open, everything answers as it does when it is run."""

import pytest
import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing import assert_close

import attention
from attention import causal_mask, padding_mask, window_mask

pytestmark = [pytest.mark.usefixtures("on_the_cpu")]
FIRST, SECOND, THIRD = (2, 5), (3, 9), (4, 3)  # (B, L): traced with the first, asked for all; 3 are the heads, too


class Layers(nn.Module):
    """Every function and layer, each under a mask that meets is_causal where it can."""

    def __init__(self):
        super().__init__()
        self.heads = attention.MultiHeadAttention(12, 3)
        self.turning = attention.MultiHeadAttention(12, 3, process_heads=attention.rotate_heads)
        self.block, self.decoder_block = attention.Block(12, 3), attention.DecoderBlock(12, 3, "post")
        self.additive = attention.AdditiveAttention(12, 12, 4)
        self.dot_product, self.last_state = attention.DotProductAttention(), attention.LastState()

    def forward(self, tokens, lengths):
        length = tokens.size(1)
        inputs = tokens, tokens, tokens
        padding = padding_mask(lengths, length)
        mask = padding & causal_mask(length, length, offset=1) & window_mask(length, 3)
        return [
            attention.attention_weights(tokens, tokens, is_causal=True),
            attention.scaled_dot_product_attention(*inputs, padding, is_causal=True),
            attention.masked_softmax(tokens @ tokens.mT, mask),
            attention.nadaraya_watson(*inputs, attn_mask=mask),
            self.heads(*inputs, padding, is_causal=True)[0],
            *self.heads(*inputs, padding, is_causal=True, need_weights=True),
            self.turning(*inputs, padding, is_causal=True, attn_bias=attention.alibi_bias(3, length)[None])[0],
            *self.turning(*inputs, mask, need_weights=True),
            *self.block(tokens, padding, is_causal=True, need_weights=True),
            *self.decoder_block(tokens, tokens, padding, mask, is_causal=True, need_weights=True),
            tokens + attention.sinusoidal_positions(length, 12),
            *self.additive(*inputs, mask),
            *self.dot_product(*inputs, mask),
            *self.last_state(*inputs, mask),
        ]


def inputs(B, L):
    return torch.randn(B, L, 12), torch.randint(0, L + 1, (B,))


def exported(layers):
    B, L = torch.export.Dim("B"), torch.export.Dim("L")
    shapes = {0: B, 1: L}, {0: B}
    return torch.export.export(layers, inputs(*FIRST), dynamic_shapes=shapes, strict=False).module()


TRACERS = {
    "compile": lambda layers: torch.compile(layers, fullgraph=True, backend="eager", dynamic=True),
    "export": exported,
    "make_fx": lambda layers: make_fx(layers, tracing_mode="symbolic", _allow_non_fake_inputs=True)(*inputs(*FIRST)),
}


@pytest.mark.parametrize("trace", TRACERS.values(), ids=TRACERS)
def test_a_trace_answers_as_what_was_traced(trace):
    layers = Layers()
    traced = trace(layers)
    for shape in (FIRST, SECOND, THIRD):
        given = inputs(*shape)
        assert_close(list(traced(*given)), layers(*given))


def test_a_compiled_mask_leaves_its_lengths_open():
    def kept(new, keys):
        return causal_mask(new, keys, offset=keys - new)

    compiled = torch.compile(kept, fullgraph=True, backend="eager", dynamic=True)
    for new, keys in ((3, 5), (2, 7), (4, 4)):
        assert_close(compiled(new, keys), kept(new, keys))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_the_older_tracer_bakes_in_no_length_and_no_shortcut():
    def attend(scores, mask, tokens):
        return (
            attention.masked_softmax(scores, mask),
            attention.attention_weights(tokens, tokens, mask, is_causal=True),
            heads(tokens, tokens, tokens, mask, is_causal=True)[0],
        )

    heads = attention.MultiHeadAttention(12, 3).requires_grad_(False)
    example = torch.randn(5, 5), torch.ones(5, 5) > 0, torch.randn(2, 5, 12)
    traced = torch.jit.trace(attend, example, check_trace=False)
    given = torch.randn(7, 7), torch.rand(7, 7) < 0.5, torch.randn(3, 7, 12)
    given[1][2] = False
    assert_close(traced(*given), attend(*given))


def test_a_compiled_step_goes_on_with_its_caches():
    model = attention.Transformer(11, 16, 4, 2, positions="rotary", num_key_value_heads=2)
    tokens = torch.randint(11, (2, 6))
    step, caches = torch.compile(model, fullgraph=True, backend="eager", dynamic=True), model.make_caches()
    with torch.no_grad(), torch.device("cpu"):
        found = torch.cat([step(part, caches) for part in tokens.split((2, 3, 1), dim=1)], dim=1)
    assert_close(found, model(tokens))


def test_under_autocast_too():
    heads = attention.MultiHeadAttention(12, 3)

    def attend(tokens):
        inputs = tokens, tokens, tokens
        return [
            attention.attention_weights(tokens, tokens, is_causal=True),
            attention.scaled_dot_product_attention(*inputs, is_causal=True),
            *heads(*inputs, is_causal=True, need_weights=True),
            heads(*inputs, is_causal=True)[0],
        ]

    tokens = torch.randn(2, 5, 12)
    compiled = torch.compile(attend, fullgraph=True, backend="eager")
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(compiled(tokens), attend(tokens))
