"""The exercises of chapter 11, a small Transformer."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import Exercise, Mistake, Symptom, ones, primes

EPS = 1e-5


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    rows = []
    for token in x:
        mean_square = sum(number * number for number in token) / len(token)
        rows.append(token / torch.sqrt(mean_square + EPS) * weight)
    return torch.stack(rows)


def _draw_tokens_and_weight(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    tokens, width = sizes(generator, 2)
    shift = 1 + torch.rand((), generator=generator)  # so that the mean matters
    x = torch.randn(tokens, width, generator=generator) + shift
    small = int(torch.randint(tokens, (), generator=generator))  # so that EPS matters
    x[small] *= 0.03 / x[small].square().mean().sqrt()
    return x, torch.randn(width, generator=generator)


def _draw_a_token_of_zeros(generator: torch.Generator) -> tuple:
    x, weight = _draw_tokens_and_weight(generator)
    return torch.cat([x[:-1], 0 * x[-1:]]), weight


def _over_root(x: Tensor, square: Tensor) -> Tensor:
    return x / (square + EPS).sqrt()


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(dim=1, keepdim=True)


def _mean_square(x: Tensor, dim: int = 1) -> Tensor:
    return x.square().mean(dim=dim, keepdim=True)


rms_norm = Exercise(
    "rms_norm",
    _rms_norm,
    _draw_tokens_and_weight,
    edges=(partial(_draw_tokens_and_weight, sizes=ones), _draw_a_token_of_zeros),
    mistakes=(
        Mistake(
            lambda x, weight: _over_root(_centred(x), _mean_square(_centred(x))) * weight,
            "That is LayerNorm: you subtract the mean first. RMSNorm does not.",
        ),
        Mistake(
            lambda x, weight: _over_root(x, _mean_square(_centred(x))) * weight,
            "You divide by the standard deviation, which is about the mean. Take the mean of the squares themselves.",
        ),
        Mistake(
            lambda x, weight: _over_root(x, x.square().sum(dim=1, keepdim=True)) * weight,
            "You divide by the length of the token: the root of the *sum* of the squares. Take their mean.",
        ),
        Mistake(
            lambda x, weight: _over_root(x, _mean_square(x, dim=0)) * weight,
            "You take the mean over the tokens. Each token is normalised by itself, over its E numbers.",
        ),
        Mistake(
            lambda x, weight: _over_root(x, _mean_square(x)),
            "The learned weight is missing: it multiplies the normalised token, number by number.",
        ),
    ),
)


Layer = Callable[[Tensor], Tensor]
Cross = Callable[[Tensor, Tensor], Tensor]


def _decoder_block(x: Tensor, memory: Tensor, norm: Layer, attend: Layer, cross: Cross, feed_forward: Layer) -> Tensor:
    rows = []
    for token, added in zip(x, attend(norm(x)), strict=True):
        token = token + added
        token = token + cross(norm(token[None]), memory)[0]  # each query by itself
        rows.append(token + feed_forward(norm(token[None]))[0])
    return torch.stack(rows)


def _draw_block(generator: torch.Generator, one_token: bool = False) -> tuple:
    tokens, rows, width, hidden = primes(generator, 4)
    tokens, rows = (1, 1) if one_token else (tokens, rows)
    mix = torch.randn(tokens, tokens, generator=generator).softmax(dim=1)
    up, down = torch.randn(width, hidden, generator=generator), torch.randn(hidden, width, generator=generator)

    def norm(x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred / (centred.square().mean(dim=-1, keepdim=True) + EPS).sqrt()

    def attend(x: Tensor) -> Tensor:
        return mix.to(x.dtype) @ x

    def cross_attend(query: Tensor, memory: Tensor) -> Tensor:
        return (query @ memory.mT).softmax(dim=-1) @ memory

    def feed_forward(x: Tensor) -> Tensor:
        return torch.tanh(x @ up.to(x.dtype)) @ down.to(x.dtype)

    x, memory = 2 * torch.randn(tokens, width, generator=generator) + 1, torch.randn(rows, width, generator=generator)
    return x, memory, norm, attend, cross_attend, feed_forward


def _post_norm(x: Tensor, memory: Tensor, norm: Layer, attend: Layer, cross: Cross, feed_forward: Layer) -> Tensor:
    x = norm(x + attend(x))
    x = norm(x + cross(x, memory))
    return norm(x + feed_forward(x))


def _onto_the_normed(
    x: Tensor, memory: Tensor, norm: Layer, attend: Layer, cross: Cross, feed_forward: Layer
) -> Tensor:
    x = norm(x)
    x = norm(x + attend(x))
    x = norm(x + cross(x, memory))
    return x + feed_forward(x)


def _replacing(x: Tensor, memory: Tensor, norm: Layer, attend: Layer, cross: Cross, feed_forward: Layer) -> Tensor:
    x = x + attend(norm(x))
    x = cross(norm(x), memory)
    return x + feed_forward(norm(x))


def _without_norm(x: Tensor, memory: Tensor, norm: Layer, attend: Layer, cross: Cross, feed_forward: Layer) -> Tensor:
    x = x + attend(norm(x))
    x = x + cross(x, memory)
    return x + feed_forward(norm(x))


def _normed_memory(x: Tensor, memory: Tensor, norm: Layer, attend: Layer, cross: Cross, feed_forward: Layer) -> Tensor:
    x = x + attend(norm(x))
    x = x + cross(norm(x), norm(memory))
    return x + feed_forward(norm(x))


decoder_block = Exercise(
    "decoder_block",
    _decoder_block,
    _draw_block,
    edges=(partial(_draw_block, one_token=True),),
    mistakes=(
        Mistake(
            _post_norm,
            "That is post-norm: you normalise the sums. In pre-norm each layer reads through a norm, and the stream "
            "itself stays as it is.",
        ),
        Mistake(
            _onto_the_normed,
            "You add to the normalised tokens. Normalise only what a layer reads, and add to x itself.",
        ),
        Mistake(
            _replacing,
            "What cross-attention returns takes the place of x. Add it to x, as with the other two layers.",
        ),
        Mistake(
            _without_norm,
            "The query of your cross-attention is the stream as it is. It needs a norm, as everything that is read.",
        ),
        Mistake(
            _normed_memory,
            "You normalise the memory once more. The encoder has done it already.",
        ),
    ),
)


def _top_p(probabilities: Tensor, p: float) -> Tensor:
    order = sorted(range(len(probabilities)), key=lambda number: -probabilities[number].item())
    kept, total = [], 0.0
    for number in order:
        if total >= p:
            break
        kept.append(number)
        total += probabilities[number].item()
    whole = sum(probabilities[number] for number in kept)
    return torch.stack([each / whole if number in kept else 0 * each for number, each in enumerate(probabilities)])


def _draw_probabilities(generator: torch.Generator) -> tuple:
    size = 5 + primes(generator, 1)[0]
    while True:  # until no other rule keeps the same tokens
        probabilities = (1.5 * torch.randn(size, generator=generator)).softmax(dim=0)
        p = 0.5 + 0.4 * torch.rand((), generator=generator).item()
        totals = probabilities.sort(descending=True).values.cumsum(dim=0)
        clear = (totals - p).abs().min() > 1e-4 and totals[0] < p < totals[-3]
        as_compared = (probabilities >= p * probabilities.max()).sum() == (totals < p).sum() + 1
        if clear and not as_compared and probabilities.argmax() < size - 1:
            return probabilities, p


def _draw_one_likely(generator: torch.Generator) -> tuple:
    """Probabilities whose largest is above p by itself."""
    probabilities, _ = _draw_probabilities(generator)
    share = 0.5 + 0.4 * torch.rand((), generator=generator).item()
    return probabilities, share * probabilities.max().item()


def _draw_near_a_total(generator: torch.Generator, distance: float) -> tuple:
    """What the likeliest tokens have together lies as far below ``p`` as said."""
    probabilities, _ = _draw_probabilities(generator)
    return probabilities, _total(probabilities) + distance


def _draw_beside_a_rounded_total(generator: torch.Generator, places: int) -> tuple:
    """``p`` lies between what the likeliest tokens have together and that number rounded, well away from both."""
    while True:
        probabilities, _ = _draw_probabilities(generator)
        total = _total(probabilities)
        rounded = round(total, places)
        if abs(total - rounded) > 0.2 * 10**-places:
            return probabilities, (total + rounded) / 2


def _total(probabilities: Tensor) -> float:
    return probabilities.sort(descending=True).values[:3].sum().item()


def _draw_a_tie(generator: torch.Generator) -> tuple:
    """Some of eight tokens that are all as likely: it does not matter which."""
    return torch.full((8,), 1 / 8), torch.randint(2, 8, (), generator=generator).item() / 8


def _draw_an_exact_total(generator: torch.Generator) -> tuple:
    """The two likeliest tokens have exactly ``p`` together, which float32 can hold."""
    order = torch.randperm(5, generator=generator)
    return torch.tensor([8, 4, 2, 1, 1])[order] / 16, 0.75


def _draw_one_token(generator: torch.Generator) -> tuple:
    return torch.ones(1), _draw_probabilities(generator)[1]


def _in_any_order_if_alike(kept: Tensor) -> Tensor:
    found = kept[kept > 0]
    alike = len(found) > 1 and found.max() == found.min()
    return kept.detach().sort(descending=True).values if alike else kept


def _kept(probabilities: Tensor, keep: Tensor) -> Tensor:
    """The probabilities of what is kept, which sum to 1 again."""
    kept = probabilities * keep
    return kept / kept.sum()


def _likelier(probabilities: Tensor, *, own: bool = False, descending: bool = True) -> Tensor:
    """For each token, what all likelier ones have together, or that and its own; with the unlikely first, likewise."""
    values, order = probabilities.sort(descending=descending)
    totals = values.cumsum(dim=0) - (0 if own else values)
    return torch.zeros_like(totals).scatter(0, order, totals)


def _not_put_back(probabilities: Tensor, p: float) -> Tensor:
    ranked = probabilities.sort(descending=True).values
    return _kept(ranked, _likelier(ranked) < p)


top_p = Exercise(
    "top_p",
    _top_p,
    _draw_probabilities,
    mistakes=(
        Mistake(
            lambda probabilities, p: _kept(probabilities, _likelier(probabilities, own=True) <= p),
            "You stop one token too early. The token that brings the sum to p belongs to those that are kept.",
        ),
        Mistake(
            lambda probabilities, p: probabilities * (_likelier(probabilities) < p),
            "The right tokens are kept, but their probabilities do not sum to 1. Divide by their sum.",
        ),
        Mistake(
            lambda probabilities, p: _kept(probabilities, (probabilities.cumsum(dim=0) - probabilities) < p),
            "You add up the probabilities in the order in which they stand. Sort them first, the likeliest in front.",
        ),
        Mistake(
            _not_put_back,
            "Your result is sorted: put each probability back to its own token.",
        ),
        Mistake(
            lambda probabilities, p: probabilities.masked_fill(_likelier(probabilities) >= p, -math.inf).softmax(dim=0),
            "You take a softmax of probabilities. They are not scores: divide those that are kept by their sum.",
        ),
    ),
    edges=(
        _draw_one_likely,
        partial(_draw_near_a_total, distance=1e-4),
        partial(_draw_near_a_total, distance=-1e-4),
        partial(_draw_beside_a_rounded_total, places=2),
        partial(_draw_beside_a_rounded_total, places=4),
        _draw_a_tie,
        _draw_an_exact_total,
        _draw_one_token,
    ),
    symptoms=(
        Symptom(
            lambda found, expected: (found > 0).sum().item() != (expected > 0).sum().item(),
            "You keep too many tokens or too few. Take them until their probabilities reach p, compared as they are, "
            "neither rounded nor with a tolerance.",
        ),
    ),
    canonical=_in_any_order_if_alike,
)


def _without_head(heads: Tensor, W_o: Tensor, head: int) -> Tensor:
    count, length, width = heads.shape
    rows = []
    for token in range(length):
        total = torch.zeros(len(W_o), dtype=heads.dtype)
        for other in range(count):
            if other != head:
                total = total + W_o[:, other * width : (other + 1) * width] @ heads[other, token]
        rows.append(total)
    return torch.stack(rows)


def _draw_heads(generator: torch.Generator) -> tuple:
    count, length, width = primes(generator, 3)
    head = 1 + int(torch.randint(count - 1, (), generator=generator))
    W_o = torch.randn(13, count * width, generator=generator) / math.sqrt(count * width)
    return torch.randn(count, length, width, generator=generator), W_o, head


def _draw_heads_without_the_first(generator: torch.Generator) -> tuple:
    heads, W_o, _ = _draw_heads(generator)
    return heads, W_o, 0


def _draw_the_only_head(generator: torch.Generator) -> tuple:
    return torch.randn(1, 1, 1, generator=generator), torch.randn(1, 1, generator=generator), 0


def _joined(heads: Tensor, W_o: Tensor) -> Tensor:
    return heads.transpose(0, 1).flatten(1) @ W_o.T


def _all_but(heads: Tensor, head: int) -> Tensor:
    return heads * (torch.arange(len(heads)) != head)[:, None, None]


def _by_its_mean(heads: Tensor, W_o: Tensor, head: int) -> Tensor:
    mean = heads.mean(dim=1, keepdim=True).expand_as(heads)
    return _joined(torch.where((torch.arange(len(heads)) == head)[:, None, None], mean, heads), W_o)


def _other_columns(heads: Tensor, W_o: Tensor, head: int) -> Tensor:
    """Without the columns that would be the head's if the heads' numbers alternated."""
    keep = torch.arange(W_o.size(1)) % len(heads) != head
    return _joined(heads, W_o * keep)


BEFORE_IT = "You silence the head before it: heads are counted from 0."

without_head = Exercise(
    "without_head",
    _without_head,
    _draw_heads,
    mistakes=(
        Mistake(
            lambda heads, W_o, head: _joined(heads - _all_but(heads, head), W_o),
            "You keep this head and silence all others. It is the other way round.",
        ),
        Mistake(
            lambda heads, W_o, head: _joined(_all_but(heads, (head - 1) % len(heads)), W_o),
            BEFORE_IT,
        ),
        Mistake(
            lambda heads, W_o, head: _all_but(heads, head).reshape(heads.size(1), -1) @ W_o.T,
            "You join the heads by a view: a token's row then holds numbers of other tokens. Transpose first.",
        ),
        Mistake(
            _other_columns,
            "You take away other columns of W_o: head h has the D columns from h · D on, side by side.",
        ),
        Mistake(
            _by_its_mean,
            "You put the head's mean in its place. That is a useful test as well, but here the head writes nothing.",
        ),
    ),
    edges=(_draw_heads_without_the_first, _draw_the_only_head),
)
