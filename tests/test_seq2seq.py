"""Encoder and decoder against formulas written out for one source at a time, and against themselves by other roads."""

import functools
import itertools

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from attention import (
    BOS,
    EOS,
    PAD,
    AdditiveAttention,
    Decoder,
    DotProductAttention,
    Encoder,
    LastState,
    Translator,
    padding_mask,
)
from refusals import mistakes, refuses

assert_equal = functools.partial(assert_close, rtol=0, atol=0)
assert_near = functools.partial(assert_close, rtol=1e-12, atol=1e-12)
ATTENTIONS = {"additive": lambda: AdditiveAttention(6, 6, 3), "dot": DotProductAttention, "last": LastState}
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LENGTHS = torch.tensor([4, 7, 1])
attentions = pytest.mark.parametrize("attention", ATTENTIONS)
directions = pytest.mark.parametrize("bidirectional", [False, True], ids=["one-way", "both-ways"])
layers = pytest.mark.parametrize("num_layers", [1, 2, 3])


def translator(attention="additive", num_layers=1, dropout=0.0, bidirectional=False):
    encoder = Encoder(13, 6, num_layers, dropout, bidirectional)
    model = Translator(encoder, Decoder(11, 6, ATTENTIONS[attention](), num_layers, dropout)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)  # so that its answers differ much from one source to the next
    return model


def batch(target_length=6):
    """Three sources of different lengths, with PAD behind them, and targets without."""
    source = torch.randint(3, 13, (3, 7)).where(padding_mask(LENGTHS, 7).squeeze(1), PAD)
    return source, torch.randint(2, 11, (3, target_length))


# What the formulas say, for one source without padding


def gru(module, layer, x, h):
    """One step of one layer (0, or "0_reverse"): reset gate r, update gate z, candidate n."""
    W, U, b, c = (getattr(module, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    (xr, xz, xn), (hr, hz, hn) = (W @ x + b).chunk(3), (U @ h + c).chunk(3)
    r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
    return (1 - z) * torch.tanh(xn + r * hn) + z * h


def read(module, layer, xs):
    """All states of one layer in one direction, from zeros."""
    h, states = torch.zeros(module.hidden_size, dtype=torch.float64), []
    for x in xs:
        h = gru(module, layer, x, h)
        states.append(h)
    return states


def encode(encoder, source):
    """The last layer's states, and of every layer the state that has read all."""
    states, finals = [encoder.embedding.weight[token] for token in source], []
    for layer in range(encoder.gru.num_layers):
        forth = read(encoder.gru, layer, states)
        if encoder.gru.bidirectional:
            back = read(encoder.gru, f"{layer}_reverse", states[::-1])
            finals.append(torch.cat([forth[-1], back[-1]]))
            states = [torch.cat(pair) for pair in zip(forth, back[::-1], strict=True)]
        else:
            finals.append(forth[-1])
            states = forth
    return states, finals


def look(attention, query, states):
    """The weights of each state, one at a time."""
    if isinstance(attention, LastState):
        return torch.eye(len(states), dtype=query.dtype)[-1]
    if isinstance(attention, DotProductAttention):
        return torch.stack([query @ state / len(query) ** 0.5 for state in states]).softmax(0)
    W_q, W_k, w_v = (layer.weight for layer in (attention.W_q, attention.W_k, attention.w_v))
    return torch.stack([w_v[0] @ torch.tanh(W_q @ query + W_k @ state) for state in states]).softmax(0)


def specification(model, source, target):
    """Logits (T, V) and weights (T, S) of one source, as lists of ids."""
    states, hidden = encode(model.encoder, source)
    decoder, rows = model.decoder, []
    for token in [BOS, *target[:-1]]:
        weights = look(decoder.attention, hidden[-1], states)
        context = sum(weight * state for weight, state in zip(weights, states, strict=True))
        x, after = torch.cat([decoder.embedding.weight[token], context]), []
        for layer, h in enumerate(hidden):
            x = gru(decoder.gru, layer, x, h)
            after.append(x)
        hidden = after
        rows.append((decoder.output.weight @ hidden[-1] + decoder.output.bias, weights))
    return (torch.stack(column) for column in zip(*rows, strict=True))


@attentions
@layers
@directions
def test_a_batch_is_what_the_formulas_say_of_each_source(attention, num_layers, bidirectional):
    model = translator(attention, num_layers, bidirectional=bidirectional)
    source, target = batch()
    logits, weights = model(source, target, LENGTHS)
    losses = []
    for row, length in enumerate(LENGTHS):
        expected, looks = specification(model, source[row, :length].tolist(), target[row].tolist())
        assert_near(logits[row], expected)
        assert_near(weights[row, :, :length], looks)
        assert not weights[row, :, length:].any()
        losses.append(cross_entropy(expected, target[row]))
    parameters = list(model.parameters())
    found = torch.autograd.grad(cross_entropy(logits.flatten(0, 1), target.flatten()), parameters, allow_unused=True)
    wanted = torch.autograd.grad(torch.stack(losses).mean(), parameters, allow_unused=True)
    assert_near(found, wanted)


def test_a_source_may_be_longer_than_any_before():
    model = translator()
    source, target = torch.randint(3, 13, (1, 97)), torch.tensor([[4, 7, 2]])
    expected, looks = specification(model, source[0].tolist(), target[0].tolist())
    logits, weights = model(source, target)
    assert_near((logits[0], weights[0]), (expected, looks))


def test_the_toy_run_has_three_sizes():
    decoder = Decoder(vocabulary_size=10, hidden_dim=5, attention=AdditiveAttention(5, 5, 5))
    states, hidden = Encoder(vocabulary_size=10, hidden_dim=5)(torch.tensor([[3, 7, 4, 9]]))
    logits, hidden, weights = decoder(torch.tensor([[3, 9, 4, 4, 8, 6, EOS]]), hidden, states)
    assert (logits.shape, hidden.shape, weights.shape) == ((1, 7, 10), (1, 1, 5), (1, 7, 4))
    assert_close(weights.sum(-1), torch.ones(1, 7))


# One road against another


@attentions
@layers
def test_teacher_forcing_is_itself_step_by_step(attention, num_layers):
    model = translator(attention, num_layers)
    source, target = batch()
    states, hidden = model.encoder(source, LENGTHS)
    mask = padding_mask(LENGTHS, 7)
    all_logits, last, all_weights = model.decoder(target, hidden, states, mask)
    token = torch.full((3,), BOS)
    for step in range(6):
        logits, hidden, weights = model.decoder.step(token, hidden, states, mask)
        assert_near((logits, weights), (all_logits[:, step], all_weights[:, step]))
        token = target[:, step]
    assert_near(hidden, last)


def test_the_keys_are_projected_once_for_all_steps():
    model, calls = translator(), []
    model.decoder.attention.W_k.register_forward_hook(lambda *_: calls.append(1))
    source, target = batch()
    model(source, target, LENGTHS)
    assert len(calls) == 1
    ids, _ = model.translate(source, LENGTHS, max_steps=9)
    assert ids.size(1) > 1
    assert len(calls) == 2


@pytest.mark.parametrize("step", range(6))
def test_a_token_of_the_target_changes_only_what_comes_after_it(step):
    model = translator()
    source, target = batch()
    changed = target.clone()
    changed[:, step] = (target[:, step] + 1) % 11
    differs = (model(source, target, LENGTHS)[0] != model(source, changed, LENGTHS)[0]).any(-1)
    assert differs.tolist() == [[later > step for later in range(6)]] * 3


@attentions
@layers
def test_greedy_decoding_is_teacher_forcing_on_its_own_output(attention, num_layers):
    ends = set()
    for seed in range(10):
        torch.manual_seed(seed)
        model = translator(attention, num_layers)
        source, _ = batch()
        ids, weights = model.translate(source, LENGTHS, max_steps=9)
        logits, forced = model(source, ids, LENGTHS)
        for row, found in enumerate(ids.tolist()):
            end = found.index(EOS) + 1 if EOS in found else len(found)
            assert_equal(ids[row, :end], logits[row, :end].argmax(-1))
            assert_near(weights[row, :end], forced[row, :end])
            assert found[end:] == [PAD] * (len(found) - end)
            assert not weights[row, end:].any()
            ends.add((end, len(found)))
        assert ids.size(1) == 9 or (ids[:, -1] == EOS).any()
    assert len({end for end, _ in ends}) > 1
    assert any(end < length for end, length in ends)


def test_each_source_is_translated_as_if_it_were_alone():
    model = translator()
    source, _ = batch()
    ids, weights = model.translate(source, LENGTHS, max_steps=9)
    for row, length in enumerate(LENGTHS):
        alone, looks = model.translate(source[row : row + 1, :length], max_steps=9)
        steps = alone.size(1)
        assert_equal(alone[0], ids[row, :steps])
        assert not ids[row, steps:].any()
        assert_near(looks[0], weights[row, :steps, :length])


def test_greedy_decoding_ends_with_the_last_row_or_where_it_is_told():
    model = translator()
    lengths = torch.tensor([1, 7])
    source = torch.randint(3, 13, (2, 7))
    for bias, steps in ((1e9, 1), (-1e9, 5)):
        with torch.no_grad():
            model.decoder.output.bias[EOS] = bias
        ids, weights = model.translate(source, lengths, max_steps=5)
        assert (ids.shape, weights.shape) == ((2, steps), (2, steps, 7))


def test_greedy_decoding_keeps_no_graph():
    model = translator()
    source = torch.tensor([[3, 4]])
    states, hidden = model.encoder(source)
    _, weights = model.decoder.greedy(hidden, states, max_steps=5)
    assert not weights.requires_grad
    reads = []
    model.encoder.gru.register_forward_hook(lambda module, inputs, output: reads.append(output[1].requires_grad))
    model.translate(source, max_steps=5)
    assert reads == [False]


# Padding changes nothing


@attentions
@directions
def test_padding_changes_nothing_in_values_and_gradients(attention, bidirectional):
    model = translator(attention, num_layers=2, bidirectional=bidirectional)
    source, target = batch()
    is_padding = ~padding_mask(LENGTHS, 7).squeeze(1)
    others = [source.where(~is_padding, number) for number in (3, 12)]
    wider = torch.cat([source, torch.randint(13, (3, 4))], 1)
    answers = []
    for padded in (source, *others, wider):
        logits, weights = model(padded, target, LENGTHS)
        loss = cross_entropy(logits.flatten(0, 1), target.flatten())
        gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        answers.append((logits, weights[..., :7], gradients))
        assert not weights[..., 7:].any()
    for answer in answers[1:]:
        assert_near(answer, answers[0])


def test_without_padding_lengths_change_nothing():
    model = translator()
    source, target = torch.randint(3, 13, (2, 4)), torch.randint(2, 11, (2, 3))
    assert_equal(model(source, target), model(source, target, torch.tensor([4, 4])))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_every_type_of_integers_that_an_embedding_takes(dtype):
    model = translator()
    source, target = batch()
    assert_equal(model(source.to(dtype), target.to(dtype), LENGTHS.to(dtype)), model(source, target, LENGTHS))


# Dropout, devices


def test_dropout_of_everything_leaves_the_tokens_unread_in_training_alone():
    model = translator(dropout=1.0)
    source, target = batch()
    other_source, other_target = source.flip(1), target.flip(1)
    lengths = torch.tensor([7, 7, 7])
    assert_equal(model(source, target, lengths), model(other_source, other_target, lengths))
    model.eval()
    assert (model(source, target, lengths)[0] != model(other_source, other_target, lengths)[0]).all()


@pytest.mark.parametrize("device", DEVICES)
def test_answers_follow_the_module_s_device_and_dtype(device):
    for dtype, attention in itertools.product([torch.float32, torch.float64], ATTENTIONS):
        model = translator(attention).to(device, dtype)
        source, target = (tensor.to(device) for tensor in batch())
        for tensor in model(source, target, LENGTHS.to(device)):
            assert (tensor.dtype, tensor.device.type) == (dtype, device)
        ids, _ = model.translate(source, LENGTHS, max_steps=3)  # lengths may stay on the CPU
        assert (ids.dtype, ids.device.type) == (torch.int64, device)


# What a mistake is told


def ids(*shape, **options):
    return torch.full(shape, 3, **options)


ROWS = {"source": ids(2, 7), "target": ids(2, 6), "lengths": torch.tensor([4, 7])}
WRONG_ROWS = {
    TypeError: {
        "source must be a tensor of integers, found torch.float32": {"source": ids(2, 7).float()},
        "source must be a tensor of integers, found str": {"source": "3 March 2021"},
        "target must be a tensor of integers, found list": {"target": [[3, 4]]},
        "lengths must be a tensor of integers, found list": {"lengths": [4, 7]},
        "lengths must be a tensor of integers, found torch.bool": {"lengths": torch.tensor([True, True])},
    },
    ValueError: {
        "source must have shape (B, length) with at least one id, found (2, 0)": {"source": ids(2, 0)},
        "source must have shape (B, length) with at least one id, found (0, 7)": {"source": ids(0, 7)},
        "source must have shape (B, length) with at least one id, found (7,)": {"source": ids(7)},
        "target must have shape (B, length) with at least one id, found (2, 0)": {"target": ids(2, 0)},
        "source must be on the module's device cpu, found meta": {"source": ids(2, 7, device="meta")},
        "source must hold ids from 0 to 12, found 3 to 13": {"source": torch.tensor([[3, 13], [3, 4]])},
        "source must hold ids from 0 to 12, found -1 to 4": {"source": torch.tensor([[3, -1], [3, 4]])},
        "target must hold ids from 0 to 10, found 3 to 11": {"target": torch.tensor([[3, 11], [3, 4]])},
        "source has padding (id 0) in row 1: its lengths must be given": {
            "source": torch.tensor([[3, 4], [5, PAD]]),
            "lengths": None,
        },
        "lengths must have one number a source, found lengths (3,), source (2, 7)": {"lengths": ids(3)},
        "lengths must have one number a source, found lengths (2, 1), source (2, 7)": {"lengths": ids(2, 1)},
        "lengths must lie between 1 and the source's length 7, found 0 to 7": {"lengths": torch.tensor([0, 7])},
        "lengths must lie between 1 and the source's length 7, found 3 to 8": {"lengths": torch.tensor([3, 8])},
        "3 targets need hidden (1, 3, 6) and states (3, S, 6), found hidden (1, 2, 6), states (2, 7, 6)": {
            "target": ids(3, 6)
        },
    },
}
DECODER = {"target": ids(2, 6), "hidden": torch.ones(1, 2, 5), "states": torch.ones(2, 7, 5)}
WRONG_DECODER = {
    TypeError: {
        "hidden must be a floating-point tensor, found NoneType": {"hidden": None},
        "states must have the module's dtype torch.float32, found torch.float64": {
            "states": torch.ones(2, 7, 5).double()
        },
        "attn_mask must be a boolean tensor, True = may attend, found torch.float32": {
            "attn_mask": torch.ones(2, 1, 7)
        },
    },
    ValueError: {
        "states must have the module's width 5, found states (2, 7, 4)": {"states": torch.ones(2, 7, 4)},
        "2 targets need hidden (1, 2, 5) and states (2, S, 5), found hidden (2, 2, 5), states (2, 7, 5)": {
            "hidden": torch.ones(2, 2, 5)
        },
        "2 targets need hidden (1, 2, 5) and states (2, S, 5), found hidden (1, 2, 5), states (7, 5)": {
            "states": torch.ones(7, 5)
        },
        "attn_mask of shape (2, 1, 6) does not broadcast to the weights' shape (2, 1, 7)": {
            "attn_mask": torch.ones(2, 1, 6).bool()
        },
    },
}
SIZES = {"vocabulary_size": 11, "hidden_dim": 5}
WRONG_SIZES = {
    TypeError: {
        "vocabulary_size must be an integer, found 'abc'": {"vocabulary_size": "abc"},
        "num_layers must be an integer, found 1.5": {"num_layers": 1.5},
    },
    ValueError: {
        "vocabulary_size must be at least 3, found 2": {"vocabulary_size": 2},
        "hidden_dim must be at least 1, found 0": {"hidden_dim": 0},
        "num_layers must be at least 1, found 0": {"num_layers": 0},
        "dropout must lie between 0 and 1, found 2": {"dropout": 2},
    },
}


@mistakes(WRONG_ROWS)
def test_a_translator_says_what_is_wrong(wrong, error, message):
    refuses(translator(), ROWS | wrong, error, message)


@mistakes(WRONG_DECODER)
def test_a_decoder_says_what_is_wrong(wrong, error, message):
    refuses(Decoder(11, 5, AdditiveAttention(5, 5, 3)), DECODER | wrong, error, message)


UNFIT = {
    "key must have the module's width 7, found key (2, 7, 5)": (ValueError, AdditiveAttention(5, 7, 3)),
    "query must have the module's width 7, found query (2, 1, 5)": (ValueError, AdditiveAttention(7, 5, 3)),
    "key must have the module's dtype torch.float64, found torch.float32": (
        TypeError,
        AdditiveAttention(5, 5, 3).double(),
    ),
}


@pytest.mark.parametrize(("message", "unfit"), UNFIT.items(), ids=UNFIT)
def test_an_attention_that_does_not_fit_its_decoder_says_so(message, unfit):
    error, attention = unfit
    refuses(Decoder(11, 5, attention), DECODER, error, message)


def test_an_attention_made_from_another_is_asked_as_any():
    class Fourfold(AdditiveAttention):
        def forward(self, query, key, value, attn_mask=None):
            return super().forward(query, key, value, attn_mask)

    model, (source, target) = translator(), batch()
    expected = model(source, target, LENGTHS)
    model.decoder.attention.__class__ = Fourfold
    assert_near(model(source, target, LENGTHS), expected)


@pytest.mark.parametrize("part", [Encoder, functools.partial(Decoder, attention=LastState())], ids=["enc", "dec"])
@mistakes(WRONG_SIZES)
def test_making_a_part_says_what_is_wrong(wrong, error, message, part):
    refuses(part, SIZES | wrong, error, message)


@pytest.mark.parametrize(("num_layers", "hidden_dim"), [(2, 5), (1, 7)])
def test_parts_that_do_not_fit(num_layers, hidden_dim):
    parts = {"encoder": Encoder(13, 5), "decoder": Decoder(11, hidden_dim, LastState(), num_layers)}
    found = f"found (1, 5) and ({num_layers}, {hidden_dim})"
    message = f"encoder and decoder must have the same number of layers and hidden_dim, {found}"
    refuses(Translator, parts, ValueError, message)


def test_a_width_that_can_not_be_halved():
    message = "hidden_dim must be even to be shared by two directions, found 5"
    refuses(Encoder, SIZES | {"bidirectional": True}, ValueError, message)


def test_steps_that_are_no_number():
    steps = {"source": ids(2, 7), "max_steps": 0}
    refuses(translator().translate, steps, ValueError, "max_steps must be at least 1, found 0")
