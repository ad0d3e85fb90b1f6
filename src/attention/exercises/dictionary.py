"""The exercises of chapter 1, the dictionary analogy."""

import torch

from attention.exercises.draws import centred, changed, normal, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake

COLD, HOT = 0.02, 200.0


def _draw_scores(generator: torch.Generator, **options) -> tuple:
    temperature = round(0.4 + 0.3 * torch.rand((), generator=generator).item(), 3)
    return *normal("S")(generator, **options), temperature


def _draw_cold(generator: torch.Generator) -> tuple:
    """Scores of which two are close together, and e to the power of the largest, divided, is beyond float32."""
    return torch.tensor([2.0, 1.99, -2.0, -2.0])[torch.randperm(4, generator=generator)], COLD


weights_at = Exercise(
    "weights_at",
    lambda scores, T: (scores / T).softmax(0),
    _draw_scores,
    edges=(
        single(_draw_scores),
        Edge(
            _draw_cold,
            f"Here the temperature is {COLD}. Clamp neither it nor the scores, and where you write the exponentials "
            "yourself, subtract the largest score first: e to the power of 100 is too large for float32.",
        ),
        Edge(
            changed(_draw_scores, lambda scores, T: (HOT * scores, HOT)),
            f"Here the temperature is {HOT:g}, and the scores are as far apart. Clamp neither of them.",
        ),
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
    ),
)


def _draw_weights(generator: torch.Generator, sizes=primes) -> tuple:
    """No weight is below a hundredth: 1 less the others gives the last with most of its digits."""
    return ((2 * torch.rand(sizes(generator, 1), generator=generator)).softmax(0),)


scores_from_weights = Exercise(
    "scores_from_weights",
    torch.log,
    _draw_weights,
    edges=(
        single(_draw_weights),
        changed(_draw_weights, lambda w: (torch.zeros_like(w).softmax(0),)),
        Edge(
            changed(_draw_weights, lambda w: (torch.cat([w.new_tensor([1e-37]), w[1:] / w[1:].sum()]),)),
            "Here a weight is 10⁻³⁷. Put no floor under it: the logarithm of a small weight is as low as its score.",
        ),
    ),
    canonical=lambda scores: scores - scores.mean(),
    atol=1e-4,  # rounded by so much when they are hundreds
    gradient=centred,
    mistakes=(
        Mistake(lambda w: w * 1.0, "These are the weights themselves. Their softmax is nearly uniform: find scores."),
        Mistake(lambda w: torch.log10(w), "The logarithm, but to base 10: a softmax uses e, so take the natural one."),
        Mistake(lambda w: -torch.log(w), "The sign: a larger weight needs a larger score."),
    ),
)
