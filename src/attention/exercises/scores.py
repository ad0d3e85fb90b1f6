"""The exercises of chapter 2, dot-product scores."""

import torch
from torch import Tensor

from attention.exercises.draws import changed, normal, single
from attention.exercises.exercise import Edge, Exercise, Mistake

_draw = normal("LD", "SD")


def _near_and_far(query: Tensor, key: Tensor) -> tuple:
    """The first key is the first query too, and the last two are so long that they have scores of 10⁴ and −10⁴.

    The numbers are eighths, times a power of 2, so that no dot product is rounded.
    """
    query, key = ((8 * vectors).round() / 8 for vectors in (query, key))
    longest = query[query.norm(dim=1).argmax()]
    long = longest * 2 ** (1e4 / longest.square().sum()).log2().ceil()
    return query, torch.cat([query[:1], key[1:-2], long[None], -long[None]])


def _expanded(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.T - 0.5 * (q.square().sum(dim=1, keepdim=True) + k.square().sum(dim=1))


distance_scores = Exercise(
    "distance_scores",
    lambda q, k: -0.5 * (q[:, None] - k).square().sum(dim=-1),
    _draw,
    edges=(
        single(_draw),
        Edge(
            changed(_draw, _near_and_far),
            "Here some scores are beyond 10⁴ and −10⁴. Do not clamp them: long vectors may have scores of any size.",
        ),
    ),
    mistakes=(
        Mistake(lambda q, k: 2 * _expanded(q, k), "This is −‖q − k‖²: the half is missing."),
        Mistake(lambda q, k: -_expanded(q, k), "The sign: a larger distance has to give a lower score."),
        Mistake(
            lambda q, k: q @ k.T - 0.5 * k.square().sum(dim=1),
            "The query's own term is missing. A softmax would forgive that, since it is one number for all keys; the "
            "scores do not.",
        ),
        Mistake(
            lambda q, k: -0.5 * (q[:, None] - k).norm(dim=-1), "This is the distance; the score is made of its square."
        ),
    ),
)
