"""The exercises of chapter 3, scaling."""

import math

import torch
from torch import Tensor

from attention.exercises.draws import NO_CLAMP, centred, changed, far, normal, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake
from attention.functional import attention_weights

_draw_heads = normal("HLD", "HSD", scale=1.5)


def _draw_far_heads(generator: torch.Generator) -> tuple:
    heads, *lengths = primes(generator, 4)
    return tuple(map(torch.stack, zip(*(far(generator, *lengths) for _ in range(heads)), strict=True)))


head_weights = Exercise(
    "head_weights",
    attention_weights,
    _draw_heads,
    edges=(single(_draw_heads), Edge(_draw_far_heads, NO_CLAMP)),
    mistakes=(
        Mistake(
            lambda q, k: (q @ k.mT / math.sqrt(q.size(0) * q.size(2))).softmax(dim=-1),
            "You divide by the root of H · D, the width of the model. A score is a sum over the D components of "
            "one head, so D alone goes under the root.",
        ),
        Mistake(
            lambda q, k: (q @ k.mT).softmax(dim=-1),
            "Nothing is divided yet: the spread of these scores still grows with D.",
        ),
        Mistake(
            lambda q, k: (q @ k.mT / q.size(2)).softmax(dim=-1),
            "You divide by D. The spread of the scores grows with its root.",
        ),
        Mistake(
            lambda q, k: (q @ k.mT / math.sqrt(q.size(2))).softmax(dim=-2),
            "Your columns sum to 1. Each query, a row, has to share out its own 1 among the keys.",
        ),
    ),
)


_draw_weights = changed(normal("LS", scale=1.5), lambda scores: (scores.softmax(dim=1),))


def _draw_small_weights(generator: torch.Generator) -> tuple:
    """One weight of each row is between 10⁻⁹ and 10⁻⁶."""
    (scores,) = normal("LS")(generator)
    scores[:, 0] = -15 - 4 * torch.rand(len(scores), generator=generator)
    return (scores.softmax(dim=1),)


def _entropy(w: Tensor) -> Tensor:
    return torch.special.entr(w).sum(dim=1)


effective_keys = Exercise(
    "effective_keys",
    lambda w: _entropy(w).exp(),
    _draw_weights,
    edges=(
        single(_draw_weights),
        _draw_small_weights,
        changed(_draw_weights, lambda w: (torch.zeros_like(w).softmax(dim=1),)),
    ),
    without=("torch.special.entr",),
    gradient=centred,
    mistakes=(
        Mistake(_entropy, "This is the entropy itself. Raise e to this power to get the number of keys."),
        Mistake(
            lambda w: (-_entropy(w)).exp(),
            "The sign is wrong: the logarithm of a weight is negative, and an entropy is not. You have 1 divided by "
            "the answer.",
        ),
        Mistake(
            lambda w: 2 ** _entropy(w),
            "The bases do not match. With the natural logarithm, raise e to the entropy; with log2, raise 2 to it.",
        ),
        Mistake(
            lambda w: 1 / w.square().sum(dim=1),
            "1 divided by the sum of squares is another count of keys. It agrees with this one only where all weights "
            "that are not 0 are equal. Use the entropy.",
        ),
    ),
)
