"""The exercises of chapter 10, additive attention."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import normal, single
from attention.exercises.exercise import Edge, Exercise, Mistake, primes


def _scores(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    rows = []
    for q in query:
        rows.append(torch.stack([w_v @ torch.tanh(W_q @ q + W_k @ k) for k in key]))
    return torch.stack(rows)


_draw_scorer = normal("LD", "SK", "HD", "HK", "H", H=13)


def _pairs(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor) -> tuple[Tensor, Tensor]:
    return (query @ W_q.T)[:, None], (key @ W_k.T)[None]


additive_scores = Exercise(
    "additive_scores",
    _scores,
    _draw_scorer,
    edges=(single(_draw_scorer),),
    without=("a loop",),
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
            lambda q, k, W_q, W_k, w: (torch.tanh(sum(_pairs(q, k, W_q, W_k))) @ w).softmax(dim=1),
            "These are the weights: the scores are wanted, from before the softmax.",
        ),
        Mistake(
            lambda q, k, W_q, W_k, w: (q @ W_q.T) @ (k @ W_k.T).T,
            "This is the dot product of the two projections. Additive attention adds them, takes the tanh, and then "
            "the product with w_v.",
        ),
    ),
)


def inside(query: Tensor, key: Tensor) -> Tensor:
    return torch.tanh(query[:, None] + key).sum(dim=-1)


def before(query: Tensor, key: Tensor) -> Tensor:
    return (torch.tanh(query[:, None]) + torch.tanh(key)).sum(dim=-1)


def nowhere(query: Tensor, key: Tensor) -> Tensor:
    return (query[:, None] + key).sum(dim=-1)


def outside(query: Tensor, key: Tensor) -> Tensor:
    return torch.tanh((query[:, None] + key).sum(dim=-1))


def product(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.T


SCORERS = (inside, before, nowhere, outside, product)


def _weights(scorer: Callable, query: Tensor, key: Tensor) -> Tensor:
    return scorer(query, key).softmax(dim=1)


def _hears(scorers: list[Callable], query: Tensor, key: Tensor) -> Tensor:
    found = []
    for scorer in scorers:
        first, *rest = _weights(scorer, query, key)
        found.append(any(not torch.allclose(row, first, atol=1e-5) for row in rest))
    return torch.tensor(found)


def _draw_scorers(generator: torch.Generator) -> tuple:
    queries, keys, width = primes(generator, 3)
    order = torch.randperm(len(SCORERS), generator=generator).tolist()
    query, key = (0.3 * torch.randn(n, width, generator=generator) for n in (queries, keys))
    return [_unnamed(SCORERS[i]) for i in order], query, key


def _draw_a_late_difference(generator: torch.Generator) -> tuple:
    """All queries are alike but the last."""
    scorers, query, key = _draw_scorers(generator)
    return scorers, torch.cat([query[:1].expand(len(query) - 1, -1), query[-1:]]), key


def _draw_a_middle_difference(generator: torch.Generator) -> tuple:
    """All queries are alike but the second."""
    scorers, query, key = _draw_scorers(generator)
    others = query[:1].expand(len(query) - 2, -1)
    return scorers, torch.cat([query[:2], others]), key


def _draw_opposite_queries(generator: torch.Generator, last: bool) -> tuple:
    """Two queries to which a product gives the same weights for the first two keys, or the last two, and no others."""
    scorers, query, key = _draw_scorers(generator)
    keys = torch.stack([0 * key[0], 0 * key[0], key[0], -key[0]])
    return scorers, torch.stack([query[0], -query[0]]), keys.flip(0) if last else keys


def _unnamed(scorer: Callable) -> Callable:
    """The scorer under a name that does not tell which it is."""

    def scores(query: Tensor, key: Tensor) -> Tensor:
        return scorer(query, key)

    return scores


hears_the_query = Exercise(
    "hears_the_query",
    _hears,
    _draw_scorers,
    edges=(
        _draw_a_late_difference,
        _draw_a_middle_difference,
        *(
            Edge(partial(_draw_opposite_queries, last=last), "Compare the weights of all keys.")
            for last in (False, True)
        ),
    ),
    mistakes=(
        Mistake(
            lambda scorers, query, key: ~_hears(scorers, query, key),
            "The other way round: True for a scorer whose weights depend on the query.",
        ),
        Mistake(
            lambda scorers, query, key: torch.tensor(
                [torch.equal(scorer(query, key), inside(query, key)) for scorer in scorers]
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
