"""Nothing is made on another device than the inputs', so that no test needs a GPU.

The inputs lie on the CPU, and PyTorch's meta device is where a tensor goes that is made without a word about its
device: the two can't be mixed, and what is on meta has no numbers.
"""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils._pytree import tree_leaves

import attention

META = torch.device("meta")
B, H, L, S, D = 2, 3, 5, 7, 4
WIDTH = H * D

pytestmark = pytest.mark.usefixtures("on_the_cpu")


def points(*shape):
    return torch.randn(*shape, device="cpu", requires_grad=True)


def shown(*shape):
    return torch.rand(*shape, device="cpu") < 0.7


def ids(*shape):
    return torch.randint(3, 10, shape, device="cpu")


with torch.device("cpu"):
    X, MEMORY = points(B, L, WIDTH), points(B, S, WIDTH)
    Q, K, V = points(B, L, D), points(B, S, D), points(B, S, 2)
    THEIRS, HEADS = nn.MultiheadAttention(WIDTH, H), attention.MultiHeadAttention(WIDTH, H)
    TURNING = attention.MultiHeadAttention(WIDTH, H, num_key_value_heads=1, process_heads=attention.rotate_heads)
    ADDITIVE = attention.AdditiveAttention(D, D, 3)
    FEED_FORWARD, BLOCK = attention.FeedForward(WIDTH), attention.Block(WIDTH, H)
    DECODER_BLOCK = attention.DecoderBlock(WIDTH, H)
    TRANSFORMERS = {
        kind: attention.Transformer(10, WIDTH, H, 2, 2 * L, kind, window=3).eval()
        for kind in ("learned", "rotary", "alibi")
    }
    ENCODER = attention.Encoder(10, hidden_dim=D, bidirectional=True)
    MODEL = attention.Translator(ENCODER, attention.Decoder(10, D, ADDITIVE)).eval()
    SOURCE, LENGTHS, TARGET = ids(B, S), torch.tensor([S, S - 2]), ids(B, L)
    STATES, STATE = (each.detach() for each in MODEL.encoder(SOURCE))
    POINTS = K[0].detach(), V[0].detach()
    HIDDEN, BIAS = shown(L, S), points(L, S)


def cached():
    cache = attention.KeyValueCache()
    TURNING(MEMORY, MEMORY, MEMORY, cache=cache)
    return TURNING(X, X, X, is_causal=True, cache=cache)


PARTS = {"is_causal": True, "attn_bias": BIAS, "block_size": 2}
MASKS = {0: shown(1, H, L, L)}
CASES = {
    "masked_softmax": lambda: (attention.masked_softmax(Q), attention.masked_softmax(Q, HIDDEN[:, :D])),
    "attention_weights": lambda: attention.attention_weights(Q, K, is_causal=True),
    "scaled_dot_product_attention": lambda: attention.scaled_dot_product_attention(Q, K, V, HIDDEN, is_causal=True),
    "streaming_attention": lambda: attention.streaming_attention(Q, K, V, HIDDEN, **PARTS),
    "linear_attention": lambda: attention.linear_attention(Q, K, V),
    "linear_attention, causal": lambda: attention.linear_attention(Q, Q, Q, is_causal=True, block_size=2),
    "causal_mask": lambda: attention.causal_mask(L, S, device="cpu"),
    "window_mask": lambda: attention.window_mask(L, 2, device="cpu"),
    "padding_mask": lambda: attention.padding_mask(LENGTHS, S),
    "MultiHeadAttention": lambda: HEADS(X, MEMORY, MEMORY, HIDDEN, is_causal=True, attn_bias=BIAS),
    "MultiHeadAttention, weights": lambda: HEADS(X, MEMORY, MEMORY, is_causal=True, need_weights=True),
    "MultiHeadAttention.from_torch": lambda: list(attention.MultiHeadAttention.from_torch(THEIRS).parameters()),
    "sinusoidal_positions": lambda: attention.sinusoidal_positions(L, D, device="cpu"),
    "rotate": lambda: attention.rotate(Q),
    "rotate_heads": lambda: attention.rotate_heads(Q, K),
    "KeyValueCache": cached,
    "alibi_slopes": lambda: attention.alibi_slopes(H, device="cpu"),
    "alibi_bias": lambda: attention.alibi_bias(H, L, S, device="cpu"),
    "AdditiveAttention": lambda: ADDITIVE(Q, K, V, HIDDEN),
    "DotProductAttention": lambda: attention.DotProductAttention()(Q, K, V, HIDDEN),
    "LastState": lambda: attention.LastState()(Q, K, V, HIDDEN),
    "FeedForward": lambda: FEED_FORWARD(X),
    "Block": lambda: BLOCK(X, is_causal=True),
    "DecoderBlock": lambda: DECODER_BLOCK(X, MEMORY, HIDDEN, is_causal=True),
    "Transformer": lambda: [model(TARGET, attn_masks=MASKS) for model in TRANSFORMERS.values()],
    "Transformer.generate": lambda: [model.generate(TARGET, 2) for model in TRANSFORMERS.values()],
    "Transformer.attention_maps": lambda: TRANSFORMERS["learned"].attention_maps(TARGET),
    "next_probabilities": lambda: attention.next_probabilities(Q.detach(), top_k=3, top_p=0.5),
    "nadaraya_watson": lambda: attention.nadaraya_watson(Q, K, V, bandwidth=0.1),
    "NadarayaWatson": lambda: [attention.NadarayaWatson(*POINTS, each)(Q, HIDDEN) for each in (False, True)],
    "Encoder": lambda: (ENCODER(SOURCE), ENCODER(SOURCE, LENGTHS)),
    "Decoder": lambda: MODEL.decoder(TARGET, STATE, STATES),
    "Decoder.greedy": lambda: MODEL.decoder.greedy(STATE, STATES, max_steps=L),
    "Translator": lambda: MODEL(SOURCE, TARGET, LENGTHS),
    "Translator.translate": lambda: MODEL.translate(SOURCE, LENGTHS, max_steps=L),
    "exact_matches": lambda: attention.exact_matches(MODEL, SOURCE, LENGTHS, TARGET),
}
# What gives or takes no tensor, or makes its tensors where a generator or PyTorch's optimiser does.
UNWATCHED = {"BOS", "EOS", "PAD", "Vocabulary", "draw_dates", "draw_dictionary", "ways_to_write"}
UNWATCHED |= {"train", "default_device"}


def answers(ask):
    """What is answered, and the gradients of all that it depends on."""
    found = [each for each in tree_leaves(ask()) if each is not None]
    inputs = (Q, K, V, X, MEMORY, BIAS)
    gradients = [
        torch.autograd.grad(each.square().sum(), inputs, allow_unused=True, retain_graph=True)
        for each in found
        if isinstance(each, torch.Tensor) and each.grad_fn
    ]
    return found, [each for each in tree_leaves(gradients) if each is not None]


@pytest.mark.parametrize("ask", CASES.values(), ids=CASES)
def test_no_device_is_left_to_the_default(ask):
    expected = answers(ask)
    with META:
        found = answers(ask)
    assert expected[0]
    assert_close(found, expected)


def test_every_public_function_is_watched():
    names = {name.partition(",")[0].partition(".")[0] for name in CASES}
    assert names == {*attention.__all__} - UNWATCHED, "CASES has a line for each, and for nothing else"
