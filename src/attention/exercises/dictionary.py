"""The exercises of chapter 1, the dictionary analogy."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import Edge, Exercise, Mistake, centred, ones, primes

Sizes = Callable[[torch.Generator, int], list[int]]


def _soft_lookup(weights: Tensor, values: Tensor) -> Tensor:
    total = torch.zeros(values.size(1))
    for weight, value in zip(weights, values, strict=True):
        total = total + weight * value
    return total


def _draw_soft_lookup(generator: torch.Generator, sizes: Sizes = primes) -> tuple:
    keys, width = sizes(generator, 2)
    return torch.rand(keys, generator=generator).softmax(0), torch.randn(keys, width, generator=generator)


def _draw_one_hot(generator: torch.Generator) -> tuple:
    weights, values = _draw_soft_lookup(generator)
    return torch.eye(len(weights))[-1], values


def _centred_by_weights(gradient: Tensor) -> Tensor:
    """The gradient by the weights is a vector, that by the values a matrix."""
    return centred(gradient) if gradient.dim() == 1 else gradient


soft_lookup = Exercise(
    "soft_lookup",
    _soft_lookup,
    _draw_soft_lookup,
    edges=(partial(_draw_soft_lookup, sizes=ones), _draw_one_hot),
    without=("a loop", "a matrix product"),
    gradient=_centred_by_weights,
    mistakes=(
        Mistake(
            lambda weights, values: values.mean(dim=0),
            "This is the plain average: every value counts the same, whatever its weight.",
        ),
        Mistake(
            lambda weights, values: values[weights.argmax()],
            "This is the hard lookup: it returns the value with the largest weight and drops all others.",
        ),
        Mistake(
            lambda weights, values: (weights[:, None] * values).mean(dim=0),
            "You weight the values and then average them, which divides by the number of keys once too often: the "
            "weights already sum to 1, so add.",
        ),
        Mistake(
            lambda weights, values: values @ weights,
            "The order is the other way round: values @ weights would need one weight for each *column* of the values.",
        ),
        Mistake(
            lambda weights, values: weights.softmax(0) @ values,
            "You pass the weights through a softmax again. They are weights already, not scores.",
        ),
        Mistake(
            lambda weights, values: weights[:, None] * values,
            "Each value is multiplied by its weight. Now add these rows: the output is one row, (Dv,).",
        ),
        Mistake(
            lambda weights, values: (weights[:, None] * values).sum(dim=1),
            "You add the numbers within each row. Add the rows to each other, along dim=0.",
        ),
        Mistake(
            lambda weights, values: (weights[:, None] * values).sum(),
            "You add everything to one number. Add the rows to each other, along dim=0.",
        ),
    ),
)


def _weights_at(scores: Tensor, temperature: float) -> Tensor:
    exponentials = [torch.exp(score / temperature) for score in scores]
    return torch.stack([exponential / sum(exponentials) for exponential in exponentials])


def _temperature(generator: torch.Generator, low: float = 0.4, high: float = 0.7) -> float:
    return round(low + (high - low) * torch.rand((), generator=generator).item(), 3)


def _draw_weights_at(generator: torch.Generator, sizes: Sizes = primes, low: float = 0.4, high: float = 0.7) -> tuple:
    (keys,) = sizes(generator, 1)
    return torch.randn(keys, generator=generator), _temperature(generator, low, high)


def _draw_a_tie(generator: torch.Generator) -> tuple:
    scores, temperature = _draw_weights_at(generator)
    return scores[:1].expand_as(scores).clone(), temperature


LOW, HIGH = {"low": 0.1, "high": 0.2}, {"low": 5.0, "high": 20.0}  # temperatures
COLD, HOT = 0.02, 200.0
FREEZING = f"Here the temperature is {COLD}, and the scores are as close together. Clamp neither of them."
BOILING = f"Here the temperature is {HOT:g}, and the scores are as far apart. Clamp neither of them."


def _draw_spread_by(temperature: float, generator: torch.Generator) -> tuple:
    """Scores that are divided by this temperature are neither large nor nearly equal."""
    scores, _ = _draw_weights_at(generator)
    return temperature * scores, temperature


weights_at = Exercise(
    "weights_at",
    _weights_at,
    _draw_weights_at,
    edges=(
        partial(_draw_weights_at, sizes=ones),
        partial(_draw_weights_at, **LOW),
        partial(_draw_weights_at, **HIGH),
        _draw_a_tie,
        Edge(partial(_draw_spread_by, COLD), FREEZING),
        Edge(partial(_draw_spread_by, HOT), BOILING),
    ),
    without=("PyTorch's softmax",),
    mistakes=(
        Mistake(
            lambda scores, temperature: (scores * temperature).softmax(0),
            "You multiply by the temperature. A high temperature has to bring the scores closer together, so divide.",
        ),
        Mistake(
            lambda scores, temperature: scores.softmax(0) / temperature,
            "You divide after the softmax, so the weights sum to 1/temperature. Divide the scores, before it.",
        ),
        Mistake(
            lambda scores, temperature: scores.softmax(0),
            "The temperature changes nothing yet: divide the scores by it before the softmax.",
        ),
        Mistake(
            lambda scores, temperature: torch.exp(scores / temperature) / torch.exp(scores).sum(),
            "Divide by the sum of the same exponentials: the temperature belongs in the denominator too.",
        ),
        Mistake(
            lambda scores, temperature: torch.exp(scores / temperature),
            "The exponentials are right, but they do not sum to 1 yet: divide by their sum.",
        ),
    ),
)


def _scores_from_weights(weights: Tensor) -> Tensor:
    return torch.stack([torch.log(weight) for weight in weights])


def _draw_scores_from_weights(generator: torch.Generator, sizes: Sizes = primes) -> tuple:
    """No weight is below a hundredth: 1 less the others gives the last with most of its digits."""
    (keys,) = sizes(generator, 1)
    return ((2 * torch.rand(keys, generator=generator)).softmax(0),)


def _draw_small_weight(generator: torch.Generator) -> tuple:
    """The first weight is about 10⁻³⁰."""
    (weights,) = _draw_scores_from_weights(generator)
    return (torch.cat([torch.tensor([1e-30]), weights[1:] / weights[1:].sum()]),)


def _draw_equal_weights(generator: torch.Generator) -> tuple:
    return (torch.zeros(primes(generator, 1)).softmax(0),)


scores_from_weights = Exercise(
    "scores_from_weights",
    _scores_from_weights,
    _draw_scores_from_weights,
    edges=(
        partial(_draw_scores_from_weights, sizes=ones),
        _draw_equal_weights,
        Edge(
            _draw_small_weight,
            "Here a weight is 10⁻³⁰. Put no floor under it: the logarithm of a small weight is as low as its score.",
        ),
    ),
    mistakes=(
        Mistake(
            lambda weights: weights * 1.0,
            "These are the weights themselves. Their softmax is nearly uniform: weights are not scores.",
        ),
        Mistake(
            lambda weights: weights.exp(),
            "You took exp, which is what the softmax does. You need what undoes it.",
        ),
        Mistake(
            lambda weights: torch.log10(weights),
            f"The logarithm, but to base 10: a softmax uses e, so these are too small by a factor {math.log(10):.3f}.",
        ),
        Mistake(
            lambda weights: torch.log2(weights),
            "The logarithm, but to base 2: a softmax uses e, so these are too large by a factor 1.443.",
        ),
        Mistake(
            lambda weights: -torch.log(weights),
            "The sign: a larger weight needs a larger score.",
        ),
        Mistake(
            lambda weights: torch.logit(weights),
            "ln(w / (1 − w)) undoes a sigmoid, one weight against the rest. A softmax is undone by ln w.",
        ),
    ),
    canonical=lambda scores: scores - scores.mean(),
    atol=1e-4,  # rounded by so much when they are hundreds
    gradient=centred,
)


def _lookup_on_a_line(queries: Tensor, keys: Tensor, values: Tensor, temperature: float) -> Tensor:
    outputs = []
    for query in queries:
        exponentials = [torch.exp(-((query - key) ** 2) / temperature) for key in keys]
        products = [exponential * value for exponential, value in zip(exponentials, values, strict=True)]
        outputs.append(sum(products) / sum(exponentials))
    return torch.stack(outputs)


def _draw_lookup_on_a_line(
    generator: torch.Generator, sizes: Sizes = primes, low: float = 0.4, high: float = 0.7
) -> tuple:
    count, entries = sizes(generator, 2)
    queries, keys, values = (torch.randn(size, generator=generator) for size in (count, entries, entries))
    return queries, keys, values, _temperature(generator, low, high)


def _draw_at_the_keys(generator: torch.Generator) -> tuple:
    """Each query stands at a key, and two keys at the same place; the temperature is low."""
    queries, keys, values, _ = _draw_lookup_on_a_line(generator)
    keys = torch.cat([keys[:-1], keys[:1]])
    return keys[torch.arange(len(queries)) % len(keys)], keys, values, _temperature(generator, **LOW)


def _draw_line_spread_by(temperature: float, generator: torch.Generator) -> tuple:
    """Squared distances that are divided by this temperature are neither large nor nearly equal."""
    queries, keys, values, _ = _draw_lookup_on_a_line(generator)
    return math.sqrt(temperature) * queries, math.sqrt(temperature) * keys, values, temperature


def _squared(queries: Tensor, keys: Tensor) -> Tensor:
    return (queries[:, None] - keys) ** 2


lookup_on_a_line = Exercise(
    "lookup_on_a_line",
    _lookup_on_a_line,
    _draw_lookup_on_a_line,
    edges=(
        partial(_draw_lookup_on_a_line, sizes=ones),
        partial(_draw_lookup_on_a_line, **HIGH),
        _draw_at_the_keys,
        Edge(partial(_draw_line_spread_by, COLD), FREEZING),
        Edge(partial(_draw_line_spread_by, HOT), BOILING),
    ),
    mistakes=(
        Mistake(
            lambda queries, keys, values, temperature: (_squared(queries, keys) / temperature).softmax(1) @ values,
            "The sign is missing: the key that is farthest away gets the largest weight. A score is larger the closer "
            "a key is, so it is minus the squared distance.",
        ),
        Mistake(
            lambda queries, keys, values, temperature: (
                (-_squared(queries, keys).sqrt() / temperature).softmax(1) @ values
            ),
            "This is the distance, not its square.",
        ),
        Mistake(
            lambda queries, keys, values, temperature: (queries[:, None] * keys / temperature).softmax(1) @ values,
            "This score is a product of query and key. Here it is minus the square of their difference.",
        ),
        Mistake(
            lambda queries, keys, values, temperature: (-_squared(queries, keys) * temperature).softmax(1) @ values,
            "You multiply by the temperature. A high temperature has to bring the scores closer together, so divide.",
        ),
        Mistake(
            lambda queries, keys, values, temperature: (-_squared(queries, keys)).softmax(1) @ values,
            "The temperature changes nothing yet: divide the scores by it before the softmax.",
        ),
        Mistake(
            lambda queries, keys, values, temperature: (-_squared(queries, keys) / temperature).softmax(0) @ values,
            "The softmax runs over the queries. The weights of one query, over all keys, must sum to 1.",
        ),
        Mistake(
            lambda queries, keys, values, temperature: values[_squared(queries, keys).argmin(1)],
            "This is the hard lookup: it returns the value of the nearest key and drops all others.",
        ),
        Mistake(
            lambda queries, keys, values, temperature: (-_squared(queries, keys) / temperature).softmax(1),
            "These are the weights. Multiply each value by its weight, and add.",
        ),
        Mistake(
            lambda queries, keys, values, temperature: (-_squared(queries, keys) / temperature**2).softmax(1) @ values,
            "The temperature is squared with the difference. Square first, then divide by the temperature.",
        ),
        Mistake(
            lambda queries, keys, values, temperature: (-_squared(queries, keys) / temperature / 2).softmax(1) @ values,
            "There is no half in front of this score: it is −(q − k)².",
        ),
        Mistake(
            lambda queries, keys, values, temperature: (-_squared(queries, keys) / temperature).exp() @ values,
            "The exponentials are right, but those of one query do not sum to 1 yet: divide them by their sum.",
        ),
    ),
)
