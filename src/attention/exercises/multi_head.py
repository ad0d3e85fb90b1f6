"""The exercises of chapter 7, multi-head attention."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import normal, single
from attention.exercises.exercise import Edge, Exercise, Mistake, ones, primes


def _split_heads(tensor: Tensor, heads: int) -> Tensor:
    width = tensor.size(2) // heads
    return torch.stack([tensor[:, :, head * width : (head + 1) * width] for head in range(heads)], dim=1)


def _draw_tokens(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    batch, length, heads, width = sizes(generator, 4)
    return torch.randn(batch, length, heads * width, generator=generator), heads


def _split(tensor: Tensor, heads: int) -> Tensor:
    return tensor.unflatten(-1, (heads, -1)).transpose(1, 2)


def _viewed(tensor: Tensor, heads: int) -> Tensor:
    batch, length, width = tensor.shape
    return tensor.reshape(batch, heads, length, width // heads)


def _untransposed(tensor: Tensor, heads: int) -> Tensor:
    return tensor.unflatten(-1, (heads, -1))


def _interleaved(tensor: Tensor, heads: int) -> Tensor:
    return tensor.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)


VIEWED = (
    "The shape is right and the numbers are scrambled: a view cuts them as they lie in memory, token after token, so "
    "that a head gets some tokens, cut into pieces, in place of its own columns of every token. "
)

split_heads = Exercise(
    "split_heads",
    _split_heads,
    _draw_tokens,
    edges=(partial(_draw_tokens, sizes=ones),),
    mistakes=(
        Mistake(_viewed, VIEWED + "Cut the width alone, into (B, L, H, D), then transpose."),
        Mistake(
            _untransposed,
            "The width is cut as it should be. What is missing is the transpose: (B, L, H, D) must become "
            "(B, H, L, D), so that a product over the last two dimensions pairs tokens with tokens.",
        ),
        Mistake(
            _interleaved,
            "Your head 0 has the columns 0, H, 2H, …. A head's D columns lie side by side: cut the width into (H, D), "
            "not into (D, H).",
        ),
        Mistake(
            lambda tensor, heads: tensor.unflatten(-1, (heads, -1)).transpose(1, 2).flatten(0, 1),
            "The values are right, with batch and heads in one dimension. Leave them apart: (B, H, L, D).",
        ),
        Mistake(
            lambda tensor, heads: tensor[:, None].repeat(1, heads, 1, 1),
            "Every one of your heads has the whole width. Each gets E / H columns of its own.",
        ),
    ),
)


def _merge_heads(heads: Tensor) -> Tensor:
    return torch.stack([torch.cat(list(sequence), dim=1) for sequence in heads])


def _merged_by_view(heads: Tensor) -> Tensor:
    batch, count, length, width = heads.shape
    return heads.reshape(batch, length, count * width)


merge_heads = Exercise(
    "merge_heads",
    _merge_heads,
    normal("BHLD"),
    edges=(single(normal("BHLD")),),
    mistakes=(
        Mistake(
            _merged_by_view,
            "The shape is right and the numbers are scrambled: without a transpose first, a row takes H pieces that "
            "lie side by side in memory, and those belong to several tokens.",
        ),
        Mistake(
            lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
            "Your columns go round the heads: first number of each head, then second. Each head's D numbers should "
            "stay together.",
        ),
        Mistake(
            lambda heads: heads.transpose(1, 2),
            "The heads stand beside the tokens now, (B, L, H, D). Make one row of H · D numbers of the last two.",
        ),
        Mistake(
            lambda heads: heads.transpose(1, 2).view(len(heads), heads.size(2), -1),
            "`view` cannot merge here: after the transpose the numbers lie in another order. `flatten` and `reshape` "
            "make the copy that it takes.",
        ),
        Mistake(
            lambda heads: heads.sum(dim=1),
            "You add the heads. They are laid side by side here; adding is left to W_o.",
        ),
    ),
)


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


def _pack_heads(to_query: Tensor, to_key: Tensor, to_value: Tensor) -> Tensor:
    rows = [head.T for matrices in (to_query, to_key, to_value) for head in matrices]
    return torch.cat(rows)


def _draw_matrices(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    heads, width = sizes(generator, 2)
    return tuple(torch.randn(heads, heads * width, width, generator=generator) for _ in range(3))


def _stored(matrices: Tensor) -> Tensor:
    """All heads' rows, as ``nn.Linear`` stores them: (E, E)."""
    return matrices.mT.flatten(0, 1)


pack_heads = Exercise(
    "pack_heads",
    _pack_heads,
    _draw_matrices,
    edges=(partial(_draw_matrices, sizes=ones),),
    mistakes=(
        Mistake(
            lambda *matrices: torch.cat([torch.cat(list(each), dim=1) for each in matrices]),
            "Each third is W itself, (in, out), its heads side by side. `nn.Linear` stores W transposed, (out, in).",
        ),
        Mistake(
            lambda *matrices: torch.cat([each.reshape(each.size(1), -1) for each in matrices]),
            "You reshape (H, E, D) to (E, E), which scrambles the numbers: transpose each head first, to (D, E).",
        ),
        Mistake(
            lambda *matrices: torch.cat([each.mT.transpose(0, 1).flatten(0, 1) for each in matrices]),
            "Your rows go round the heads: the first of each head, then the second. A head's D rows stay together.",
        ),
        Mistake(
            lambda *matrices: torch.stack([each.mT for each in matrices], dim=1).flatten(0, 2),
            "You go head by head, a query's, a key's and a value's matrix for each. The rows are in three parts: all "
            "heads' W_q, then all W_k, then all W_v.",
        ),
        Mistake(
            lambda to_query, to_key, to_value: torch.cat([_stored(each) for each in (to_key, to_query, to_value)]),
            "Queries and keys are exchanged: the rows are W_q's, then W_k's, then W_v's.",
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
