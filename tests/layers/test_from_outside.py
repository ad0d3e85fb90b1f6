"""What a reader or a researcher adds without touching the package: each in about ten lines, and each shown to work."""

import copy
import math
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.functional import gelu, normalize, silu
from torch.testing import assert_close

from attention import (
    FeedForward,
    KeyValueCache,
    MultiHeadAttention,
    Transformer,
    attention_weights,
    causal_mask,
    masked_softmax,
    rotate,
    rotate_heads,
)
from refusals import refuses

make = partial(Transformer, 11, 16, 4, 2, embed_std=0.5)


@pytest.fixture
def tokens():
    return torch.randint(11, (2, 9))


def test_a_cache_of_ones_own(tokens):
    """One that keeps a list of parts, and is handed to a model of the package."""

    class Parts:
        __slots__ = ("parts",)

        def __init__(self):
            self.parts = []

        def __len__(self):
            return sum(key.size(2) for key, _ in self.parts)

        def update(self, key, value):
            self.parts.append((key, value))
            return tuple(torch.cat(each, dim=2) for each in zip(*self.parts, strict=True))

    model = make(positions="rotary").double()
    caches = [Parts() for _ in model.blocks]
    found = torch.cat([model(part, caches) for part in tokens.split(4, dim=1)], dim=1)
    assert_close(found, model(tokens))
    assert len(caches[0]) == 9


def test_rotary_positions_with_another_base_and_layout(tokens):
    turn = partial(rotate_heads, base=100.0, layout="interleaved")
    model, plain = make(positions=None, process_heads=turn).double(), make(positions="rotary").double()
    plain.load_state_dict(model.state_dict())
    assert (model(tokens) - plain(tokens)).abs().max() > 1e-3
    attend = model.blocks[0].self_attention
    x = torch.randn(1, 5, 16, dtype=torch.float64)
    q, k = (layer(x).unflatten(-1, (4, 4)).transpose(1, 2) for layer in (attend.q_proj, attend.k_proj))
    expected = attention_weights(*(rotate(each, base=100.0, layout="interleaved") for each in (q, k)))
    assert_close(attend(x, x, x, need_weights=True)[1], expected)
    assert model.generate(tokens, 4).tolist() == model.generate(tokens, 4, cache=False).tolist()


def test_a_norm_on_queries_and_keys(tokens):
    """As wide as they are or not, only their directions count; with rotary positions after it."""

    class NormThenTurn(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(3.0))

        def forward(self, query, key, query_positions, key_positions):
            query, key = self.scale * normalize(query, dim=-1), self.scale * normalize(key, dim=-1)
            return rotate_heads(query, key, query_positions, key_positions)

    model = make(positions=None, process_heads=NormThenTurn()).double()
    expected = model(tokens).detach()
    with torch.no_grad():
        for block in model.blocks:
            block.self_attention.q_proj.weight *= 5
    assert_close(model(tokens), expected)
    model(tokens).square().sum().backward()
    first, second = (block.self_attention.process_heads.scale for block in model.blocks)  # each block has its own
    assert first.grad != second.grad


@pytest.mark.parametrize("hide", [partial, partial(partial, max), lambda m: partial(max, key=m), lambda m: m.forward])
def test_a_hidden_module_is_refused_as_nothing_would_train_it(hide):
    for layer, name in ((partial(make, 9), "attend"), (partial(FeedForward, 6), "activation")):
        refuses(layer, {name: hide(nn.PReLU())}, TypeError, f"{name} must be a module whose forward does it")


def test_a_feed_forward_layer_with_a_gate(tokens):
    class SwiGLU(nn.Module):
        def __init__(self, embed_dim):
            super().__init__()
            self.up, self.gate = nn.Linear(embed_dim, 40, bias=False), nn.Linear(embed_dim, 40, bias=False)
            self.down = nn.Linear(40, embed_dim, bias=False)

        def forward(self, x):
            return self.down(silu(self.gate(x)) * self.up(x))

    model = make(max_length=9, feed_forward=SwiGLU)
    x = torch.randn(2, 9, 16)
    block = model.blocks[0]
    attended = x + block.self_attention(*[block.before_self_attention(x)] * 3)[0]
    assert_close(block(x)[0], attended + block.feed_forward(block.before_feed_forward(attended)))
    assert model(tokens).shape == (2, 9, 11)
    inner = partial(FeedForward, hidden_dim=5, activation=partial(gelu, approximate="tanh"))
    wide = make(max_length=9, feed_forward=inner)
    assert wide.blocks[0].feed_forward.up.weight.shape == (5, 16)


def by_distance(query, key, value, mask, bias):
    weights = masked_softmax(-torch.cdist(query, key), mask)
    return weights @ value, weights


def test_another_score_function(tokens):
    """The nearer a key, the higher its score; masks, causal or not, come to it as one."""
    layer, x = MultiHeadAttention(16, 4, attend=by_distance).double(), torch.randn(2, 9, 16, dtype=torch.float64)
    output, weights = layer(
        x, x, x, is_causal=True, key_mask=torch.arange(9) < torch.tensor([[9], [5]]), need_weights=True
    )
    q, k = (part(x).unflatten(-1, (4, 4)).transpose(1, 2) for part in (layer.q_proj, layer.k_proj))
    distance = (q.unsqueeze(3) - k.unsqueeze(2)).norm(dim=-1)
    expected = (-distance).masked_fill(~causal_mask(9), -math.inf)
    expected[1, ..., 5:] = -math.inf
    assert_close(weights, expected.softmax(-1))
    causal, _ = layer(x, x, x, is_causal=True)
    assert_close(causal, layer(x, x, x, causal_mask(9))[0])
    model = make(positions="rotary", attend=by_distance).double()
    assert model.generate(tokens, 4).tolist() == model.generate(tokens, 4, cache=False).tolist()
    assert_close(layer(x, x, x)[1], None)
    assert output.shape == x.shape


def test_another_norm(tokens):
    class Halve(nn.Module):
        def __init__(self, width):
            super().__init__()

        def forward(self, x):
            return x / 2

    model = make(max_length=9, norm_layer=Halve).double()
    x = torch.randn(2, 9, 16, dtype=torch.float64)
    block = model.blocks[1]
    attended = x + block.self_attention(x / 2, x / 2, x / 2)[0]
    assert_close(block(x)[0], attended + block.feed_forward(attended / 2))
    assert_close(model.unembed(x), model.output(x / 2))


@pytest.mark.parametrize(("length", "heads"), [(3, 4), (4, 4), (2, 2)])  # as many as heads, or not
def test_rows_and_heads_exchanged_are_found(length, heads):
    """What returns (B, L, H, D) in place of (B, H, L, D), or no weights where they are asked for."""

    x = torch.randn(2, length, 16)
    turned = {"process_heads": lambda query, key, its, other: (query.transpose(1, 2), key)}
    fewer = {"process_heads": lambda query, key, *positions: (query, key[:, :, 1:])}
    answered = {"attend": lambda query, key, value, mask, bias: (value.transpose(1, 2), None)}
    for wrong in (turned, fewer, answered):
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))} must"):
            MultiHeadAttention(16, heads, **wrong)(x, x, x)
    for wrong in (lambda q, k: q[..., :1], lambda q, k: (q @ k.mT).transpose(1, 2)):
        with pytest.raises(ValueError, match=r"^attend must"):
            MultiHeadAttention(16, heads, attend=lambda q, k, v, *_, w=wrong: (v, w(q, k)))(x, x, x, need_weights=True)
    layer = MultiHeadAttention(16, heads, attend=lambda *given: 1 / 0)  # some need more than the one row that tells
    with pytest.raises(ZeroDivisionError):
        layer(x, x, x)
    model = make(positions=None, attend=lambda query, key, value, mask, bias: (value, None))
    with pytest.raises(ValueError, match=r"^attend must return weights"):
        model.attention_maps(torch.zeros(1, 3, dtype=torch.long))


def test_a_function_is_asked_once_when_the_layer_is_made_and_what_it_draws_then_is_given_back():
    def noisy(query, key, value, mask, bias):
        asked.append(tuple(query.shape))
        return value + torch.randn(1), None

    asked, drawn, x = [], [], torch.randn(2, 4, 16)
    for attend in (None, noisy):
        torch.manual_seed(1)
        layer = MultiHeadAttention(16, 4, attend=attend)
        drawn.append(torch.rand(1))
    layer(x, x, x)
    assert drawn[0] == drawn[1]
    assert asked == [(1, 4, 1, 4), (2, 4, 4, 4)]
    asked.clear()
    MultiHeadAttention(16, 4, num_key_value_heads=2, process_heads=lambda *rows: asked.extend(x.shape for x in rows))
    assert asked == [(1, 4, 1, 4), (1, 2, 1, 4), (1,), (1,)]


def test_a_layer_s_activation_is_its_own(tokens):
    model = make(max_length=9, feed_forward=partial(FeedForward, activation=nn.PReLU()))
    model(tokens).square().sum().backward()
    first, second = (block.feed_forward.activation.weight.grad for block in model.blocks)
    assert first != second


def test_adapters_on_the_eight_projections(tokens):
    """Low-rank updates (Hu et al., 2021) beside frozen weights: the model's own until they are trained."""

    class Adapted(nn.Module):
        def __init__(self, linear):
            super().__init__()
            self.linear = linear.requires_grad_(False)
            self.down = nn.Linear(linear.in_features, 2, bias=False)
            self.up = nn.Linear(2, linear.out_features, bias=False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x):
            return self.linear(x) + self.up(self.down(x))

    model = make(max_length=20)
    before = model(tokens)
    for block in model.blocks:
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(block.self_attention, name, Adapted(getattr(block.self_attention, name)))
    assert_close(model(tokens), before)
    model(tokens).square().sum().backward()
    trained = [part.up.weight.grad.any().item() for part in model.modules() if isinstance(part, Adapted)]
    assert trained == [True] * 8
    assert model.generate(tokens, 4).tolist() == model.generate(tokens, 4, cache=False).tolist()


@pytest.mark.parametrize(
    "options",
    [{"positions": "rotary"}, {"positions": "alibi"}, {"positions": "rotary", "attend": by_distance}],
    ids=["rotary", "ALiBi", "rotary, own attend"],
)
def test_a_cache_that_forgets(tokens, options):
    """A window that evicts: positions, masks and biases are those of the text, and no more than three keys are kept."""

    class Window(KeyValueCache):
        def __init__(self):
            super().__init__()
            self.key = self.value = torch.zeros(2, 4, 0, 4, dtype=torch.float64)

        def update(self, key, value):
            self._length += key.size(2)  # of the text
            key, value = torch.cat([self.key, key], dim=2), torch.cat([self.value, value], dim=2)
            self.key, self.value = key[:, :, -3:], value[:, :, -3:]
            return key, value

    windowed, plain = make(window=4, **options).double(), make(**options).double()
    plain.load_state_dict(windowed.state_dict())
    for model, size in ((plain, 1), (windowed, 1), (windowed, 3), (windowed, 6)):
        caches = [Window() for _ in model.blocks]
        found = torch.cat([model(part, caches) for part in tokens.split(size, dim=1)], dim=1)
        assert_close(found, windowed(tokens))
    assert copy.copy(caches[0]).key.size(2) == 3
    caches[1].update, before = None, caches[0].key
    refuses(windowed, {"tokens": tokens, "caches": caches}, TypeError, "callable")
    assert caches[0].key is before
    layer, x = windowed.blocks[0].self_attention, torch.randn(2, 1, 16, dtype=torch.float64)
    biased, plain = (layer(x, x, x, attn_bias=b, cache=copy.copy(caches[0]))[0] for b in (torch.tensor(0.5), None))
    assert_close(biased, plain)
