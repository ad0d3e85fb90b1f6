"""The exercises of chapter 11, a small Transformer."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from attention.exercises.draws import changed, normal, one_of, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake

EPS = 1e-5


def _draw_tokens(generator: torch.Generator, sizes: Callable = primes, last: float = 10.0) -> tuple:
    """Tokens whose mean matters, the last one of the length that is said."""
    x, weight = normal("LE", "E")(generator, sizes)
    x = 10 * (x + 1 + torch.rand((), generator=generator))  # beside which 1e-5 is nothing
    return torch.cat([x[:-1], last * x[-1:] / x[-1].square().mean().sqrt()]), weight


def _over_root(x: Tensor, square: Tensor) -> Tensor:
    return x / (square + EPS).sqrt()


SHORT = "Here a token is short: the 1e-5 is missing, too small or outside the root. F.rms_norm takes it as eps=1e-5."

rms_norm = Exercise(
    "rms_norm",
    lambda x, weight: _over_root(x, x.square().mean(dim=1, keepdim=True)) * weight,
    _draw_tokens,
    edges=(
        Edge(partial(_draw_tokens, last=0.03), SHORT),
        Edge(partial(_draw_tokens, last=0.0), SHORT),
        single(_draw_tokens),
    ),
    mistakes=(
        Mistake(
            lambda x, weight: layer_norm(x, x.shape[1:], weight),
            "That is LayerNorm: you subtract the mean first. RMSNorm does not.",
        ),
        Mistake(
            lambda x, weight: _over_root(x, x.var(dim=1, correction=0, keepdim=True)) * weight,
            "You divide by the standard deviation, which is about the mean. Take the mean of the squares themselves.",
        ),
        Mistake(
            lambda x, weight: _over_root(x, x.square().sum(dim=1, keepdim=True)) * weight,
            "You divide by the length of the token: the root of the *sum* of the squares. Take their mean.",
        ),
    ),
)


def _draw_block(generator: torch.Generator, **fixed: int) -> tuple:
    x, memory, mix, up, down = normal("LE", "SE", "LL", "EF", "FE", **fixed)(generator)

    def norm(x: Tensor) -> Tensor:
        return layer_norm(x, x.shape[1:])

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


def _with_cross(cross_step: Callable) -> Callable:
    """The block with this step of cross-attention, made of x, the memory, the norm and the layer."""

    def answer(x, memory, norm, attend, cross, feed_forward):
        x = x + attend(norm(x))
        x = cross_step(x, memory, norm, cross)
        return x + feed_forward(norm(x))

    return answer


decoder_block = Exercise(
    "decoder_block",
    _with_cross(lambda x, memory, norm, cross: x + cross(norm(x), memory)),
    _draw_block,
    edges=(partial(_draw_block, L=1, S=1),),
    mistakes=(
        Mistake(
            _post_norm,
            "That is post-norm: you normalise the sums. In pre-norm each layer reads through a norm, and the stream "
            "itself stays as it is.",
        ),
        Mistake(
            _with_cross(lambda x, memory, norm, cross: cross(norm(x), memory)),
            "What cross-attention returns takes the place of x. Add it to x, as with the other two layers.",
        ),
        Mistake(
            _with_cross(lambda x, memory, norm, cross: x + cross(norm(x), norm(memory))),
            "You normalise the memory once more. The encoder has done it already.",
        ),
    ),
)


def _draw_probabilities(generator: torch.Generator) -> tuple:
    """Three to five tokens are needed; p lies midway between two totals."""
    count, needed = 5 + primes(generator, 1)[0], one_of(generator, 3, 5)
    ranked = 0.7 ** torch.arange(count) * (1 + 0.1 * torch.rand(count, generator=generator))
    ranked = ranked / ranked.sum()
    p = (ranked[: needed - 1].sum() + 0.5 * ranked[needed - 1]).item()
    return ranked[torch.randperm(count, generator=generator)], p


def _draw_beside_half(generator: torch.Generator, distance: float) -> tuple:
    """The likeliest token has a little more than ½, or a little less, and p lies between the two."""
    order = torch.randperm(3, generator=generator)
    return torch.tensor([0.5 + distance, 0.3, 0.2 - distance])[order], 0.5 + distance / 2


def _draw_exact(generator: torch.Generator, p: float) -> tuple:
    """The likeliest tokens have exactly ``p`` together, which float32 can hold."""
    return torch.tensor([8, 4, 2, 1, 1])[torch.randperm(5, generator=generator)] / 16, p


def _in_any_order_if_alike(kept: Tensor) -> Tensor:
    """It does not matter which of some tokens are kept that are all as likely."""
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


top_p = Exercise(
    "top_p",
    lambda probabilities, p: _kept(probabilities, _likelier(probabilities) < p),
    _draw_probabilities,
    edges=(
        Edge(
            changed(_draw_probabilities, lambda probabilities, p: (probabilities, 0.7 * probabilities.max().item())),
            "Here the likeliest token has more than p by itself. The likeliest is always kept.",
        ),
        *(
            Edge(
                partial(_draw_beside_half, distance=distance),
                "Take tokens until their probabilities reach p, compared as they are, neither rounded nor with a "
                "tolerance.",
            )
            for distance in (3e-3, 3e-5, -3e-5)
        ),
        Edge(
            partial(_draw_exact, p=0.75),
            "Here the sum is exactly p after two tokens. Stop as soon as it has reached p.",
        ),
        Edge(
            lambda generator: (torch.full((8,), 1 / 8), one_of(generator, 2, 7) / 8),
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
    ),
)
