"""The exercises of chapter 9, kernel regression."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import relu

from attention.exercises.draws import changed, one_of, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake


def bell(difference: Tensor) -> Tensor:
    return torch.exp(-((difference - 0.3) ** 2) / 2)


def hat(difference: Tensor) -> Tensor:
    return relu(1 - abs(difference - 0.2))


def arch(difference: Tensor) -> Tensor:
    return relu(difference + 0.5) * relu(2 - difference)


def faint(difference: Tensor) -> Tensor:
    return 1e-25 * arch(difference)


KERNELS = (bell, hat, arch)  # none symmetric, so that q − k and k − q can be told apart


def _draw_kernel(generator: torch.Generator) -> tuple:
    queries, keys = primes(generator, 2)
    key = 2 * torch.rand(keys, generator=generator)
    query = torch.cat([2 * torch.rand(queries - 1, generator=generator), torch.tensor([50.0])])  # beyond every key
    kernel = KERNELS[one_of(generator, 0, 2)]
    return query[torch.randperm(queries, generator=generator)], key, kernel


def _draw_barely_reached(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    """Each query barely reaches one key, so that its row sums to less than 1; the second, if any, reaches none."""
    queries, keys = sizes(generator, 2)
    key = 2.8 * torch.arange(keys) + 0.3 * torch.rand(keys, generator=generator)
    beside = key[torch.randint(keys, (queries,), generator=generator)]
    query = beside + 1.95 - 0.2 * torch.rand(queries, generator=generator)
    query[1:2] = 50.0
    return query, key, arch


def _shares(table: Tensor) -> Tensor:
    total = table.sum(dim=1, keepdim=True)
    return table / torch.where(total > 0, total, 1.0)


def _table(query: Tensor, key: Tensor, kernel: Callable) -> Tensor:
    return kernel(query[:, None] - key)


SMALL = "A row with a small sum, above 0, is to be divided by its sum too. Only a sum of 0 is to be replaced."

kernel_weights = Exercise(
    "kernel_weights",
    lambda *given: _shares(_table(*given)).detach(),  # a logarithm on the way is right too, with a gradient of NaN
    _draw_kernel,
    edges=(
        Edge(_draw_barely_reached, SMALL),
        Edge(changed(_draw_barely_reached, lambda query, key, kernel: (query, key, faint)), SMALL),
        Edge(single(_draw_barely_reached), SMALL),
    ),
    mistakes=(
        Mistake(
            lambda query, key, kernel: _table(query, key, kernel) / _table(query, key, kernel).sum(1, keepdim=True),
            "Right where the kernel reaches some key. Where it reaches none, you divide 0 by 0; weights are 0 there.",
        ),
        Mistake(_table, "These are the kernel's values. Each row has still to be divided by its sum."),
        Mistake(
            lambda query, key, kernel: _table(query, key, kernel).softmax(dim=1),
            "You put the kernel's values through a softmax. They are positive as they are: divide each row by its sum. "
            "(A softmax of their logarithms does the same, except to a row of zeros.)",
        ),
        Mistake(
            lambda query, key, kernel: _shares(kernel(key - query[:, None])),
            "The difference is query minus key. You took key minus query, and a kernel need not be symmetric.",
        ),
    ),
)


def _draw_points(generator: torch.Generator, points: int | None = None) -> tuple:
    (points,) = [points] if points else primes(generator, 1)
    x = torch.arange(points) + 0.8 * torch.rand(points, generator=generator)
    y = torch.randn(points, generator=generator)
    bandwidth = 0.7 + 0.6 * torch.rand((), generator=generator)
    return x[torch.randperm(points, generator=generator)], y, bandwidth


def _with_two_alike(x: Tensor, y: Tensor, bandwidth: Tensor) -> tuple:
    return torch.cat([x[:-1], x[:1]]), y, bandwidth


def _with_a_far_point(x: Tensor, y: Tensor, bandwidth: Tensor) -> tuple:
    """The last point lies far from all, its scores below −10¹⁰. So narrow a bandwidth leaves no gradient to round."""
    return torch.cat([x[:-1], x.amax(dim=0, keepdim=True) + 1e5]), y, bandwidth / 2


def _scores(x: Tensor, bandwidth: Tensor) -> Tensor:
    return -((x[:, None] - x) ** 2) / (2 * bandwidth**2)


def _own(x: Tensor) -> Tensor:
    return torch.eye(len(x), dtype=torch.bool)


leave_one_out = Exercise(
    "leave_one_out",
    lambda x, y, bandwidth: _scores(x, bandwidth).masked_fill(_own(x), -math.inf).softmax(1) @ y,
    _draw_points,
    edges=(
        partial(_draw_points, points=2),
        changed(_draw_points, _with_two_alike),
        Edge(
            changed(_draw_points, _with_a_far_point),
            "Here one point lies far from all others, and is answered by the nearest of them. Hide its own score by "
            "−∞, not by some number, clamp none, and use a softmax: a quotient of kernels is 0 divided by 0 there.",
        ),
    ),
    without=("a loop or comprehension",),
    mistakes=(
        Mistake(
            lambda x, y, bandwidth: (
                _scores(x, bandwidth).masked_fill(_scores(x, bandwidth) == 0, -math.inf).softmax(1) @ y
            ),
            "You hide every score of 0. Another point may lie at the same place: hide the diagonal, and no more.",
        ),
        Mistake(
            lambda x, y, bandwidth: _scores(x, bandwidth).softmax(1) @ y,
            "Each point still sees itself: it is its own nearest key. Hide the diagonal of the scores, by −∞: 0 is the "
            "score that it has already.",
        ),
        Mistake(
            lambda x, y, bandwidth: _scores(x, bandwidth).softmax(1).masked_fill(_own(x), 0) @ y,
            "You take a point's own weight away after the softmax: the others no longer sum to 1. Hide it first.",
        ),
    ),
)
