"""The exercises of chapter 3, scaling."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import NO_CLAMP, Edge, Exercise, Mistake, centred, ones, primes


def _head_weights(query: Tensor, key: Tensor) -> Tensor:
    heads = []
    for one_query, one_key in zip(query, key, strict=True):
        scores = torch.stack([torch.stack([(q * k).sum() for k in one_key]) for q in one_query])
        heads.append(torch.softmax(scores / math.sqrt(query.size(2)), dim=1))
    return torch.stack(heads)


def _draw_heads(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    heads, queries, keys, width = sizes(generator, 4)
    shapes = (heads, queries, width), (heads, keys, width)
    return tuple(1.5 * torch.randn(shape, generator=generator) for shape in shapes)


def _draw_far_heads(generator: torch.Generator) -> tuple:
    """Queries and keys along one line: the scores of a row are ten thousand and more, or −10⁴ and less, far apart."""
    heads, queries, keys, width = primes(generator, 4)
    line = torch.nn.functional.normalize(torch.randn(heads, 1, width, generator=generator), dim=2)
    signs, steps = (-1) ** torch.arange(queries), 1 + torch.randperm(keys, generator=generator)
    return 200 * signs[:, None] * line, 200 * steps[:, None] * line


def _divided_by(divisor: float, query: Tensor, key: Tensor) -> Tensor:
    return (query @ key.mT / divisor).softmax(dim=-1)


head_weights = Exercise(
    "head_weights",
    _head_weights,
    _draw_heads,
    edges=(partial(_draw_heads, sizes=ones), Edge(_draw_far_heads, NO_CLAMP)),
    mistakes=(
        Mistake(
            lambda query, key: _divided_by(math.sqrt(query.size(0) * query.size(2)), query, key),
            "You divide by the root of H · D, the width of the model. A score is a sum over the D components of "
            "one head, so D alone goes under the root.",
        ),
        Mistake(
            lambda query, key: _divided_by(1, query, key),
            "Nothing is divided yet: the spread of these scores still grows with D.",
        ),
        Mistake(
            lambda query, key: _divided_by(query.size(2), query, key),
            "You divide by D. The spread of the scores grows with its root.",
        ),
        Mistake(
            lambda query, key: _divided_by(1, query, key) / math.sqrt(query.size(2)),
            "You divide the weights, so that they no longer sum to 1. Divide the scores, before the softmax.",
        ),
        Mistake(
            lambda query, key: (query @ key.mT / math.sqrt(query.size(2))).softmax(dim=-2),
            "Your columns sum to 1. Each query, a row, has to share out its own 1 among the keys.",
        ),
    ),
)


def _effective_keys(weights: Tensor) -> Tensor:
    rows = []
    for row in weights:
        entropy = -sum(weight * torch.log(weight) for weight in row)
        rows.append(torch.exp(entropy))
    return torch.stack(rows)


def _draw_weights(generator: torch.Generator) -> tuple:
    queries, keys = primes(generator, 2)
    spread = 0.5 + 1.5 * torch.rand(1, generator=generator)
    return ((spread * torch.randn(queries, keys, generator=generator)).softmax(dim=1),)


def _draw_small_weights(generator: torch.Generator, lowest: float = -15.0) -> tuple:
    """One weight of each row is between 10⁻⁹ and 10⁻⁶, or near 10⁻³⁰ for a lowest score of −66."""
    queries, keys = primes(generator, 2)
    scores = torch.randn(queries, keys, generator=generator)
    scores[:, 0] = lowest - 4 * torch.rand(queries, generator=generator)
    return (scores.softmax(dim=1),)


def _draw_one_query(generator: torch.Generator, keys: int = 2) -> tuple:
    return (torch.randn(1, keys, generator=generator).softmax(dim=1),)


def _draw_equal_weights(generator: torch.Generator) -> tuple:
    return (torch.full(primes(generator, 2), 0.0).softmax(dim=1),)


FLOORED = "Put no floor under the weights: the logarithm of a small weight is as low as its score."


effective_keys = Exercise(
    "effective_keys",
    _effective_keys,
    _draw_weights,
    edges=(partial(_draw_one_query, keys=1), _draw_small_weights, _draw_equal_weights),
    without=("torch.special.entr",),
    gradient=centred,
    mistakes=(
        Mistake(
            lambda weights: torch.special.entr(weights).sum(dim=1),
            "This is the entropy itself. Raise e to this power to get the number of keys.",
        ),
        Mistake(
            lambda weights: (weights * weights.log()).sum(dim=1).exp(),
            "The sign is wrong: the logarithm of a weight is negative, and an entropy is not. You have 1 divided by "
            "the answer.",
        ),
        Mistake(
            lambda weights: 2 ** torch.special.entr(weights).sum(dim=1),
            "The bases do not match. With the natural logarithm, raise e to the entropy; with log2, raise 2 to it.",
        ),
        Mistake(
            lambda weights: torch.special.entr(weights).sum(dim=0).exp(),
            "You sum down the columns. The weights of a query are a row: sum along it, to one number for each query.",
        ),
        Mistake(
            lambda weights: 1 / weights.square().sum(dim=1),
            "1 divided by the sum of squares is another count of keys. It agrees with this one only where all weights "
            "that are not 0 are equal. Use the entropy.",
        ),
    ),
)


def _score_spread(weights: Tensor) -> Tensor:
    spreads = []
    for row in weights:
        scores = torch.log(row)  # up to a constant, which a spread does not see
        mean = sum(scores) / len(scores)
        spreads.append(torch.sqrt(sum((score - mean) ** 2 for score in scores) / (len(scores) - 1)))
    return torch.stack(spreads)


score_spread = Exercise(
    "score_spread",
    _score_spread,
    _draw_weights,
    edges=(_draw_one_query, Edge(partial(_draw_small_weights, lowest=-66.0), FLOORED)),
    gradient=centred,
    mistakes=(
        Mistake(
            lambda weights: weights.log(),
            "These are the scores, up to a constant for each row. Now take their standard deviation.",
        ),
        Mistake(
            lambda weights: weights.std(dim=1),
            "This is the spread of the weights. Go back to the scores first: what undoes a softmax, up to a constant?",
        ),
        Mistake(
            lambda weights: weights.log().std(dim=0),
            "You compare queries with each other, down the columns. Only the differences within a row mean anything.",
        ),
        Mistake(
            lambda weights: weights.log().std(dim=1, correction=0),
            "Nearly: you divide by S. Divide by S − 1, as torch.std does by default.",
        ),
        Mistake(
            lambda weights: torch.logit(weights).std(dim=1),
            "ln(w / (1 − w)) undoes a sigmoid, one weight against the rest. A softmax is undone by ln w.",
        ),
    ),
)
