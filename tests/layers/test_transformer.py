"""The Transformer against PyTorch's layers, against GPT-2 written as plain functions, and against a slow loop."""

import json
import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import nn
from torch.testing import assert_close

from attention import (
    Block,
    DecoderBlock,
    FeedForward,
    KeyValueCache,
    MultiHeadAttention,
    Transformer,
    alibi_bias,
    causal_mask,
    next_probabilities,
    padding_mask,
    rotate_heads,
)
from refusals import mistakes, refusals, refuses

B, T, S, H, E = 2, 7, 5, 3, 12
VOCABULARY, LENGTH = 11, 16
both_norms = pytest.mark.parametrize("norm", ["pre", "post"])
POSITIONS = ["learned", "rotary", "alibi", None]
all_positions = pytest.mark.parametrize("positions", POSITIONS)


@torch.no_grad()
def enlarge(module):
    """Weights five times larger, biases and norms drawn at random: at the start a lost bias would not be missed."""
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            parameter.normal_(std=0.5)
        elif parameter.dim() == 1:
            parameter.normal_(1.0, 0.3)
        else:
            parameter.mul_(5)
    return module


def small_model(positions="learned", norm="pre", **options):
    """Two blocks of four heads, with large weights, in double precision."""
    model = Transformer(VOCABULARY, 16, 4, 2, LENGTH, positions, norm, **{"embed_std": 0.5} | options)
    return enlarge(model).double().eval()


def ids(*shape):
    return torch.randint(VOCABULARY, shape)


# Parity with PyTorch's layers

LAYERS = {  # theirs: ours, where {} is "before" or "after"
    "self_attn": "self_attention",
    "multihead_attn": "cross_attention",
    "norm1": "{}_self_attention",
    "norm2": "{}_feed_forward",
    "linear1": "feed_forward.up",
    "linear2": "feed_forward.down",
}
DECODER_LAYERS = LAYERS | {"norm2": "{}_cross_attention", "norm3": "{}_feed_forward"}


def by_our_names(tensors, layers, norm):
    """PyTorch's tensors, weights or gradients, under the names that our blocks have for them."""
    named = {}
    for name, tensor in tensors.items():
        layer, _, rest = name.partition(".")
        layer = layers[layer].format("before" if norm == "pre" else "after")
        if rest.startswith("in_proj_"):
            for part, chunk in zip("qkv", tensor.chunk(3), strict=True):
                named[f"{layer}.{part}_proj.{rest.removeprefix('in_proj_')}"] = chunk
        else:
            named[f"{layer}.{rest}"] = tensor
    return named


def gradients(output, module, *inputs):
    names = [name for name, _ in module.named_parameters()]
    torch.manual_seed(1)
    loss = (output * torch.randn_like(output)).sum()
    found = torch.autograd.grad(loss, [*inputs, *module.parameters()])
    return found[: len(inputs)], dict(zip(names, found[len(inputs) :], strict=True))


@both_norms
@pytest.mark.parametrize("is_decoder", [False, True])
@pytest.mark.parametrize("activation", [nn.functional.gelu, torch.relu])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_a_block_is_pytorch_s_layer(norm, is_decoder, activation, is_causal, padded):
    kind, layers = (nn.TransformerDecoderLayer, DECODER_LAYERS) if is_decoder else (nn.TransformerEncoderLayer, LAYERS)
    options = {"activation": activation, "norm_first": norm == "pre", "batch_first": True}
    theirs = enlarge(kind(E, H, 20, dropout=0.0, **options)).double()
    feed_forward = partial(FeedForward, hidden_dim=20, activation=activation)
    ours = (DecoderBlock if is_decoder else Block)(E, H, norm, feed_forward=feed_forward).double()
    ours.load_state_dict(by_our_names(theirs.state_dict(), layers, norm))
    x, memory = (torch.randn(B, n, E, dtype=torch.float64, requires_grad=True) for n in (T, S))
    own = padding_mask(torch.tensor([4, T]), T) if padded else None
    keep = padding_mask(torch.tensor([2, S]), S) if padded else None
    hidden = {"own": ~own.squeeze(1), "memory": ~keep.squeeze(1)} if padded else {"own": None, "memory": None}
    future = ~causal_mask(T) if is_causal else None
    inputs = (x, memory) if is_decoder else (x,)
    if is_decoder:
        padding = {"tgt_key_padding_mask": hidden["own"], "memory_key_padding_mask": hidden["memory"]}
        expected = theirs(*inputs, tgt_mask=future, **padding)
        actual, weights = ours(*inputs, keep, own, is_causal=is_causal, need_weights=True)
        assert weights.shape == (B, H, T, S)
        assert not (padded and weights[0, :, :, 2:].any())
    else:
        expected = theirs(*inputs, src_mask=future, src_key_padding_mask=hidden["own"])
        actual, weights = ours(*inputs, own, is_causal=is_causal, need_weights=padded)
        assert (weights is not None) == padded
    assert_close(actual, expected)
    of_inputs, of_weights = gradients(actual, ours, *inputs)
    their_inputs, their_weights = gradients(expected, theirs, *inputs)
    assert_close(of_inputs, their_inputs)
    assert_close(of_weights, by_our_names(their_weights, layers, norm))


# The parts


def test_the_widths_that_are_not_said():
    assert FeedForward(6).up.weight.shape == Block(6, 2).feed_forward.up.weight.shape == (24, 6)
    assert Transformer(1, 1, 1, 1, 1)(torch.zeros(1, 1, dtype=torch.long)).shape == (1, 1, 1)  # the least
    with torch.device("meta"):
        gpt2 = Transformer(50257, 768, 12, 12, 1024)
    assert sum(parameter.numel() for parameter in gpt2.parameters()) == 124_439_808
    assert Transformer(5, 6, 2, 1, 4, tied=False).output.weight.shape == (5, 6)


@both_norms
def test_a_block_of_attention_alone(norm):
    block, x = enlarge(Block(E, H, norm, feed_forward=None)), torch.randn(B, T, E)
    assert {name.partition(".")[0] for name in block.state_dict()} == {
        "self_attention",
        "before_self_attention" if norm == "pre" else "after_self_attention",
    }
    normed = block.before_self_attention(x)
    expected = block.after_self_attention(x + block.self_attention(normed, normed, normed)[0])
    assert_close(block(x)[0], expected)


# Proofs by masks, and by what a block reads


@pytest.mark.parametrize("back", [0, 1, 3])
def test_a_mask_pins_a_head_to_k_back(back):
    model, tokens = small_model(), ids(B, T)
    mask = torch.ones(1, 4, T, T, dtype=torch.bool)
    mask[:, 2] = torch.eye(T, dtype=torch.bool).roll(-back, dims=1).tril()
    free, pinned = model.attention_maps(tokens), model.attention_maps(tokens, attn_masks={0: mask})
    expected = torch.zeros(T, T, dtype=torch.float64)
    expected[range(back, T), range(T - back)] = 1.0
    assert_close(pinned[0][:, 2], expected.expand(B, T, T))
    others = [0, 1, 3]
    assert_close(pinned[0][:, others], free[0][:, others])
    assert (pinned[1] - free[1]).abs().max() > 1e-3
    assert (model(tokens, attn_masks={1: mask}) - model(tokens)).abs().max() > 1e-3


# The model


@pytest.mark.parametrize("embed_std", [0.02, 1.0])
def test_embeddings_start_as_wide_as_asked(embed_std):
    model = Transformer(200, 64, 2, 1, 100, tied=False, **({} if embed_std == 0.02 else {"embed_std": embed_std}))
    for embedding in (model.token_embedding, model.position_embedding):
        assert embedding.weight.std().item() == pytest.approx(embed_std, rel=0.05)


@both_norms
@all_positions
def test_nothing_is_seen_before_its_time(norm, positions):
    model, tokens = small_model(positions, norm), ids(1, T)
    expected = model(tokens)
    for place in range(T):
        changed = tokens.clone()
        changed[:, place] = (changed[:, place] + 1) % VOCABULARY
        found = model(changed)
        assert_close(found[:, :place], expected[:, :place])
        assert (found[:, place:] - expected[:, place:]).abs().amax(-1).min() > 1e-6
    assert all(not weights.triu(1).any() for weights in model.attention_maps(tokens))


@both_norms
@all_positions
def test_the_model_is_its_blocks_one_after_the_other(norm, positions):
    """With positions from the functions of chapter 8."""
    model, tokens = small_model(positions, norm), ids(B, T)
    x = model.token_embedding.weight[tokens]
    options = {"is_causal": True}
    if positions == "learned":
        x = x + model.position_embedding.weight[:T]
    if positions == "alibi":  # slopes of four heads: 2^(−8h / 4)
        distance = (torch.arange(T)[:, None] - torch.arange(T)).double()
        options["attn_bias"] = torch.stack([-distance.abs() * 4.0**-head for head in range(1, 5)])
    maps = []
    for block in model.blocks:
        assert (block.self_attention.process_heads is rotate_heads) == (positions == "rotary")
        x, weights = block(x, need_weights=True, **options)
        maps.append(weights)
    x = model.final_norm(x)
    assert isinstance(model.final_norm, nn.LayerNorm if norm == "pre" else nn.Identity)
    assert_close(model(tokens), x @ model.token_embedding.weight.mT)
    assert_close(model.attention_maps(tokens), maps)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_positions_that_are_given_are_those_that_count(positions):
    """Two tokens further away from the first; without its last tokens a text has the same places."""
    model, tokens, places = small_model(positions), ids(B, 3), torch.tensor([0, 5, 9])
    assert_close(model(tokens, positions=torch.arange(3)), model(tokens))
    found = model(tokens, positions=places)
    assert (found - model(tokens)).abs().max() > 1e-3
    between = ids(B, 10)
    between[:, places] = tokens
    shown = torch.zeros(B, 10, dtype=torch.bool)
    shown[:, places] = True
    assert_close(model(between, key_mask=shown)[:, places], found)


# Dropout, dtypes, devices, compilation


@both_norms
def test_dropout_of_everything_in_training_alone(norm):
    """What each layer adds is dropped, and not what it adds to; of the model, the embeddings are dropped too."""
    x, memory = torch.randn(B, T, E), torch.randn(B, S, E)
    for block, more in ((Block(E, H, norm, dropout=1.0), ()), (DecoderBlock(E, H, norm, dropout=1.0), (memory,))):
        expected = x
        for name, layer in block.named_children():
            expected = layer(expected) if name.startswith("after") else expected
        assert all(layer.dropout == 1.0 for layer in block.children() if isinstance(layer, MultiHeadAttention))
        assert_close(block(x, *more)[0], expected)
        assert (block.eval()(x, *more)[0] - expected).abs().max() > 1e-3
    model, tokens = small_model(norm=norm, dropout=1.0), ids(B, T)
    assert (model(tokens)[0] - model(tokens)[1]).abs().max() > 1e-3
    assert all(block.self_attention.dropout == block.dropout.p == 1.0 for block in model.blocks)
    assert_close(*model.train()(tokens))


@all_positions
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_answers_follow_the_parameters_dtype(positions, dtype):
    model, tokens = small_model(positions), ids(B, T)
    expected = model(tokens)
    found = model.to(dtype)(tokens)
    assert found.dtype == dtype
    assert ((found - expected).abs().max() < (1e-3 if dtype == torch.float32 else 0.5) * expected.abs().max()).item()


BIASES = {torch.bfloat16: torch.float32, torch.float32: torch.float32, torch.float64: torch.float64}


@pytest.mark.parametrize(("dtype", "of_bias"), BIASES.items())
def test_the_bias_of_alibi_is_float32_or_better(dtype, of_bias):
    """In bfloat16 it could not tell distances above 256 apart; twelve heads have slopes that are not powers of 2."""
    seen = []

    def attend(query, key, value, mask, bias):
        seen.append(bias)
        return value, None

    model = Transformer(VOCABULARY, 24, 12, 1, positions="alibi", attend=attend).to(dtype)
    model(ids(1, 600))
    assert_close(seen[-1], alibi_bias(12, 600, dtype=of_bias)[None], rtol=0, atol=0)


def test_far_distances_are_told_apart_in_bfloat16():
    """Equal scores, so that the bias alone makes the weights; with the kernel as with weights."""
    layer = MultiHeadAttention(1, 1).bfloat16()
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    with torch.no_grad():
        for projection in (layer.v_proj, layer.out_proj):
            projection.weight.fill_(1.0)
    S, near = 402, 400
    value = torch.zeros(1, S, 1, dtype=torch.bfloat16)
    value[:, near:] = torch.tensor([[1.0], [-1.0]])  # the last two differ by one place, 401 and 400 from the query
    bias = 4.0 * torch.arange(S)  # float32: that of the last one is 4 higher
    expected = (bias.softmax(-1) @ value[0].float()).item()
    for need_weights in (False, True):
        output, _ = layer(value[:, :1], value, value, attn_bias=bias, need_weights=need_weights)
        assert output.item() == pytest.approx(expected, abs=0.01)
    assert expected == pytest.approx(-0.964, abs=1e-3)


def test_a_compiled_model_answers_as_the_model():
    with torch.device("cpu"), torch.no_grad():
        model = small_model("learned")
        compiled = torch.compile(model, fullgraph=True, backend="eager", dynamic=True)
        masks = {1: torch.tensor([True, False, True, True])[None, :, None, None].expand(1, 4, 1, 5)}
        for tokens, given in ((ids(2, 5), None), (ids(3, 9), None), (ids(2, 5), masks)):
            assert_close(compiled(tokens, attn_masks=given), model(tokens, attn_masks=given))
        assert_close(compiled(tokens, model.make_caches()), model(tokens))


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # PyTorch's kernel, one sequence after another
@pytest.mark.usefixtures("on_the_cpu")  # there ids are looked at, but not while they stand for many
def test_gradients_of_each_sequence_alone():
    model = small_model()
    parameters = dict(model.named_parameters())

    def loss(parameters, tokens):
        logits = torch.func.functional_call(model, parameters, (tokens[None, :-1],))
        return nn.functional.cross_entropy(logits[0], tokens[1:])

    tokens = ids(B, T)
    found = torch.vmap(torch.func.grad(loss), (None, 0))(parameters, tokens)
    for number, row in enumerate(tokens):
        expected = torch.func.grad(loss)(parameters, row)
        assert_close({name: gradient[number] for name, gradient in found.items()}, expected)


# Generation


@all_positions
def test_greedy_generation_is_a_slow_loop(positions):
    model, tokens = small_model(positions), ids(B, 3)
    expected = tokens.tolist()
    for row in expected:
        for _ in range(8):
            scores = model(torch.tensor([row]))[0, -1].tolist()
            row.append(scores.index(max(scores)))
    for dtype in (torch.int32, torch.int64):
        assert_close(model.generate(tokens.to(dtype), 8), torch.tensor(expected, dtype=dtype))
    assert_close(model.generate(tokens, 0), tokens)


def test_generation_draws_from_the_next_probabilities():
    """One token for each of 5,000 equal rows: each share within five standard deviations of its probability."""
    model = small_model()
    tokens = ids(1, 4)
    for options in ({"temperature": 9.0}, {"temperature": 20.0, "top_k": 4}, {"temperature": 15.0, "top_p": 0.8}):
        wanted = next_probabilities(model(tokens)[0, -1], **options)
        drawn = model.generate(tokens.expand(5_000, -1), 1, **options)[:, -1]
        shares = torch.bincount(drawn, minlength=VOCABULARY) / 5_000
        assert (wanted > 0).sum() > 1
        assert ((shares - wanted).abs() <= 5 * (wanted * (1 - wanted) / 5_000).sqrt()).all()


@pytest.mark.parametrize("training", [False, True])
def test_generation_is_without_dropout_and_leaves_every_part_in_its_mode(training):
    model = small_model(dropout=0.5).train(training)
    model.blocks[1].eval()
    tokens, modes = ids(B, 3), [part.training for part in model.modules()]
    greedy = model.generate(tokens, 6)
    assert [part.training for part in model.modules()] == modes
    assert greedy.tolist() == model.eval().generate(tokens, 6).tolist()
    assert not greedy.requires_grad


LOGITS = st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0, 7.0]), min_size=1, max_size=9)


@settings(max_examples=200)
@given(
    logits=LOGITS,
    temperature=st.sampled_from([0.1, 1.0, 3.0]),
    top_k=st.none() | st.integers(1, 12),
    top_p=st.none() | st.sampled_from([0.05, 0.31, 0.77, 0.999]),
)
def test_next_probabilities_are_their_definition(logits, temperature, top_k, top_p):
    powers = [math.exp(logit / temperature) for logit in logits]
    order = sorted(range(len(logits)), key=lambda token: -powers[token])  # the earlier of two that are alike
    kept = order[:top_k]
    if top_p is not None:
        total, together, nucleus = sum(powers[token] for token in kept), 0.0, []
        for token in kept:
            if together < top_p:
                nucleus.append(token)
            together += powers[token] / total
        kept = nucleus
    total = sum(powers[token] for token in kept)
    expected = [powers[token] / total if token in kept else 0.0 for token in range(len(logits))]
    given = torch.tensor(logits, dtype=torch.float64)
    before = given.clone()
    found = next_probabilities(given, temperature=temperature, top_k=top_k, top_p=top_p)
    assert found.tolist() == pytest.approx(expected)
    assert_close(given, before, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("options", [{}, {"top_k": 40_000}])
def test_a_top_p_of_1_keeps_all(dtype, options):
    """With so many tokens the rounded sum of the likelier ones reaches 1 before the last."""
    generator = torch.Generator("cpu").manual_seed(0)
    logits = 3 * torch.randn(50_257, generator=generator, dtype=dtype, device="cpu")
    likelier = logits.softmax(dim=-1).sort(descending=True).values.cumsum(dim=-1)[:-1]
    assert (likelier >= 1).any() == (dtype == torch.float32)
    found = next_probabilities(logits, top_p=1.0, **options)
    assert (found > 0).sum() == options.get("top_k", 50_257)
    assert_close(found, next_probabilities(logits, **options))


def test_next_probabilities_by_hand():
    """Four equal tokens have a quarter each, without rounding; of any that are equal the first stay; row by row."""
    assert_close(next_probabilities(torch.zeros(4), top_p=0.5), torch.tensor([0.5, 0.5, 0.0, 0.0]), rtol=0, atol=0)
    assert next_probabilities(torch.zeros(1000).bfloat16(), top_p=0.5).count_nonzero() == 500
    assert next_probabilities(torch.zeros(1000), top_k=3).nonzero().flatten().tolist() == [0, 1, 2]
    for extreme, logits in ((1e-37, [70.0, 1.0]), (1e-46, [70.0, 1.0]), (math.inf, [0.0, -math.inf])):  # of float32
        found = next_probabilities(torch.tensor(logits).half(), temperature=extreme)
        assert_close(found, torch.tensor([1.0, 0.0]).half(), rtol=0, atol=0)
    logits = torch.tensor([[0.6, 0.3, 0.1], [0.1, 0.45, 0.45]]).log()
    assert_close(next_probabilities(logits, top_p=0.5), torch.tensor([[1.0, 0, 0], [0, 0.5, 0.5]]))
    assert_close(next_probabilities(logits, top_k=1), torch.tensor([[1.0, 0, 0], [0, 1, 0]]))
    refuses(next_probabilities, {"logits": TOKENS}, TypeError, "logits")


# GPT-2

WIDTH, INSIDE = 12, 20


def gpt2_weights(inside=4 * WIDTH, layers=2):
    """GPT-2's weights under its own names, (in, out), large, with biases and norms drawn at random."""
    shapes = {"wte.weight": (VOCABULARY, WIDTH), "wpe.weight": (LENGTH, WIDTH)}
    for layer in range(layers):
        for name, shape in {
            "attn.c_attn": (WIDTH, 3 * WIDTH),
            "attn.c_proj": (WIDTH, WIDTH),
            "mlp.c_fc": (WIDTH, inside),
            "mlp.c_proj": (inside, WIDTH),
        }.items():
            shapes |= {f"h.{layer}.{name}.weight": shape, f"h.{layer}.{name}.bias": shape[1:]}
        for name in ("ln_1", "ln_2"):
            shapes |= {f"h.{layer}.{name}.weight": (WIDTH,), f"h.{layer}.{name}.bias": (WIDTH,)}
    shapes |= {"ln_f.weight": (WIDTH,), "ln_f.bias": (WIDTH,)}
    return {
        name: (1.0 if "ln_" in name and name.endswith("weight") else 0.0) + 0.4 * torch.randn(shape)
        for name, shape in shapes.items()
    }


def gpt2(weights, tokens, heads=3, epsilon=1e-5):
    """GPT-2 as it is published, one head and one function at a time; tokens (T,) → logits (T, V)."""
    w = {name: weight.double() for name, weight in weights.items()}

    def norm(x, name):
        centred = x - x.mean(-1, keepdim=True)
        return (
            centred / (centred.square().mean(-1, keepdim=True) + epsilon).sqrt() * w[f"{name}.weight"]
            + w[f"{name}.bias"]
        )

    def linear(x, name):
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    def act(x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    length, width = len(tokens), WIDTH // heads
    x = w["wte.weight"][tokens] + w["wpe.weight"][:length]
    for layer in range(2):
        qkv = linear(norm(x, f"h.{layer}.ln_1"), f"h.{layer}.attn.c_attn")
        found = []
        for head in range(heads):
            q, k, v = (qkv[:, WIDTH * part + width * head :][:, :width] for part in range(3))
            scores = q @ k.mT / math.sqrt(width)
            scores[torch.ones(length, length).triu(1) > 0] = -math.inf
            found.append(scores.softmax(-1) @ v)
        x = x + linear(torch.cat(found, -1), f"h.{layer}.attn.c_proj")
        x = x + linear(act(linear(norm(x, f"h.{layer}.ln_2"), f"h.{layer}.mlp.c_fc")), f"h.{layer}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].mT


CONFIG = {
    "model_type": "gpt2",
    "vocab_size": VOCABULARY,
    "n_embd": WIDTH,
    "n_head": 3,
    "n_layer": 2,
    "n_positions": LENGTH,
    "activation_function": "gelu_new",
}


@pytest.fixture
def checkpoint(tmp_path):
    def write(weights, **config):
        (tmp_path / "config.json").write_text(json.dumps(CONFIG | config))
        stored = {name: weight.cpu().contiguous().clone() for name, weight in weights.items()}
        save_file(stored, tmp_path / "model.safetensors", {"format": "pt"})
        return tmp_path

    return write


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_a_published_gpt2_is_read(checkpoint, prefix):
    weights = gpt2_weights()
    stored = {prefix + name: weight for name, weight in weights.items()}
    stored[f"{prefix}h.0.attn.bias"] = causal_mask(LENGTH)[None, None]  # older files keep such masks
    model = Transformer.from_gpt2(str(checkpoint(stored)))
    assert not model.training
    tokens = ids(B, LENGTH)
    expected = torch.stack([gpt2(weights, row) for row in tokens])
    assert_close(model.double()(tokens), expected, rtol=1e-12, atol=1e-12)
    assert_close(model.float()(tokens).double(), expected, rtol=1e-5, atol=1e-5)


def test_another_width_epsilon_dtype_and_a_second_copy_of_the_embedding(checkpoint):
    weights = {name: weight.to(torch.bfloat16) for name, weight in gpt2_weights(INSIDE).items()}
    stored = weights | {"lm_head.weight": weights["wte.weight"]}
    model = Transformer.from_gpt2(checkpoint(stored, n_inner=INSIDE, layer_norm_epsilon=0.1))
    tokens = ids(1, T)
    assert model(tokens).dtype == torch.float32
    assert_close(model.double()(tokens)[0], gpt2(weights, tokens[0], epsilon=0.1), rtol=1e-12, atol=1e-12)
    assert model.output.weight is model.token_embedding.weight


@pytest.mark.parametrize(
    ("error", "said", "change", "config"),
    [
        (ValueError, "config.json must have model_type 'gpt2', found 'bert'", None, {"model_type": "bert"}),
        (ValueError, "scale_attn_weights True, found False", None, {"scale_attn_weights": False}),
        (ValueError, "tie_word_embeddings True, found False", None, {"tie_word_embeddings": False}),
        (ValueError, "add_cross_attention False, found True", None, {"add_cross_attention": True}),
        (ValueError, "scale_attn_by_inverse_layer_idx False", None, {"scale_attn_by_inverse_layer_idx": True}),
        (ValueError, "activation_function 'gelu_new', found 'swish'", None, {"activation_function": "swish"}),
        (RuntimeError, "blocks.1.before_feed_forward.bias", lambda weights: weights.pop("h.1.ln_2.bias"), {}),
        (RuntimeError, "v_proj", lambda weights: weights.update({"h.0.attn.c_attn.bias": torch.ones(2)}), {}),
        (RuntimeError, "token_embedding.weight", lambda weights: weights.pop("wte.weight"), {}),
        (RuntimeError, "blocks.2", lambda weights: weights.update({"h.2.ln_1.bias": torch.ones(3)}), {}),
        (RuntimeError, "position_embedding", lambda weights: weights.update({"wpe.weight": torch.ones(3, WIDTH)}), {}),
    ],
)
def test_another_model_is_refused(checkpoint, error, said, change, config):
    weights = gpt2_weights()
    if change:
        change(weights)
    refuses(Transformer.from_gpt2, {"path": checkpoint(weights, **config)}, error, said)


# Mistakes


def made(**wrong):
    right = {"vocab_size": 5, "embed_dim": 6, "num_heads": 2, "num_layers": 1, "max_length": 4}
    return Transformer(**right | wrong)


MAKING = [
    (TypeError, "vocab_size", {"vocab_size": 5.0}),
    (TypeError, "embed_dim", {"embed_dim": 6.0}),
    (TypeError, "num_layers", {"num_layers": None}),
    (ValueError, "num_heads", {"num_heads": 0, "positions": "rotary"}),
    (TypeError, "as FeedForward, found 4", {"feed_forward": 4}),
    (TypeError, "as FeedForward, found FeedForward", {"feed_forward": FeedForward(6)}),
    (TypeError, "as nn.LayerNorm, found None", {"norm_layer": None}),
    (TypeError, "norm_layer", {"norm_layer": nn.LayerNorm(6)}),
    (TypeError, "process_heads", {"positions": None, "process_heads": "rotary"}),
    (TypeError, "window", {"window": 2.0}),
    (TypeError, "num_key_heads", {"num_key_heads": 2}),
    (TypeError, "tied", {"tied": "no"}),
    (ValueError, "vocab_size", {"vocab_size": 0}),
    (ValueError, "num_layers", {"num_layers": 0}),
    (ValueError, "max_length", {"max_length": 0}),
    (ValueError, "max_length", {"max_length": None}),
    (ValueError, "embed_dim", {"num_heads": 4}),
    (ValueError, "positions", {"positions": "sinusoidal"}),
    (ValueError, "norm", {"norm": "middle"}),
    (ValueError, "dropout", {"dropout": 1.5}),
    (ValueError, "hidden_dim", {"feed_forward": partial(FeedForward, hidden_dim=0)}),
    (ValueError, "embed_std", {"embed_std": 0}),
    (ValueError, "window", {"window": 0}),
    (ValueError, "rotary", {"positions": "rotary"}),
    (ValueError, "process_heads", {"positions": "rotary", "process_heads": rotate_heads}),
]


test_making_a_transformer_says_what_is_wrong = refusals(made, {}, MAKING)
TOKENS = torch.ones(1, 2, dtype=torch.long)
CACHE = KeyValueCache()
ASKING = [
    (TypeError, "tokens", {"tokens": torch.ones(1, 2)}),
    (TypeError, "tokens", {"tokens": TOKENS.byte()}),
    (TypeError, "attn_mask", {"attn_masks": {0: torch.ones(2, 2)}}),
    (TypeError, "key_mask", {"key_mask": torch.ones(1, 2)}),
    (TypeError, "positions", {"positions": [0, 1]}),
    (TypeError, "attn_masks", {"attn_masks": [TOKENS > 0]}),
    (ValueError, "tokens", {"tokens": torch.tensor([1, 2])}),
    (ValueError, "tokens must hold ids from 0 to 4", {"tokens": torch.tensor([[5]], device="cpu")}),
    (ValueError, "tokens must hold ids from 0 to 4", {"tokens": torch.tensor([[0, -1]], device="cpu")}),
    (ValueError, "max_length=4", {"tokens": torch.ones(1, 5, dtype=torch.long)}),
    (ValueError, "attn_masks", {"attn_masks": {1: torch.ones(2, 2, dtype=torch.bool)}}),
    (ValueError, "key_mask", {"key_mask": torch.ones(2, 2, dtype=torch.bool)}),
    (ValueError, "positions", {"positions": torch.arange(3)}),
    (ValueError, "positions", {"positions": torch.tensor([3, 4], device="cpu")}),
]
WRONG_CACHES = [
    (TypeError, "caches", {"caches": CACHE}),
    (TypeError, "caches", {"caches": {0: CACHE}}),
    (TypeError, "caches", {"caches": "ab"}),
    (ValueError, "caches", {"caches": [CACHE, KeyValueCache()]}),
]


@mistakes(ASKING)
def test_asking_a_transformer_says_what_is_wrong(wrong, error, said):
    for ask in (made(), made().attention_maps, *([made().embed] if {*wrong} <= {"tokens", "positions"} else [])):
        refuses(ask, {"tokens": TOKENS} | wrong, error, said)


test_caches_of_another_model_are_refused = refusals(made(), {"tokens": TOKENS}, WRONG_CACHES)


@pytest.mark.parametrize("positions", ["alibi", None])
def test_positions_are_for_what_reads_them(positions):
    refuses(made(positions=positions), {"tokens": TOKENS, "positions": torch.arange(2)}, ValueError, "positions")
    refuses(made().embed, {"tokens": TOKENS, "kept": -1}, ValueError, "kept")


@all_positions
def test_a_limit_is_kept_and_the_last_token_written_is_not_read(positions):
    model, tokens = small_model(positions), ids(B, 3)
    for places in ({}, {"positions": torch.arange(LENGTH + 1)} if positions in ("learned", "rotary") else {}):
        wrong = {"tokens": ids(1, LENGTH + 1)} | places
        refuses(model, wrong, ValueError, f"tokens must have at most max_length={LENGTH}")
    longest = model.generate(tokens, LENGTH - 2)
    assert_close(longest[:, 3:], model(longest[:, :LENGTH])[:, 2:].argmax(dim=-1))
    for start, length in ((tokens, LENGTH - 1), (longest, 1)):
        refuses(model.generate, {"tokens": start, "length": length}, ValueError, f"max_length={LENGTH}")
    assert_close(model.generate(longest, 0), longest)  # nothing is read
    if positions != "learned":
        assert Transformer(VOCABULARY, 16, 4, 2, positions=positions)(ids(1, LENGTH + 5)).size(1) == LENGTH + 5


GENERATING = [
    (TypeError, "length", {"length": 1.5}),
    (TypeError, "tokens", {"tokens": TOKENS.byte()}),
    (TypeError, "top_k", {"temperature": 1.0, "top_k": 2.0}),
    (TypeError, "cache", {"cache": "no"}),
    (ValueError, "length", {"length": -1}),
    (ValueError, "temperature", {"top_k": 2}),
    (ValueError, "temperature", {"top_p": 0.5}),
    (ValueError, "temperature", {"temperature": -1.0, "length": 0}),
    (ValueError, "top_k", {"temperature": 1.0, "top_k": 0}),
    (ValueError, "top_p", {"temperature": 1.0, "top_p": 0.0}),
    (ValueError, "top_p", {"temperature": 1.0, "top_p": 1.2}),
]


test_generating_says_what_is_wrong = refusals(made().generate, {"tokens": TOKENS, "length": 2}, GENERATING)
