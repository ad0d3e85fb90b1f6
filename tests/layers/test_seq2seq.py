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
    MultiHeadAttention,
    Translator,
    padding_mask,
)
from reads import can_pretend, reads
from refusals import refuses

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


def attention_weights(attention, query, states):
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
        weights = attention_weights(decoder.attention, hidden[-1], states)
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
        expected_logits, expected_weights = specification(model, source[row, :length].tolist(), target[row].tolist())
        assert_near(logits[row], expected_logits)
        assert_near(weights[row, :, :length], expected_weights)
        assert not weights[row, :, length:].any()
        losses.append(cross_entropy(expected_logits, target[row]))
    parameters = list(model.parameters())
    found = torch.autograd.grad(cross_entropy(logits.flatten(0, 1), target.flatten()), parameters, allow_unused=True)
    wanted = torch.autograd.grad(torch.stack(losses).mean(), parameters, allow_unused=True)
    assert_near(found, wanted)


def test_a_source_may_be_longer_than_any_before():
    model = translator()
    source, target = torch.randint(3, 13, (1, 97)), torch.tensor([[4, 7, 2]])
    expected_logits, expected_weights = specification(model, source[0].tolist(), target[0].tolist())
    logits, weights = model(source, target)
    assert_near((logits[0], weights[0]), (expected_logits, expected_weights))


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


class Inheriting(AdditiveAttention):
    """A subclass that takes its keys projected, as the layer itself does."""


class Narrow(AdditiveAttention):
    """A subclass with a call of its own, which does not take projected keys."""

    def forward(self, query, key, value, attn_mask=None):
        return super().forward(query, key, value, attn_mask)


class Wrapper(nn.Module):
    """Somebody else's layer, which can only be called."""

    def __init__(self, *widths):
        super().__init__()
        self.attend = AdditiveAttention(*widths)

    def forward(self, query, key, value, attn_mask=None):
        return self.attend(query, key, value, attn_mask)

    W_q, W_k, w_v = (property(lambda self, name=name: getattr(self.attend, name)) for name in ("W_q", "W_k", "w_v"))


PROJECTIONS = [
    (AdditiveAttention, 1),
    (Inheriting, 1),
    (Narrow, 6),
    (Wrapper, 6),
]


@pytest.mark.parametrize(("kind", "projections"), PROJECTIONS)
def test_the_keys_are_projected_once_for_all_steps_where_the_attention_can(kind, projections):
    model, projected, called = translator(), [], []
    source, target = batch()
    expected = model(source, target, LENGTHS)
    attention = kind(6, 6, 3).double()
    for name in ("W_q", "W_k", "w_v"):
        getattr(attention, name).weight = getattr(model.decoder.attention, name).weight
    model.decoder.attention = attention
    attention.W_k.register_forward_hook(lambda *_: projected.append(1))
    attention.register_forward_hook(lambda *_: called.append(1))
    assert_near(model(source, target, LENGTHS), expected)
    assert (len(projected), len(called)) == (projections, 6)
    projected.clear()
    called.clear()
    with torch.no_grad():
        model.decoder.output.bias[EOS] = -1e9
    ids, _ = model.translate(source, LENGTHS, max_steps=6)
    assert ids.size(1) == 6
    assert (len(projected), len(called)) == (projections, 6)


def test_a_step_takes_the_keys_as_they_were_projected():
    decoder, projected = translator().decoder, []
    decoder.attention.W_k.register_forward_hook(lambda *_: projected.append(1))
    token, hidden, states = torch.tensor([3, 4]), *(torch.randn(n, m, 6).double() for n, m in ((1, 2), (2, 7)))
    expected = decoder.step(token, hidden, states)
    keys = decoder.attention.project_keys(states)
    projected.clear()
    assert_near(decoder.step(token, hidden, states, projected_key=keys), expected)
    assert projected == []
    different, _, _ = decoder.step(token, hidden, states, projected_key=keys + 1)
    assert (different != expected[0]).all()


def test_a_step_refuses_keys_projected_for_an_attention_that_projects_none():
    decoder = translator("dot").decoder
    hidden, states = torch.zeros(1, 2, 6).double(), torch.zeros(2, 7, 6).double()
    with pytest.raises(TypeError, match="projected_key"):
        decoder.step(torch.tensor([3, 4]), hidden, states, projected_key=states)


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
        ids_alone, weights_alone = model.translate(source[row : row + 1, :length], max_steps=9)
        steps = ids_alone.size(1)
        assert_equal(ids_alone[0], ids[row, :steps])
        assert not ids[row, steps:].any()
        assert_near(weights_alone[0], weights[row, :steps, :length])


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
    assert_near(model(source, target), model(source, target, torch.tensor([4, 4])))  # the packed GRU rounds differently


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_every_type_of_integers_that_an_embedding_takes(dtype):
    model = translator()
    source, target = batch()
    assert_equal(model(source.to(dtype), target.to(dtype), LENGTHS.to(dtype)), model(source, target, LENGTHS))


# Dropout


def modes(model):
    return {name: part.training for name, part in model.named_modules()}


@pytest.mark.parametrize("training", [True, False])
def test_translation_is_without_dropout_and_leaves_every_part_in_its_mode(training):
    model = translator(dropout=0.5)
    model.decoder.attention.dropout = 0.5
    source, _ = batch()
    states, hidden = model.eval().encoder(source, LENGTHS)
    mask = padding_mask(LENGTHS, 7)
    expected = model.translate(source, LENGTHS, max_steps=9)
    model.train(training)
    model.encoder.gru.train(not training)
    model.decoder.attention.train(not training)
    before = modes(model)
    for _ in range(3):
        assert_equal(model.translate(source, LENGTHS, max_steps=9), expected)
        assert_equal(model.decoder.greedy(hidden, states, mask, max_steps=9), expected)
    assert modes(model) == before
    with pytest.raises(ValueError, match="max_steps"):
        model.translate(source, LENGTHS, max_steps=0)  # found when the encoder has already read the source
    assert modes(model) == before


def test_a_decoder_s_step_follows_its_mode():
    decoder = translator(dropout=0.5).decoder
    arguments = torch.tensor([3, 4]), torch.zeros(1, 2, 6).double(), torch.randn(2, 7, 6).double()
    assert (decoder.step(*arguments)[0] != decoder.step(*arguments)[0]).any()
    decoder.eval()
    assert_equal(decoder.step(*arguments), decoder.step(*arguments))


def test_dropout_of_everything_leaves_the_tokens_unread_in_training_alone():
    model = translator(dropout=1.0)
    source, target = batch()
    other_source, other_target = source.flip(1), target.flip(1)
    lengths = torch.tensor([7, 7, 7])
    assert_equal(model(source, target, lengths), model(other_source, other_target, lengths))
    model.eval()
    assert (model(source, target, lengths)[0] != model(other_source, other_target, lengths)[0]).all()


# Devices


@pytest.mark.parametrize("device", DEVICES)
def test_answers_follow_the_module_s_device_and_dtype(device):
    for dtype, attention in itertools.product([torch.float32, torch.float64], ATTENTIONS):
        model = translator(attention).to(device, dtype)
        source, target = (tensor.to(device) for tensor in batch())
        for tensor in model(source, target, LENGTHS.to(device)):
            assert (tensor.dtype, tensor.device.type) == (dtype, device)
        ids, _ = model.translate(source, LENGTHS, max_steps=3)  # lengths may stay on the CPU
        assert (ids.dtype, ids.device.type) == (torch.int64, device)


@can_pretend
def test_an_accelerator_is_read_no_more_often_than_it_has_to_be():
    from accelerator import DEVICE

    model = translator().to(DEVICE)
    source, target = (tensor.to(DEVICE) for tensor in batch())
    lengths = LENGTHS.to("cpu")
    states, hidden = model.encoder(source, lengths)
    with torch.no_grad():
        model.decoder.output.bias[EOS] = -1e9
    unsort = 1  # PyTorch's pad_packed_sequence puts the rows back into the batch's order
    ids = 1  # the least and the largest, together
    for action, count in [
        (lambda: model.encoder(source), ids),
        (lambda: model.encoder(source, lengths), ids + unsort),
        (
            lambda: model.encoder(source, lengths.to(DEVICE)),
            ids + unsort + 1,
        ),  # the lengths, by which it packs on the CPU
        (lambda: model(source, target, lengths), 2 * ids + unsort),
        (lambda: model(source, target, lengths.to(DEVICE)), 2 * ids + unsort + 2),  # and for its mask
        (lambda: model.decoder(target, hidden, states), ids),
        (lambda: model.decoder.step(target[:, 0], hidden, states), ids),
        (lambda: model.decoder.greedy(hidden, states, max_steps=5), 5),  # whether all rows have their EOS
        (lambda: model.translate(source, lengths, max_steps=5), ids + unsort + 5),
    ]:
        assert reads(action, DEVICE) == count


def test_tensors_without_numbers_pass_through():
    model = translator().to("meta")
    source, target = (tensor.to("meta") for tensor in batch())
    logits, weights = model(source, target)
    assert (logits.shape, weights.shape) == ((3, 6, 11), (3, 6, 7))
    assert logits.is_meta


@torch._dynamo.config.patch(allow_rnn=True)
def test_a_model_is_compiled_in_one_piece():
    """As far as PyTorch compiles it: a GRU where that is allowed, packed sequences never."""
    with torch.device("cpu"):  # it compiles for no pretended accelerator
        model, source, target = translator(), torch.randint(3, 13, (3, 7)), torch.tensor([[3, 4], [5, 6], [7, EOS]])
        hidden, states = torch.randn(1, 3, 6).double(), torch.randn(3, 7, 6).double()
        mask = padding_mask(LENGTHS.cpu(), 7)
    for function, arguments in [
        (model.encoder, (source,)),
        (model.decoder, (target, hidden, states, mask)),
    ]:
        compiled = torch.compile(function, backend="eager", fullgraph=True)
        assert_near(compiled(*arguments), function(*arguments))


# What is said of a mistake


def ids(*shape, **options):
    return torch.full(shape, 3, **options)


cases = functools.partial(pytest.mark.parametrize, ("error", "message", "wrong"))
ROWS = {"source": ids(2, 7), "target": ids(2, 6), "lengths": torch.tensor([4, 7])}
WRONG_ROWS = [
    (TypeError, "source", {"source": ids(2, 7).float()}),
    (TypeError, "source", {"source": "3 March 2021"}),
    (TypeError, "target", {"target": [[3, 4]]}),
    (TypeError, "lengths", {"lengths": [4, 7]}),
    (
        TypeError,
        "lengths",
        {"lengths": torch.tensor([True, True])},
    ),
    (
        ValueError,
        "source",
        {"source": ids(2, 0)},
    ),
    (
        ValueError,
        "source",
        {"source": ids(0, 7)},
    ),
    (ValueError, "source", {"source": ids(7)}),
    (
        ValueError,
        "target",
        {"target": ids(2, 0)},
    ),
    (
        ValueError,
        "lengths",
        {"lengths": ids(3)},
    ),
    (
        ValueError,
        "lengths",
        {"lengths": ids(2, 1)},
    ),
    (
        ValueError,
        "lengths",
        {"lengths": torch.tensor([0, 7])},
    ),
    (
        ValueError,
        "lengths",
        {"lengths": torch.tensor([3, 8])},
    ),
    (
        ValueError,
        "hidden",
        {"target": ids(3, 6)},
    ),
]
WRONG_IDS = [
    ("source must hold ids from 0 to 12, found 3 to 13", {"source": [[3, 13], [3, 4]]}),
    ("source must hold ids from 0 to 12, found -1 to 4", {"source": [[3, -1], [3, 4]]}),
    ("target must hold ids from 0 to 10, found 3 to 11", {"target": [[3, 11], [3, 4]]}),
]
DECODER = {"hidden": torch.ones(1, 2, 5), "states": torch.ones(2, 7, 5)}
WRONG_DECODER = [
    (TypeError, "hidden", {"hidden": None}),
    (TypeError, "states", {"states": None}),
    (
        TypeError,
        "attn_mask",
        {"attn_mask": torch.ones(2, 1, 7)},
    ),
    (
        ValueError,
        "states",
        {"states": torch.ones(2, 7, 4)},
    ),
    (
        ValueError,
        "hidden",
        {"hidden": torch.ones(2, 2, 5)},
    ),
    (
        ValueError,
        "attn_mask",
        {"attn_mask": torch.ones(2, 1, 6).bool()},
    ),
]
WRONG_TOKENS = [
    (TypeError, "token", {"token": [3, 3]}),
    (ValueError, "token", {"token": ids(2, 1)}),
    (ValueError, "token", {"token": ids(0)}),
    (ValueError, "states", {"states": torch.ones(7, 5)}),
    (
        ValueError,
        "hidden",
        {"token": ids(3)},
    ),
]
SIZES = {"vocabulary_size": 11, "hidden_dim": 5}
WRONG_SIZES = [
    (TypeError, "vocabulary_size", {"vocabulary_size": "abc"}),
    (TypeError, "num_layers", {"num_layers": 1.5}),
    (ValueError, "vocabulary_size", {"vocabulary_size": 2}),
    (ValueError, "hidden_dim", {"hidden_dim": 0}),
    (ValueError, "num_layers", {"num_layers": 0}),
    (ValueError, "dropout", {"dropout": 2}),
]


@cases(WRONG_ROWS)
def test_a_translator_says_what_is_wrong(error, message, wrong):
    refuses(translator(), ROWS | wrong, error, message)


@pytest.mark.parametrize(("message", "wrong"), WRONG_IDS)
def test_a_translator_looks_at_ids_on_the_cpu(message, wrong):
    with torch.device("cpu"):
        on_cpu = {name: tensor.cpu() for name, tensor in ROWS.items()}
        wrong = {name: torch.tensor(numbers) for name, numbers in wrong.items()}
        refuses(translator(), on_cpu | wrong, ValueError, message)


def test_a_translator_looks_for_padding_on_the_cpu():
    with torch.device("cpu"):
        padded = {"source": torch.tensor([[3, 4], [5, PAD]]), "target": torch.tensor([[3], [4]])}
        message = "source has padding (id 0) in row 1: its lengths must be given"
        refuses(translator(), padded, ValueError, message)


class Average(nn.Module):
    """An attention without a check: what is said is said by the decoder."""

    def forward(self, query, key, value, attn_mask=None):
        weights = torch.full((*query.shape[:-1], key.size(-2)), 1 / key.size(-2))
        return weights @ value, weights


@cases([*WRONG_DECODER, (ValueError, "states", {"states": torch.ones(7, 5)})])
def test_a_decoder_says_what_is_wrong(error, message, wrong):
    refuses(Decoder(11, 5, Average()), {"target": ids(2, 6)} | DECODER | wrong, error, message)


@cases([*WRONG_DECODER, *WRONG_TOKENS])
def test_a_step_says_what_is_wrong(error, message, wrong):
    refuses(Decoder(11, 5, Average()).step, {"token": ids(2)} | DECODER | wrong, error, message)


def test_a_step_looks_at_ids_on_the_cpu():
    with torch.device("cpu"):
        arguments = {"token": torch.tensor([3, 11]), "hidden": torch.ones(1, 2, 5), "states": torch.ones(2, 7, 5)}
        message = "token must hold ids from 0 to 10, found 3 to 11"
        refuses(Decoder(11, 5, Average()).step, arguments, ValueError, message)


@cases(WRONG_DECODER)
def test_greedy_decoding_says_what_is_wrong(error, message, wrong):
    refuses(Decoder(11, 5, Average()).greedy, {"max_steps": 3} | DECODER | wrong, error, message)


UNFIT = [
    (TypeError, "attention", "additive"),
    (TypeError, "attention", AdditiveAttention),
    (TypeError, "attention", nn.Linear(5, 5)),
    (
        TypeError,
        "attention",
        MultiHeadAttention(5, 1),
    ),
    (ValueError, "attention", AdditiveAttention(5, 7, 3)),
    (ValueError, "attention", Inheriting(7, 5, 3)),
]


@pytest.mark.parametrize(("error", "message", "unfit"), UNFIT)
def test_an_attention_that_does_not_fit_is_named_when_the_decoder_is_made(error, message, unfit):
    refuses(Decoder, SIZES | {"attention": unfit}, error, message)


@pytest.mark.parametrize("part", [Encoder, functools.partial(Decoder, attention=LastState())], ids=["enc", "dec"])
@cases(WRONG_SIZES)
def test_making_a_part_says_what_is_wrong(error, message, wrong, part):
    refuses(part, SIZES | wrong, error, message)


@pytest.mark.parametrize(("num_layers", "hidden_dim"), [(2, 5), (1, 7)])
def test_parts_that_do_not_fit(num_layers, hidden_dim):
    parts = {"encoder": Encoder(13, 5), "decoder": Decoder(11, hidden_dim, LastState(), num_layers)}
    found = f"found (1, 5) and ({num_layers}, {hidden_dim})"
    message = f"encoder and decoder must have the same number of layers and hidden_dim, {found}"
    refuses(Translator, parts, ValueError, message)


def test_a_width_that_cannot_be_halved():
    message = "hidden_dim must be even to be shared by two directions, found 5"
    refuses(Encoder, SIZES | {"bidirectional": True}, ValueError, message)


def test_steps_that_are_not_a_positive_number():
    steps = {"source": ids(2, 7), "max_steps": 0}
    refuses(translator().translate, steps, ValueError, "max_steps must be at least 1, found 0")
