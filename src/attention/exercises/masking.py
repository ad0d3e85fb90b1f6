"""The exercises of chapter 5, masking."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import Exercise, Mistake, Symptom, primes
from attention.masks import causal_mask

LENGTHS = (13, 17, 19)


def _length(generator: torch.Generator) -> int:
    return LENGTHS[torch.randint(len(LENGTHS), (), generator=generator)]


def _padding(lengths: Tensor, length: int) -> Tensor:
    return torch.tensor([[[position < valid for position in range(length)]] for valid in lengths.tolist()])


def _draw_lengths(generator: torch.Generator) -> tuple:
    (batch,) = primes(generator, 1)
    length = _length(generator)
    return torch.randint(length + 1, (batch + 4,), generator=generator), length


def _draw_empty_and_full(generator: torch.Generator, length: int = 13) -> tuple:
    return torch.tensor([0, length, 1])[torch.randperm(3, generator=generator)], length


padding = Exercise(
    "padding",
    _padding,
    _draw_lengths,
    edges=(_draw_empty_and_full, partial(_draw_empty_and_full, length=1)),
    mistakes=(
        Mistake(
            lambda lengths, length: torch.arange(length) <= lengths[:, None, None],
            "One key too many: with a valid length of 3 the positions 0, 1 and 2 may be seen.",
        ),
        Mistake(
            lambda lengths, length: torch.arange(length) >= lengths[:, None, None],
            "This is the other polarity: True marks the padding. Here True means that a key may be seen.",
        ),
        Mistake(
            lambda lengths, length: torch.arange(length) < lengths[:, None],
            "The values are right, in shape (B, S). Between the two a dimension of 1 is missing, for all queries.",
        ),
        Mistake(
            lambda lengths, length: (torch.arange(length) < lengths[:, None])[:, :, None],
            "Your mask has shape (B, S, 1): it hides all keys from a padded *query*, and the padding from no other. "
            "It is the keys that have to be hidden: (B, 1, S).",
        ),
        Mistake(
            lambda lengths, length: (torch.arange(length) < lengths[:, None, None]).float(),
            "The values are right, but as numbers. A mask here is boolean.",
        ),
    ),
)


def _additive(mask: Tensor) -> Tensor:
    return torch.tensor([[0.0 if seen else -math.inf for seen in row] for row in mask.tolist()])


def _draw_mask(generator: torch.Generator) -> tuple:
    mask = torch.rand(_length(generator), 11, generator=generator) < 0.6
    mask[0], mask[1] = False, True
    return (mask,)


def _draw_small_mask(generator: torch.Generator) -> tuple:
    return (torch.rand(1, 1, generator=generator) < 0.5,)


FINITE = (
    "A finite number hides a key only behind scores that are higher, and in a row where nothing may be seen it hides "
    "nothing. Use −∞."
)


additive = Exercise(
    "additive",
    _additive,
    _draw_mask,
    edges=(_draw_small_mask,),
    symptoms=(Symptom(lambda found, expected: bool(found[expected.isinf()].isfinite().any()), FINITE),),
    mistakes=(
        Mistake(
            lambda mask: torch.zeros(mask.shape).masked_fill(mask, -math.inf),
            "The polarity: here True means that a key may be seen, so −∞ belongs where the mask is False.",
        ),
        Mistake(
            lambda mask: (~mask).float() * -math.inf,
            "0 times −∞ is NaN: choose between the two numbers, with torch.where or masked_fill, and do not multiply.",
        ),
        Mistake(
            lambda mask: mask.float() * -math.inf,
            "0 times −∞ is NaN, and besides, −∞ belongs where the mask is False.",
        ),
        Mistake(
            lambda mask: mask.float(),
            "1 and 0, added to the scores, make the one kind of key a little better than the other. They hide nothing.",
        ),
        Mistake(
            lambda mask: mask.float().masked_fill(~mask, -math.inf),
            "Where a key may be seen the score must stay as it is: add 0, not 1.",
        ),
    ),
)


def _safe_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    rows = []
    for row, seen in zip(scores, mask.tolist(), strict=True):
        visible = [score for score, see in zip(row, seen, strict=True) if see]
        terms = [torch.exp(s - max(visible)) if see else torch.zeros_like(s) for s, see in zip(row, seen, strict=True)]
        rows.append(torch.stack(terms) / (sum(terms) if visible else 1.0))
    return torch.stack(rows)


def _draw_scores(generator: torch.Generator) -> tuple:
    """Row 0 sees nothing, row 1 everything, the others some.

    Rows 2 to 4 lie far above 0 or below it, row 6 at −10³⁰, and in row 5 the hidden scores lie far above the visible
    ones: neither must matter. One score of row 1 lies far below the others.
    """
    queries, keys = primes(generator, 1)[0] + 4, _length(generator)
    mask = torch.rand(queries, keys, generator=generator) < 0.5
    mask[2:, 0], mask[2:, 1] = True, False
    mask[0], mask[1] = False, True
    scores = (8 * torch.randn(queries, keys, generator=generator)).round() / 4  # exact in float32, shifted or not
    scores[1, 0] = scores[1].max() - 80
    scores[2:5] += torch.tensor([[1e4], [-1e4], [-2e6]])
    scores[5] += 200.0 * ~mask[5]
    scores[6] = -1e30
    return scores, mask


def _draw_one_score(generator: torch.Generator) -> tuple:
    return torch.randn(1, 1, generator=generator), torch.rand(1, 1, generator=generator) < 0.5


INVERTED = "The polarity: True means that a key may be seen."


def _filled(scores: Tensor, mask: Tensor, number: float) -> Tensor:
    return scores.masked_fill(~mask, number).softmax(dim=1)


safe_softmax = Exercise(
    "safe_softmax",
    _safe_softmax,
    _draw_scores,
    edges=(_draw_one_score,),
    rtol=1e-5,
    atol=1e-40,  # below every float32 but 0
    symptoms=(
        Symptom(
            lambda found, expected: bool((found[expected == 0] != 0).any()),
            "A key that is hidden has a weight above 0. A number that is filled in hides a key only behind scores that "
            "are higher: take −∞, or the lowest number of the scores' type.",
        ),
        Symptom(
            lambda found, expected: bool(((found == 0).all(dim=1) & (expected > 0).any(dim=1)).any()),
            "Some row is all 0, though it sees a key. A number that is filled in hides a key only behind "
            "scores that are higher: take −∞, or the lowest number of the scores' type.",
        ),
        Symptom(
            lambda found, expected: bool(torch.isclose(found, expected, atol=1e-4).all()),
            "Your large weights are right, and a tiny one is not: you cut off the scores of visible keys.",
        ),
    ),
    mistakes=(
        Mistake(
            lambda scores, mask: _filled(scores, mask, -math.inf),
            "Right but for the row that sees nothing: there 0 is divided by 0. Its weights should be 0.",
        ),
        Mistake(
            lambda scores, mask: (
                scores.softmax(dim=1) * mask / (scores.softmax(dim=1) * mask).sum(dim=1, keepdim=True).clamp_min(1e-9)
            ),
            "Where a hidden score lies far above the visible ones, the softmax rounds the visible weights to 0, and "
            "dividing again does not bring them back. Hide the keys before the softmax.",
        ),
        Mistake(
            lambda scores, mask: scores.softmax(dim=1) * mask,
            "You mask the weights, and the rows no longer sum to 1: the hidden keys keep their part of the sum.",
        ),
        Mistake(
            lambda scores, mask: (scores * mask).softmax(dim=1),
            "A score of 0 is a score like any other: e⁰ = 1. A hidden key needs a score of −∞.",
        ),
        Mistake(
            lambda scores, mask: _filled(scores, ~mask, -math.inf),
            INVERTED,
        ),
    ),
)


FAINT = 1e-10  # of an output: far above its rounding in float64, and that of a sum
SMALL = 2.0**-40  # times an output: what is faint is then far below every tolerance


def _leaks(model: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    before = model(tokens)
    columns = []
    for changed in range(len(tokens)):
        other = torch.stack([-token if i == changed else token for i, token in enumerate(tokens)])
        columns.append((model(other) != before).any(dim=1))
    return torch.stack(columns, dim=1)


def _draw_model(generator: torch.Generator) -> tuple:
    """A normalised layer of attention whose mask has holes and, at random places, leaks; and a sequence for it.

    Some leaks are plain, some are faint, and some reach only the last component of an output. One row of the mask is
    empty, so that its output does not depend on its own token either.
    """
    width, length = primes(generator, 2)
    width, length = width + 3, length + 8
    matrices = torch.randn(3, width, width, generator=generator, dtype=torch.float64) / width
    chance = torch.rand(length, length, generator=generator)
    causal = causal_mask(length)
    mask = torch.where(causal, chance < 0.8, chance < 0.1)
    mask[torch.randint(length, (), generator=generator)] = False
    faint = FAINT * ((chance > 0.95) & ~causal).double()
    narrow = ((chance > 0.9) & (chance <= 0.95) & ~causal).double()
    is_last = torch.arange(width) == width - 1

    def model(tokens: Tensor) -> Tensor:
        normed = torch.nn.functional.layer_norm(tokens, tokens.shape[1:], eps=1e-12)
        query, key, value = (normed @ matrix for matrix in matrices)
        weights = (query @ key.T).masked_fill(~mask, -math.inf).softmax(dim=1)
        return SMALL * ((torch.nan_to_num(weights) + faint) @ value + (narrow @ value) * is_last)

    return model, torch.randn(length, width, generator=generator, dtype=torch.float64)


def _draw_opposites(generator: torch.Generator) -> tuple:
    """The same, but two components of each output are opposite and the others 0, so that their sum is always 0."""
    layer, tokens = _draw_model(generator)
    signs = torch.eye(tokens.size(1), dtype=tokens.dtype)[0] - torch.eye(tokens.size(1), dtype=tokens.dtype)[1]

    def model(tokens: Tensor) -> Tensor:
        return layer(tokens)[:, -1:] * signs

    return model, tokens


def _draw_one_token(generator: torch.Generator) -> tuple:
    matrix = torch.randn(3, 3, generator=generator, dtype=torch.float64)

    def model(tokens: Tensor) -> Tensor:
        return tokens @ matrix

    return model, torch.randn(1, 3, generator=generator, dtype=torch.float64)


def _differences(model: Callable[[Tensor], Tensor], tokens: Tensor, others: Tensor) -> Tensor:
    """How each output (rows) changes when another token takes the place of each (columns): (L, L, E)."""
    places = torch.eye(len(tokens), dtype=torch.bool)[:, :, None]
    return torch.stack([model(torch.where(place, others, tokens)) - model(tokens) for place in places], dim=1)


def _found(model: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    return (_differences(model, tokens, -tokens) != 0).any(dim=2)


ONE_COMPONENT = "You look at one component, or ask that all change: an output has changed if *any* component has."

leaks = Exercise(
    "leaks",
    _leaks,
    _draw_model,
    edges=(_draw_one_token, _draw_opposites),
    mistakes=(
        Mistake(
            lambda model, tokens: _found(model, tokens) | torch.eye(len(tokens), dtype=torch.bool),
            "You take it for granted that an output depends on its own token. Test it too: one row here sees nothing.",
        ),
        Mistake(
            lambda model, tokens: _found(model, tokens).T,
            "Rows and columns are exchanged: entry (i, j) is the change of output i when token j changes.",
        ),
        Mistake(
            lambda model, tokens: _found(model, tokens).triu(1),
            "You report the future only. All changes are wanted; the leaks are then those above the diagonal.",
        ),
        Mistake(
            lambda model, tokens: _found(model, tokens).cummax(dim=1).values,
            "A token must be put back before the next one is changed: yours pile up.",
        ),
        Mistake(
            lambda model, tokens: (_differences(model, tokens, -tokens) != 0).all(dim=2),
            ONE_COMPONENT,
        ),
    ),
    symptoms=(
        Symptom(
            lambda found, expected: bool((expected & ~found).any() and not (found & ~expected).any()),
            "You miss the faint leaks: some change an output by less than 10⁻²⁰. What is hidden changes by exactly 0, "
            "so compare without a tolerance, and without `isclose`. And put in another token altogether: this model "
            "begins by normalising each token, which takes out a number that is added to all components, and a factor.",
        ),
    ),
)
