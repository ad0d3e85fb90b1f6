"""Nothing is made on another device than the inputs': seen on PyTorch's meta device, so that no test needs a GPU.

Where numbers are only moved, the inputs lie on meta. Where they are looked at, which meta tensors do not allow, the
inputs lie on the CPU, and meta is where a tensor goes that is made without a word about its device.
"""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import attention

META = torch.device("meta")
B, H, L, S, D = 2, 3, 5, 7, 4
WIDTH = H * D


class Elsewhere(TorchDispatchMode):
    """Notes every operation that makes a tensor on another device than meta, also those that autograd calls."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **kwargs or {})
        made = [tensor for tensor in tree_leaves(result) if isinstance(tensor, torch.Tensor)]
        self.found += [f"{func} on {tensor.device}" for tensor in made if tensor.device != META]
        return result


def points(*shape):
    return torch.randn(*shape, device=META, requires_grad=True)


def hidden(*shape):
    return torch.ones(*shape, dtype=torch.bool, device=META)


def ids(*shape, device=None):
    return torch.randint(3, 10, shape, device=device)


def watch(call, *inputs, **options):
    """What is watched: a layer, which is moved beforehand, or a function."""
    call = call.to(META) if isinstance(call, nn.Module) else call
    return lambda: call(*inputs, **options)


X, MEMORY = points(B, L, WIDTH), points(B, S, WIDTH)
Q, K, V = points(B, L, D), points(B, S, D), points(B, S, 2)


def heads(options=(), **made):
    return watch(attention.MultiHeadAttention(WIDTH, H, dropout=0.1, **made), X, MEMORY, MEMORY, **dict(options))


def cache():
    module = attention.MultiHeadAttention(WIDTH, H, num_key_value_heads=1, process_heads=attention.rotate_heads)
    module, kept = module.to(META), attention.KeyValueCache()
    module(MEMORY, MEMORY, MEMORY, cache=kept)
    return watch(module, X, X, X, is_causal=True, key_mask=hidden(B, S + L), cache=kept)


def from_torch():
    module = nn.MultiheadAttention(WIDTH, H, device=META)
    return lambda: list(attention.MultiHeadAttention.from_torch(module).parameters())


def transformer(positions, **options):
    module = attention.Transformer(10, WIDTH, H, 2, L, positions, dropout=0.1, **options)
    return watch(module, ids(B, L, device=META), attn_masks={0: hidden(1, H, L, L)})


def regression(**options):
    module = attention.NadarayaWatson(torch.randn(S, D, device=META), torch.randn(S, 2, device=META), **options)
    return watch(module, points(L, D), hidden(L, S))


CAUSAL = {"is_causal": True}
PARTS = {"is_causal": True, "attn_bias": points(L, S), "block_size": 2}
# Each makes what it needs beforehand, and returns what is watched.
CASES = {
    "masked_softmax": lambda: watch(attention.masked_softmax, Q),
    "masked_softmax, masked": lambda: watch(attention.masked_softmax, Q, hidden(D)),
    "attention_weights": lambda: watch(attention.attention_weights, Q, K, **CAUSAL),
    "scaled_dot_product_attention": lambda: watch(
        attention.scaled_dot_product_attention, Q, K, V, hidden(L, S), dropout_p=0.1, is_causal=True
    ),
    "streaming_attention": lambda: watch(attention.streaming_attention, Q, K, V, hidden(L, S), **PARTS),
    "linear_attention": lambda: watch(attention.linear_attention, Q, K, V),
    "linear_attention, causal": lambda: watch(attention.linear_attention, Q, Q, Q, is_causal=True, block_size=2),
    "causal_mask": lambda: watch(attention.causal_mask, L, S, device=META),
    "window_mask": lambda: watch(attention.window_mask, L, 2, device=META),
    "padding_mask": lambda: watch(attention.padding_mask, ids(B, device=META), S),
    "MultiHeadAttention": heads,
    "MultiHeadAttention, causal": lambda: heads(CAUSAL),
    "MultiHeadAttention, masked": lambda: heads(CAUSAL | {"attn_mask": hidden(B, L, S)}),
    "MultiHeadAttention, weights": lambda: heads(CAUSAL | {"attn_mask": hidden(L, S), "need_weights": True}),
    "MultiHeadAttention, biased": lambda: heads(CAUSAL | {"attn_bias": points(H, L, S)}),
    "MultiHeadAttention, turned": lambda: heads(process_heads=attention.rotate_heads),
    "MultiHeadAttention.from_torch": from_torch,
    "sinusoidal_positions": lambda: watch(attention.sinusoidal_positions, L, D, device=META),
    "rotate": lambda: watch(attention.rotate, Q),
    "rotate_heads": lambda: watch(attention.rotate_heads, Q, K),
    "KeyValueCache": cache,
    "alibi_slopes": lambda: watch(attention.alibi_slopes, H, device=META),
    "alibi_bias": lambda: watch(attention.alibi_bias, H, L, S, device=META),
    "AdditiveAttention": lambda: watch(attention.AdditiveAttention(D, D, 3, dropout=0.1), Q, K, V, hidden(L, S)),
    "DotProductAttention": lambda: watch(attention.DotProductAttention(dropout=0.1), Q, K, V, hidden(L, S)),
    "LastState": lambda: watch(attention.LastState(), Q, K, V, hidden(L, S)),
    "FeedForward": lambda: watch(attention.FeedForward(WIDTH), X),
    "Block": lambda: watch(attention.Block(WIDTH, H, dropout=0.1), X, **CAUSAL),
    "DecoderBlock": lambda: watch(attention.DecoderBlock(WIDTH, H), X, MEMORY, hidden(B, L, S), **CAUSAL),
    "Transformer, learned": lambda: transformer("learned"),
    "Transformer, rotary": lambda: transformer("rotary"),
    "Transformer, ALiBi": lambda: transformer("alibi", window=2),
    "next_probabilities": lambda: watch(attention.next_probabilities, points(B, L), top_k=3, top_p=0.5),
    "nadaraya_watson": lambda: watch(attention.nadaraya_watson, points(L, D), points(S, D), points(S), bandwidth=0.1),
    "NadarayaWatson": regression,
    "NadarayaWatson, per key": lambda: regression(per_key=True),
}


@pytest.mark.parametrize("prepare", CASES.values(), ids=CASES)
def test_everything_is_made_where_the_inputs_are(prepare):
    watched = prepare()
    with Elsewhere() as elsewhere:
        results = [tensor for tensor in tree_leaves(watched()) if tensor is not None]
        for result in results:
            if result.grad_fn:
                result.sum().backward(retain_graph=True)
    assert results
    assert elsewhere.found == []


WRITER = attention.Transformer(10, WIDTH, H, 1, 2 * L).eval()
ENCODER = attention.Encoder(10, hidden_dim=D, bidirectional=True)
MODEL = attention.Translator(ENCODER, attention.Decoder(10, D, attention.AdditiveAttention(D, D, D))).eval()
SOURCE, LENGTHS, TARGET = ids(B, S), torch.tensor([S, S - 2]), ids(B, L)
STATES, STATE = MODEL.encoder(SOURCE)
READ = {
    "Encoder": lambda: MODEL.encoder(SOURCE),
    "Encoder, lengths": lambda: MODEL.encoder(SOURCE, LENGTHS),
    "Decoder": lambda: MODEL.decoder(TARGET, STATE, STATES),
    "Decoder.greedy": lambda: MODEL.decoder.greedy(STATE, STATES, max_steps=L),
    "Translator": lambda: MODEL(SOURCE, TARGET, LENGTHS),
    "Translator.translate": lambda: MODEL.translate(SOURCE, LENGTHS, max_steps=L),
    "Transformer.generate": lambda: WRITER.generate(TARGET, 2),
    "Transformer.attention_maps": lambda: WRITER.attention_maps(TARGET),
    "exact_matches": lambda: attention.exact_matches(MODEL, SOURCE, LENGTHS, TARGET),
}
# What gives or takes no tensor, or makes its tensors where a generator or PyTorch's optimiser does.
UNWATCHED = {
    "BOS",
    "EOS",
    "PAD",
    "Vocabulary",
    "draw_dates",
    "draw_dictionary",
    "ways_to_write",
    "train",
    "default_device",
}


@pytest.mark.parametrize("watched", READ.values(), ids=READ)
def test_no_device_is_left_to_the_default(watched):
    expected = watched()
    with META:
        found = watched()
    torch.testing.assert_close(found, expected)


def test_every_public_function_is_watched():
    names = {name.partition(",")[0].partition(".")[0] for name in [*CASES, *READ]}
    assert names == {*attention.__all__} - UNWATCHED


def test_a_tensor_made_elsewhere_is_found():
    with Elsewhere() as elsewhere:
        points(L, S).detach() + torch.ones((), device="cpu")  # PyTorch itself lets a single number come from the CPU
    assert elsewhere.found == ["aten.ones.default on cpu"]
