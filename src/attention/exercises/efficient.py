"""The exercises of chapter 12, the cost of attention."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import PRIMES, Exercise, Mistake, Symptom, ones, primes

# ------------------------------------------------------------------------------------------------ parts that merge


def _merged_answer(one: Tensor, other: Tensor) -> Tensor:
    rows = []
    for first, second in zip(one, other, strict=True):
        seen = [part for part in (first, second) if part[0] > -math.inf]
        if not seen:
            rows.append(0 * first[2:])
            continue
        largest = torch.stack([part[0] for part in seen]).amax()
        total, *mixture = sum(torch.exp(part[0] - largest) * part[1:] for part in seen)
        rows.append(torch.stack(mixture) / total)
    return torch.stack(rows)


def _draw_tables(generator: torch.Generator, sizes: Callable = primes, blind: tuple[float, ...] = (0.0, 0.0)) -> tuple:
    queries, *widths = sizes(generator, 3)
    values = next(width for width in widths if width + 2 != queries)
    return tuple(_table(generator, queries, values, share) for share in blind)


def _table(generator: torch.Generator, queries: int, values: int, blind: float) -> Tensor:
    """What a part of the keys sends, of which so large a share of the queries sees nothing."""
    table = torch.randn(queries, 2 + values, generator=generator)
    table[:, 0] *= 3
    table[:, 1] = 1 + 4 * torch.rand(queries, generator=generator)
    is_blind = torch.rand(queries, generator=generator) < blind
    table[is_blind] = 0.0
    table[is_blind, 0] = -math.inf
    return table


def _draw_far_apart(generator: torch.Generator) -> tuple:
    """Largest scores that an exponential cannot hold, in both directions."""
    one, other = _draw_tables(generator)
    far = 300.0 * torch.tensor([1.0, -1.0])[torch.arange(len(one)) % 2]
    one[:, 0] += far
    other[:, 0] += 200.0
    return one, other


def _of_the_seen(answers: Tensor) -> Tensor:
    """Where a query sees nothing its zeros are right, however they came about."""
    return torch.where((answers == 0).all(dim=1, keepdim=True), answers.detach(), answers)


def _merged(one: Tensor, other: Tensor, of_total: Callable, of_mixture: Callable) -> Tensor:
    """Both parts' totals and mixtures, each rescaled by a factor of a part's score and the larger one; divided."""
    largest = torch.maximum(one[:, :1], other[:, :1])
    total = sum(of_total(part[:, :1], largest) * part[:, 1:2] for part in (one, other))
    mixture = sum(of_mixture(part[:, :1], largest) * part[:, 2:] for part in (one, other))
    return _divided(mixture, total)


def _divided(mixture: Tensor, total: Tensor) -> Tensor:
    return mixture / torch.where(total == 0, 1.0, total)


def _finite(scores: Tensor) -> Tensor:
    return scores.clamp(min=torch.finfo(scores.dtype).min)


def _shrunk(scores: Tensor, largest: Tensor) -> Tensor:
    return (scores - _finite(largest)).exp()


def _kept(scores: Tensor, largest: Tensor) -> Tensor:
    return torch.ones_like(scores)


BLIND = (
    "The parts merge, and a query that sees no key of either part gets NaN. There −∞ − (−∞) is NaN, and so is 0 / 0: "
    "put a finite number in the place of a largest score of −∞, and of a total of 0, before you use them."
)

merged_answer = Exercise(
    "merged_answer",
    _merged_answer,
    _draw_tables,
    edges=(
        partial(_draw_tables, sizes=ones),
        partial(_draw_tables, blind=(0.5, 0.5)),
        partial(_draw_tables, blind=(1.0, 0.0)),
        partial(_draw_tables, blind=(1.0, 1.0)),
        _draw_far_apart,
    ),
    canonical=_of_the_seen,
    mistakes=(
        Mistake(
            lambda one, other: _merged(one, other, _kept, _kept),
            "You add the totals and the mixtures as they are. Each was taken with its own largest score: first bring "
            "both to the larger one.",
        ),
        Mistake(
            lambda one, other: _merged(one, other, _shrunk, _kept),
            "The totals are rescaled, and the mixtures are not. Both are sums of the same shares.",
        ),
        Mistake(
            lambda one, other: _merged(one, other, _kept, _shrunk),
            "The mixtures are rescaled, and the totals are not. Both are sums of the same shares.",
        ),
        Mistake(
            lambda one, other: (_divided(one[:, 2:], one[:, 1:2]) + _divided(other[:, 2:], other[:, 1:2])) / 2,
            "You take the mean of two answers. A part with larger scores has more to say.",
        ),
        Mistake(
            lambda one, other: (
                _merged(one, other, _kept, _kept) * 0
                + sum(
                    _shrunk(part[:, :1], torch.maximum(one[:, :1], other[:, :1])) * part[:, 2:] for part in (one, other)
                )
            ),
            "This is the merged mixture. Divide it by the merged total.",
        ),
    ),
    symptoms=(
        Symptom(
            lambda found, expected: bool((found.isnan() & (expected != 0)).any()),
            "NaN, though the query sees a key. Either an exponential left the range of its dtype: subtract the larger "
            "of the two largest scores first. Or the −∞ or the total of 0 of a part that it does not see came in.",
        ),
        Symptom(lambda found, expected: bool((found.isnan() & (expected == 0)).any()), BLIND),
    ),
)


# ------------------------------------------------------------------------------------------------ a cached step


def _cached_step(query: Tensor, key: Tensor, value: Tensor, kept_key: Tensor, kept_value: Tensor) -> Tensor:
    heads = []
    for head in range(query.size(0)):
        answers = []
        for new in range(query.size(1)):
            keys = torch.cat([kept_key[head], key[head, : new + 1]])
            values = torch.cat([kept_value[head], value[head, : new + 1]])
            scores = torch.stack([(query[head, new] * each).sum() for each in keys]) / math.sqrt(query.size(2))
            answers.append((scores.softmax(0).unsqueeze(1) * values).sum(0))
        heads.append(torch.stack(answers))
    return torch.stack(heads)


def _draw_step(generator: torch.Generator, new: int | None = None, kept: int | None = None) -> tuple:
    heads, news, width = primes(generator, 3)
    (keeps,) = {*PRIMES} - {heads, news, width}
    new, kept = news if new is None else new, keeps if kept is None else kept
    shapes = [(heads, new, width)] * 3 + [(heads, kept, width)] * 2
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def _draw_single(generator: torch.Generator) -> tuple:
    return tuple(torch.randn(1, 1, 1, generator=generator) for _ in range(5))


def _step(sees: Callable, query, key, value, kept_key, kept_value, scale: Callable = math.sqrt) -> Tensor:
    """All keys, the kept first, under the mask that ``sees(kept, new)`` makes."""
    keys, values = torch.cat([kept_key, key], dim=1), torch.cat([kept_value, value], dim=1)
    scores = query @ keys.mT / scale(query.size(2))
    return scores.masked_fill(~sees(kept_key.size(1), key.size(1)), -math.inf).softmax(-1) @ values


def _offset(by: int) -> Callable:
    return lambda kept, new: torch.ones(new, kept + new, dtype=torch.bool).tril(kept + by)


cached_step = Exercise(
    "cached_step",
    _cached_step,
    _draw_step,
    edges=(
        partial(_draw_step, new=1),
        partial(_draw_step, kept=0),
        partial(_draw_step, kept=1),
        _draw_single,
    ),
    mistakes=(
        Mistake(
            partial(_step, lambda kept, new: torch.ones(new, kept + new, dtype=torch.bool).tril()),
            "Your mask is aligned at the top left, as PyTorch's is_causal is: the first new token sees one key. It "
            "should see all S kept keys and itself.",
        ),
        Mistake(
            partial(_step, lambda kept, new: torch.ones(new, kept + new, dtype=torch.bool)),
            "Your new tokens see each other's future. Each may see the new ones up to itself.",
        ),
        Mistake(
            partial(_step, _offset(-1)),
            "One key too few: a new token also sees itself.",
        ),
        Mistake(
            lambda query, key, value, kept_key, kept_value: _step(
                lambda kept, new: torch.ones(new, new, dtype=torch.bool).tril(),
                query,
                key,
                value,
                kept_key[:, :0],
                kept_value[:, :0],
            ),
            "The kept keys and values are not used.",
        ),
        Mistake(
            partial(_step, _offset(0), scale=lambda width: 1),
            "Nothing is divided yet: the scores are divided by the root of D.",
        ),
    ),
)


# ------------------------------------------------------------------------------------------------ grouped heads


def _grouped_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    size = query.size(0) // key.size(0)
    answers = []
    for head in range(query.size(0)):
        group = head // size
        rows = []
        for each in query[head]:
            scores = torch.stack([(each * k).sum() for k in key[group]]) / math.sqrt(query.size(2))
            rows.append((scores.softmax(0).unsqueeze(1) * value[group]).sum(0))
        answers.append(torch.stack(rows))
    return torch.stack(answers)


def _draw_groups(generator: torch.Generator, groups: int | None = None, size: int | None = None) -> tuple:
    """Keys and values are of one width, and queries, keys and groups of different numbers."""
    number, length, width = primes(generator, 3)
    (keys,) = {*PRIMES} - {number, length, width}
    groups, size = number if groups is None else groups, 2 if size is None else size
    shapes = (groups * size, length, width), (groups, keys, width), (groups, keys, width)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def _draw_one_of_each(generator: torch.Generator) -> tuple:
    return tuple(torch.randn(1, 1, 1, generator=generator) for _ in range(3))


def _with_groups(of_heads: Callable, query: Tensor, key: Tensor, value: Tensor, scale: Callable = math.sqrt) -> Tensor:
    chosen = of_heads(query.size(0), key.size(0))
    return (query @ key[chosen].mT / scale(query.size(2))).softmax(-1) @ value[chosen]


def _in_order(heads: int, groups: int) -> Tensor:
    return torch.arange(heads) // (heads // groups)


grouped_attention = Exercise(
    "grouped_attention",
    _grouped_attention,
    _draw_groups,
    edges=(
        partial(_draw_groups, groups=1, size=3),
        partial(_draw_groups, size=1),
        partial(_draw_groups, groups=2, size=4),
        _draw_one_of_each,
    ),
    mistakes=(
        Mistake(
            partial(_with_groups, lambda heads, groups: torch.arange(heads) % groups),
            "Your heads take the groups in turns, as repeat lays them out. Heads of a group lie side by side: "
            "repeat_interleave.",
        ),
        Mistake(
            partial(_with_groups, lambda heads, groups: torch.zeros(heads, dtype=torch.long)),
            "All your heads share the first head of keys. Each group has its own.",
        ),
        Mistake(
            partial(_with_groups, _in_order, scale=lambda width: 1),
            "Nothing is divided yet: the scores are divided by the root of D.",
        ),
        Mistake(
            lambda query, key, value: _with_groups(
                _in_order, query.unflatten(0, (key.size(0), -1)).mean(dim=1), key, value
            ),
            "You average the queries of a group, and have an answer a group. The queries stay as they are; they share "
            "keys and values.",
        ),
        Mistake(
            lambda query, key, value: _with_groups(_in_order, query, key, value).unflatten(0, (key.size(0), -1)),
            "The values are right, with groups and heads in two dimensions. Return (H, L, D).",
        ),
    ),
)


# ------------------------------------------------------------------------------------------------ a linear recurrence


def _linear_recurrence(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    answers = []
    for number, asks in enumerate(query):
        weights = torch.stack([(asks * each).sum() for each in key[: number + 1]])
        answers.append((weights.unsqueeze(1) * value[: number + 1]).sum(0) / weights.sum())
    return torch.stack(answers)


def _draw_features(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    length, width, values = sizes(generator, 3)
    features = (0.1 + torch.rand(length, width, generator=generator) for _ in range(2))
    return *features, torch.randn(length, values, generator=generator)


def _one_token(generator: torch.Generator) -> tuple:
    query, key, value = _draw_features(generator)
    return query[:1], key[:1], value[:1]


def _regrouped(query: Tensor, key: Tensor, value: Tensor, sees: Callable) -> Tensor:
    weights = query @ key.T * sees(torch.ones(len(query), len(key)))
    return weights @ value / weights.sum(dim=1, keepdim=True)


linear_recurrence = Exercise(
    "linear_recurrence",
    _linear_recurrence,
    _draw_features,
    edges=(partial(_draw_features, sizes=ones), _one_token),
    mistakes=(
        Mistake(
            partial(_regrouped, sees=lambda pairs: pairs),
            "Each of your tokens sees all tokens. A token's answer comes from the state after that token.",
        ),
        Mistake(
            partial(_regrouped, sees=lambda pairs: pairs.tril(-1)),
            "Your state lacks the token itself, and the first is 0 / 0: add the token first, then ask.",
        ),
        Mistake(
            lambda query, key, value: (query @ key.T).tril() @ value,
            "Divide by the sum of the weights: the query times the sum of the keys so far.",
        ),
        Mistake(
            lambda query, key, value: (query @ key.T).tril() @ value / torch.arange(1.0, len(query) + 1).unsqueeze(1),
            "You divide by the number of tokens. Divide by the sum of the weights.",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.T).masked_fill(torch.ones(len(query), len(key)).triu(1).bool(), -math.inf).softmax(1)
                @ value
            ),
            "This is softmax attention. Here a weight is the dot product itself, without an exponential.",
        ),
    ),
)
