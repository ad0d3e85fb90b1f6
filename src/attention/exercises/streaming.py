"""The exercises of chapter 14, a softmax in parts."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import single
from attention.exercises.exercise import Edge, Exercise, Mistake, primes


def _merged_answer(one: Tensor, other: Tensor) -> Tensor:
    rows = []
    for first, second in zip(one, other, strict=True):
        seen = [part for part in (first, second) if part[0] > -math.inf]
        if not seen:
            rows.append(0 * first[2:])
            continue
        largest = torch.stack([part[0] for part in seen]).amax()
        total, *mixture = sum(torch.exp(part[0] - largest) * part[1:] for part in seen)
        rows.append(torch.stack(mixture) / total)
    return torch.stack(rows)


def _draw_tables(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    """What two parts of the keys send: a row a query, of its largest score, its total, and its mixture of values."""
    queries, values = sizes(generator, 2)
    tables = torch.randn(2, queries, 2 + values + (queries == 2 + values), generator=generator)
    tables[:, :, 0] *= 3
    tables[:, :, 1] = 1 + 4 * torch.rand(2, queries, generator=generator)
    return tuple(tables)


def _draw_blind(generator: torch.Generator, blind: tuple[slice, slice]) -> tuple:
    """These queries see no key of the one part, and those none of the other."""
    tables = _draw_tables(generator)
    for table, rows in zip(tables, blind, strict=True):
        table[rows], table[rows, 0] = 0.0, -math.inf
    return tables


def _draw_far_apart(generator: torch.Generator) -> tuple:
    """Largest scores that an exponential cannot hold, above 0 and below, now the one part's the larger, now not."""
    one, other = (table.double() for table in _draw_tables(generator))
    rows = torch.arange(len(one))
    one[:, 0] += 1e6 * (-1.0) ** rows + 3e3 * (-1.0) ** (rows // 2)
    other[:, 0] += 1e6 * (-1.0) ** rows
    return one, other


def _of_the_seen(answers: Tensor) -> Tensor:
    """Where a query sees nothing its zeros are right, however they came about."""
    return torch.where((answers == 0).all(dim=1, keepdim=True), answers.detach(), answers)


def _merged(one: Tensor, other: Tensor, total_as: Callable, mixture_as: Callable, divides: bool = True) -> Tensor:
    """Both parts' totals and mixtures, each rescaled by a factor of a part's score and the larger one; divided."""
    largest = torch.maximum(one[:, :1], other[:, :1])
    total = sum(total_as(part[:, :1], largest) * part[:, 1:2] for part in (one, other))
    mixture = sum(mixture_as(part[:, :1], largest) * part[:, 2:] for part in (one, other))
    return mixture / total if divides else mixture


def _shrunk(scores: Tensor, largest: Tensor) -> Tensor:
    return (scores - largest).exp()


def _kept(scores: Tensor, largest: Tensor) -> Tensor:
    return torch.ones_like(scores)


HALF_BLIND = (
    "Here some queries see no key of one part. Its −∞ and its total of 0 must not come in: e to the power of −∞ is 0."
)
BLIND = (
    "The parts merge, but here a query sees no key of either part. There −∞ − (−∞) is NaN, and so is 0 / 0: "
    "put a finite number in the place of a largest score of −∞, and of a total of 0, before you use them."
)
RANGE = (
    "Here an exponential left the range of its dtype: scores lie 10⁶ above 0, or below it. Subtract the larger of the "
    "two largest scores first, and clamp it no higher than its dtype's lowest number."
)
NOTHING, SOME, ALL = slice(0), slice(0, None, 2), slice(None)

merged_answer = Exercise(
    "merged_answer",
    _merged_answer,
    _draw_tables,
    edges=(
        single(_draw_tables),
        Edge(_draw_far_apart, RANGE),
        Edge(partial(_draw_blind, blind=(SOME, NOTHING)), HALF_BLIND),
        Edge(partial(_draw_blind, blind=(NOTHING, ALL)), HALF_BLIND),
        Edge(partial(_draw_blind, blind=(SOME, SOME)), BLIND),
        Edge(partial(_draw_blind, blind=(ALL, ALL)), BLIND),
    ),
    canonical=_of_the_seen,
    mistakes=(
        Mistake(
            lambda one, other: _merged(one, other, _kept, _kept),
            "You add the totals and the mixtures as they are. Each was taken with its own largest score: first bring "
            "both to the larger one.",
        ),
        Mistake(
            lambda one, other: _merged(one, other, _shrunk, _kept),
            "The totals are rescaled, and the mixtures are not. Both are sums of the same shares.",
        ),
        Mistake(
            lambda one, other: _merged(one, other, _kept, _shrunk),
            "The mixtures are rescaled, and the totals are not. Both are sums of the same shares.",
        ),
        Mistake(
            lambda one, other: (one[:, 2:] / one[:, 1:2] + other[:, 2:] / other[:, 1:2]) / 2,
            "You take the mean of two answers. A part with larger scores has more to say.",
        ),
        Mistake(
            lambda one, other: _merged(one, other, _shrunk, _shrunk, divides=False),
            "This is the merged mixture. Divide it by the merged total.",
        ),
    ),
)


def _linear_recurrence(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    answers = []
    for number, asks in enumerate(query):
        weights = torch.stack([(asks * each).sum() for each in key[: number + 1]])
        answers.append((weights.unsqueeze(1) * value[: number + 1]).sum(0) / weights.sum())
    return torch.stack(answers)


def _draw_features(generator: torch.Generator, sizes: Callable = primes, scale: float = 1.0) -> tuple:
    length, width, values = sizes(generator, 3)
    features = scale * (0.1 + torch.rand(2, length, width, generator=generator))
    return *features, torch.randn(length, values, generator=generator)


def _regrouped(query: Tensor, key: Tensor, value: Tensor, diagonal: int) -> Tensor:
    weights = (query @ key.T).tril(diagonal)
    return weights @ value / weights.sum(dim=1, keepdim=True)


linear_recurrence = Exercise(
    "linear_recurrence",
    _linear_recurrence,
    _draw_features,
    edges=(
        Edge(
            partial(_draw_features, scale=1e-8),
            "Here the weights are near 10⁻¹⁶. Their sum is above 0, so add nothing to it.",
        ),
        single(_draw_features),
        lambda generator: tuple(rows[:1] for rows in _draw_features(generator)),
    ),
    without=("a table of all pairs",),
    mistakes=(
        Mistake(
            lambda q, k, v: _regrouped(q, k, v, len(q)),
            "Each of your tokens sees all tokens. A token's answer comes from the state after that token.",
        ),
        Mistake(
            lambda q, k, v: _regrouped(q, k, v, -1),
            "Your state lacks the token itself, and the first is 0 / 0: add the token first, then ask.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.T).tril() @ v,
            "Divide by the sum of the weights: the query times the sum of the keys so far.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.T).tril() @ v / torch.arange(1.0, len(q) + 1).unsqueeze(1),
            "You divide by the number of tokens. Divide by the sum of the weights.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.T).masked_fill(torch.ones(len(q), len(k)).triu(1).bool(), -math.inf).softmax(1) @ v,
            "This is softmax attention. Here a weight is the dot product itself, without an exponential.",
        ),
    ),
)
