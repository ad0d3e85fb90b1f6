"""The exercises of chapter 4, softmax."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import NO_CLAMP, Edge, Exercise, Mistake, Symptom, centred, ones, primes


def _stable_softmax(scores: Tensor) -> Tensor:
    rows = []
    for row in scores.double():
        powers = [torch.exp(score - row.max()) for score in row]
        rows.append(torch.stack(powers) / sum(powers))
    return torch.stack(rows).to(scores.dtype)


def _draw_scores(generator: torch.Generator) -> tuple:
    """Rows that lie thousands apart, and thousands from 0, each with a score of −∞."""
    queries, keys = primes(generator, 2)
    shifts = torch.linspace(-2e4, 2e4, queries + 1)[1:]  # the number of queries is odd, so none of them is 0
    scores = torch.randn(queries, keys, generator=generator) + shifts[:, None]
    hidden = torch.randint(keys, (queries, 1), generator=generator)
    return (scores.scatter(1, hidden, -math.inf),)


def _draw_far_scores(generator: torch.Generator) -> tuple:
    """The same, and in each row one score lies 300 above the others: only a shift by the largest is enough."""
    (scores,) = _draw_scores(generator)
    highest = scores.argmax(dim=1, keepdim=True)
    return (scores.scatter_add(1, highest, torch.full(highest.shape, 300.0)),)


def _draw_falling_scores(generator: torch.Generator) -> tuple:
    """Rows without −∞ whose scores fall to some 40 below the largest."""
    queries, keys = primes(generator, 2)
    return (torch.linspace(0, -40, keys) + torch.rand(queries, keys, generator=generator),)


def _draw_equal_scores(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    queries, keys = sizes(generator, 2)
    return (1e4 * torch.randn(queries, 1, generator=generator).expand(queries, keys).contiguous(),)


def _of(powers: Tensor) -> Tensor:
    return powers / powers.sum(dim=1, keepdim=True)


stable_softmax = Exercise(
    "stable_softmax",
    _stable_softmax,
    _draw_scores,
    edges=(
        _draw_far_scores,
        _draw_falling_scores,
        _draw_equal_scores,
        partial(_draw_equal_scores, sizes=ones),
    ),
    without=("PyTorch's softmax",),
    rtol=1e-5,
    atol=1e-40,  # below every float32 but 0, whose weights are exactly 0
    symptoms=(
        Symptom(
            lambda found, expected: bool(5e-6 < (found.sum(dim=1) - 1).abs().max() < 0.01),
            "Your rows do not quite sum to 1. After the shift no sum is 0, so add nothing to it.",
        ),
        Symptom(
            lambda found, expected: bool(torch.isclose(found, expected, atol=1e-4).all()),
            "Your large weights are right, and the tiny ones are not: either you cut the scores off, or you subtract "
            "more than the largest score, so that small exponentials are rounded.",
        ),
    ),
    mistakes=(
        Mistake(
            lambda scores: _of(scores.exp()),
            "This is the formula as written. The exponentials of high scores overflow to ∞, those of low scores are "
            "all 0, and ∞/∞ and 0/0 are NaN.",
        ),
        Mistake(
            lambda scores: _of((scores - scores.max()).exp()),
            "You subtract the largest score of all rows. In a row that lies far below it, every exponential is 0. "
            "Subtract each row's own largest score.",
        ),
        Mistake(
            lambda scores: _of((scores - scores.mean(dim=1, keepdim=True)).exp()),
            "You subtract a row's mean, or its smallest score. One score of −∞ makes both of them −∞, and the row NaN. "
            "Subtract the largest score.",
        ),
        Mistake(
            lambda scores: _of(scores.clamp(-80, 80).exp()),
            "Clamping keeps the exponentials finite, but it makes all scores beyond the bound equal. The weights "
            "depend on the differences between the scores, which are lost.",
        ),
        Mistake(
            lambda scores: torch.softmax(scores, dim=0),
            "Your columns sum to 1. Each query, a row, has to share out its own 1 among the keys.",
        ),
    ),
)


def _softmax_jacobian(weights: Tensor) -> Tensor:
    rows = []
    for i, one in enumerate(weights):
        rows.append(torch.stack([one * (float(i == j) - other) for j, other in enumerate(weights)]))
    return torch.stack(rows)


def _draw_weights(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    (keys,) = sizes(generator, 1)
    return (torch.randn(keys, generator=generator).softmax(0),)


def _draw_one_hot(generator: torch.Generator) -> tuple:
    return (torch.eye(*primes(generator, 1))[0],)


softmax_jacobian = Exercise(
    "softmax_jacobian",
    _softmax_jacobian,
    _draw_weights,
    edges=(partial(_draw_weights, sizes=ones), _draw_one_hot),
    without=("autograd", "a loop"),
    gradient=centred,
    mistakes=(
        Mistake(
            lambda weights: torch.diag(weights),
            "This is only the first term, on the diagonal. The second is missing: the sum in the denominator depends "
            "on every score.",
        ),
        Mistake(
            lambda weights: torch.diag(weights * (1 - weights)),
            "The diagonal is right. But raising a score also lowers all other weights, so the other entries are not 0.",
        ),
        Mistake(
            lambda weights: -torch.outer(weights, weights),
            "The diagonal lacks its first term: a weight gains by its own score.",
        ),
        Mistake(
            lambda weights: weights * (torch.eye(len(weights)) - weights),
            "Off the diagonal you have −α_j², where −α_i α_j is right. Multiply row i by weight i, with "
            "weights[:, None]; `weights *` multiplies the columns.",
        ),
        Mistake(
            lambda weights: weights * (1 - weights),
            "This is the derivative of each weight by its own score only. Return all pairs, (S, S).",
        ),
    ),
)


def _answer_gradient(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = [(query * k).sum() / math.sqrt(len(query)) for k in key]
    powers = [torch.exp(score - max(scores)) for score in scores]
    weights = [power / sum(powers) for power in powers]
    answer = sum(weight * v for weight, v in zip(weights, value, strict=True))
    total = sum(weight * (v - answer) * k for weight, v, k in zip(weights, value, key, strict=True))
    return total / math.sqrt(len(query))


def _draw_lookup(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    keys, width = sizes(generator, 2)
    return tuple(torch.randn(shape, generator=generator) for shape in ((width,), (keys, width), (keys,)))


def _draw_equal_values(generator: torch.Generator) -> tuple:
    query, key, value = _draw_lookup(generator)
    return query, key, value[:1].expand_as(value).clone()


def _draw_far_lookup(generator: torch.Generator) -> tuple:
    """Query and keys along one line: all scores are ten thousand and more, or −10⁴ and less, and far apart."""
    keys, width = primes(generator, 2)
    line = torch.nn.functional.normalize(torch.randn(width, generator=generator), dim=0)
    steps = 1 + torch.randperm(keys, generator=generator)
    sign = 1 - 2 * torch.randint(2, (), generator=generator)
    return 4e4 * keys * sign * line, steps[:, None] / keys * line, torch.randn(keys, generator=generator)


def _pulled(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
    """The gradient for a factor on the scores of ``scale``."""
    scale = len(query) ** -0.5 if scale is None else scale
    weights = (key @ query * scale).softmax(dim=0)
    return scale * (weights * (value - weights @ value)) @ key


def _weights(query: Tensor, key: Tensor) -> Tensor:
    return (key @ query / math.sqrt(len(query))).softmax(dim=0)


answer_gradient = Exercise(
    "answer_gradient",
    _answer_gradient,
    _draw_lookup,
    edges=(partial(_draw_lookup, sizes=ones), _draw_equal_values, Edge(_draw_far_lookup, NO_CLAMP)),
    without=("autograd",),
    mistakes=(
        Mistake(
            lambda query, key, value: _pulled(query, key, value) * math.sqrt(len(query)),
            "The scores are divided by √D, and so is their derivative by the query: that factor is missing.",
        ),
        Mistake(
            lambda query, key, value: (
                (_weights(query, key) * (1 - _weights(query, key)) * value) @ key / math.sqrt(len(query))
            ),
            "α(1 − α) is the diagonal of the Jacobian. A score also acts on the weights of the other keys: the pull is "
            "α(v − o).",
        ),
        Mistake(
            lambda query, key, value: (_weights(query, key) * value) @ key / math.sqrt(len(query)),
            "A pull contains the distance of a value from the answer. Subtract the answer from the values first.",
        ),
        Mistake(
            lambda query, key, value: (_weights(query, key) * (value - value.mean())) @ key / math.sqrt(len(query)),
            "You subtract the plain mean of the values. Subtract their weighted mean, which is the answer.",
        ),
        Mistake(
            lambda query, key, value: _weights(query, key) * (value - _weights(query, key) @ value),
            "These are the derivatives by the scores, (S,). The derivative by the query has one number for each "
            "component, (D,): multiply each key by its pull, and add.",
        ),
    ),
)
