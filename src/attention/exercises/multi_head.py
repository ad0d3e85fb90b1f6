"""The exercises of chapter 7, multi-head attention."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention.exercises.draws import changed, normal, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake


def _viewed(tensor: Tensor, heads: int) -> Tensor:
    batch, length, width = tensor.shape
    return tensor.reshape(batch, heads, length, width // heads)


def _untransposed(tensor: Tensor, heads: int) -> Tensor:
    return tensor.unflatten(-1, (heads, -1))


def _merged_by_view(heads: Tensor) -> Tensor:
    batch, count, length, width = heads.shape
    return heads.reshape(batch, length, count * width)


def _draw_layer(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    batch, length, heads, width = sizes(generator, 4)
    embed = heads * width
    in_proj_weight = 1.5 * torch.randn(3 * embed, embed, generator=generator) / math.sqrt(embed)
    out_weight = torch.randn(13, embed, generator=generator) / math.sqrt(embed)
    return torch.randn(batch, length, embed, generator=generator), in_proj_weight, out_weight, heads


def _with_high_scores(tokens: Tensor, in_proj_weight: Tensor, out_weight: Tensor, heads: int) -> tuple:
    """Scores of some 10⁸, whose exponentials are infinite even in float64."""
    return tokens.double(), 2e4 * in_proj_weight.double(), out_weight.double(), heads


def _split(tensor: Tensor, heads: int) -> Tensor:
    return _untransposed(tensor, heads).transpose(1, 2)


def _merged(found: Tensor) -> Tensor:
    return found.transpose(1, 2).flatten(2)


def _attended(tokens, in_proj_weight, out_weight, heads, width=None, split=_split, merge=_merged) -> Tensor:
    """The layer, with another width under the root, another way to split heads, or to merge them."""
    query, key, value = (split(tokens @ third.T, heads) for third in in_proj_weight.chunk(3))
    weights = (query @ key.mT / math.sqrt(width or query.size(-1))).softmax(dim=-1)
    return merge(weights @ value) @ out_weight.T


multi_head_attention = Exercise(
    "multi_head_attention",
    _attended,
    _draw_layer,
    edges=(
        single(_draw_layer),
        Edge(
            changed(_draw_layer, _with_high_scores),
            "Here scores are large, their exponentials infinite, and ∞/∞ is NaN. Clamp none of them, and subtract each "
            "row's largest first, as `softmax` does.",
        ),
    ),
    mistakes=(
        Mistake(
            lambda *layer: _attended(*layer, width=layer[0].size(2)),
            "Under your root is E, the width of the model. A product is summed over the D = E / H numbers of one head.",
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
            "You merge without a transpose: a row takes pieces of several tokens. First go back to (B, L, H, D).",
        ),
    ),
)


def _draw_contributions(generator: torch.Generator, **options) -> tuple:
    (heads,) = normal("HLD")(generator, **options)
    return heads, torch.randn(13, heads.size(0) * heads.size(2), generator=generator)


def _slices(heads: Tensor, out_weight: Tensor) -> Tensor:
    """W_o's columns by heads, each slice ready to be multiplied from the right: (H, Dv, P)."""
    return out_weight.T.unflatten(0, (heads.size(0), -1))


contributions = Exercise(
    "contributions",
    lambda heads, out_weight: heads @ _slices(heads, out_weight),
    _draw_contributions,
    edges=(single(_draw_contributions),),
    without=("a loop or comprehension",),
    mistakes=(
        Mistake(
            lambda heads, out_weight: (heads @ _slices(heads, out_weight)).sum(dim=0),
            "This is the whole output, the sum of all contributions. Leave the heads apart: (H, L, P).",
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
    ),
)
