"""The exercises of chapter 13, keys and values that are kept."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import changed, far, normal, primes, single
from attention.exercises.exercise import Exercise, Mistake
from attention.functional import scaled_dot_product_attention

_draws_step = partial(normal, "HND", "HND", "HND", "HSD", "HSD")


def _draw_far(generator: torch.Generator) -> tuple:
    """Two heads, the same but for their values: scores of 4·10⁴ and more, of either sign, and as far apart."""
    query, key = far(generator, 3, 8, 4)
    key = key[key.norm(dim=1).argsort()]  # so that the first query's largest score is hidden in `cached_step`
    return query.repeat(2, 1, 1), key.repeat(2, 1, 1), torch.randn(2, 8, 5, generator=generator)


def _step(query: Tensor, key: Tensor, value: Tensor, kept_key: Tensor, kept_value: Tensor, diagonal: int) -> Tensor:
    """All keys, the kept first, each new token seeing them up to some diagonal."""
    keys, values = torch.cat([kept_key, key], dim=1), torch.cat([kept_value, value], dim=1)
    visible = torch.ones(query.size(1), keys.size(1), dtype=torch.bool).tril(diagonal)
    return scaled_dot_product_attention(query, keys, values, visible)


cached_step = Exercise(
    "cached_step",
    lambda *heads: _step(*heads, diagonal=heads[3].size(1)),
    _draws_step(),
    edges=(
        *(_draws_step(N=1), _draws_step(S=0), _draws_step(S=1), single(_draws_step())),
        changed(_draw_far, lambda q, k, v: (q, k[:, 5:], v[:, 5:], k[:, :5], v[:, :5])),
    ),
    without=("causal_mask",),
    mistakes=(
        Mistake(
            lambda *heads: _step(*heads, diagonal=0),
            "Your mask is aligned at the top left, as PyTorch's is_causal is: the first new token sees one key. It "
            "should see all S kept keys and itself.",
        ),
        Mistake(
            lambda *heads: _step(*heads, diagonal=heads[4].size(1) + heads[1].size(1)),
            "Your new tokens see each other's future. Each may see the new ones up to itself.",
        ),
        Mistake(
            lambda q, k, v, kept_k, kept_v: _step(q, k, v, kept_k[:, :0], kept_v[:, :0], diagonal=0),
            "The kept keys and values are not used.",
        ),
    ),
)


def _draw_groups(generator: torch.Generator, size: int = 2, sizes: Callable = primes, **fixed: int) -> tuple:
    query, key, value = normal("GLD", "GSD", "GSD", **fixed)(generator, sizes)
    return torch.randn(size * len(query), *query.shape[1:], generator=generator), key, value


def _grouped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    size = len(query) // len(key)
    return scaled_dot_product_attention(query, *(each.repeat_interleave(size, dim=0) for each in (key, value)))


grouped_attention = Exercise(
    "grouped_attention",
    _grouped,
    _draw_groups,
    edges=(
        partial(_draw_groups, G=1, size=3),
        partial(_draw_groups, size=1),
        partial(_draw_groups, G=2, size=4),
        changed(_draw_far, lambda query, key, value: (query.repeat(2, 1, 1), key, value)),
        single(partial(_draw_groups, size=1)),
    ),
    mistakes=(
        Mistake(
            lambda q, k, v: scaled_dot_product_attention(q, *(each.repeat(len(q) // len(k), 1, 1) for each in (k, v))),
            "Your heads take the groups in turns. Heads of a group lie side by side: repeat_interleave.",
        ),
        Mistake(
            lambda q, k, v: scaled_dot_product_attention(q, k[:1], v[:1]),
            "All your heads share the first head of keys. Each group has its own.",
        ),
    ),
)
