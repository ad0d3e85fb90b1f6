"""The exercises of chapter 11, a small Transformer."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import normal, single
from attention.exercises.exercise import Edge, Exercise, Mistake, primes

EPS = 1e-5


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    rows = []
    for token in x:
        mean_square = sum(number * number for number in token) / len(token)
        rows.append(token / torch.sqrt(mean_square + EPS) * weight)
    return torch.stack(rows)


def _draw_tokens(generator: torch.Generator, sizes: Callable = primes, last: float = 10.0) -> tuple:
    """Tokens whose mean matters, the last one of the length that is said."""
    x, weight = normal("LE", "E")(generator, sizes)
    x = 10 * (x + 1 + torch.rand((), generator=generator))  # beside which 1e-5 is nothing
    return torch.cat([x[:-1], last * x[-1:] / x[-1].square().mean().sqrt()]), weight


def _over_root(x: Tensor, square: Tensor) -> Tensor:
    return x / (square + EPS).sqrt()


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(dim=1, keepdim=True)


def _mean_square(x: Tensor, dim: int = 1) -> Tensor:
    return x.square().mean(dim=dim, keepdim=True)


SHORT = (
    "Here a token is short. The 1e-5 is missing or too small, or stands outside the root. F.rms_norm takes it as "
    "eps=1e-5."
)

rms_norm = Exercise(
    "rms_norm",
    _rms_norm,
    _draw_tokens,
    edges=(
        Edge(partial(_draw_tokens, last=0.03), SHORT),
        Edge(partial(_draw_tokens, last=0.0), SHORT),
        single(_draw_tokens),
    ),
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


def _decoder_block(
    x: Tensor, memory: Tensor, norm: Callable, attend: Callable, cross: Callable, feed_forward: Callable
) -> Tensor:
    rows = []
    for token, added in zip(x, attend(norm(x)), strict=True):
        token = token + added
        token = token + cross(norm(token[None]), memory)[0]  # each query by itself
        rows.append(token + feed_forward(norm(token[None]))[0])
    return torch.stack(rows)


def _draw_block(generator: torch.Generator, **fixed: int) -> tuple:
    x, memory, mix, up, down = normal("LE", "SE", "LL", "EF", "FE", **fixed)(generator)

    def norm(x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred / (centred.square().mean(dim=-1, keepdim=True) + EPS).sqrt()

    def attend(x: Tensor) -> Tensor:
        return mix.softmax(dim=1).to(x.dtype) @ x

    def cross_attend(query: Tensor, memory: Tensor) -> Tensor:
        return (query @ memory.mT).softmax(dim=-1) @ memory

    def feed_forward(x: Tensor) -> Tensor:
        return torch.tanh(x @ up.to(x.dtype)) @ down.to(x.dtype)

    return 2 * x + 1, memory, norm, attend, cross_attend, feed_forward


def _post_norm(x, memory, norm, attend, cross, feed_forward):
    x = norm(x + attend(x))
    x = norm(x + cross(x, memory))
    return norm(x + feed_forward(x))


def _onto_the_normed(x, memory, norm, attend, cross, feed_forward):
    x = norm(x)
    x = norm(x + attend(x))
    x = norm(x + cross(x, memory))
    return x + feed_forward(x)


def _with_cross(cross_step: Callable) -> Callable:
    """The block with another step of cross-attention, made of x, the memory, the norm and the layer."""

    def answer(x, memory, norm, attend, cross, feed_forward):
        x = x + attend(norm(x))
        x = cross_step(x, memory, norm, cross)
        return x + feed_forward(norm(x))

    return answer


decoder_block = Exercise(
    "decoder_block",
    _decoder_block,
    _draw_block,
    edges=(partial(_draw_block, L=1, S=1),),
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
            _with_cross(lambda x, memory, norm, cross: cross(norm(x), memory)),
            "What cross-attention returns takes the place of x. Add it to x, as with the other two layers.",
        ),
        Mistake(
            _with_cross(lambda x, memory, norm, cross: x + cross(x, memory)),
            "The query of your cross-attention is the stream as it is. It needs a norm, as everything that is read.",
        ),
        Mistake(
            _with_cross(lambda x, memory, norm, cross: x + cross(norm(x), norm(memory))),
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
    """Three to five tokens are needed, and the likeliest is not the last; p lies midway between two totals."""
    likely = 0.7 ** torch.arange(5 + primes(generator, 1)[0]) * (1 + 0.1 * torch.rand((), generator=generator))
    ranked = (likely / likely.sum()).flip(0)
    probabilities = torch.cat([ranked[1:][torch.randperm(len(ranked) - 1, generator=generator)], ranked[:1]])
    needed = 3 + int(torch.randint(3, (), generator=generator))
    return probabilities, _total(probabilities, needed) - 0.5 * (likely / likely.sum())[needed - 1].item()


def _total(probabilities: Tensor, count: int = 3) -> float:
    return probabilities.sort(descending=True).values[:count].sum().item()


def _draw_one_likely(generator: torch.Generator) -> tuple:
    probabilities, _ = _draw_probabilities(generator)
    return probabilities, 0.7 * probabilities.max().item()


def _draw_near_a_total(generator: torch.Generator, distance: float) -> tuple:
    probabilities, _ = _draw_probabilities(generator)
    return probabilities, _total(probabilities) + distance


def _draw_beside_a_rounded_total(generator: torch.Generator, places: int) -> tuple:
    """``p`` lies between what the likeliest token has and that number rounded."""
    order = torch.randperm(3, generator=generator)
    most = 0.5 + 0.3 * 10**-places
    return torch.tensor([most, 0.3, 0.2 - 0.3 * 10**-places])[order], 0.5 + 0.15 * 10**-places


def _draw_a_tie(generator: torch.Generator) -> tuple:
    """Some of eight tokens that are all as likely: it does not matter which."""
    return torch.full((8,), 1 / 8), torch.randint(2, 8, (), generator=generator).item() / 8


def _draw_exact(generator: torch.Generator, p: float) -> tuple:
    """The likeliest tokens have exactly ``p`` together, which float32 can hold."""
    return torch.tensor([8, 4, 2, 1, 1])[torch.randperm(5, generator=generator)] / 16, p


def _in_any_order_if_alike(kept: Tensor) -> Tensor:
    found = kept[kept > 0]
    alike = len(found) > 1 and found.max() == found.min()
    return kept.detach().sort(descending=True).values if alike else kept


def _kept(probabilities: Tensor, keep: Tensor) -> Tensor:
    """The probabilities of what is kept, which sum to 1 again."""
    kept = probabilities * keep
    return kept / kept.sum()


def _likelier(probabilities: Tensor, own: bool = False) -> Tensor:
    """For each token, what all likelier ones have together, or that and its own."""
    values, order = probabilities.sort(descending=True)
    totals = values.cumsum(dim=0) - (0 if own else values)
    return torch.zeros_like(totals).scatter(0, order, totals)


def _not_put_back(probabilities: Tensor, p: float) -> Tensor:
    ranked = probabilities.sort(descending=True).values
    return _kept(ranked, _likelier(ranked) < p)


COMPARED = "Take tokens until their probabilities reach p, compared as they are, neither rounded nor with a tolerance."

top_p = Exercise(
    "top_p",
    _top_p,
    _draw_probabilities,
    edges=(
        Edge(_draw_one_likely, "Here the likeliest token has more than p by itself. The likeliest is always kept."),
        *(Edge(partial(_draw_near_a_total, distance=distance), COMPARED) for distance in (1e-4, -1e-4)),
        *(Edge(partial(_draw_beside_a_rounded_total, places=places), COMPARED) for places in (2, 4)),
        Edge(
            partial(_draw_exact, p=0.75),
            "Here the sum is exactly p after two tokens. Stop as soon as it has reached p.",
        ),
        Edge(
            _draw_a_tie,
            "Here all are as likely as the last one needed. Take only as many as bring the sum to p.",
        ),
        Edge(partial(_draw_exact, p=1.0), "Here p is 1, and every token is needed."),
        lambda generator: (torch.ones(1), 0.7),
    ),
    canonical=_in_any_order_if_alike,
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
        Mistake(_not_put_back, "Your result is sorted: put each probability back to its own token."),
        Mistake(
            lambda probabilities, p: probabilities.masked_fill(_likelier(probabilities) >= p, -math.inf).softmax(dim=0),
            "You take a softmax of probabilities. They are not scores: divide those that are kept by their sum.",
        ),
    ),
)
