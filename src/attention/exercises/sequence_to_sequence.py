"""The exercises of chapter 10, additive attention."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import changed, normal, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake

_draw_scorer = normal("LD", "SK", "HD", "HK", "H", H=13)


def _pairs(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor) -> tuple[Tensor, Tensor]:
    return (query @ W_q.T)[:, None], (key @ W_k.T)[None]


additive_scores = Exercise(
    "additive_scores",
    lambda q, k, W_q, W_k, w: torch.tanh(sum(_pairs(q, k, W_q, W_k))) @ w,
    _draw_scorer,
    edges=(single(_draw_scorer),),
    without=("a loop or comprehension",),
    mistakes=(
        Mistake(
            lambda q, k, W_q, W_k, w: sum(map(torch.tanh, _pairs(q, k, W_q, W_k))) @ w,
            "You take the tanh before the sum. Then the query adds the same number to every score of its row, and a "
            "softmax does not see it. Add first.",
        ),
        Mistake(
            lambda q, k, W_q, W_k, w: sum(_pairs(q, k, W_q, W_k)) @ w,
            "The tanh is missing. Without it a query adds the same number to the scores of all keys.",
        ),
        Mistake(
            lambda q, k, W_q, W_k, w: torch.tanh(sum(_pairs(q, k, W_q, W_k)) @ w),
            "You take the tanh of the score, after w. It belongs to each hidden number, before w adds them up.",
        ),
        Mistake(
            lambda q, k, W_q, W_k, w: (q @ W_q.T) @ (k @ W_k.T).T,
            "This is the dot product of the two projections. Additive attention adds them, takes the tanh, and then "
            "the product with w_v.",
        ),
    ),
)


SCORERS = (
    lambda query, key: torch.tanh(query[:, None] + key).sum(dim=-1),  # the right one
    lambda query, key: (torch.tanh(query[:, None]) + torch.tanh(key)).sum(dim=-1),
    lambda query, key: (query[:, None] + key).sum(dim=-1),
    lambda query, key: torch.tanh((query[:, None] + key).sum(dim=-1)),
    lambda query, key: query @ key.T,
)


def _hears(scorers: list[Callable], query: Tensor, key: Tensor) -> Tensor:
    found = []
    for scorer in scorers:
        first, *rest = scorer(query, key).softmax(dim=1)
        found.append(any(not torch.allclose(row, first, atol=1e-5) for row in rest))
    return torch.tensor(found)


def _draw_scorers(generator: torch.Generator) -> tuple:
    queries, keys, width = primes(generator, 3)
    order = torch.randperm(len(SCORERS), generator=generator).tolist()
    query, key = (0.3 * torch.randn(n, width, generator=generator) for n in (queries + 1, keys))
    return [SCORERS[i] for i in order], query, key


def _with_one_other(scorers: list[Callable], query: Tensor, key: Tensor, place: int) -> tuple:
    """All queries are alike but one."""
    alike = query[:1].repeat(len(query), 1)
    alike[place] = query[place]
    return scorers, alike, key


def _with_opposite_queries(scorers: list[Callable], query: Tensor, key: Tensor, last: bool) -> tuple:
    """Two queries to which a product gives the same weights for the first two keys, or the last two, and no others."""
    keys = torch.stack([0 * key[0], 0 * key[0], key[0], -key[0]])
    return scorers, torch.stack([query[0], -query[0]]), keys.flip(0) if last else keys


hears_the_query = Exercise(
    "hears_the_query",
    _hears,
    _draw_scorers,
    edges=(
        *(changed(_draw_scorers, partial(_with_one_other, place=place)) for place in (1, 2, -1)),
        *(
            Edge(changed(_draw_scorers, partial(_with_opposite_queries, last=last)), "Compare the weights of all keys.")
            for last in (False, True)
        ),
    ),
    mistakes=(
        Mistake(
            lambda scorers, query, key: torch.tensor(
                [torch.equal(scorer(query, key), SCORERS[0](query, key)) for scorer in scorers]
            ),
            "Not only the right one hears the query. A tanh after the sum, and a plain product, let it choose too.",
        ),
        Mistake(
            lambda scorers, query, key: torch.ones(len(scorers), dtype=torch.bool),
            "All of them? Two things look like a query that is heard: a number added to a whole row of scores, which "
            "the softmax cancels, and rounding. Compare the weights, with torch.allclose.",
        ),
    ),
)
