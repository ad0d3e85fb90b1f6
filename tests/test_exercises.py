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
from tools.notebooks import NOTEBOOKS
from torch import Tensor

from attention import exercises, masked_softmax
from attention.exercises import (
    dictionary,
    efficient,
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
    transformer,
)
from attention.exercises.exercise import STAY_WITH_TENSORS, TRIALS, Exercise

CHAPTERS = [
    importlib.import_module(f"attention.exercises.{found.name}") for found in pkgutil.iter_modules(exercises.__path__)
]
EXERCISES = [found for chapter in CHAPTERS for found in vars(chapter).values() if isinstance(found, Exercise)]
CORRECT = f"correct: values and gradients, on {TRIALS} random inputs and at the edges."
CORRECT_VALUES = f"correct: values, on {TRIALS} random inputs and at the edges."


def differentiable(exercise):
    """Whether the result of an exercise has a gradient; a mask has none."""
    with torch.device("cpu"):
        arguments = exercise.draw(torch.Generator())
        for tensor in tensors(arguments):
            tensor.requires_grad_(tensor.is_floating_point())
        return exercise.specification(*arguments).requires_grad


def correct(exercise):
    return CORRECT if differentiable(exercise) else CORRECT_VALUES


def slowly(exercise):
    """The specification as an answer whose own code has no loop in it, nor anything else that an exercise forbids."""
    return lambda *arguments: exercise.specification(*arguments)


def tensors(arguments):
    return [argument for argument in arguments if isinstance(argument, Tensor)]


every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
every_differentiable_exercise = pytest.mark.parametrize(
    "exercise", [*filter(differentiable, EXERCISES)], ids=lambda exercise: exercise.name
)


pytestmark = pytest.mark.usefixtures("on_the_cpu")


# Right answers.


@every_exercise
def test_the_specification_is_right(exercise, capsys):
    exercise.check(slowly(exercise))
    assert capsys.readouterr().out == f"{exercise.name}: {correct(exercise)}\n"


@every_exercise
def test_a_check_does_not_depend_on_the_default_device(exercise, capsys):
    with torch.device("meta"):
        exercise.check(slowly(exercise))
    assert capsys.readouterr().out == f"{exercise.name}: {correct(exercise)}\n"


@every_differentiable_exercise
def test_an_answer_in_float64_is_right(exercise):
    assert exercise.verdict(lambda *arguments: exercise.specification(*arguments).double()) == CORRECT


def test_a_gradient_may_be_off_by_a_millionth_of_its_largest_entry():
    large = Exercise("large", lambda x: 1e4 * x[0] + x[1], lambda generator: (1 + torch.rand(2, generator=generator),))
    assert large.verdict(lambda x: 1e4 * x[0] + 1.005 * x[1]).startswith("correct")
    assert "not their gradients" in large.verdict(lambda x: 1e4 * x[0] + 1.03 * x[1])


def test_a_result_may_be_boolean():
    positive = Exercise("positive", lambda x: x > 0, lambda generator: (torch.randn(3, generator=generator),))
    assert positive.verdict(lambda x: ~(x <= 0)) == f"correct: values, on {TRIALS} random inputs."
    assert positive.verdict(lambda x: x < 0).startswith("not yet. With arguments (3,) it gives")


OF_WEIGHTS = [scaling.effective_keys, scaling.score_spread, dictionary.scores_from_weights, dictionary.soft_lookup]


@pytest.mark.parametrize("exercise", OF_WEIGHTS, ids=lambda exercise: exercise.name)
def test_weights_may_be_normalised_again(exercise):
    specification = exercise.specification
    assert exercise.verdict(lambda w, *v: specification(w / w.sum(dim=-1, keepdim=True), *v)) == CORRECT
    assert "not their gradients" in exercise.verdict(lambda w, *v: half_detached(specification)(w, *v))


def test_the_last_weight_may_be_written_as_what_the_others_leave():
    def answer(weights):
        others = weights[:-1]
        return torch.cat([others, 1 - others.sum(dim=0, keepdim=True)]).log()

    assert dictionary.scores_from_weights.verdict(answer) == CORRECT


def test_a_difference_in_the_fifth_digit_is_shown():
    one = Exercise("one", lambda x: 0 * x + 0.1, lambda generator: (torch.randn(3, generator=generator),))
    assert "it gives 0.100030 at [0] where 0.100000 is right" in one.verdict(lambda x: 0 * x + 0.10003)


def test_decoding_may_stop_when_every_row_has_ended_if_zeros_follow():
    def stops(step, state, max_steps):
        token, is_done = torch.ones(len(state), dtype=torch.long), torch.zeros(len(state), dtype=torch.bool)
        ids = torch.zeros(len(state), max_steps, dtype=torch.long)
        for column in ids.T:
            logits, state = step(token, state)
            token = logits.argmax(dim=1).masked_fill(is_done, 0)
            is_done = is_done | (token == 2)
            column.copy_(token)
            if is_done.all():
                break
        return ids

    assert sequence_to_sequence.greedy.verdict(stops) == CORRECT_VALUES


def test_every_exercise_has_a_solution_in_the_book():
    cells = [cell for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells]
    hidden = [cell for cell in cells if "solution" in cell.metadata.get("tags", [])]
    solutions = [cell for cell in hidden if ".check(" in cell.source]  # the others work out an exercise on paper
    printed = ["".join(output.text for output in cell.outputs) for cell in solutions]
    assert sorted(printed) == sorted(f"{exercise.name}: {correct(exercise)}\n" for exercise in EXERCISES)


# Wrong answers, each made from the specification.


def unsolved(specification):
    def answer(*arguments): ...

    return answer


def dots(specification):
    return lambda *arguments: ...


def not_implemented(specification):
    def answer(*arguments):
        raise NotImplementedError

    return answer


def raising(specification):
    def answer(*arguments):
        raise KeyError("fruit")

    return answer


def through_numpy(specification):
    return lambda *arguments: specification(*(torch.from_numpy(tensor.numpy()) for tensor in tensors(arguments)))


def a_list(specification):
    return lambda *arguments: specification(*arguments).tolist()


def one_dimension_more(specification):
    return lambda *arguments: specification(*arguments)[None]


def integers(specification):
    return lambda *arguments: specification(*arguments).long()


def larger(specification):
    return lambda *arguments: 1.5 * specification(*arguments)


def meddling(specification):
    def answer(*arguments):
        result = specification(*arguments)
        with torch.no_grad():
            tensors(arguments)[0].add_(1.0)
        return result

    return answer


def detached(specification):
    return lambda *arguments: specification(*arguments).detach()


def nan_on_the_way(specification):
    return lambda *arguments: specification(*arguments) + 0 * (0 * tensors(arguments)[0].nan_to_num()).sum().sqrt()


def overwritten(specification):
    def answer(*arguments):
        result = specification(*arguments)
        factor = (0 * result).exp()
        product = result * factor
        factor[...] = 0.0
        return product

    return answer


def meddling_with_gradients(specification):
    def answer(*arguments):
        tensors(arguments)[0].mul_(1.0)
        return specification(*arguments)

    return answer


def half_detached(specification):
    return lambda *arguments: (specification(*arguments) + specification(*arguments).detach()) / 2


INPUTS = r"With arguments (model, |step, |\[[a-z, ]+\], )?\(\d+,.*"
STAY = re.escape(STAY_WITH_TENSORS)
NUMBER = r"-?\d+\.\d{4,6}(e-\d+)?"
SENTENCES = {
    unsolved: "not attempted yet\\.",
    dots: "not attempted yet\\.",
    not_implemented: "not attempted yet\\.",
    raising: f"not yet\\. {INPUTS} it raises KeyError: 'fruit'",
    a_list: "not yet\\. It must return a tensor, and returns list\\.",
    one_dimension_more: f"not yet\\. {INPUTS} the result must have shape \\(\\d+,.*\\), and has \\(1, \\d+.*\\)\\.",
}
SENTENCES_ON_GRADIENTS = {
    through_numpy: f"not yet\\. {INPUTS} it raises RuntimeError: .*requires grad.* {STAY}",
    integers: f"not yet\\. {INPUTS} the result must be of dtype torch.float\\d+, and is of torch.int64\\.",
    larger: f"not yet\\. {INPUTS} it gives {NUMBER} at \\[.*\\] where {NUMBER} is right\\.",
    meddling: "not yet\\. The values are right, but it changes its input\\.",
    overwritten: "not yet\\. The values are right, but PyTorch cannot compute .* Change nothing in place: .*\\.",
    meddling_with_gradients: f"not yet\\. {INPUTS} it raises RuntimeError: .* Change nothing in place: .*\\.",
    detached: f"not yet\\. The values are right, but PyTorch cannot follow how they came about\\. {STAY}",
    half_detached: "not yet\\. The values are right, but not their gradients: .*\\.",
    nan_on_the_way: "not yet\\. The values are right, but their gradients hold NaN: .*\\.",
}


@every_exercise
def test_a_wrong_answer_hears_what_is_wrong(exercise):
    for spoil, sentence in SENTENCES.items():
        assert re.fullmatch(sentence, exercise.verdict(spoil(exercise.specification))), spoil.__name__


@every_differentiable_exercise
def test_an_answer_without_its_gradient_hears_what_is_wrong(exercise):
    for spoil, sentence in SENTENCES_ON_GRADIENTS.items():
        assert re.fullmatch(sentence, exercise.verdict(spoil(exercise.specification))), spoil.__name__


@every_exercise
def test_a_known_mistake_hears_its_own_hint(exercise):
    for mistake in exercise.mistakes:
        assert {exercise.verdict(mistake.answer) for _ in range(3)} == {f"not yet. {mistake.hint}"}


# Answers that readers are known to give.


OF_THE_VISIBLE = {
    "smallest": lambda scores: scores.masked_fill(scores.isinf(), math.inf).amin(dim=1, keepdim=True),
    "median": lambda scores: scores.masked_fill(scores.isinf(), math.nan).nanmedian(dim=1, keepdim=True).values,
    "mean": lambda scores: scores.masked_fill(scores.isinf(), math.nan).nanmean(dim=1, keepdim=True),
}


@pytest.mark.parametrize("again", range(5))
@pytest.mark.parametrize("shift", OF_THE_VISIBLE.values(), ids=OF_THE_VISIBLE)
def test_only_the_largest_score_makes_a_softmax_safe(shift, again):
    verdict = softmax.stable_softmax.verdict(lambda scores: plain_softmax(scores - shift(scores).detach()))
    assert "Subtract the row's largest score." in verdict


def plain_softmax(scores):
    return scores.exp() / scores.exp().sum(dim=1, keepdim=True)


def watched(changed, differs):
    """A leak test with its own change of a token and its own comparison of two runs, (L, E) each."""

    def answer(model, tokens):
        before, columns = model(tokens), []
        for place in range(len(tokens)):
            one_changed = tokens.clone()
            one_changed[place] = changed(tokens[place])
            columns.append(differs(model(one_changed), before))
        return torch.stack(columns, dim=1)

    return answer


def any_component(after, before):
    return (after != before).any(dim=1)


@pytest.mark.parametrize("changed", [torch.zeros_like, torch.ones_like, torch.neg, torch.randn_like])
def test_a_leak_test_may_put_in_any_other_token(changed):
    for _ in range(3):
        assert masking.leaks.verdict(watched(changed, any_component)) == CORRECT_VALUES


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        (torch.zeros_like, lambda after, before: (after != before).all(dim=1)),
        (torch.zeros_like, lambda after, before: (after != before)[:, 0]),
        (torch.zeros_like, lambda after, before: (after - before).abs().amax(dim=1) > 1e-4),
        (lambda token: token + 1, any_component),
        (lambda token: token + 10, any_component),
        (lambda token: 3 * token, any_component),
        (torch.zeros_like, lambda after, before: ~torch.isclose(after, before).all(dim=1)),
        (torch.zeros_like, lambda after, before: (after - before).abs().amax(dim=1) > 1e-9),
    ],
    ids=["all components", "the first component", "a tolerance", "+ 1", "+ 10", "times 3", "isclose", "faint"],
)
def test_a_leak_test_that_misses_leaks_is_refused(changed, differs):
    for _ in range(3):
        assert masking.leaks.verdict(watched(changed, differs)).startswith("not yet.")


def hidden_and_zeroed(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(dim=1).nan_to_num()


def added_and_zeroed(scores, mask):
    return (scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)).softmax(dim=1).nan_to_num()


def test_a_nan_behind_masked_fill_harms_no_gradient_and_one_behind_a_sum_does():
    assert masking.safe_softmax.verdict(hidden_and_zeroed) == CORRECT
    assert "their gradients hold NaN" in masking.safe_softmax.verdict(added_and_zeroed)


@pytest.mark.parametrize("again", range(5))
def test_a_row_of_kernels_is_divided_by_its_sum_and_nothing_else(again):
    def answer(divide):
        return lambda query, key, kernel: divide(kernel(query[:, None] - key))

    def total(table):
        return table.sum(dim=1, keepdim=True)

    verdict = kernel_regression.kernel_weights.verdict
    assert verdict(answer(lambda table: table / total(table).clamp(min=1e-30))) == CORRECT_VALUES
    assert verdict(answer(lambda table: table / (total(table) + (total(table) == 0)))) == CORRECT_VALUES
    assert "small sum, above 0" in verdict(answer(lambda table: table / total(table).maximum(torch.tensor(1.0))))
    assert verdict(answer(lambda table: table / (total(table) + 1e-5))).startswith("not yet.")
    assert verdict(answer(lambda table: (table / total(table)).nan_to_num(0))) == CORRECT_VALUES
    assert verdict(answer(lambda table: table.log().softmax(dim=1).nan_to_num(0))) == CORRECT_VALUES


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")
def test_a_constant_in_place_of_an_input_hears_how_to_stay_with_tensors():
    def answer(frequency, share):
        return math.sqrt(-2 * math.log(share)) / frequency

    assert kernel_regression.widest_bandwidth.verdict(answer) == (
        "not yet. The values are right, but not their gradients: some step is left out, or made constant. "
        + STAY_WITH_TENSORS
    )


# What the edges of a check refuse, each time, and with which words; and what they accept.


def normalised(exponentials):
    return exponentials / exponentials.sum(dim=1, keepdim=True)


def shifted(scores):
    return scores - scores.amax(dim=1, keepdim=True)


def weights_with(temperature_as):
    return lambda scores, temperature: normalised((scores / temperature_as(temperature)).exp()[None])[0]


def on_a_line(temperature_as):
    def answer(queries, keys, values, temperature):
        return (-((queries[:, None] - keys) ** 2) / temperature_as(temperature)).softmax(1) @ values

    return answer


def without_own(is_own):
    def answer(x, y, bandwidth):
        scores = -((x[:, None] - x) ** 2) / (2 * bandwidth**2)
        return scores.masked_fill(is_own(scores), -math.inf).softmax(1) @ y

    return answer


def up_to(lengths_as, scores, lengths, value):
    exists = torch.arange(scores.size(2)) < lengths_as(lengths, scores.size(2))[:, None, None]
    return scores.masked_fill(~exists, -math.inf).softmax(2) @ value


def hidden_by(context_weights):
    def answer(scores, lengths, value):
        return context_weights(scores, torch.arange(scores.size(2)) < lengths[:, None, None]) @ value

    return answer


def split(tensor, heads):
    return tensor.unflatten(-1, (heads, -1)).transpose(1, 2)


def layer_with(softmax):
    def answer(tokens, in_proj_weight, out_weight, heads):
        query, key, value = (split(part, heads) for part in (tokens @ in_proj_weight.T).chunk(3, dim=-1))
        found = softmax(query @ key.mT / math.sqrt(query.size(-1))) @ value
        return found.transpose(1, 2).flatten(2) @ out_weight.T

    return answer


def alibi_wrong_for(heads):
    def answer(scores):
        right = positions.with_alibi.specification(scores)
        return right + 0.01 if len(scores) in heads else right

    return answer


def alibi_up_to(far):
    def answer(scores):
        H, L, S = scores.shape
        distance = (torch.arange(S - L, S)[:, None] - torch.arange(S)).abs().clamp(max=far)
        return scores - 2.0 ** (-8 * torch.arange(1, H + 1) / H)[:, None, None] * distance

    return answer


def waves_but_for_whole_numbers(places, dim):
    return positions.sinusoids.specification(torch.where(places == places.round(), places + 0.5, places), dim)


def by_the_distance(query, key, i, j):
    """Only the keys are turned, once for each query."""
    none = torch.zeros(1)
    rows = [
        positions.rotary_scores.specification(row[None], key, none, j - at) for row, at in zip(query, i, strict=True)
    ]
    return torch.cat(rows)


def writing_until(ends):
    def answer(step, state, max_steps):
        token, is_done = torch.ones(len(state), dtype=torch.long), torch.zeros(len(state), dtype=torch.bool)
        ids = []
        for _ in range(max_steps):
            logits, state = step(token, state)
            token = logits.argmax(dim=1).masked_fill(is_done, 0)
            is_done = is_done | torch.isin(token, torch.tensor(ends))
            ids.append(token)
        return torch.stack(ids, dim=1)

    return answer


def left_out_with(answer_of):
    """Leave one out, by what the scores of all pairs and the values come to."""
    return lambda x, y, bandwidth: answer_of(-((x[:, None] - x) ** 2) / (2 * bandwidth**2), y)


def own(scores):
    return torch.eye(len(scores), dtype=torch.bool)


def by_a_quotient(scores, y):
    kernel = scores.exp() * ~own(scores)
    return kernel @ y / kernel.sum(1)


def hears_two_queries(scorers, query, key, second=1):
    weights = [scorer(query, key).softmax(dim=1) for scorer in scorers]
    return torch.tensor([not torch.allclose(found[0], found[second], atol=1e-5) for found in weights])


def nucleus(is_needed):
    """Top-p by its test of a token: what all likelier ones have together, p, and the probabilities in order."""

    def answer(probabilities, p):
        ranked, order = probabilities.sort(descending=True)
        kept = ranked * is_needed(ranked.cumsum(dim=0) - ranked, p, ranked)
        return torch.zeros_like(kept).scatter(0, order, kept / kept.sum())

    return answer


def filled(number, zeroed=True):
    def answer(scores, mask):
        weights = scores.masked_fill(~mask, number).softmax(dim=1)
        return weights * mask if zeroed else weights

    return answer


def thirteen_below(scores, mask):
    highest = scores.masked_fill(~mask, -1e38).amax(dim=1, keepdim=True)
    return torch.where(mask, scores, highest - 13).softmax(dim=1) * mask.any(dim=1, keepdim=True)


def naive(scores):
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def by_the_largest(scores):
    return naive(scores - scores.amax(dim=-1, keepdim=True))


def clamped(bound):
    return lambda scores: scores.clamp(-bound, bound).softmax(dim=-1)


def heads_with(softmax):
    return lambda query, key: softmax(query @ key.mT / math.sqrt(query.size(2)))


def attending_with(softmax):
    """Self-attention and cross-attention."""

    def answer(target, *source_and_maps):
        *sources, w_q, w_k, w_v = source_and_maps
        source = sources[0] if sources else target
        return softmax((target @ w_q) @ (source @ w_k).T / math.sqrt(w_q.size(1))) @ (source @ w_v)

    return answer


def gradient_with(softmax):
    def answer(query, key, value):
        weights = softmax(key @ query / math.sqrt(len(query)))
        return (weights * (value - weights @ value)) @ key / math.sqrt(len(query))

    return answer


def cut_off_below(bound):
    def answer(scores, mask):
        visible = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        exponentials = shifted(visible).clamp_min(-bound).exp() * mask
        return exponentials / exponentials.sum(dim=1, keepdim=True).clamp_min(1e-38)

    return answer


def changed_by_more_than(tolerance):
    return watched(torch.zeros_like, lambda after, before: (after - before).abs().amax(dim=1) > tolerance)


def by_jacobian(weights):
    return weights.diag() - weights.outer(weights)


def by_covariance(query, key, value):
    weights = (key @ query / math.sqrt(len(query))).softmax(dim=0)
    return ((weights * value) @ key - (weights @ value) * (weights @ key)) / math.sqrt(len(query))


def merged_with(subtracted, divisor=lambda total: torch.where(total == 0, 1.0, total)):
    """Two parts that are merged after a number of each row is subtracted from their largest scores."""

    def answer(one, other):
        shift = subtracted(one[:, :1], other[:, :1])
        sums = sum((part[:, :1] - shift).exp() * part[:, 1:] for part in (one, other))
        return sums[:, 1:] / divisor(sums[:, :1])

    return answer


def step_with(kept_first=True, diagonal=lambda kept: kept):
    def answer(query, key, value, kept_key, kept_value):
        parts = [(kept_key, kept_value), (key, value)] if kept_first else [(key, value), (kept_key, kept_value)]
        keys, values = (torch.cat(each, dim=1) for each in zip(*parts, strict=True))
        mask = torch.ones(key.size(1), keys.size(1)).tril(diagonal(kept_key.size(1))).bool()
        return torch.nn.functional.scaled_dot_product_attention(query, keys, values, mask)

    return answer


def larger(one, other):
    return torch.maximum(one, other).clamp(min=-1e30)


def by_the_largest_sum(table):
    """A map whose shares are more in all: two rows exchange their columns as long as that pays."""
    rows, columns = table.shape
    found = reaction.assign.specification(table).tolist() + [None] * (columns - rows)
    found[rows:] = sorted({*range(columns)} - {*found[:rows]})
    table = torch.cat([table.detach(), torch.zeros(columns - rows, columns)])
    changed = True
    while changed:
        changed = False
        for i, j in itertools.combinations(range(columns), 2):
            now, other = table[i, found[i]] + table[j, found[j]], table[i, found[j]] + table[j, found[i]]
            if other > now + 1e-6:
                found[i], found[j], changed = found[j], found[i], True
    return torch.tensor(found[:rows])


def in_sorted_order(table):
    columns = torch.full((len(table),), -1)
    for place in table.flatten().argsort(descending=True).tolist():
        row, column = divmod(place, table.size(1))
        if columns[row] < 0 and column not in columns.tolist():
            columns[row] = column
    return columns


def with_bonds(change):
    def near(atom, bonds):
        return [b if a == atom else a for a, b in bonds if atom in (a, b)]

    def answer(table, row_bonds, column_bonds):
        left, columns = table.detach().clone(), torch.zeros(len(table), dtype=torch.long)
        for _ in range(len(left)):
            row, column = divmod(left.argmax().item(), left.size(1))
            columns[row] = column
            for i, j in itertools.product(near(row, row_bonds), near(column, column_bonds)):
                left[i, j] = change(left[i, j])
            left[row], left[:, column] = -math.inf, -math.inf
        return columns

    return answer


REFUSED = {
    "the largest sum": (reaction.assign, by_the_largest_sum, "is right"),
    **{
        f"a share times {times}": (
            reaction.assign_with_bonds,
            with_bonds(lambda share, times=times: share * times),
            "is right",
        )
        for times in (80, 100)
    },
    "a share and 90": (reaction.assign_with_bonds, with_bonds(lambda share: share + 90), "You add 90"),
    "parts without a largest score": (efficient.merged_answer, merged_with(lambda one, other: 0.0), "left the range"),
    "parts with one's largest score": (
        efficient.merged_answer,
        merged_with(lambda one, other: one.clamp(min=-1e30)),
        "left the range",
    ),
    "blind parts": (efficient.merged_answer, merged_with(torch.maximum), "−∞ − (−∞)"),
    "blind parts' total": (efficient.merged_answer, merged_with(larger, lambda total: total), "0 / 0"),
    "blind parts, hidden": (
        efficient.merged_answer,
        lambda *parts: merged_with(torch.maximum)(*parts).nan_to_num(),
        "gradients hold NaN",
    ),
    "the top left": (efficient.cached_step, step_with(diagonal=lambda kept: 0), "aligned at the top left"),
    "the new in front": (efficient.cached_step, step_with(kept_first=False), "it gives"),
    "heads in turns": (
        efficient.grouped_attention,
        lambda query, key, value: torch.nn.functional.scaled_dot_product_attention(
            query, *(each.repeat(len(query) // len(key), 1, 1) for each in (key, value))
        ),
        "repeat_interleave",
    ),
    "differences cut off": (softmax.stable_softmax, lambda s: normalised(shifted(s).clamp_min(-12).exp()), "tiny ones"),
    "an addend below": (
        softmax.stable_softmax,
        lambda s: shifted(s).exp() / (shifted(s).exp().sum(dim=1, keepdim=True) + 5e-5),
        "do not quite sum to 1",
    ),
    "80 too low": (softmax.stable_softmax, lambda s: normalised((shifted(s) - 80).exp()), "tiny ones"),
    "NaN": (softmax.stable_softmax, lambda s: s * math.nan, "it gives nan at"),
    "hidden 13 below": (masking.safe_softmax, thirteen_below, "A key that is hidden has a weight above 0"),
    "hidden by -3e6": (masking.safe_softmax, filled(-3e6), "Some row is all 0"),
    "hidden by -3e6 alone": (masking.safe_softmax, filled(-3e6, zeroed=False), "has a weight above 0"),
    "hidden by -1e9": (masking.safe_softmax, filled(-1e9), "Some row is all 0"),
    "-1e4 added": (masking.additive, lambda mask: torch.where(mask, 0.0, -1e4), "Use −∞"),
    "the diagonal forced": (
        masking.leaks,
        lambda *arguments: watched(torch.zeros_like, any_component)(*arguments) | torch.eye(len(arguments[1])).bool(),
        "for granted",
    ),
    "isclose": (
        masking.leaks,
        watched(torch.zeros_like, lambda after, before: ~torch.isclose(after, before).all(dim=1)),
        "without `isclose`",
    ),
    "a tolerance": (
        masking.leaks,
        watched(torch.zeros_like, lambda after, before: (after - before).abs().amax(dim=1) > 1e-6),
        "without a tolerance",
    ),
    "a length of 0 as 1": (
        masking.padding,
        lambda lengths, S: torch.arange(S) < lengths.clamp(min=1)[:, None, None],
        "A length of 0",
    ),
    "a full row one short": (
        masking.padding,
        lambda lengths, S: torch.arange(S) < lengths.clamp(max=S - 1)[:, None, None],
        "the last key",
    ),
    "a clamped temperature": (dictionary.weights_at, weights_with(lambda T: min(max(T, 0.4), 0.7)), "is right"),
    "a temperature from 0.1": (dictionary.weights_at, weights_with(lambda T: max(T, 0.1)), "temperature is 0.02"),
    "a temperature up to 20": (dictionary.weights_at, weights_with(lambda T: min(T, 20)), "temperature is 200"),
    "scores up to 4": (
        dictionary.weights_at,
        lambda s, T: (s.clamp(-4, 4) / T).exp() / (s.clamp(-4, 4) / T).exp().sum(),
        "temperature is 200",
    ),
    "a temperature from 0.1, on a line": (
        dictionary.lookup_on_a_line,
        on_a_line(lambda T: max(T, 0.1)),
        "temperature is 0.02",
    ),
    "a temperature up to 20, on a line": (
        dictionary.lookup_on_a_line,
        on_a_line(lambda T: min(T, 20)),
        "temperature is 200",
    ),
    **{
        f"weights from {low}": (
            dictionary.scores_from_weights,
            lambda weights, low=low: weights.clamp_min(low).log(),
            "floor",
        )
        for low in (1e-3, 1e-6, 1e-12, 1e-20)
    },
    **{
        f"differences down to -{low}": (
            softmax.stable_softmax,
            lambda s, low=low: normalised(shifted(s).clamp_min(-low).exp()),
            "tiny ones",
        )
        for low in (70, 80, 87)
    },
    **{
        f"visible scores down to -{low}": (masking.safe_softmax, cut_off_below(low), "cut off the scores of visible")
        for low in (30, 45, 60)
    },
    **{
        # scores above 15 are drawn now and then at random too, and are then refused by their numbers, before any edge
        f"{what}, chapter {chapter}, {exercise.name}": (
            exercise,
            answer(wrong),
            "not yet." if what == "scores up to 15" else "Here the scores lie 10⁴ above 0",
        )
        for chapter, exercise, answer in (
            (3, scaling.head_weights, heads_with),
            (4, softmax.answer_gradient, gradient_with),
            (6, self_attention.self_attention, attending_with),
            (6, self_attention.cross_attention, attending_with),
        )
        for what, wrong in {
            "scores up to 15": clamped(15),
            "scores up to 200": clamped(200),
            "plain exponentials": naive,
        }.items()
    },
    "changes that cancel": (
        masking.leaks,
        watched(torch.zeros_like, lambda after, before: after.sum(dim=1) != before.sum(dim=1)),
        "You compare sums",
    ),
    **{
        f"changes above {tolerance}": (masking.leaks, changed_by_more_than(tolerance), "without a tolerance")
        for tolerance in (1e-13, 1e-15)
    },
    "a clamped temperature, on a line": (
        dictionary.lookup_on_a_line,
        on_a_line(lambda T: min(max(T, 0.4), 0.7)),
        "is right",
    ),
    **{
        f"a floor under weights, {low}": (
            scaling.score_spread,
            lambda w, low=low: w.clamp_min(low).log().std(dim=1),
            "floor",
        )
        for low in (1e-4, 1e-9, 1e-20)
    },
    **{
        f"scores up to {high}": (scores.scores, lambda q, k, high=high: (q @ k.T).clamp(-high, high), "Do not clamp")
        for high in (50, 301)
    },
    **{
        f"distances up to {high}": (
            scores.distance_scores,
            lambda q, k, high=high: (-0.5 * (q[:, None] - k).square().sum(2)).clamp(-high, high),
            "Do not clamp",
        )
        for high in (50, 301)
    },
    "a share above 0.6": (
        kernel_regression.widest_bandwidth,
        lambda frequency, share: torch.sqrt(-2 * torch.log(share.clamp(max=0.6))) / frequency,
        "is right",
    ),
    "a full row": (
        sequence_to_sequence.context,
        lambda *arguments: up_to(lambda lengths, S: lengths.clamp(max=S - 1), *arguments),
        "is right",
    ),
    "a softmax over the steps": (
        sequence_to_sequence.context,
        hidden_by(lambda s, exists: s.masked_fill(~exists, -math.inf).softmax(1)),
        "over the steps",
    ),
    "0 times infinity": (
        sequence_to_sequence.context,
        hidden_by(lambda s, exists: (s + ~exists * -math.inf).softmax(2)),
        "0 times −∞",
    ),
    "plus infinity": (
        sequence_to_sequence.context,
        hidden_by(lambda s, exists: s.masked_fill(~exists, math.inf).softmax(2)),
        "A score of +∞",
    ),
    **{
        f"{what}, context": (sequence_to_sequence.context, hidden_by(wrong), "Here the scores lie 10⁴ above 0")
        for what, wrong in {
            "hidden by -50": lambda s, exists: s.masked_fill(~exists, -50).softmax(2),
            "hidden by -10⁴": lambda s, exists: s.masked_fill(~exists, -1e4).softmax(2),
            "scores up to 15": lambda s, exists: s.clamp(-15, 15).masked_fill(~exists, -math.inf).softmax(2),
            "plain exponentials": lambda s, exists: (s.exp() * exists) / (s.exp() * exists).sum(2, keepdim=True),
        }.items()
    },
    **{
        f"{what}, leave one out": (kernel_regression.leave_one_out, left_out_with(wrong), "one point lies far")
        for what, wrong in {
            "hidden by -100": lambda s, y: s.masked_fill(own(s), -100).softmax(1) @ y,
            "scores from -80": lambda s, y: s.clamp(min=-80).masked_fill(own(s), -math.inf).softmax(1) @ y,
            "a quotient of kernels": by_a_quotient,
        }.items()
    },
    "scores of 0": (kernel_regression.leave_one_out, without_own(lambda s: s == 0), "at the same place"),
    "a floor under sums": (
        kernel_regression.kernel_weights,
        lambda q, k, kernel: kernel(q[:, None] - k) / kernel(q[:, None] - k).sum(1, keepdim=True).clamp(min=0.05),
        "small sum",
    ),
    "more at exactly p": (transformer.top_p, nucleus(lambda likelier, p, _: likelier <= p), "exactly p"),
    "rounded to two places": (
        transformer.top_p,
        nucleus(lambda likelier, p, _: likelier.round(decimals=2) < p),
        "neither rounded",
    ),
    "rounded to four places": (
        transformer.top_p,
        nucleus(lambda likelier, p, _: likelier.round(decimals=4) < p),
        "neither rounded",
    ),
    "ties": (
        transformer.top_p,
        nucleus(lambda likelier, p, ranked: ranked >= ranked[likelier < p].min()),
        "as likely as the last",
    ),
    "an end at a written 0": (sequence_to_sequence.greedy, writing_until((0, 2)), "You take a 0 for an end"),
    "names": (
        sequence_to_sequence.hears_the_query,
        lambda scorers, query, key: torch.tensor([f.__name__ in ("inside", "outside", "product") for f in scorers]),
        "is right",
    ),
    "two queries": (sequence_to_sequence.hears_the_query, hears_two_queries, "is right"),
    "the first and the last query": (
        sequence_to_sequence.hears_the_query,
        functools.partial(hears_two_queries, second=-1),
        "is right",
    ),
    "one head": (positions.with_alibi, alibi_wrong_for({1}), "is right"),
    "two heads": (positions.with_alibi, alibi_wrong_for({2}), "is right"),
    "many heads": (positions.with_alibi, alibi_wrong_for({64, 128}), "is right"),
    **{f"distances up to {far}, added": (positions.with_alibi, alibi_up_to(far), "is right") for far in (8, 16, 128)},
    "whole numbers": (positions.sinusoids, waves_but_for_whole_numbers, "is right"),
    "a squeezed split": (multi_head.split_heads, lambda *arguments: split(*arguments).squeeze(), "must have shape"),
    "a squeezed merge": (
        multi_head.merge_heads,
        lambda heads: heads.transpose(1, 2).flatten(2).squeeze(),
        "must have shape",
    ),
    "no largest score": (
        multi_head.multi_head_attention,
        layer_with(lambda s: s.exp() / s.exp().sum(-1, keepdim=True)),
        "largest score first",
    ),
}
ACCEPTED = {
    "a sorted table": (reaction.assign, in_sorted_order),
    "a share times 90": (reaction.assign_with_bonds, with_bonds(lambda share: share * 90)),
    "a total with a little more": (
        efficient.merged_answer,
        merged_with(larger, lambda total: total + 1e-12),
    ),
    "a step": (efficient.cached_step, step_with()),
    "PyTorch's groups": (
        efficient.grouped_attention,
        lambda *heads: torch.nn.functional.scaled_dot_product_attention(
            *(each.unsqueeze(0) for each in heads), enable_gqa=True
        ).squeeze(0),
    ),
    "a constant of 300": (dictionary.scores_from_weights, lambda weights: weights.log() + 300),
    "plain exponentials": (dictionary.weights_at, weights_with(lambda T: T)),
    "a line": (dictionary.lookup_on_a_line, on_a_line(lambda T: T)),
    "an expanded square": (
        scores.distance_scores,
        lambda q, k: q @ k.T - 0.5 * (q.square().sum(1, keepdim=True) + k.square().sum(1)),
    ),
    "a product": (scores.scores, lambda q, k: q @ k.T),
    "sums of products": (scores.scores, lambda q, k: (q[:, None] * k).sum(dim=2)),
    "squares": (scores.distance_scores, lambda q, k: -0.5 * (q[:, None] - k).square().sum(dim=2)),
    "distances": (scores.distance_scores, lambda q, k: -0.5 * (q[:, None] - k).norm(dim=2).square()),
    "log_softmax of weights": (dictionary.scores_from_weights, lambda weights: weights.log().log_softmax(0)),
    "a shift": (softmax.stable_softmax, lambda s: normalised(shifted(s).exp())),
    "a shift and a division, in float64": (
        softmax.stable_softmax,
        lambda s: normalised(shifted(s.double()).exp()).to(s.dtype),
    ),
    "float64 to the end": (softmax.stable_softmax, lambda s: normalised(shifted(s.double()).exp())),
    "visible scores, shifted": (masking.safe_softmax, cut_off_below(math.inf)),
    **{
        f"{what}, {exercise.name}": (exercise, answer(right))
        for exercise, answer in (
            (scaling.head_weights, heads_with),
            (softmax.answer_gradient, gradient_with),
            (self_attention.self_attention, attending_with),
            (self_attention.cross_attention, attending_with),
        )
        for what, right in {
            "PyTorch's softmax": lambda scores: scores.softmax(dim=-1),
            "less the largest": by_the_largest,
            "less the log-sum-exp": lambda scores: scores.log_softmax(dim=-1).exp(),
        }.items()
    },
    "PyTorch's attention": (
        self_attention.self_attention,
        lambda x, w_q, w_k, w_v: torch.nn.functional.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v),
    ),
    "the Jacobian": (
        softmax.answer_gradient,
        lambda q, k, v: (
            softmax.softmax_jacobian.specification((k @ q / len(q) ** 0.5).softmax(0)) @ v @ k / len(q) ** 0.5
        ),
    ),
    "a covariance": (softmax.answer_gradient, by_covariance),
    "the lowest number": (masking.safe_softmax, filled(torch.finfo(torch.float32).min)),
    "the diagonal": (
        kernel_regression.leave_one_out,
        without_own(lambda s: torch.eye(len(s), dtype=torch.bool)),
    ),
    "a hidden -10⁹": (
        kernel_regression.leave_one_out,
        left_out_with(lambda s, y: s.masked_fill(own(s), -1e9).softmax(1) @ y),
    ),
    "a quotient of shifted kernels": (
        kernel_regression.leave_one_out,
        left_out_with(lambda s, y: normalised(shifted(s.masked_fill(own(s), -math.inf)).exp()) @ y),
    ),
    "leave one out in float64": (
        kernel_regression.leave_one_out,
        lambda x, y, bandwidth: left_out_with(lambda s, y: s.masked_fill(own(s), -math.inf).softmax(1) @ y)(
            x.double(), y.double(), bandwidth.double()
        ),
    ),
    "columns of a symmetric table": (
        kernel_regression.leave_one_out,
        left_out_with(lambda s, y: y @ s.masked_fill(own(s), -math.inf).softmax(0)),
    ),
    **{
        f"{what}, context": (sequence_to_sequence.context, hidden_by(right))
        for what, right in {
            "a hidden -10⁹": lambda s, exists: s.masked_fill(~exists, -1e9).softmax(2),
            "weights divided again": lambda s, exists: (
                (s.softmax(2) * exists) / (s.softmax(2) * exists).sum(2, keepdim=True)
            ),
        }.items()
    },
    "all heads": (multi_head.multi_head_attention, layer_with(lambda s: s.softmax(-1))),
    "heads by chunk": (multi_head.split_heads, lambda tensor, heads: torch.stack(tensor.chunk(heads, dim=-1), dim=1)),
    "heads by cat": (multi_head.merge_heads, lambda heads: torch.cat(heads.unbind(1), dim=-1)),
    "an einsum": (
        multi_head.contributions,
        lambda heads, out: torch.einsum("hld,phd->hlp", heads, out.unflatten(1, (len(heads), -1))),
    ),
    "cosines as shifted sines": (
        positions.sinusoids,
        lambda places, dim: (
            places[:, None] / 10000.0 ** (torch.arange(dim) // 2 * 2 / dim) + torch.arange(dim) % 2 * math.pi / 2
        ).sin(),
    ),
    "turned by the distance": (positions.rotary_scores, by_the_distance),
    "a nucleus": (transformer.top_p, nucleus(lambda likelier, p, _: likelier < p)),
    "the last of equal tokens": (
        transformer.top_p,
        lambda probabilities, p: nucleus(lambda likelier, p, _: likelier < p)(probabilities.flip(0), p).flip(0),
    ),
    "an end": (sequence_to_sequence.greedy, writing_until((2,))),
}


@pytest.mark.parametrize(("exercise", "answer", "words"), REFUSED.values(), ids=REFUSED)
def test_an_edge_refuses(exercise, answer, words):
    for _ in range(5):
        verdict = exercise.verdict(answer)
        assert verdict.startswith("not yet.")
        assert words in verdict


# known mistakes with plain exponentials, which overflow at the edges, where PyTorch's softmax does not
OVERFLOWING = {
    "a product with the temperature": (dictionary.weights_at, lambda s, T: naive(s * T), "You multiply by the temp"),
    "a division afterwards": (dictionary.weights_at, lambda s, T: naive(s) / T, "You divide after the softmax"),
    "no temperature": (dictionary.weights_at, lambda s, T: naive(s), "The temperature changes nothing yet"),
    "a product with the temperature, on a line": (
        dictionary.lookup_on_a_line,
        lambda q, k, v, T: naive(-((q[:, None] - k) ** 2) * T) @ v,
        "You multiply by the temperature",
    ),
    "no temperature, on a line": (
        dictionary.lookup_on_a_line,
        lambda q, k, v, T: naive(-((q[:, None] - k) ** 2)) @ v,
        "The temperature changes nothing yet",
    ),
    "the roots of all heads": (
        scaling.head_weights,
        lambda q, k: naive(q @ k.mT / math.sqrt(q.size(0) * q.size(2))),
        "You divide by the root of H · D",
    ),
    "the tokens' width": (
        self_attention.cross_attention,
        lambda t, s, w_q, w_k, w_v: naive(t @ w_q @ (s @ w_k).T / math.sqrt(t.size(1))) @ (s @ w_v),
        "Under the root is the width of the tokens",
    ),
}


@pytest.mark.parametrize(("exercise", "answer", "words"), OVERFLOWING.values(), ids=OVERFLOWING)
def test_a_known_mistake_hears_its_hint_though_it_overflows_at_an_edge(exercise, answer, words):
    for _ in range(5):
        assert exercise.verdict(answer).startswith(f"not yet. {words}")


@pytest.mark.parametrize(("exercise", "answer"), ACCEPTED.values(), ids=ACCEPTED)
def test_an_edge_accepts(exercise, answer):
    assert {exercise.verdict(answer) for _ in range(5)} == {correct(exercise)}


def by_a_while_loop(weights, values):
    total, index = 0 * values[0], 0
    while index < len(weights):
        total = total + weights[index] * values[index]
        index += 1
    return total


def multiplied(weights, values):
    return weights @ values


def by_reduce(weights, values):
    return functools.reduce(torch.add, (weights[:, None] * values).unbind())


another_name = torch.softmax
same_product = torch.mv


FORBIDDEN = {
    "a for loop": (dictionary.soft_lookup, lambda w, v: torch.stack([a * b for a, b in zip(w, v, strict=True)]).sum(0)),
    "a while loop": (dictionary.soft_lookup, by_a_while_loop),
    "@": (dictionary.soft_lookup, lambda weights, values: weights @ values),
    "matmul": (dictionary.soft_lookup, torch.matmul),
    "@ in a helper": (dictionary.soft_lookup, lambda weights, values: multiplied(weights, values)),
    "bmm": (dictionary.soft_lookup, lambda weights, values: torch.bmm(weights[None, None], values[None])[0, 0]),
    "addmv": (dictionary.soft_lookup, lambda weights, values: torch.addmv(0 * values[0], values.T, weights)),
    "multi_dot": (dictionary.soft_lookup, lambda weights, values: torch.linalg.multi_dot([weights, values])),
    "einsum": (dictionary.soft_lookup, lambda weights, values: torch.einsum("s,sd->d", weights, values)),
    "mv, by another name": (dictionary.soft_lookup, lambda weights, values: same_product(values.T, weights)),
    "reduce": (dictionary.soft_lookup, by_reduce),
    "softmax, by another name": (
        dictionary.weights_at,
        lambda scores, temperature: another_name(scores / temperature, 0),
    ),
    "masked_softmax": (dictionary.weights_at, lambda scores, temperature: masked_softmax(scores / temperature)),
    "PyTorch's attention": (
        dictionary.weights_at,
        lambda scores, temperature: torch.nn.functional.scaled_dot_product_attention(
            torch.ones(1, 1), (scores / temperature)[:, None], torch.eye(len(scores)), scale=1.0
        )[0],
    ),
    "softmax": (dictionary.weights_at, lambda scores, temperature: (scores / temperature).softmax(0)),
    "log_softmax": (softmax.stable_softmax, lambda scores: scores.log_softmax(dim=1).exp()),
    "entr": (scaling.effective_keys, lambda weights: torch.special.entr(weights).sum(dim=1).exp()),
    "autograd": (
        softmax.answer_gradient,
        lambda q, k, v: torch.autograd.grad((k @ q / len(q) ** 0.5).softmax(0) @ v, q, create_graph=True)[0],
    ),
}


@pytest.mark.parametrize(("exercise", "answer"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_an_exercise_forbids_is_told(exercise, answer):
    verdict = exercise.verdict(answer)
    assert re.fullmatch(r"not yet\. The values are right\. Now find them without .*\.", verdict)


def rows_added(rows):
    return rows.sum(dim=0)


def dot(weights, values):
    map = weights[:, None] * values
    return rows_added(map)


def test_what_a_reader_calls_a_variable_or_a_helper_does_not_matter():
    assert dictionary.soft_lookup.verdict(dot) == CORRECT
    assert dictionary.soft_lookup.verdict(lambda weights, values: dot(weights, values)) == CORRECT


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_gradients_are_compared_where_none_are_recorded(mode):
    with mode():
        assert transformer.rms_norm.verdict(slowly(transformer.rms_norm)) == CORRECT
        detached_one = detached(transformer.rms_norm.specification)
        assert "cannot follow how they came about" in transformer.rms_norm.verdict(detached_one)


def test_an_error_of_pytorch_is_not_an_exercise_that_waits():
    verdict = softmax.stable_softmax.verdict(lambda scores: torch.arange(3).frac())
    assert "it raises NotImplementedError" in verdict


# The inputs.


@every_exercise
def test_inputs_differ_in_shapes_and_in_numbers(exercise):
    generator = torch.Generator()
    generator.manual_seed(0)
    draws = [exercise.draw(generator) for _ in range(20)]
    shapes = [[tensor.shape for tensor in tensors(draw)] for draw in draws]
    assert any(one != other for one, other in itertools.pairwise(shapes))
    for one, other in itertools.combinations(draws, 2):
        assert not any(map(torch.equal, tensors(one), tensors(other)))


@every_exercise
def test_no_two_dimensions_of_an_input_are_alike(exercise):
    generator = torch.Generator()
    for seed in range(20):
        for tensor in tensors(exercise.draw(generator.manual_seed(seed))):
            assert len(set(tensor.shape)) == tensor.dim()
            assert 1 not in tensor.shape, "it would broadcast, and hide a mistake"


@every_exercise
def test_every_check_has_edges(exercise):
    assert exercise.edges


@every_exercise
def test_every_check_draws_afresh(exercise):
    seen = []

    def answer(*arguments):
        seen.append(tensors(arguments)[0].detach())
        return exercise.specification(*arguments)

    exercise.verdict(answer)
    of_a_check = TRIALS + len(exercise.edges)
    exercise.verdict(answer)
    assert len(seen) == 2 * of_a_check
    seen = seen[:TRIALS] + seen[of_a_check:][:TRIALS]
    assert not any(torch.equal(one, other) for one, other in itertools.combinations(seen, 2))


@every_exercise
def test_a_check_leaves_torch_s_own_random_numbers_alone(exercise):
    before = torch.get_rng_state()
    exercise.verdict(slowly(exercise))
    assert torch.equal(torch.get_rng_state(), before)
