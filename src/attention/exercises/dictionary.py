"""The exercises of chapter 1, the dictionary analogy."""

from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import normal, single
from attention.exercises.exercise import Edge, Exercise, Mistake, centred, primes

COLD, HOT = 0.02, 200.0
FREEZING = (
    f"Here the temperature is {COLD}. Clamp neither it nor the scores, and where you write the exponentials yourself, "
    "subtract the largest score first: e to the power of 100 is too large for float32."
)
BOILING = f"Here the temperature is {HOT:g}, and the scores are as far apart. Clamp neither of them."


def _temperature(generator: torch.Generator, low: float, high: float) -> float:
    return round(low + (high - low) * torch.rand((), generator=generator).item(), 3)


def _weights_at(scores: Tensor, temperature: float) -> Tensor:
    exponentials = [torch.exp((score - max(scores)) / temperature) for score in scores]
    return torch.stack([exponential / sum(exponentials) for exponential in exponentials])


def _draw_scores(generator: torch.Generator, sizes=primes, low: float = 0.4, high: float = 0.7) -> tuple:
    return *normal("S")(generator, sizes), _temperature(generator, low, high)


def _draw_a_tie(generator: torch.Generator) -> tuple:
    scores, temperature = _draw_scores(generator)
    return scores[:1].expand_as(scores).clone(), temperature


def _draw_cold(generator: torch.Generator) -> tuple:
    """Scores of which two are close together, and e to the power of the largest, divided, is beyond float32."""
    return torch.tensor([2.0, 1.99, 1.0, -2.0])[torch.randperm(4, generator=generator)], COLD


def _draw_hot(generator: torch.Generator) -> tuple:
    return HOT * _draw_scores(generator)[0], HOT


weights_at = Exercise(
    "weights_at",
    _weights_at,
    _draw_scores,
    edges=(
        single(_draw_scores),
        partial(_draw_scores, low=0.1, high=0.2),
        partial(_draw_scores, low=5.0, high=20.0),
        _draw_a_tie,
        Edge(_draw_cold, FREEZING),
        Edge(_draw_hot, BOILING),
    ),
    without=("PyTorch's softmax",),
    mistakes=(
        Mistake(
            lambda scores, T: (scores * T).softmax(0),
            "You multiply by the temperature. A high temperature has to bring the scores closer together, so divide.",
        ),
        Mistake(
            lambda scores, T: scores.softmax(0) / T,
            "You divide after the softmax, so the weights sum to 1/temperature. Divide the scores, before it.",
        ),
        Mistake(
            lambda scores, T: scores.softmax(0),
            "The temperature changes nothing yet: divide the scores by it before the softmax.",
        ),
        Mistake(
            lambda scores, T: torch.exp(scores / T) / torch.exp(scores).sum(),
            "Divide by the sum of the same exponentials: the temperature belongs in the denominator too.",
        ),
        Mistake(
            lambda scores, T: torch.exp(scores / T),
            "The exponentials are right, but they do not sum to 1 yet: divide by their sum.",
        ),
    ),
)


def _scores_from_weights(w: Tensor) -> Tensor:
    return torch.stack([torch.log(weight) for weight in w])


def _draw_weights(generator: torch.Generator, sizes=primes) -> tuple:
    """No weight is below a hundredth: 1 less the others gives the last with most of its digits."""
    return ((2 * torch.rand(sizes(generator, 1), generator=generator)).softmax(0),)


def _draw_small_weight(generator: torch.Generator) -> tuple:
    (w,) = _draw_weights(generator)
    return (torch.cat([torch.tensor([1e-30]), w[1:] / w[1:].sum()]),)


scores_from_weights = Exercise(
    "scores_from_weights",
    _scores_from_weights,
    _draw_weights,
    edges=(
        single(_draw_weights),
        lambda generator: (torch.zeros(primes(generator, 1)).softmax(0),),
        Edge(
            _draw_small_weight,
            "Here a weight is 10⁻³⁰. Put no floor under it: the logarithm of a small weight is as low as its score.",
        ),
    ),
    canonical=lambda scores: scores - scores.mean(),
    atol=1e-4,  # rounded by so much when they are hundreds
    gradient=centred,
    mistakes=(
        Mistake(lambda w: w * 1.0, "These are the weights themselves. Their softmax is nearly uniform: find scores."),
        Mistake(lambda w: w.exp(), "You took exp, which is what the softmax does. You need what undoes it."),
        Mistake(lambda w: torch.log10(w), "The logarithm, but to base 10: a softmax uses e, so take the natural one."),
        Mistake(lambda w: -torch.log(w), "The sign: a larger weight needs a larger score."),
        Mistake(
            lambda w: torch.logit(w),
            "ln(w / (1 − w)) undoes a sigmoid, one weight against the rest. A softmax is undone by ln w.",
        ),
    ),
)
