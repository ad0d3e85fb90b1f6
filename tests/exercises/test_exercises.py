"""Every exercise of every chapter: right answers pass, wrong ones hear why, and the inputs are really random."""

import functools
import importlib
import itertools
import math
import pkgutil
import re

import nbformat
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention import exercises, masked_softmax
from attention.exercises import (
    cache,
    dictionary,
    induction,
    kernel_regression,
    masking,
    multi_head,
    positions,
    reaction,
    scaling,
    scores,
    self_attention,
    sequence_to_sequence,
    softmax,
    streaming,
    transformer,
)
from attention.exercises.exercise import STAY_WITH_TENSORS, TRIALS, Exercise
from tools.notebooks.execute import NOTEBOOKS

CHAPTERS = [
    importlib.import_module(f"attention.exercises.{found.name}") for found in pkgutil.iter_modules(exercises.__path__)
]
EXERCISES = [found for chapter in CHAPTERS for found in vars(chapter).values() if isinstance(found, Exercise)]
CORRECT = f"correct: values and gradients, on {TRIALS} random inputs and at the edges."


def tensors(arguments):
    return [argument for argument in arguments if isinstance(argument, Tensor)]


def right(exercise):
    """The specification as an answer, whose own code has nothing in it that an exercise forbids."""
    return lambda *arguments: exercise.specification(*arguments)


every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
pytestmark = pytest.mark.usefixtures("on_the_cpu")


# All exercises.


@every_exercise
def test_the_specification_is_right_whatever_the_default_device(exercise, capsys):
    before = torch.get_rng_state()
    with torch.device("meta"):
        exercise.check(right(exercise))
    assert capsys.readouterr().out.startswith(f"{exercise.name}: correct: values")
    assert torch.equal(torch.get_rng_state(), before)


def test_every_exercise_has_a_solution_in_the_book():
    cells = [cell for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells]
    hidden = [cell for cell in cells if "solution" in cell.metadata.get("tags", [])]
    solutions = [cell for cell in hidden if ".check(" in cell.source]  # the others work out an exercise on paper
    printed = ["".join(output.text for output in cell.outputs) for cell in solutions]
    expected = [f"{exercise.name}: {exercise.verdict(right(exercise))}\n" for exercise in EXERCISES]
    lone = {*printed} ^ {*expected}
    assert sorted(printed) == sorted(expected), f"exercises and the book's cells tagged solution differ in {lone}"


@every_exercise
def test_a_known_mistake_hears_its_own_hint(exercise):
    for mistake in exercise.mistakes:
        assert exercise.verdict(mistake.answer) == f"not yet. {mistake.hint}"


@every_exercise
def test_inputs_are_fresh_and_no_two_dimensions_alike(exercise):
    draws = [exercise.draw(torch.Generator().manual_seed(seed)) for seed in range(20)]
    assert len({tuple(tensor.shape for tensor in tensors(draw)) for draw in draws}) > 1
    for one, other in itertools.pairwise(draws):
        assert not any(map(torch.equal, tensors(one), tensors(other)))
    for tensor in itertools.chain(*map(tensors, draws)):
        assert len({*tensor.shape, 1}) == tensor.dim() + 1, "it would broadcast, and hide a mistake"


@every_exercise
def test_every_check_draws_random_inputs_and_all_edges(exercise):
    seen = []
    exercise.verdict(lambda *arguments: seen.append(tensors(arguments)[0]) or exercise.specification(*arguments))
    assert exercise.edges, "edges=(single(draw),) at least, where each dimension is 1"
    assert len(seen) >= TRIALS + len(exercise.edges)
    assert not any(torch.equal(one, other) for one, other in itertools.combinations(seen[:TRIALS], 2))


# What is said of a wrong answer, each made of a right one.

rms_norm = transformer.rms_norm.specification


def raising(error):
    def answer(x, weight):
        raise error

    return answer


def meddling(x, weight):
    result = rms_norm(x, weight)
    with torch.no_grad():
        x.add_(1.0)
    return result


def overwritten(x, weight):
    result = rms_norm(x, weight)
    factor = (0 * result).exp()
    product = result * factor
    factor[...] = 0.0
    return product


INPUTS = r"With arguments \(\d+, \d+\), \(\d+,\)"
STAY = re.escape(STAY_WITH_TENSORS)
NUMBER = r"-?\d+\.\d{4,6}"
SENTENCES = [
    (lambda x, w: None, "not attempted yet"),
    (lambda x, w: ..., "not attempted yet"),
    (raising(NotImplementedError()), "not attempted yet"),
    (raising(KeyError("fruit")), f"{INPUTS} it raises KeyError: 'fruit'"),
    (lambda x, w: rms_norm(x, w).tolist(), "It must return a tensor, and returns list"),
    (lambda x, w: rms_norm(x, w)[None], rf"{INPUTS} the result must have shape \(.*\), and has \(1, \d+.*\)"),
    (lambda x, w: rms_norm(x, w).long(), f"{INPUTS} the result must be of dtype torch.float32, and is of torch.int64"),
    (lambda x, w: 1.5 * rms_norm(x, w), rf"{INPUTS} it gives {NUMBER} at \[0, 0\] where {NUMBER} is right"),
    (lambda x, w: torch.from_numpy(rms_norm(x, w).numpy()), f"{INPUTS} it raises RuntimeError: .*grad.* {STAY}"),
    (lambda x, w: rms_norm(x.mul_(1.0), w), f"{INPUTS} it raises RuntimeError: .* Change nothing in place: .*"),
    (meddling, "The values are right, but it changes its input"),
    (overwritten, "The values are right, but PyTorch cannot compute .* Change nothing in place: .*"),
    (lambda x, w: rms_norm(x, w).detach(), f"The values are right, but PyTorch cannot follow .* {STAY}"),
    (lambda x, w: (rms_norm(x, w) + rms_norm(x, w).detach()) / 2, "The values are right, but not their gradients: .*"),
    (lambda x, w: rms_norm(x, w) + (0 * x).sum().sqrt(), "The values are right, but their gradients hold NaN: .*"),
]


@pytest.mark.parametrize(("answer", "sentence"), SENTENCES, ids=[sentence[-40:] for _, sentence in SENTENCES])
def test_a_wrong_answer_hears_what_is_wrong(answer, sentence):
    verdict = transformer.rms_norm.verdict(answer)
    assert re.fullmatch(rf"(not yet\. )?{sentence}\.?", verdict), verdict


def test_what_a_small_exercise_shows():
    def vector(generator):
        return (1 + torch.rand(3, generator=generator),)

    large = Exercise("large", lambda x: 1e4 * x[0] + x[1], vector)
    assert large.verdict(lambda x: 1e4 * x[0] + 1.05 * x[1]).startswith("correct")  # a sum of large terms is rounded
    assert "not their gradients" in large.verdict(lambda x: 1e4 * x[0] + 1.3 * x[1])
    assert large.verdict(lambda x: (1e4 * x[0] + x[1]).double()).startswith("correct")
    above = Exercise("above", lambda x: x > 1.5, vector)
    assert above.verdict(lambda x: ~(x <= 1.5)) == f"correct: values, on {TRIALS} random inputs."
    tenth = Exercise("tenth", lambda x: 0 * x + 0.1, vector)
    assert "it gives 0.100030 at [0] where 0.100000 is right" in tenth.verdict(lambda x: 0 * x + 0.10003)
    assert "it raises NotImplementedError" in tenth.verdict(lambda x: torch.arange(3).frac())  # PyTorch's own


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")
def test_a_constant_in_place_of_an_input_hears_how_to_stay_with_tensors():
    left_out = kernel_regression.leave_one_out.specification
    verdict = kernel_regression.leave_one_out.verdict(lambda x, y, bandwidth: left_out(x, y, bandwidth.item()))
    assert re.search(f"not their gradients.*{STAY}", verdict)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_gradients_are_compared_where_none_are_recorded(mode):
    with mode():
        assert transformer.rms_norm.verdict(right(transformer.rms_norm)) == CORRECT
        assert "cannot follow how they came about" in transformer.rms_norm.verdict(lambda x, w: rms_norm(x, w).detach())


# What each check refuses beyond its list, and in which words; and what it accepts, though it looks different.


def normalised(exponentials, dim=-1):
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def shifted(table):
    return table - table.amax(dim=-1, keepdim=True)


def plain(table):
    """A softmax as it is written, whose exponentials overflow."""
    return normalised(table.exp())


def clamped(bound):
    return lambda table: table.clamp(-bound, bound).softmax(dim=-1)


def weights_with(softmax):
    return lambda q, k: softmax(q @ k.mT / math.sqrt(q.size(-1)))


def gradient_with(softmax):
    def answer(q, k, v):
        weights = weights_with(softmax)(q, k)
        return (weights * (v - weights @ v)) @ k / math.sqrt(len(q))

    return answer


def attending_with(softmax):
    return lambda target, source, w_q, w_k, w_v: weights_with(softmax)(target @ w_q, source @ w_k) @ (source @ w_v)


def layer_with(softmax):
    def answer(tokens, in_proj_weight, out_weight, heads):
        query, key, value = (multi_head._split(tokens @ third.T, heads) for third in in_proj_weight.chunk(3))
        return multi_head._merged(weights_with(softmax)(query, key) @ value) @ out_weight.T

    return answer


def watched(changed, differs=lambda after, before: (after != before).any(dim=1)):
    """A leak test with its own change of a token (of the tokens and a place) and its own comparison of two runs."""

    def answer(model, tokens):
        before, columns = model(tokens), []
        for place in range(len(tokens)):
            one_changed = tokens.clone()
            one_changed[place] = changed(tokens, place)
            columns.append(differs(model(one_changed), before))
        return torch.stack(columns, dim=1)

    return answer


def compared(differs):
    return watched(lambda tokens, place: 0 * tokens[place], differs)


def filled(number):
    return lambda scores, mask: scores.masked_fill(~mask, number).softmax(dim=1)


def cut_off_below(bound):
    def answer(scores, mask):
        visible = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        exponentials = shifted(visible).clamp_min(-bound).exp() * mask
        return exponentials / exponentials.sum(dim=1, keepdim=True).clamp_min(1e-38)

    return answer


def left_out_with(answer_of):
    """Leave one out, by what the scores of all pairs, which of them are own, and the values come to."""

    def answer(x, y, bandwidth):
        scores = -((x[:, None] - x) ** 2) / (2 * bandwidth**2)
        return answer_of(scores, torch.eye(len(x), dtype=torch.bool), y)

    return answer


def divided(divide):
    """Chapter 9's table of kernels, divided by what is made of a row's sum."""

    def answer(query, key, kernel):
        table = kernel(query[:, None] - key)
        return table / divide(table.sum(dim=1, keepdim=True))

    return answer


def merged_with(subtracted, divisor=lambda total: torch.where(total == 0, 1.0, total)):
    """Two parts that are merged after a number of each row is subtracted from their largest scores."""

    def answer(one, other):
        shift = subtracted(one[:, :1], other[:, :1])
        sums = sum((part[:, :1] - shift).exp() * part[:, 1:] for part in (one, other))
        return sums[:, 1:] / divisor(sums[:, :1])

    return answer


def larger(one, other, low=-1e30):
    return torch.maximum(one, other).clamp(min=low)


def nucleus(is_needed):
    """Top-p by its test of a token: what all likelier ones have together, p, and the probabilities in order."""

    def answer(probabilities, p):
        ranked, order = probabilities.sort(descending=True)
        kept = ranked * is_needed(ranked.cumsum(dim=0) - ranked, p, ranked)
        return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())

    return answer


def below(likelier, p, ranked):
    return likelier < p


def rounding(places):
    return nucleus(lambda likelier, p, ranked: likelier.round(decimals=places) < p)


def tolerating(by):
    return nucleus(lambda likelier, p, ranked: likelier < p + by)


def raising_at_one(probabilities, p):
    ranked = probabilities.sort(descending=True).values
    (ranked.cumsum(dim=0) > p).nonzero()[0]  # an IndexError where the sum of all is not above p
    return nucleus(below)(probabilities, p)


def with_a_little_more(query, key, value):
    """The recurrence, with something added to each sum of weights."""
    total = (query * key.cumsum(dim=0)).sum(1, keepdim=True)
    return streaming.linear_recurrence.specification(query, key, value) * total / (total + 1e-6)


def regrouped(query, key, value):
    weights = (query @ key.T).tril()
    return weights @ value / weights.sum(dim=1, keepdim=True)


def row_by_row(query, key, value):
    return torch.stack([normalised(key[:t] @ query[t - 1]) @ value[:t] for t in range(1, len(query) + 1)])


def hears(weights_of):
    """Whether what is looked at of a scorer's weights, (L, S), differs between rows."""

    def answer(scorers, query, key):
        looked = [weights_of(scorer(query, key).softmax(dim=1)) for scorer in scorers]
        return torch.tensor([not torch.allclose(rows, rows[:1].expand_as(rows), atol=1e-5) for rows in looked])

    return answer


def alibi(far=math.inf, wrong_heads=()):
    def answer(scores):
        H, L, S = scores.shape
        distance = (torch.arange(S - L, S)[:, None] - torch.arange(S)).abs().clamp(max=far)
        slopes = 2.0 ** (-8 * torch.arange(1, H + 1) / H)[:, None, None]
        return scores - slopes * distance + 0.01 * (H in wrong_heads)

    return answer


def by_the_largest_sum(table):
    """For the edges of three columns, by trying all; else as the specification."""
    if table.size(1) != 3:
        return reaction.assign.specification(table)
    orders = itertools.permutations(range(3), len(table))
    return torch.tensor(max(orders, key=lambda order: sum(table[i, j] for i, j in enumerate(order))))


def striking(struck, change=lambda share: share):
    """Entry by entry, the largest first; what is struck out, and what becomes of the entries between neighbours."""

    def near(atom, bonds):
        return [b if a == atom else a for a, b in bonds if atom in (a, b)]

    def answer(table, row_bonds=(), column_bonds=()):
        left, columns = table.detach().clone(), torch.zeros(len(table), dtype=torch.long)
        for _ in range(len(left)):
            row, column = divmod(left.argmax().item(), left.size(1))
            columns[row] = column
            for i, j in itertools.product(near(row, row_bonds), near(column, column_bonds)):
                left[i, j] = change(left[i, j])
            left[row], left[:, column] = struck, struck
        return columns

    return answer


TEN = "Here the scores lie 10⁴ above 0"
WITH_SOFTMAX = (
    (scaling.head_weights, weights_with),
    (softmax.answer_gradient, gradient_with),
    (self_attention.cross_attention, attending_with),
)
REFUSED = [
    (dictionary.weights_at, lambda s, T: plain(s / T), "subtract the largest"),
    (dictionary.weights_at, lambda s, T: (s / max(T, 0.1)).softmax(0), "temperature is 0.02"),
    (dictionary.weights_at, lambda s, T: (s / min(T, 20)).softmax(0), "temperature is 200"),
    (dictionary.weights_at, lambda s, T: (s.clamp(-4, 4) / T).softmax(0), "temperature is 200"),
    *((dictionary.scores_from_weights, lambda w, low=low: w.clamp_min(low).log(), "floor") for low in (1e-3, 1e-20)),
    (scores.distance_scores, lambda q, k: (-0.5 * (q[:, None] - k).square().sum(2)).clamp(min=-301), "Do not clamp"),
    *((exercise, answer(how), TEN) for exercise, answer in WITH_SOFTMAX for how in (plain, clamped(200))),
    (softmax.stable_softmax, lambda s: normalised(shifted(s).clamp_min(-70).exp()), "is right"),
    (softmax.stable_softmax, lambda s: normalised((shifted(s) - 80).exp()), "tiny ones"),
    (masking.safe_softmax, lambda *given: filled(-math.inf)(*given).nan_to_num(), "a visible score is NaN"),
    (masking.safe_softmax, lambda scores, mask: filled(-1e9)(scores, mask) * mask, "Fill in −∞"),
    (masking.safe_softmax, cut_off_below(60), "cut none off"),
    (masking.leaks, watched(lambda tokens, place: -tokens[place]), "squares its tokens"),
    (masking.leaks, watched(lambda tokens, place: tokens[place] + torch.eye(tokens.size(1))[0]), "differs in all"),
    (masking.leaks, watched(lambda tokens, place: tokens[place - 1]), "differs from it"),
    (masking.leaks, watched(lambda tokens, place: tokens[place] + 1), "normalising"),
    (masking.leaks, watched(lambda tokens, place: 3 * tokens[place]), "normalising"),
    (masking.leaks, watched(lambda tokens, place: tokens[place].roll(1)), "largest component"),
    (masking.leaks, compared(lambda after, before: (after != before).all(dim=1)), "if *any*"),
    (masking.leaks, compared(lambda after, before: after.sum(dim=1) != before.sum(dim=1)), "cancel in a sum"),
    (masking.leaks, compared(lambda after, before: ~torch.isclose(after, before).all(dim=1)), "without `isclose`"),
    (multi_head.multi_head_attention, layer_with(plain), "row's largest first"),
    (positions.with_alibi, alibi(far=128), "is right"),
    *((positions.with_alibi, alibi(wrong_heads=heads), "is right") for heads in ({1}, {2}, {64})),
    (kernel_regression.kernel_weights, divided(lambda total: total.clamp(min=2e-3)), "small sum"),
    (kernel_regression.leave_one_out, left_out_with(lambda s, own, y: s.masked_fill(own, -3e4).softmax(1) @ y), "far"),
    (kernel_regression.leave_one_out, left_out_with(lambda s, own, y: normalised(s.exp() * ~own) @ y), "far from all"),
    *((sequence_to_sequence.hears_the_query, hears(lambda w, n=n: w[:, n:][:, :2]), "all keys") for n in (0, -2)),
    *((sequence_to_sequence.hears_the_query, hears(lambda w, n=n: w[[0, 1, n]]), "is right") for n in (1, -1)),
    (transformer.rms_norm, lambda x, weight: F.rms_norm(x, x.shape[1:], weight), "missing, too small"),
    (transformer.top_p, raising_at_one, "Here p is 1"),
    (transformer.top_p, nucleus(lambda likelier, p, ranked: likelier <= p), "exactly p"),
    *((transformer.top_p, rounding(n), "neither rounded") for n in (2, 4)),
    *((transformer.top_p, tolerating(n), "nor with a tolerance") for n in (1e-3, -1e-3)),
    (transformer.top_p, nucleus(lambda likelier, p, r: r >= r[likelier < p].min()), "as likely as the last"),
    (transformer.top_p, nucleus(lambda likelier, p, ranked: likelier + ranked <= max(p, ranked[0])), "one token too"),
    (streaming.merged_answer, merged_with(lambda one, other: 0.0), "left the range"),
    (streaming.merged_answer, merged_with(functools.partial(larger, low=-1e9)), "left the range"),
    (streaming.merged_answer, merged_with(lambda one, other: one.clamp(min=-1e30)), "left the range"),
    (streaming.merged_answer, merged_with(torch.maximum), "−∞ − (−∞)"),
    (streaming.merged_answer, merged_with(larger, lambda total: total), "0 / 0"),
    (streaming.merged_answer, lambda *parts: merged_with(torch.maximum)(*parts).nan_to_num(), "hold NaN"),
    *((streaming.linear_recurrence, answer, "without a table of all pairs") for answer in (regrouped, row_by_row)),
    (streaming.linear_recurrence, with_a_little_more, "add nothing"),
    (reaction.assign, by_the_largest_sum, "The largest sum is not asked for"),
    (reaction.assign, striking(-1e9), "Strike out with −∞"),
    *((reaction.assign_with_bonds, striking(-math.inf, lambda s, by=by: s * by), "is right") for by in (80, 100)),
]


@pytest.mark.parametrize(
    ("exercise", "answer", "words"), REFUSED, ids=[f"{one.name}-{words}" for one, _, words in REFUSED]
)
def test_a_check_refuses(exercise, answer, words):
    for _ in range(3):
        verdict = exercise.verdict(answer)
        assert verdict.startswith("not yet.")
        assert words in verdict


def by_covariance(q, k, v):
    weights = (k @ q / math.sqrt(len(q))).softmax(dim=0)
    return ((weights * v) @ k - (weights @ v) * (weights @ k)) / math.sqrt(len(q))


def by_the_distance(query, key, i, j):
    """Only the keys are turned, once for each query."""
    turned = positions.rotary_scores.specification
    return torch.cat([turned(row[None], key, torch.zeros(1), j - at) for row, at in zip(query, i, strict=True)])


ACCEPTED = [
    (masking.safe_softmax, lambda s, mask: masked_softmax(s, mask) if mask.any() else torch.zeros(s.shape)),
    (induction.two_heads, lambda s, back: induction._attend(s, F.pad(s, (0, 0, back, 0))[: len(s)], s)),
    *(
        (exercise, lambda w, *v, exercise=exercise: exercise.specification(normalised(w), *v))
        for exercise in (scaling.effective_keys, dictionary.scores_from_weights)
    ),
    (dictionary.scores_from_weights, lambda w: torch.cat([w[:-1], 1 - w[:-1].sum(0, keepdim=True)]).log()),
    (dictionary.scores_from_weights, lambda w: w.log() + 300),
    (dictionary.weights_at, lambda s, T: normalised(shifted(s / T).exp())),
    (scores.distance_scores, lambda q, k: -0.5 * (q[:, None] - k).norm(dim=2).square()),
    *((exercise, answer(lambda s: plain(shifted(s)))) for exercise, answer in WITH_SOFTMAX),
    *((exercise, answer(lambda s: s.log_softmax(dim=-1).exp())) for exercise, answer in WITH_SOFTMAX),
    (softmax.answer_gradient, by_covariance),
    (masking.safe_softmax, cut_off_below(math.inf)),
    *(
        (masking.leaks, watched(lambda t, i, f=f: f(t[i])))
        for f in (torch.zeros_like, torch.ones_like, torch.randn_like)
    ),
    (multi_head.contributions, lambda h, W: torch.einsum("hld,phd->hlp", h, W.unflatten(1, (len(h), -1)))),
    (positions.rotary_scores, by_the_distance),
    (kernel_regression.leave_one_out, left_out_with(lambda s, own, y: y @ s.masked_fill(own, -math.inf).softmax(0))),
    (kernel_regression.kernel_weights, divided(lambda total: total.clamp(min=1e-30))),
    (transformer.top_p, lambda probabilities, p: nucleus(below)(probabilities.flip(0), p).flip(0)),
    (streaming.merged_answer, merged_with(larger, lambda total: total + 1e-12)),
    (cache.grouped_attention, lambda *h: F.scaled_dot_product_attention(*(x[None] for x in h), enable_gqa=True)[0]),
    (reaction.assign_with_bonds, striking(-math.inf, lambda share: share * 90)),
]


@pytest.mark.parametrize(("exercise", "answer"), ACCEPTED, ids=[exercise.name for exercise, _ in ACCEPTED])
def test_a_check_accepts(exercise, answer):
    assert {exercise.verdict(answer) for _ in range(3)} == {exercise.verdict(right(exercise))}


# What an exercise forbids is found by what is used, not by what it is called.


def by_a_while_loop(weights, values):
    total, index = 0 * values[0], 0
    while index < len(weights):
        total = total + weights[index] * values[index]
        index += 1
    return total


def multiplied(weights, values):
    return weights @ values


def rows_added(rows):
    return rows.sum(dim=0)


def dot(weights, values):
    map = weights[:, None] * values
    return rows_added(map)


product = Exercise(
    "product",
    lambda weights, values: sum(weight * row for weight, row in zip(weights, values, strict=True)),
    lambda generator: (torch.rand(3, generator=generator), torch.rand(3, 5, generator=generator)),
    without=("a loop or comprehension", "a matrix product"),
)
same_product = torch.mv
FORBIDDEN = [
    (product, lambda w, v: torch.stack([a * b for a, b in zip(w, v, strict=True)]).sum(0)),
    (product, by_a_while_loop),
    (product, lambda w, v: functools.reduce(torch.add, (w[:, None] * v).unbind())),
    (product, lambda w, v: multiplied(w, v)),
    (product, torch.matmul),
    (product, lambda w, v: torch.einsum("s,sd->d", w, v)),
    (product, lambda w, v: same_product(v.T, w)),
    (dictionary.weights_at, lambda s, T: masked_softmax(s / T)),
    (dictionary.weights_at, lambda s, T: (s / T).softmax(0)),
    (scaling.effective_keys, lambda w: torch.special.entr(w).sum(dim=1).exp()),
    (
        softmax.answer_gradient,
        lambda q, k, v: torch.autograd.grad((k @ q / len(q) ** 0.5).softmax(0) @ v, q, create_graph=True)[0],
    ),
]


@pytest.mark.parametrize(("exercise", "answer"), FORBIDDEN)
def test_what_an_exercise_forbids_is_told(exercise, answer):
    assert "The values are right. Now find them without" in exercise.verdict(answer)


def test_what_a_reader_calls_a_variable_or_a_helper_does_not_matter():
    assert product.verdict(lambda weights, values: dot(weights, values)).startswith("correct")
