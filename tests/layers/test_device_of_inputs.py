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


def multi_head(**options):
    module = attention.MultiHeadAttention(WIDTH, H, dropout=0.1).to(META)
    return lambda: module(points(B, L, WIDTH), points(B, S, WIDTH), points(B, S, WIDTH), **options)


def turning():
    module = attention.MultiHeadAttention(WIDTH, H, process_heads=attention.rotate_heads).to(META)
    return lambda: module(points(B, L, WIDTH), points(B, S, WIDTH), points(B, S, WIDTH))


def cache():
    module = attention.MultiHeadAttention(WIDTH, H, num_key_value_heads=1, process_heads=attention.rotate_heads)
    module, kept = module.to(META), attention.KeyValueCache()
    module(*[points(B, S, WIDTH)] * 3, cache=kept)
    return lambda: module(*[points(B, L, WIDTH)] * 3, is_causal=True, key_mask=hidden(B, S + L), cache=kept)


def additive():
    module = attention.AdditiveAttention(3, 5, D, dropout=0.1).to(META)
    return lambda: module(points(B, L, 3), points(B, S, 5), points(B, S, 6), hidden(L, S))


def from_torch():
    module = nn.MultiheadAttention(WIDTH, H, device=META)
    return lambda: list(attention.MultiHeadAttention.from_torch(module).parameters())


def feed_forward():
    module = attention.FeedForward(WIDTH).to(META)
    return lambda: module(points(B, L, WIDTH))


def block(**options):
    module = attention.Block(WIDTH, H, dropout=0.1, **options).to(META)
    return lambda: module(points(B, L, WIDTH), is_causal=True, need_weights=True)


def decoder_block():
    module = attention.DecoderBlock(WIDTH, H, dropout=0.1).to(META)
    inputs = points(B, L, WIDTH), points(B, S, WIDTH), hidden(B, L, S)
    return lambda: module(*inputs, is_causal=True, need_weights=True)


def transformer(positions):
    module = attention.Transformer(10, WIDTH, H, 2, L, positions, dropout=0.1).to(META)
    return lambda: module(torch.zeros(B, L, dtype=torch.int64, device=META), attn_masks={0: hidden(1, H, L, L)})


def kernel(**options):
    key = torch.randn(S, D, device=META)
    module = attention.NadarayaWatson(key, torch.randn(S, 2, device=META), **options)
    return lambda: module(points(L, D), hidden(L, S))


def look(module):
    return lambda: module(points(B, L, D), points(B, S, D), points(B, S, D), hidden(B, 1, S))


# Each makes what it needs beforehand, and returns what is watched.
CASES = {
    "masked_softmax": lambda: lambda: attention.masked_softmax(points(L, S)),
    "masked_softmax, masked": lambda: lambda: attention.masked_softmax(points(L, S), hidden(S)),
    "attention_weights": lambda: lambda: attention.attention_weights(points(L, D), points(S, D), is_causal=True),
    "scaled_dot_product_attention": lambda: (
        lambda: attention.scaled_dot_product_attention(
            points(B, L, D), points(S, D), points(S, 2), hidden(L, S), dropout_p=0.1, is_causal=True
        )
    ),
    "streaming_attention": lambda: (
        lambda: attention.streaming_attention(
            points(B, L, D),
            points(S, D),
            points(S, 2),
            hidden(L, S),
            is_causal=True,
            attn_bias=points(L, S),
            block_size=2,
        )
    ),
    "linear_attention": lambda: lambda: attention.linear_attention(points(L, D), points(S, D), points(S, 2)),
    "linear_attention, causal": lambda: (
        lambda: attention.linear_attention(points(L, D), points(L, D), points(L, 2), is_causal=True, block_size=2)
    ),
    "causal_mask": lambda: lambda: attention.causal_mask(L, S, device=META),
    "window_mask": lambda: lambda: attention.window_mask(L, 2, device=META),
    "padding_mask": lambda: lambda: attention.padding_mask(torch.empty(B, dtype=torch.int64, device=META), S),
    "MultiHeadAttention": multi_head,
    "MultiHeadAttention, causal": lambda: multi_head(is_causal=True),
    "MultiHeadAttention, masked": lambda: multi_head(attn_mask=hidden(B, L, S), is_causal=True),
    "MultiHeadAttention, with weights": lambda: multi_head(attn_mask=hidden(L, S), is_causal=True, need_weights=True),
    "MultiHeadAttention, biased": lambda: multi_head(attn_bias=points(H, L, S), is_causal=True),
    "MultiHeadAttention, turned": turning,
    "MultiHeadAttention.from_torch": from_torch,
    "sinusoidal_positions": lambda: lambda: attention.sinusoidal_positions(L, D, device=META),
    "rotate": lambda: lambda: attention.rotate(points(B, L, D)),
    "rotate_heads": lambda: lambda: attention.rotate_heads(points(B, L, D), points(B, S, D)),
    "KeyValueCache": cache,
    "alibi_slopes": lambda: lambda: attention.alibi_slopes(H, device=META),
    "alibi_bias": lambda: lambda: attention.alibi_bias(H, L, S, device=META),
    "AdditiveAttention": additive,
    "DotProductAttention": lambda: look(attention.DotProductAttention(dropout=0.1)),
    "LastState": lambda: look(attention.LastState()),
    "FeedForward": feed_forward,
    "Block": block,
    "Block, post-norm": lambda: block(norm="post"),
    "DecoderBlock": decoder_block,
    "Transformer, learned": lambda: transformer("learned"),
    "Transformer, rotary": lambda: transformer("rotary"),
    "Transformer, ALiBi": lambda: transformer("alibi"),
    "Transformer, without positions": lambda: transformer(None),
    "next_probabilities": lambda: lambda: attention.next_probabilities(points(B, L), top_k=3, top_p=0.5),
    "nadaraya_watson": lambda: lambda: attention.nadaraya_watson(points(L, D), points(S, D), points(S), bandwidth=0.1),
    "NadarayaWatson": kernel,
    "NadarayaWatson, per key": lambda: kernel(per_key=True),
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


def translator():
    encoder = attention.Encoder(10, hidden_dim=D, bidirectional=True)
    return attention.Translator(encoder, attention.Decoder(10, D, attention.AdditiveAttention(D, D, D)))


def ids(*shape):
    return torch.randint(3, 10, shape)


WRITER = attention.Transformer(10, WIDTH, H, 1, 2 * L).eval()
MODEL, SOURCE, LENGTHS, TARGET = translator().eval(), ids(B, S), torch.tensor([S, S - 2]), ids(B, L)
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
