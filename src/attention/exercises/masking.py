"""The exercises of chapter 5, masking."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention.exercises.exercise import Exercise, Mistake, primes
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


padding = Exercise(
    "padding",
    _padding,
    _draw_lengths,
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
            lambda lengths, length: torch.arange(length) > lengths[:, None, None],
            "The other way round: the positions *below* the length may be seen.",
        ),
        Mistake(
            lambda lengths, length: torch.arange(1, length + 1) < lengths[:, None, None],
            "One key too few: positions count from 0, so with a valid length of 3 they are 0, 1 and 2.",
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
        Mistake(
            lambda lengths, length: (torch.arange(length) < lengths[:, None, None]).int(),
            "The values are right, but as whole numbers. A mask here is boolean: `~` of 1 is −2.",
        ),
    ),
)


def _additive(mask: Tensor) -> Tensor:
    return torch.tensor([[0.0 if seen else -math.inf for seen in row] for row in mask.tolist()])


def _draw_mask(generator: torch.Generator) -> tuple:
    return (torch.rand(_length(generator), 11, generator=generator) < 0.6,)


additive = Exercise(
    "additive",
    _additive,
    _draw_mask,
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
        Mistake(
            lambda mask: torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min),
            "The lowest finite number is not −∞: a row of nothing else is averaged, though none of it may be seen.",
        ),
        Mistake(
            lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -1e4),
            "−10⁴ hides a key only behind scores that are higher. Use −∞.",
        ),
        Mistake(
            lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -1e6),
            "−10⁶ hides a key only behind scores that are higher, and float16 does not have it. Use −∞.",
        ),
        Mistake(
            lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -1e9),
            "−10⁹ hides a key only behind scores that are higher, and float16 does not have it. Use −∞.",
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

    Rows 2 to 4 lie far above 0 or below it, and in row 5 the hidden scores lie far above the visible ones: neither must
    matter.
    """
    queries, keys = primes(generator, 1)[0] + 4, _length(generator)
    mask = torch.rand(queries, keys, generator=generator) < 0.5
    mask[2:, 0], mask[2:, 1] = True, False
    mask[0], mask[1] = False, True
    scores = (8 * torch.randn(queries, keys, generator=generator)).round() / 4  # exact in float32, shifted or not
    scores[2:5] += torch.tensor([[1e4], [-1e4], [-2e6]])
    scores[5] += 200.0 * ~mask[5]
    return scores, mask


INVERTED = "The polarity: True means that a key may be seen."


def _filled(scores: Tensor, mask: Tensor, number: float) -> Tensor:
    return scores.masked_fill(~mask, number).softmax(dim=1)


def _filled_log_sum(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).logsumexp(dim=1, keepdim=True)


safe_softmax = Exercise(
    "safe_softmax",
    _safe_softmax,
    _draw_scores,
    mistakes=(
        Mistake(
            lambda scores, mask: _filled(scores, mask, -math.inf),
            "Right but for the row that sees nothing: there 0 is divided by 0. Its weights should be 0.",
        ),
        Mistake(
            lambda scores, mask: _filled(scores, mask, -1e6),
            "−10⁶ hides a key only behind scores that are higher. And in the row that sees nothing all scores became "
            "the same number, so its weights are equal, and not 0.",
        ),
        Mistake(
            lambda scores, mask: _filled(scores, mask, -1e6) * mask,
            "−10⁶ hides a key only behind scores that are higher. Fill in the lowest number of the scores' type.",
        ),
        Mistake(
            lambda scores, mask: scores.exp() * mask / (scores.exp() * mask).sum(dim=1, keepdim=True),
            "The exponential of a large score is infinite, and that of a very negative one is 0. A softmax subtracts "
            "the largest score first.",
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
            lambda scores, mask: _filled(scores, ~mask, -math.inf).nan_to_num(),
            INVERTED,
        ),
        Mistake(
            lambda scores, mask: _filled(scores, ~mask, -math.inf),
            INVERTED,
        ),
        Mistake(
            lambda scores, mask: _filled(scores, ~mask, -1e6),
            INVERTED,
        ),
        Mistake(
            lambda scores, mask: _filled(scores, ~mask, -1e6) * mask,
            INVERTED,
        ),
        Mistake(
            lambda scores, mask: _filled(scores, mask, 0.0) * mask,
            "You fill in 0, a score like any other: e⁰ = 1. The hidden keys keep their part of the sum.",
        ),
        Mistake(
            lambda scores, mask: (scores + (~mask).float() * -math.inf).softmax(dim=1),
            "0 times −∞ is NaN: use masked_fill or torch.where.",
        ),
        Mistake(
            lambda scores, mask: (scores - _filled_log_sum(scores, mask)).masked_fill(~mask, -math.inf).exp(),
            "Right but for rounding: a log-sum-exp is as large as the scores, and of a number near 10⁴ float32 keeps "
            "only three decimals. Subtract the largest score, take the exponentials, and divide by their sum.",
        ),
        Mistake(
            lambda scores, mask: (scores + mask).softmax(dim=1),
            "You add 1 to the scores of the keys that may be seen. The others are not hidden by that.",
        ),
    ),
)


FAINT = 1e-5  # far below a visible weight, and far above the rounding of an output


def _leaks(model: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    before = model(tokens)
    columns = []
    for changed in range(len(tokens)):
        other = torch.stack([-token if i == changed else token for i, token in enumerate(tokens)])
        columns.append((model(other) != before).any(dim=1))
    return torch.stack(columns, dim=1)


def _draw_model(generator: torch.Generator) -> tuple:
    """A normalised layer of attention whose mask has holes and, at random places, leaks; and a sequence for it.

    Some leaks are plain, some are faint, and some reach only the last component of an output.
    """
    width, length = primes(generator, 2)
    width, length = width + 3, length + 8
    matrices = torch.randn(3, width, width, generator=generator) / width
    chance = torch.rand(length, length, generator=generator)
    causal = causal_mask(length)
    mask = torch.where(causal, chance < 0.8, chance < 0.1)
    faint = FAINT * ((chance > 0.95) & ~causal)
    narrow = 1.0 * ((chance > 0.9) & (chance <= 0.95) & ~causal)
    is_last = torch.arange(width) == width - 1

    def model(tokens: Tensor) -> Tensor:
        normed = torch.nn.functional.layer_norm(tokens, tokens.shape[1:])
        query, key, value = (normed @ matrix for matrix in matrices)
        weights = (query @ key.T).masked_fill(~mask, -math.inf).softmax(dim=1)
        return (torch.nan_to_num(weights) + faint) @ value + (narrow @ value) * is_last

    return model, torch.randn(length, width, generator=generator)


def _differences(model: Callable[[Tensor], Tensor], tokens: Tensor, others: Tensor) -> Tensor:
    """How each output (rows) changes when another token takes the place of each (columns): (L, L, E)."""
    places = torch.eye(len(tokens), dtype=torch.bool)[:, :, None]
    return torch.stack([model(torch.where(place, others, tokens)) - model(tokens) for place in places], dim=1)


def _changes(model: Callable[[Tensor], Tensor], tokens: Tensor, others: Tensor) -> Tensor:
    return _differences(model, tokens, others).abs().amax(dim=2)


def _found(model: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    return _changes(model, tokens, -tokens) > 0


ONE_COMPONENT = "You look at one component, or ask that all change: an output has changed if *any* component has."
MISSES_FAINT_LEAKS = (
    "You miss the faint leaks: some change an output by less than 0.0001. What is hidden changes by exactly 0, so "
    "compare without a tolerance. And put in another token altogether: this model begins by normalising each token, "
    "which takes out a number that is added to all components, and a factor."
)

leaks = Exercise(
    "leaks",
    _leaks,
    _draw_model,
    mistakes=(
        Mistake(
            lambda model, tokens: _found(model, tokens).T,
            "Rows and columns are exchanged: entry (i, j) is the change of output i when token j changes.",
        ),
        Mistake(
            lambda model, tokens: ~_found(model, tokens),
            "The other way round: True where an output *does* change.",
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
        Mistake(
            lambda model, tokens: _differences(model, tokens, -tokens)[:, :, 0] != 0,
            ONE_COMPONENT,
        ),
        *(
            Mistake(
                lambda model, tokens, tolerance=tolerance: _changes(model, tokens, -tokens) > tolerance,
                MISSES_FAINT_LEAKS,
            )
            for tolerance in (1e-2, 1e-4)
        ),
        *(
            Mistake(
                lambda model, tokens, change=change: _changes(model, tokens, change(tokens)) > 0,
                MISSES_FAINT_LEAKS,
            )
            for change in (lambda token: token + 1, lambda token: token + 100, lambda token: 2 * token)
        ),
    ),
)
