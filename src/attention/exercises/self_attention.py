"""The exercises of chapter 6, self-attention."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention.exercises.draws import NO_CLAMP, normal, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake
from attention.functional import scaled_dot_product_attention as sdpa


def _draw(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    target, source, w_q, w_k, w_v = normal("TE", "SE", "ED", "ED", "EV", V=2)(generator, sizes)
    return target, source, *(matrix / math.sqrt(len(matrix)) for matrix in (w_q, w_k, w_v))


def _draw_far(generator: torch.Generator) -> tuple:
    """Sentences along one line, and maps that make their scores up to 10⁴, or down to −10⁴, and far apart."""
    *sentences, w_q, w_k, w_v = _draw(generator)
    line = torch.nn.functional.normalize(sentences[0][0], dim=0)
    factor = (1e4 * math.sqrt(w_q.size(1)) / ((line @ w_q) @ (line @ w_k)).abs()).sqrt()
    steps = [(1 + torch.randperm(len(one), generator=generator)) / len(one) for one in sentences]
    return *(one[:, None] * line for one in steps), factor * w_q, factor * w_k, w_v


cross_attention = Exercise(
    "cross_attention",
    lambda target, source, w_q, w_k, w_v: sdpa(target @ w_q, source @ w_k, source @ w_v),
    _draw,
    edges=(single(_draw), Edge(_draw_far, NO_CLAMP)),
    mistakes=(
        Mistake(
            lambda t, s, w_q, w_k, w_v: sdpa(s @ w_q, t @ w_k, t @ w_v),
            "The roles are exchanged: your output has one row a *source* token. The target asks.",
        ),
        Mistake(
            lambda t, s, w_q, w_k, w_v: sdpa(t @ w_q, s @ w_k, t @ w_v),
            "The keys are the source's and the values the target's. There must be one value for each key, of the same "
            "token.",
        ),
        Mistake(
            lambda t, s, w_q, w_k, w_v: sdpa(t @ w_q, t @ w_k, t @ w_v),
            "This is self-attention of the target: the source is not read at all.",
        ),
        Mistake(
            lambda t, s, w_q, w_k, w_v: sdpa(t @ w_q, s @ w_k, s @ w_v, scale=t.size(1) ** -0.5),
            "Under the root is the width of the tokens. The product is summed over the width of a query: w_q has it.",
        ),
    ),
)


def _previous_map(places: Tensor) -> Tensor:
    """The sum of the outer products of each place and the one before it."""
    return sum(torch.outer(place, places[max(i - 1, 0)]) for i, place in enumerate(places)).detach()


def _draw_places(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    """Orthogonal rows of length 1, in a space that is wider than there are places."""
    length, width = sorted(sizes(generator, 2))
    return (torch.linalg.qr(torch.randn(width, length, generator=generator)).Q.T,)


previous_map = Exercise(
    "previous_map",
    _previous_map,
    _draw_places,
    edges=(single(_draw_places),),
    mistakes=(
        Mistake(
            lambda places: places.T @ torch.cat([places[1:], places[-1:]]),
            "This attends to the place *after* each one: place i is to be turned into place i − 1.",
        ),
        Mistake(
            lambda places: places.T @ places.roll(1, dims=0),
            "All but the first place are right: it has none before it, and is to be turned into itself.",
        ),
        Mistake(
            lambda places: torch.cat([places[:1], places[:-1]]).T @ places,
            "Transposed: this turns place i − 1 into place i.",
        ),
    ),
)
