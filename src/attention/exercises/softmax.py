"""The exercises of chapter 4, softmax."""

import math

import torch
from torch import Tensor

from attention.exercises.draws import NO_CLAMP, changed, far, normal, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake


def _draw_scores(generator: torch.Generator) -> tuple:
    """Rows that lie thousands apart, and thousands from 0, each with a score of −∞."""
    (scores,) = normal("LS")(generator)
    queries, keys = scores.shape
    scores = scores + torch.linspace(-2e4, 2e4, queries + 1)[1:, None]  # the number is odd, so none of them is 0
    return (scores.scatter(1, torch.randint(keys, (queries, 1), generator=generator), -math.inf),)


def _with_a_high_one(scores: Tensor) -> tuple:
    """In each row one score lies 300 above the others: only a shift by the largest is enough."""
    highest = scores.argmax(dim=1, keepdim=True)
    return (scores.scatter_add(1, highest, torch.full(highest.shape, 300.0)),)


def _draw_falling_scores(generator: torch.Generator) -> tuple:
    """Rows without −∞ whose scores fall to some 80 below the largest."""
    queries, keys = primes(generator, 2)
    return (torch.linspace(0, -80, keys) + torch.rand(queries, keys, generator=generator),)


_draw_equal_scores = changed(normal("LS", scale=1e4), lambda scores: (scores[:, :1].expand_as(scores).contiguous(),))


def _of(powers: Tensor) -> Tensor:
    return powers / powers.sum(dim=1, keepdim=True)


stable_softmax = Exercise(
    "stable_softmax",
    lambda scores: scores.double().softmax(dim=1).to(scores.dtype),
    _draw_scores,
    edges=(
        Edge(
            _draw_falling_scores,
            "Your large weights are right, and the tiny ones are not: either you cut the scores off, or you subtract "
            "more than the largest score, so that small exponentials are rounded.",
        ),
        Edge(
            changed(_draw_scores, _with_a_high_one),
            "Here one score lies 300 above the others of its row. Subtract the row's largest score, and cut none off.",
        ),
        _draw_equal_scores,
        single(_draw_equal_scores),
    ),
    without=("PyTorch's softmax",),
    rtol=1e-5,
    atol=0.0,  # the weights of −∞ are exactly 0
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
            "Subtract the row's largest score.",
        ),
        Mistake(
            lambda scores: _of(scores.clamp(-80, 80).exp()),
            "Clamping keeps the exponentials finite, but it makes all scores beyond the bound equal. The weights "
            "depend on the differences between the scores, which are lost.",
        ),
    ),
)


_draw_lookup = normal("D", "SD", "S")


def _draw_far_lookup(generator: torch.Generator) -> tuple:
    keys, width = primes(generator, 2)
    query, key = far(generator, 1, keys, width)
    return 100 * query[0], key / 100, torch.randn(keys, generator=generator)


def _weights(q: Tensor, k: Tensor) -> Tensor:
    return (k @ q / math.sqrt(len(q))).softmax(dim=0)


answer_gradient = Exercise(
    "answer_gradient",
    lambda q, k, v: (_weights(q, k) * (v - _weights(q, k) @ v)) @ k / math.sqrt(len(q)),
    _draw_lookup,
    edges=(single(_draw_lookup), Edge(_draw_far_lookup, NO_CLAMP)),
    without=("autograd",),
    mistakes=(
        Mistake(
            lambda q, k, v: (_weights(q, k) * (v - _weights(q, k) @ v)) @ k,
            "The scores are divided by √D, and so is their derivative by the query: that factor is missing.",
        ),
        Mistake(
            lambda q, k, v: (_weights(q, k) * (1 - _weights(q, k)) * v) @ k / math.sqrt(len(q)),
            "α(1 − α) is the diagonal of the Jacobian. A score also acts on the weights of the other keys: the pull is "
            "α(v − o).",
        ),
        Mistake(
            lambda q, k, v: (_weights(q, k) * v) @ k / math.sqrt(len(q)),
            "A pull contains the distance of a value from the answer. Subtract the answer from the values first.",
        ),
        Mistake(
            lambda q, k, v: _weights(q, k) * (v - _weights(q, k) @ v),
            "These are the derivatives by the scores, (S,). The derivative by the query has one number for each "
            "component, (D,): multiply each key by its pull, and add.",
        ),
    ),
)
