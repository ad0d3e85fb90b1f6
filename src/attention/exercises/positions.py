"""The exercises of chapter 8, positions."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention.exercises.draws import normal, one_of, primes, single
from attention.exercises.exercise import Exercise, Mistake
from attention.positions import rotate, rotate_heads


def _draw_rotary(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    queries, keys, pairs = sizes(generator, 3)
    query, key = (2 * torch.randn(length, 2 * pairs, generator=generator) for length in (queries, keys))
    return query, key, *(60 * torch.rand(length, generator=generator) - 30 for length in (queries, keys))


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.T / math.sqrt(query.size(1))


rotary_scores = Exercise(
    "rotary_scores",
    lambda query, key, i, j: _scores(*rotate_heads(query, key, i, j)),
    _draw_rotary,
    edges=(single(_draw_rotary),),
    mistakes=(
        Mistake(
            lambda query, key, i, j: _scores(rotate(query, i), key),
            "Only the queries are turned. Turn the keys as well, each by its own position.",
        ),
        Mistake(
            lambda query, key, i, j: _scores(*rotate_heads(query, key, i, -j)),
            "You turn keys against the queries: the score then depends on the sum of the positions. Turn both the same "
            "way, and the difference is left.",
        ),
        Mistake(
            lambda query, key, i, j: _scores(*rotate_heads(query, key, i, j, layout="interleaved")),
            "Your pairs are the columns 2i and 2i + 1. That is the other layout: here i and i + D/2 are a pair.",
        ),
        Mistake(
            lambda query, key, i, j: rotate(query, i) @ rotate(key, j).T,
            "The turns are right. The scores are not divided by the root of the width.",
        ),
    ),
)


def _draw_scores(generator: torch.Generator) -> tuple:
    queries, keys = sorted(primes(generator, 2))
    return (torch.randn(4 ** one_of(generator, 1, 2), queries, keys, generator=generator),)


SHAPES = (1, 3, 5), (2, 1, 7), (8, 3, 3), (64, 2, 3), (1, 1, 1), (2, 3, 200)  # few heads, many, one query, far keys


def _lowered(scores: Tensor, *, slopes: Tensor | None = None, offset: int | None = None, sign: float = -1.0) -> Tensor:
    """The scores with ALiBi's bias; any step can be replaced by a wrong one."""
    heads, queries, keys = scores.shape
    slopes = _slopes(heads) if slopes is None else slopes
    offset = keys - queries if offset is None else offset
    distance = (torch.arange(queries)[:, None] + offset - torch.arange(keys)).abs()
    return scores + sign * slopes[:, None, None] * distance


def _slopes(heads: int, first: int = 1) -> Tensor:
    return 2.0 ** (-8 * torch.arange(first, heads + first) / heads)


with_alibi = Exercise(
    "with_alibi",
    _lowered,
    _draw_scores,
    edges=tuple(normal("HLS", H=heads, L=queries, S=keys) for heads, queries, keys in SHAPES),
    mistakes=(
        Mistake(
            lambda scores: _lowered(scores, offset=0),
            "Your first query stands at position 0. The queries are the *last* L of S tokens: query 0 is at S − L.",
        ),
        Mistake(
            lambda scores: _lowered(scores, sign=1.0),
            "Your scores rise with the distance: the bias is to be subtracted.",
        ),
        Mistake(
            lambda scores: _lowered(scores, slopes=_slopes(scores.size(0), first=0)),
            "Your first slope is 1: count the heads from 1, so that the first slope is 2^(−8/H).",
        ),
        Mistake(
            lambda scores: _lowered(scores, slopes=2.0 ** -torch.arange(1.0, scores.size(0) + 1)),
            "Your slopes are 1/2, 1/4, 1/8, …, which are right for eight heads only. In general it is 2^(−8h/H).",
        ),
    ),
)
