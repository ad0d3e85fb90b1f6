"""The exercises of chapter 13, keys and values that are kept."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import normal, single
from attention.exercises.exercise import Exercise, Mistake, primes


def _cached_step(query: Tensor, key: Tensor, value: Tensor, kept_key: Tensor, kept_value: Tensor) -> Tensor:
    heads = []
    for head, queries in enumerate(query):
        answers = []
        for new, each in enumerate(queries):
            keys = torch.cat([kept_key[head], key[head, : new + 1]])
            values = torch.cat([kept_value[head], value[head, : new + 1]])
            weights = (torch.stack([(each * k).sum() for k in keys]) / math.sqrt(len(each))).softmax(0)
            answers.append((weights.unsqueeze(1) * values).sum(0))
        heads.append(torch.stack(answers))
    return torch.stack(heads)


def _draws_step(**fixed: int) -> Callable:
    return normal("HND", "HND", "HND", "HSD", "HSD", **fixed)


def _step(sees: Callable, query, key, value, kept_key, kept_value) -> Tensor:
    """All keys, the kept first, under the mask that ``sees`` makes of a number of kept tokens and one of new ones."""
    keys, values = torch.cat([kept_key, key], dim=1), torch.cat([kept_value, value], dim=1)
    scores = query @ keys.mT / math.sqrt(query.size(2))
    return scores.masked_fill(~sees(kept_key.size(1), key.size(1)), -math.inf).softmax(-1) @ values


def _up_to(kept: int, new: int, diagonal: int) -> Tensor:
    return torch.ones(new, kept + new, dtype=torch.bool).tril(diagonal)


cached_step = Exercise(
    "cached_step",
    _cached_step,
    _draws_step(),
    edges=(_draws_step(N=1), _draws_step(S=0), _draws_step(S=1), single(_draws_step())),
    mistakes=(
        Mistake(
            partial(_step, lambda kept, new: _up_to(kept, new, 0)),
            "Your mask is aligned at the top left, as PyTorch's is_causal is: the first new token sees one key. It "
            "should see all S kept keys and itself.",
        ),
        Mistake(
            partial(_step, lambda kept, new: _up_to(kept, new, kept + new)),
            "Your new tokens see each other's future. Each may see the new ones up to itself.",
        ),
        Mistake(
            partial(_step, lambda kept, new: _up_to(kept, new, kept - 1)),
            "One key too few: a new token also sees itself.",
        ),
        Mistake(
            lambda q, k, v, kept_k, kept_v: _step(
                lambda kept, new: _up_to(0, new, 0), q, k, v, kept_k[:, :0], kept_v[:, :0]
            ),
            "The kept keys and values are not used.",
        ),
        Mistake(
            lambda q, k, v, *kept: _step(
                lambda kept, new: _up_to(kept, new, kept), q * math.sqrt(q.size(2)), k, v, *kept
            ),
            "Nothing is divided yet: the scores are divided by the root of D.",
        ),
    ),
)


def _grouped_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    size, answers = query.size(0) // key.size(0), []
    for head, queries in enumerate(query):
        group, rows = head // size, []
        for each in queries:
            weights = (torch.stack([(each * k).sum() for k in key[group]]) / math.sqrt(len(each))).softmax(0)
            rows.append((weights.unsqueeze(1) * value[group]).sum(0))
        answers.append(torch.stack(rows))
    return torch.stack(answers)


def _draw_groups(generator: torch.Generator, size: int = 2, sizes: Callable = primes, **fixed: int) -> tuple:
    """Keys and values are of one width, and queries, keys and groups of different numbers."""
    query, key, value = normal("GLD", "GSD", "GSD", **fixed)(generator, sizes)
    return torch.randn(size * len(query), *query.shape[1:], generator=generator), key, value


def _with_groups(of_heads: Callable, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    group = of_heads(q.size(0), k.size(0))
    return (q @ k[group].mT / math.sqrt(q.size(2))).softmax(-1) @ v[group]


def _in_order(heads: int, groups: int) -> Tensor:
    return torch.arange(heads) // (heads // groups)


grouped_attention = Exercise(
    "grouped_attention",
    _grouped_attention,
    _draw_groups,
    edges=(
        partial(_draw_groups, G=1, size=3),
        partial(_draw_groups, size=1),
        partial(_draw_groups, G=2, size=4),
        single(partial(_draw_groups, size=1)),
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
            lambda q, k, v: _with_groups(_in_order, q * math.sqrt(q.size(2)), k, v),
            "Nothing is divided yet: the scores are divided by the root of D.",
        ),
        Mistake(
            lambda q, k, v: _with_groups(_in_order, q.unflatten(0, (k.size(0), -1)).mean(dim=1), k, v),
            "You average the queries of a group, and have an answer a group. The queries stay as they are; they share "
            "keys and values.",
        ),
        Mistake(
            lambda q, k, v: _with_groups(_in_order, q, k, v).unflatten(0, (k.size(0), -1)),
            "The values are right, with groups and heads in two dimensions. Return (H, L, D).",
        ),
    ),
)
