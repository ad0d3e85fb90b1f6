"""Every exercise of every chapter: right answers pass, wrong ones hear why, and the inputs are really random."""

import importlib
import itertools
import math
import pkgutil
import re
from pathlib import Path

import nbformat
import pytest
import torch
from torch import Tensor

from attention import exercises
from attention.exercises import dictionary, kernel_regression, masking, scaling, sequence_to_sequence, softmax
from attention.exercises.exercise import STAY_WITH_TENSORS, TRIALS, Exercise

BOOK = sorted((Path(__file__).parent.parent / "book").glob("*.ipynb"))
CHAPTERS = [
    importlib.import_module(f"attention.exercises.{found.name}") for found in pkgutil.iter_modules(exercises.__path__)
]
EXERCISES = [found for chapter in CHAPTERS for found in vars(chapter).values() if isinstance(found, Exercise)]
CORRECT = f"correct: values and gradients, on {TRIALS} random inputs."
CORRECT_VALUES = f"correct: values, on {TRIALS} random inputs."


def differentiable(exercise):
    """Whether the result of an exercise has a gradient; a mask has none."""
    with torch.device("cpu"):
        arguments = exercise.draw(torch.Generator())
        for tensor in tensors(arguments):
            tensor.requires_grad_(tensor.is_floating_point())
        return exercise.specification(*arguments).requires_grad


def correct(exercise):
    return CORRECT if differentiable(exercise) else CORRECT_VALUES


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
    exercise.check(exercise.specification)
    assert capsys.readouterr().out == f"{exercise.name}: {correct(exercise)}\n"


@every_exercise
def test_a_check_does_not_depend_on_the_default_device(exercise, capsys):
    with torch.device("meta"):
        exercise.check(exercise.specification)
    assert capsys.readouterr().out == f"{exercise.name}: {correct(exercise)}\n"


@every_differentiable_exercise
def test_an_answer_in_float64_is_right(exercise):
    assert exercise.verdict(lambda *arguments: exercise.specification(*arguments).double()) == CORRECT


def test_a_result_may_be_boolean():
    positive = Exercise("positive", lambda x: x > 0, lambda generator: (torch.randn(3, generator=generator),))
    assert positive.verdict(lambda x: ~(x <= 0)) == CORRECT_VALUES
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
    cells = [cell for path in BOOK for cell in nbformat.read(path, as_version=4).cells]
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
        result = specification(*arguments).exp()
        saved = result.clone()
        result[...] = 0.0
        return saved.log() + 0 * result

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
    larger: f"not yet\\. {INPUTS} it gives -?\\d+\\.\\d{{4,6}} at \\[.*\\] where -?\\d+\\.\\d{{4,6}} is right\\.",
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
    assert softmax.stable_softmax.verdict(lambda scores: scores.log_softmax(dim=1).exp()) == CORRECT


def plain_softmax(scores):
    return scores.exp() / scores.exp().sum(dim=1, keepdim=True)


@pytest.mark.parametrize(
    "hide",
    [
        lambda scores, exists: scores.masked_fill(~exists, -torch.inf).softmax(dim=1),
        lambda scores, exists: (scores + ~exists * -torch.inf).softmax(dim=2),
        lambda scores, exists: scores.masked_fill(~exists, torch.inf).softmax(dim=2),
    ],
    ids=["over the steps", "0 times infinity", "plus infinity"],
)
def test_a_context_of_nan_hears_every_way_to_it(hide):
    def context(scores, lengths, value):
        exists = torch.arange(scores.shape[2]) < lengths[:, None, None]
        return hide(scores, exists) @ value

    assert sequence_to_sequence.context.verdict(context).startswith("not yet. Everything is NaN.")


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
    ],
    ids=["all components", "the first component", "a tolerance", "+ 1", "+ 10", "times 3"],
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
    assert verdict(answer(lambda table: table / total(table).clamp(min=1e-30))) == CORRECT
    assert verdict(answer(lambda table: table / (total(table) + (total(table) == 0)))) == CORRECT
    assert "between 0 and 1" in verdict(answer(lambda table: table / total(table).maximum(torch.tensor(1.0))))
    assert verdict(answer(lambda table: table / (total(table) + 1e-5))).startswith("not yet.")
    assert "NaN" in verdict(answer(lambda table: (table / total(table)).nan_to_num(0)))


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")
def test_a_constant_in_place_of_an_input_hears_how_to_stay_with_tensors():
    def answer(frequency, share):
        return math.sqrt(-2 * math.log(share)) / frequency

    assert kernel_regression.widest_bandwidth.verdict(answer) == (
        "not yet. The values are right, but not their gradients: some step is left out, or made constant. "
        + STAY_WITH_TENSORS
    )


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
    for draw in filter(None, (exercise.draw, exercise.edge)):
        for seed in range(20):
            for tensor in tensors(draw(generator.manual_seed(seed))):
                assert len(set(tensor.shape)) == tensor.dim()
                assert 1 not in tensor.shape, "it would broadcast, and hide a mistake"


@every_exercise
def test_every_check_draws_afresh(exercise):
    seen = []

    def answer(*arguments):
        seen.append(tensors(arguments)[0].detach())
        return exercise.specification(*arguments)

    exercise.verdict(answer)
    exercise.verdict(answer)
    assert len(seen) == 2 * TRIALS
    assert not any(torch.equal(one, other) for one, other in itertools.combinations(seen, 2))


@every_exercise
def test_a_check_leaves_torch_s_own_random_numbers_alone(exercise):
    before = torch.get_rng_state()
    exercise.verdict(exercise.specification)
    assert torch.equal(torch.get_rng_state(), before)
