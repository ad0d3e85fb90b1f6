"""The exercises of chapter 12, the cost of attention."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import PRIMES, Exercise, Mistake, Symptom, ones, primes

# ------------------------------------------------------------------------------------------------ parts that merge


def _merge_tables(one: Tensor, other: Tensor) -> Tensor:
    rows = []
    for first, second in zip(one, other, strict=True):
        seen = [part for part in (first, second) if part[0] > -math.inf]
        if not seen:
            rows.append(first + 0 * second.nan_to_num(neginf=0.0))
            continue
        largest = torch.stack([part[0] for part in seen]).amax()
        sums = torch.stack([torch.exp(part[0] - largest) * part[1:] for part in seen]).sum(dim=0)
        rows.append(torch.cat([largest.unsqueeze(0), sums]))
    return torch.stack(rows)


def _draw_tables(generator: torch.Generator, sizes: Callable = primes, blind: tuple[float, ...] = (0.0, 0.0)) -> tuple:
    queries, values = sizes(generator, 2)
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


def _of_sums(gradient: Tensor) -> Tensor:
    """Without the largest scores' own gradients: where they are equal, several are right."""
    return gradient[:, 1:]


def _merged(one: Tensor, other: Tensor, keep: Callable, kept: slice = slice(1, None)) -> Tensor:
    """The larger score, and sums of the parts of which ``kept`` is rescaled by ``keep(score, largest)``."""
    largest = torch.maximum(one[:, :1], other[:, :1])
    factors = [torch.ones_like(part[:, 1:]) for part in (one, other)]
    columns = range(one.size(1) - 1)[slice(kept.start - 1, None if kept.stop is None else kept.stop - 1)]
    chosen = torch.tensor([column in columns for column in range(one.size(1) - 1)])
    shrunk = [torch.where(chosen, keep(part[:, :1], largest), f) for part, f in zip((one, other), factors, strict=True)]
    return torch.cat([largest, shrunk[0] * one[:, 1:] + shrunk[1] * other[:, 1:]], dim=1)


def _finite(largest: Tensor) -> Tensor:
    return largest.clamp(min=torch.finfo(largest.dtype).min)


def _shrink(scores: Tensor, largest: Tensor) -> Tensor:
    return (scores - _finite(largest)).exp()


BLIND = (
    "The parts merge, and a query that sees no key of either part gets NaN: −∞ − (−∞) is NaN. Before you subtract the "
    "largest score, replace it by a finite number where it is −∞."
)

merge_tables = Exercise(
    "merge_tables",
    _merge_tables,
    _draw_tables,
    edges=(
        partial(_draw_tables, sizes=ones),
        partial(_draw_tables, blind=(0.5, 0.5)),
        partial(_draw_tables, blind=(1.0, 0.0)),
        partial(_draw_tables, blind=(1.0, 1.0)),
        _draw_far_apart,
    ),
    gradient=_of_sums,
    mistakes=(
        Mistake(
            lambda one, other: _merged(one, other, lambda scores, largest: (scores - largest).exp()),
            BLIND,
        ),
        Mistake(
            lambda one, other: _merged(one, other, lambda scores, largest: torch.ones_like(scores)),
            "You add the totals and the mixtures as they are. Each was taken with its own largest score: first bring "
            "both to the larger one.",
        ),
        Mistake(
            lambda one, other: _merged(one, other, _shrink, slice(1, 2)),
            "The totals are rescaled, and the mixtures are not. Both are sums of the same shares.",
        ),
        Mistake(
            lambda one, other: _merged(one, other, _shrink, slice(2, None)),
            "The mixtures are rescaled, and the totals are not. Both are sums of the same shares.",
        ),
        Mistake(
            lambda one, other: _merged(one, other, lambda scores, largest: (_finite(largest) - _finite(scores)).exp()),
            "Your factor is upside down: e to the part's largest score minus the common one, which is at most 1.",
        ),
        Mistake(
            lambda one, other: torch.cat(
                [
                    torch.maximum(one[:, :1], other[:, :1]),
                    one[:, 1:] * _shrink(other[:, :1], torch.maximum(one[:, :1], other[:, :1]))
                    + other[:, 1:] * _shrink(one[:, :1], torch.maximum(one[:, :1], other[:, :1])),
                ],
                dim=1,
            ),
            "You rescale each part by the other's factor.",
        ),
        Mistake(
            lambda one, other: _answered(_merged(one, other, _shrink)),
            "This is the answer, the mixture divided by the total. Leave the division out: what is divided cannot be "
            "merged with a third part.",
        ),
    ),
    symptoms=(
        Symptom(lambda found, expected: bool((found.isnan() & ~expected.isnan()).any()), BLIND),
        Symptom(
            lambda found, expected: bool((found[:, 0] != expected[:, 0]).any()),
            "The first column should be the larger of the two largest scores, query by query.",
        ),
    ),
)


def _answered(table: Tensor) -> Tensor:
    total = table[:, 1:2]
    return torch.cat([table[:, :2], table[:, 2:] / total.masked_fill(total == 0, 1.0)], dim=1)


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
            partial(_step, _offset(1)),
            "One key too many: each new token sees the one that follows it.",
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
            lambda query, key, value, kept_key, kept_value: _step(
                lambda kept, new: torch.ones(new, kept, dtype=torch.bool),
                query,
                key[:, :0],
                value[:, :0],
                kept_key,
                kept_value,
            ),
            "The new tokens see the kept ones only. Each also sees the new ones up to itself.",
        ),
        Mistake(
            partial(_step, _offset(0), scale=lambda width: 1),
            "Nothing is divided yet: the scores are divided by the root of D.",
        ),
        Mistake(
            lambda query, key, value, kept_key, kept_value: _step(_offset(0), query, key, value, kept_key, kept_value)[
                :, -1:
            ],
            "This is the last new token's answer. Return a row for each new token.",
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
            partial(_with_groups, lambda heads, groups: _in_order(heads, groups).flip(0)),
            "Your groups come in the opposite order: the first heads share the first head of keys.",
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
