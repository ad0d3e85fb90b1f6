"""The exercises of chapter 5, masking."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from attention.exercises.draws import changed, one_of, primes
from attention.exercises.exercise import Edge, Exercise, Mistake
from attention.functional import masked_softmax
from attention.masks import causal_mask


def _draw_scores(generator: torch.Generator) -> tuple:
    """Row 0 sees nothing, row 1 everything, the others some."""
    queries, keys = primes(generator, 1)[0] + 4, one_of(generator, 16, 20)
    mask = torch.rand(queries, keys, generator=generator) < 0.5
    mask[2:, 0], mask[2:, 1] = True, False
    mask[0], mask[1] = False, True
    return (8 * torch.randn(queries, keys, generator=generator)).round() / 4, mask  # exact in float32, shifted or not


def _far(scores: Tensor, mask: Tensor) -> tuple:
    """One score of row 1 lies 80 below the largest, rows 2 to 4 and 6 far from 0, row 5's hidden far above the rest."""
    scores[1, 0] = scores[1].max() - 80
    scores[2:5] += torch.tensor([[1e4], [-1e4], [-2e6]])
    scores[5] += 200.0 * ~mask[5]
    scores[6] = -1e30
    return scores, mask


def _with_a_nan(scores: Tensor, mask: Tensor) -> tuple:
    scores[1, 2] = math.nan
    return scores, mask


def _draw_one_score(generator: torch.Generator, seen: bool) -> tuple:
    return torch.randn(1, 1, generator=generator), torch.tensor([[seen]])


def _filled(scores: Tensor, mask: Tensor, number: float) -> Tensor:
    return scores.masked_fill(~mask, number).softmax(dim=1)


safe_softmax = Exercise(
    "safe_softmax",
    masked_softmax,
    _draw_scores,
    edges=(
        Edge(
            changed(_draw_scores, _far),
            "Here scores lie far above 0, far below it, and far apart. Fill in −∞, or the lowest number of the scores' "
            "type, before the softmax; where you write the exponentials yourself, subtract the largest score that "
            "is visible, and cut none off.",
        ),
        Edge(
            changed(_draw_scores, _with_a_nan),
            "Here a visible score is NaN. Its row should say so: nan_to_num hides what went wrong before. Set to 0 "
            "what is hidden, and nothing else.",
        ),
        partial(_draw_one_score, seen=False),
        partial(_draw_one_score, seen=True),
    ),
    rtol=1e-5,
    atol=1e-40,  # below every float32 but 0
    mistakes=(
        Mistake(
            lambda scores, mask: _filled(scores, mask, -math.inf),
            "Right but for the row that sees nothing: there 0 is divided by 0. Its weights should be 0.",
        ),
        Mistake(
            lambda scores, mask: _filled(scores, mask, torch.finfo(scores.dtype).min),
            "A row that sees nothing gets equal weights, as all its scores are your number. They should be 0.",
        ),
        Mistake(
            lambda scores, mask: scores.softmax(dim=1) * mask,
            "You mask the weights, and the rows no longer sum to 1: the hidden keys keep their part of the sum.",
        ),
        Mistake(
            lambda scores, mask: (scores * mask).softmax(dim=1),
            "A score of 0 is a score like any other: e⁰ = 1. A hidden key needs a score of −∞.",
        ),
    ),
)


def _leaks(model: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    before, columns = model(tokens), []
    for place in range(len(tokens)):
        another = [torch.sin(37 * token + 1) if i == place else token for i, token in enumerate(tokens)]
        columns.append((model(torch.stack(another)) != before).any(dim=1))
    return torch.stack(columns, dim=1)


def _draw_model(
    generator: torch.Generator, reads: Callable = torch.clone, writes: Callable = torch.clone, leak: float = 1.0
) -> tuple:
    """A layer whose mask has holes, an empty row and leaks, and further leaks that pass the softmax by; and a text."""
    width, length = primes(generator, 2)
    width, length = width + 4, length + 9
    matrices = torch.randn(3, width, width, generator=generator, dtype=torch.float64) / width
    chance, causal = torch.rand(length, length, generator=generator), causal_mask(length)
    mask = torch.where(causal, chance < 0.8, chance < 0.1)
    mask[torch.randint(length, (), generator=generator)] = False
    past = leak * ((chance > 0.9) & ~causal).double()
    mask[:2, -1], past[:2, -1] = False, leak  # some in every draw

    def model(tokens: Tensor) -> Tensor:
        query, key, value = (reads(tokens) @ matrix for matrix in matrices)
        weights = (query @ key.T).masked_fill(~mask, -math.inf).softmax(dim=1)
        return writes((torch.nan_to_num(weights) + past) @ value)

    return model, torch.randn(length, width, generator=generator, dtype=torch.float64)


def _normed(tokens: Tensor) -> Tensor:
    return layer_norm(tokens, tokens.shape[1:], eps=1e-12)


def _only(column: int) -> Callable:
    return lambda rows: rows * (torch.arange(rows.size(1)) == column % rows.size(1))


def _opposites(rows: Tensor) -> Tensor:
    """The first column, and its opposite: the sum of a row is 0."""
    return torch.cat([rows[:, :1], -rows[:, :1], 0 * rows[:, 2:]], dim=1)


leaks = Exercise(
    "leaks",
    _leaks,
    _draw_model,
    edges=(
        Edge(
            partial(_draw_model, reads=torch.square),
            "This model squares its tokens, so that −t does what t does. Put in another token altogether.",
        ),
        Edge(
            partial(_draw_model, reads=_only(1)),
            "This model reads one component of each token. Put in a token that differs in all of them.",
        ),
        Edge(
            partial(_draw_model, leak=1e-10, writes=lambda rows: 2.0**-40 * rows),
            "Some leaks of this model are fainter than 10⁻²⁰. What is hidden changes by exactly 0, so compare without "
            "a tolerance, and without `isclose`.",
        ),
        Edge(
            partial(_draw_model, reads=_normed, leak=1e-10),
            "This model begins by normalising each token, which takes out a number that is added to all components, "
            "and a factor. Put in another token altogether.",
        ),
        Edge(
            partial(_draw_model, writes=_only(-1)),
            "This model writes one component of each output. An output has changed if *any* component has.",
        ),
        Edge(
            partial(_draw_model, writes=_opposites),
            "Changes of opposite sign cancel in a sum. Compare the components, each by itself.",
        ),
        Edge(
            changed(_draw_model, lambda model, tokens: (torch.exp, tokens[:1])),
            "Here the text has one token. Put in a token that differs from it.",
        ),
        Edge(
            partial(_draw_model, reads=lambda rows: rows.amax(1, keepdim=True).expand_as(rows)),
            "This model reads the largest component of each token. Put in another token altogether.",
        ),
    ),
    mistakes=(
        Mistake(
            lambda model, tokens: _leaks(model, tokens) | torch.eye(len(tokens), dtype=torch.bool),
            "You take it for granted that an output depends on its own token. Test it too: one row here sees nothing.",
        ),
        Mistake(
            lambda model, tokens: _leaks(model, tokens).T,
            "Rows and columns are exchanged: entry (i, j) is the change of output i when token j changes.",
        ),
        Mistake(
            lambda model, tokens: _leaks(model, tokens).triu(1),
            "You report the future only. All changes are wanted; the leaks are then those above the diagonal.",
        ),
        Mistake(
            lambda model, tokens: _leaks(model, tokens).cummax(dim=1).values,
            "A token must be put back before the next one is changed: yours pile up.",
        ),
    ),
)
