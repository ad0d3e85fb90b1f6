"""The exercises of chapter 14, a softmax in parts."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import changed, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake
from attention.functional import scaled_dot_product_attention


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


def _blind(*tables: Tensor, rows: tuple[slice, slice]) -> tuple:
    """These queries see no key of the one part, and those none of the other."""
    for table, blind in zip(tables, rows, strict=True):
        table[blind], table[blind, 0] = 0.0, -math.inf
    return tables


def _far_apart(one: Tensor, other: Tensor) -> tuple:
    """Largest scores that an exponential cannot hold, above 0 and below, now the one part's the larger, now not."""
    one, other, rows = one.double(), other.double(), torch.arange(len(one))
    one[:, 0] += 1e10 * (-1.0) ** rows + 3e3 * (-1.0) ** (rows // 2)
    other[:, 0] += 1e10 * (-1.0) ** rows
    return one, other


def _of_the_seen(answers: Tensor) -> Tensor:
    """Where a query sees nothing its zeros are right, however they came about."""
    return torch.where((answers == 0).all(dim=1, keepdim=True), answers.detach(), answers)


def _merged(one: Tensor, other: Tensor, totals: bool, mixtures: bool) -> Tensor:
    """The parts' totals and mixtures added up, either of them brought to the larger score or not."""
    largest = torch.maximum(one[:, :1], other[:, :1])
    total = mixture = 0.0
    for part in (one, other):
        shrink = (part[:, :1] - largest).exp()
        total = total + (shrink if totals else 1.0) * part[:, 1:2]
        mixture = mixture + (shrink if mixtures else 1.0) * part[:, 2:]
    return mixture / total


HALF_BLIND = (
    "Here some queries see no key of one part. Its −∞ and its total of 0 must not come in: e to the power of −∞ is 0."
)
NOTHING, SOME, ALL = slice(0), slice(0, None, 2), slice(None)

merged_answer = Exercise(
    "merged_answer",
    _merged_answer,
    _draw_tables,
    edges=(
        single(_draw_tables),
        Edge(
            changed(_draw_tables, _far_apart),
            "An exponential left the range of its dtype: scores lie 10¹⁰ above 0, or below it. Subtract the larger "
            "of the two largest scores first, and clamp it no higher than its dtype's lowest number.",
        ),
        Edge(changed(_draw_tables, partial(_blind, rows=(SOME, NOTHING))), HALF_BLIND),
        Edge(changed(_draw_tables, partial(_blind, rows=(NOTHING, ALL))), HALF_BLIND),
        Edge(
            changed(_draw_tables, partial(_blind, rows=(SOME, SOME))),
            "The parts merge, but here a query sees no key of either part. There −∞ − (−∞) is NaN, and so is 0 / 0: "
            "put a finite number in the place of a largest score of −∞, and of a total of 0, before you use them.",
        ),
    ),
    canonical=_of_the_seen,
    mistakes=(
        Mistake(
            lambda one, other: _merged(one, other, totals=False, mixtures=False),
            "You add the totals and the mixtures as they are. Each was taken with its own largest score: first bring "
            "both to the larger one.",
        ),
        Mistake(
            lambda one, other: _merged(one, other, totals=True, mixtures=False),
            "The totals are rescaled, and the mixtures are not. Both are sums of the same shares.",
        ),
        Mistake(
            lambda one, other: (one[:, 2:] / one[:, 1:2] + other[:, 2:] / other[:, 1:2]) / 2,
            "You take the mean of two answers. A part with larger scores has more to say.",
        ),
    ),
)


def _linear_recurrence(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    state = (key[:, :, None] * value[:, None]).cumsum(dim=0)  # (L, D, Dv)
    return (query[:, :, None] * state).sum(dim=1) / (query * key.cumsum(dim=0)).sum(dim=1, keepdim=True)


def _draw_features(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    length, width, values = sizes(generator, 3)
    return *(0.1 + torch.rand(2, length, width, generator=generator)), torch.randn(length, values, generator=generator)


def _regrouped(query: Tensor, key: Tensor, value: Tensor, diagonal: int) -> Tensor:
    weights = (query @ key.T).tril(diagonal)
    return weights @ value / weights.sum(dim=1, keepdim=True)


linear_recurrence = Exercise(
    "linear_recurrence",
    _linear_recurrence,
    _draw_features,
    edges=(
        Edge(
            changed(_draw_features, lambda query, key, value: (1e-8 * query, 1e-8 * key, value)),
            "Here the weights are near 10⁻¹⁶. Their sum is above 0, so add nothing to it.",
        ),
        single(_draw_features),
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
            lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0),
            "This is softmax attention. Here a weight is the dot product itself, without an exponential.",
        ),
    ),
)
