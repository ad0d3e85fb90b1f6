"""The exercises of chapter 7, multi-head attention."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import Edge, Exercise, Mistake, ones, primes


def _split(tensor: Tensor, heads: int) -> Tensor:
    return tensor.unflatten(-1, (heads, -1)).transpose(1, 2)


def _viewed(tensor: Tensor, heads: int) -> Tensor:
    batch, length, width = tensor.shape
    return tensor.reshape(batch, heads, length, width // heads)


def _untransposed(tensor: Tensor, heads: int) -> Tensor:
    return tensor.unflatten(-1, (heads, -1))


def _merged_by_view(heads: Tensor) -> Tensor:
    batch, count, length, width = heads.shape
    return heads.reshape(batch, length, count * width)


def _multi_head_attention(tokens: Tensor, in_proj_weight: Tensor, out_weight: Tensor, heads: int) -> Tensor:
    to_query, to_key, to_value = in_proj_weight.chunk(3)
    width = tokens.size(2) // heads
    found = []
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width)
        query, key, value = (tokens @ matrix[rows].T for matrix in (to_query, to_key, to_value))
        found.append(torch.softmax(query @ key.mT / math.sqrt(width), dim=2) @ value)
    return torch.cat(found, dim=2) @ out_weight.T


def _draw_layer(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    batch, length, heads, width = sizes(generator, 4)
    embed = heads * width
    in_proj_weight = 1.5 * torch.randn(3 * embed, embed, generator=generator) / math.sqrt(embed)
    out_weight = torch.randn(13, embed, generator=generator) / math.sqrt(embed)
    return torch.randn(batch, length, embed, generator=generator), in_proj_weight, out_weight, heads


def _draw_high_scores(generator: torch.Generator) -> tuple:
    """Scores of thousands, whose exponentials are infinite even in float64."""
    tokens, in_proj_weight, out_weight, heads = _draw_layer(generator)
    return tokens.double(), 40 * in_proj_weight.double(), out_weight.double(), heads


def _attended(tokens, in_proj_weight, out_weight, heads, *, width=None, split=None, merge=None) -> Tensor:
    """The layer, with another width under the root, another way to split heads, or to merge them."""
    parts = (
        split(tokens @ third.T, heads) if split else _split(tokens @ third.T, heads)
        for third in in_proj_weight.chunk(3)
    )
    query, key, value = parts
    found = (query @ key.mT / math.sqrt(width or query.size(-1))).softmax(dim=-1) @ value
    return (merge(found) if merge else found.transpose(1, 2).flatten(2)) @ out_weight.T


multi_head_attention = Exercise(
    "multi_head_attention",
    _multi_head_attention,
    _draw_layer,
    edges=(
        partial(_draw_layer, sizes=ones),
        Edge(
            _draw_high_scores,
            "The exponentials of large scores are infinite, and ∞/∞ is NaN. Subtract each row's largest score first, "
            "as `softmax` does.",
        ),
    ),
    mistakes=(
        Mistake(
            lambda *layer: _attended(*layer, width=layer[0].size(2)),
            "Under your root is E, the width of the model. A product is summed over the D = E / H numbers of one head.",
        ),
        Mistake(
            lambda *layer: _attended(*layer, split=_viewed),
            "You split by a view alone: a head gets some tokens, cut into pieces, in place of its own columns of all. "
            "Cut the width into (H, D), then transpose.",
        ),
        Mistake(
            lambda *layer: _attended(*layer, split=_viewed, merge=_merged_by_view),
            "You split by a view alone, and merge by another. The second undoes the first, which hides it; in between "
            "a head had some tokens, cut into pieces, in place of its own columns of all. Cut the width "
            "into (H, D), then transpose.",
        ),
        Mistake(
            lambda *layer: _attended(*layer, split=_untransposed, merge=lambda found: found.flatten(2)),
            "Your heads attend to each other, within a token, and no token sees another: after the cut into "
            "(B, L, H, D) exchange L and H.",
        ),
        Mistake(
            lambda *layer: _attended(*layer, merge=_merged_by_view),
            "You merge without a transpose: a row takes pieces of several tokens. First (B, H, L, D) back to "
            "(B, L, H, D).",
        ),
    ),
)


def _contributions(heads: Tensor, out_weight: Tensor) -> Tensor:
    width = heads.size(2)
    return torch.stack(
        [head @ out_weight[:, index * width : (index + 1) * width].T for index, head in enumerate(heads)]
    )


def _draw_contributions(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    heads, length, width = sizes(generator, 3)
    return (
        torch.randn(heads, length, width, generator=generator),
        torch.randn(13, heads * width, generator=generator),
    )


def _slices(heads: Tensor, out_weight: Tensor) -> Tensor:
    """W_o's columns by heads, each slice ready to be multiplied from the right: (H, Dv, P)."""
    return out_weight.T.unflatten(0, (heads.size(0), -1))


contributions = Exercise(
    "contributions",
    _contributions,
    _draw_contributions,
    edges=(partial(_draw_contributions, sizes=ones),),
    without=("a loop",),
    mistakes=(
        Mistake(
            lambda heads, out_weight: (heads @ _slices(heads, out_weight)).sum(dim=0),
            "This is the whole output, the sum of all contributions. Leave the heads apart: (H, L, P).",
        ),
        Mistake(
            lambda heads, out_weight: heads @ _slices(heads, out_weight) / heads.size(0),
            "You divide by the number of heads. The contributions are added, not averaged.",
        ),
        Mistake(
            lambda heads, out_weight: heads @ out_weight.T.unflatten(0, (-1, heads.size(0))).transpose(0, 1),
            "Your head 0 gets the columns 0, H, 2H, … of `out_weight`. Its columns lie side by side, as its numbers do "
            "in a merged row.",
        ),
        Mistake(
            lambda heads, out_weight: heads @ out_weight.reshape(len(heads), heads.size(2), -1),
            "You reshape `out_weight`, (P, H · D), without transposing it first, which scrambles its numbers. Cut its "
            "*columns* into heads.",
        ),
        Mistake(
            lambda heads, out_weight: (heads @ _slices(heads, out_weight)).transpose(0, 1),
            "The values are right, as (L, H, P). Put the heads first: (H, L, P).",
        ),
    ),
)
