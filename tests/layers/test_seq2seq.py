"""Encoder and decoder against formulas written out for one source at a time, and against themselves by other roads."""

import functools

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
from refusals import mistakes, refusals, refuses

assert_equal = functools.partial(assert_close, rtol=0, atol=0)
assert_near = functools.partial(assert_close, rtol=1e-12, atol=1e-12)
ATTENTIONS = {"additive": lambda: AdditiveAttention(6, 6, 3), "dot": DotProductAttention, "last": LastState}
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


def test_greedy_decoding_ends_with_the_last_row_or_where_it_is_told():
    model = translator()
    lengths = torch.tensor([1, 7])
    source = torch.randint(3, 13, (2, 7))
    for bias, steps in ((1e9, 1), (-1e9, 5)):
        with torch.no_grad():
            model.decoder.output.bias[EOS] = bias
        ids, weights = model.translate(source, lengths, max_steps=5)
        assert (ids.shape, weights.shape) == ((2, steps), (2, steps, 7))


# Padding changes nothing


@attentions
@directions
def test_padding_changes_nothing_in_values_and_gradients(attention, bidirectional):
    model = translator(attention, num_layers=2, bidirectional=bidirectional)
    source, target = batch()
    other = torch.cat([source.where(padding_mask(LENGTHS, 7).squeeze(1), 12), torch.randint(13, (3, 4))], 1)
    answers = []
    for padded in (source, other):
        logits, weights = model(padded, target, LENGTHS)
        loss = cross_entropy(logits.flatten(0, 1), target.flatten())
        gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        answers.append((logits, weights[..., :7], gradients))
        assert not weights[..., 7:].any()
    assert_near(*answers)
    whole = source[:, :1], target.int()
    assert_near(model(*whole), model(*whole, torch.ones(3, dtype=torch.int32)))  # lengths that hide nothing


# Dropout


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
    before = [part.training for part in model.modules()]
    reads = []
    model.encoder.gru.register_forward_hook(lambda module, inputs, output: reads.append(output[1].requires_grad))
    assert_equal(model.translate(source, LENGTHS, max_steps=9), expected)
    assert reads == [False]  # and no graph is kept
    ids, weights = model.decoder.greedy(hidden, states, mask, max_steps=9)
    assert_equal((ids, weights), expected)
    assert not weights.requires_grad
    with pytest.raises(ValueError, match="max_steps"):
        model.translate(source, LENGTHS, max_steps=0)  # found when the encoder has already read the source
    assert [part.training for part in model.modules()] == before


def test_dropout_of_everything_leaves_the_tokens_unread_in_training_alone():
    model = translator(dropout=1.0)
    source, target = batch()
    other_source, other_target = source.flip(1), target.flip(1)
    lengths = torch.tensor([7, 7, 7])
    assert_equal(model(source, target, lengths), model(other_source, other_target, lengths))
    model.eval()
    assert (model(source, target, lengths)[0] != model(other_source, other_target, lengths)[0]).all()


# Devices


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
        (lambda: model.encoder(source.clamp(min=EOS + 1)), ids),  # without padding
        (lambda: model.encoder(source, lengths.to(DEVICE)), ids + unsort + 1),  # the lengths, by which it packs
        (lambda: model(source, target, lengths), 2 * ids + unsort),
        (lambda: model(source, target, lengths.to(DEVICE)), 2 * ids + unsort + 2),  # and for its mask
        (lambda: model.decoder(target, hidden, states), ids),
        (lambda: model.decoder.step(target[:, 0], hidden, states), ids),
        (lambda: model.decoder.greedy(hidden, states, max_steps=5), 5),  # whether all rows have their EOS
        (lambda: model.translate(source, lengths, max_steps=5), ids + unsort + 5),
    ]:
        assert reads(action, DEVICE) == count


@torch._dynamo.config.patch(allow_rnn=True)
def test_a_model_is_compiled_in_one_piece():
    """As far as PyTorch compiles it: a GRU where that is allowed, packed sequences never."""
    with torch.device("cpu"):  # it compiles for no pretended accelerator
        model, source, target = translator(), torch.randint(3, 13, (3, 7)), torch.tensor([[3, 4], [5, 6], [7, EOS]])
        hidden, states = torch.randn(1, 3, 6).double(), torch.randn(3, 7, 6).double()
        mask = padding_mask(LENGTHS.cpu(), 7)
    for function, arguments in [(model.encoder, (source,)), (model.decoder, (target, hidden, states, mask))]:
        compiled = torch.compile(function, backend="eager", fullgraph=True)
        assert_near(compiled(*arguments), function(*arguments))


# What is said of a mistake


def ids(*shape):
    return torch.full(shape, 3)


ROWS = {"source": ids(2, 7), "target": ids(2, 6), "lengths": torch.tensor([4, 7])}
WRONG_ROWS = [
    (TypeError, "source", {"source": ids(2, 7).float()}),
    (TypeError, "source", {"source": "3 March 2021"}),
    (TypeError, "target", {"target": [[3, 4]]}),
    (TypeError, "lengths", {"lengths": [4, 7]}),
    (TypeError, "lengths", {"lengths": torch.tensor([True, True])}),
    (ValueError, "source", {"source": ids(2, 0)}),
    (ValueError, "source", {"source": ids(7)}),
    (ValueError, "target", {"target": ids(2, 0)}),
    (ValueError, "lengths", {"lengths": ids(3)}),
    (ValueError, "lengths", {"lengths": torch.tensor([0, 7])}),
    (ValueError, "lengths", {"lengths": torch.tensor([3, 8])}),
    (ValueError, "hidden", {"target": ids(3, 6)}),
]
LOOKED_AT = {  # on an accelerator too
    "source must hold ids from 0 to 12, found 3 to 13": {"source": [[3, 13], [3, 4]]},
    "source must hold ids from 0 to 12, found -1 to 4": {"source": [[3, -1], [3, 4]]},
    "target must hold ids from 0 to 10, found 3 to 11": {"target": [[3, 11], [3, 4]]},
    "source has padding (id 0): lengths must be given": {"source": [[3, 4], [5, PAD]], "lengths": None},
}
DECODER = {"hidden": torch.ones(1, 2, 5), "states": torch.ones(2, 7, 5)}
WRONG_DECODER = [
    (TypeError, "hidden", {"hidden": None}),
    (TypeError, "states", {"states": None}),
    (TypeError, "attn_mask", {"attn_mask": torch.ones(2, 1, 7)}),
    (ValueError, "states", {"states": torch.ones(2, 7, 4)}),
    (ValueError, "states", {"states": torch.ones(5)}),
    (ValueError, "hidden", {"hidden": torch.ones(2, 2, 5)}),
    (ValueError, "attn_mask", {"attn_mask": torch.ones(2, 1, 6).bool()}),
]
WRONG_TOKENS = [
    (TypeError, "token", {"token": [3, 3]}),
    (ValueError, "token", {"token": ids(2, 1)}),
    (ValueError, "token", {"token": ids(0)}),
    (ValueError, "states", {"states": torch.ones(7, 5)}),
    (ValueError, "hidden", {"token": ids(3)}),
]
SIZES = {"vocab_size": 11, "hidden_dim": 5}
WRONG_SIZES = [
    (TypeError, "vocab_size", {"vocab_size": "abc"}),
    (TypeError, "num_layers", {"num_layers": 1.5}),
    (ValueError, "vocab_size", {"vocab_size": 2}),
    (ValueError, "hidden_dim", {"hidden_dim": 0}),
    (ValueError, "num_layers must be at least 1, found 0", {"num_layers": 0}),
    (ValueError, "dropout", {"dropout": 2}),
]


test_a_translator_says_what_is_wrong = refusals(translator(), ROWS, WRONG_ROWS)


@pytest.mark.parametrize(("said", "wrong"), LOOKED_AT.items())
def test_a_translator_looks_at_ids(said, wrong):
    wrong = {name: numbers and torch.tensor(numbers) for name, numbers in wrong.items()}
    refuses(translator(), ROWS | wrong, ValueError, said)


class Average(nn.Module):
    """An attention without a check: what is said is said by the decoder."""

    def forward(self, query, key, value, attn_mask=None):
        weights = torch.full((*query.shape[:-1], key.size(-2)), 1 / key.size(-2))
        return weights @ value, weights


@mistakes(WRONG_DECODER)
def test_a_decoder_says_what_is_wrong(error, said, wrong):
    decoder = Decoder(11, 5, Average())
    refuses(decoder, {"target": ids(2, 6)} | DECODER | wrong, error, said)
    refuses(decoder.step, {"token": ids(2)} | DECODER | wrong, error, said)
    refuses(decoder.greedy, {"max_steps": 3} | DECODER | wrong, error, said)


test_a_step_says_what_is_wrong = refusals(Decoder(11, 5, Average()).step, {"token": ids(2)} | DECODER, WRONG_TOKENS)


@pytest.mark.parametrize("unfit", ["additive", AdditiveAttention, MultiHeadAttention(5, 1)])
def test_an_attention_that_does_not_fit_is_named_when_the_decoder_is_made(unfit):
    refuses(Decoder, SIZES | {"attention": unfit}, TypeError, "attention")


@pytest.mark.parametrize("part", [Encoder, functools.partial(Decoder, attention=LastState())], ids=["enc", "dec"])
@mistakes(WRONG_SIZES)
def test_making_a_part_says_what_is_wrong(error, said, wrong, part):
    refuses(part, SIZES | wrong, error, said)
    assert part(vocab_size=EOS + 1, hidden_dim=1).dropout.p == 0  # the least, and without dropout


def test_parts_that_do_not_fit():
    for decoder in (Decoder(11, 5, LastState(), 2), Decoder(11, 7, LastState())):
        parts = {"encoder": Encoder(13, 5), "decoder": decoder}
        refuses(Translator, parts, ValueError, "the same number of layers and hidden_dim, found [(1, 5), ")
    refuses(Encoder, SIZES | {"bidirectional": True}, ValueError, "hidden_dim must be even")
    refuses(translator().translate, {"source": ids(2, 7), "max_steps": 0}, ValueError, "max_steps must be at least 1")
