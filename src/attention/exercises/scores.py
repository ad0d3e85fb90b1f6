"""The exercises of chapter 2, dot-product scores."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import Edge, Exercise, Mistake, ones, primes


def _draw(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    queries, keys, width = sizes(generator, 3)
    return torch.randn(queries, width, generator=generator), torch.randn(keys, width, generator=generator)


def _draw_near_and_far(generator: torch.Generator) -> tuple:
    """The first key is the first query too, and the last two are so long that they have scores of 10⁴ and −10⁴.

    The numbers are eighths, times a power of 2, so that no dot product is rounded.
    """
    query, key = ((8 * vectors).round() / 8 for vectors in _draw(generator))
    longest = query[query.norm(dim=1).argmax()]
    far = longest * 2 ** (1e4 / longest.square().sum()).log2().ceil()
    return query, torch.cat([query[:1], key[1:-2], far[None], -far[None]])


CLAMPED = "Here some scores are beyond 10⁴ and −10⁴. Do not clamp them: long vectors may have scores of any size."
EDGES = partial(_draw, sizes=ones), Edge(_draw_near_and_far, CLAMPED)


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return torch.stack([torch.stack([sum(a * b for a, b in zip(q, k, strict=True)) for k in key]) for q in query])


scores = Exercise(
    "scores",
    _scores,
    _draw,
    edges=EDGES,
    without=("a loop",),
    mistakes=(
        Mistake(
            lambda query, key: query @ key,
            "The widths must meet: turn the keys on their side, so that (L, D) meets (D, S).",
        ),
        Mistake(
            lambda query, key: key @ query.T,
            "This is the map turned over, (S, L): rows must be queries, so the queries come first.",
        ),
        Mistake(
            lambda query, key: torch.cosine_similarity(query[:, None], key[None], dim=-1),
            "These are cosines: the lengths have been divided out, and a dot product keeps them.",
        ),
        Mistake(
            lambda query, key: (query @ key.T).softmax(dim=-1),
            "These are weights already: leave the softmax out.",
        ),
        Mistake(
            lambda query, key: query @ key.T / query.size(1) ** 0.5,
            "You divide by √D. Here the dot products are asked for as they are.",
        ),
        Mistake(
            lambda query, key: query @ key.T / query.size(1),
            "You average the products of the components. A dot product is their sum.",
        ),
    ),
)


def _distance_scores(query: Tensor, key: Tensor) -> Tensor:
    return torch.stack([torch.stack([-0.5 * ((q - k) ** 2).sum() for k in key]) for q in query])


def _expanded(query: Tensor, key: Tensor) -> Tensor:
    squares = query.square().sum(dim=1, keepdim=True) + key.square().sum(dim=1)
    return query @ key.T - 0.5 * squares


distance_scores = Exercise(
    "distance_scores",
    _distance_scores,
    _draw,
    edges=EDGES,
    mistakes=(
        Mistake(
            lambda query, key: 2 * _expanded(query, key),
            "This is −‖q − k‖², without the half: the scores are twice too far apart.",
        ),
        Mistake(
            lambda query, key: -_expanded(query, key),
            "The sign: a larger distance has to give a lower score.",
        ),
        Mistake(
            lambda query, key: 2 * query @ key.T - _expanded(query, key),
            "The two squares have the wrong sign: subtract them from the dot product.",
        ),
        Mistake(
            lambda query, key: query @ key.T - 0.5 * key.square().sum(dim=1),
            "The query's own term is missing. A softmax would forgive that, since it is one number for all keys; the "
            "scores do not.",
        ),
        Mistake(
            lambda query, key: query @ key.T - query.square().sum(dim=1, keepdim=True) - key.square().sum(dim=1),
            "The half belongs to the two squares; the product in the middle has none.",
        ),
        Mistake(
            lambda query, key: -0.5 * (query[:, None] - key).norm(dim=-1),
            "This is the distance; the score is made of its square.",
        ),
        Mistake(
            lambda query, key: -(query[:, None] - key).norm(dim=-1),
            "This is the distance; the score is minus half of its square.",
        ),
        Mistake(
            lambda query, key: _expanded(query, key) / query.size(1),
            "You average the squares of the components. A squared distance is their sum.",
        ),
    ),
)
