"""The exercises of chapter 12: two heads that copy, and one that is taken away."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import normal, one_of, primes, single
from attention.exercises.exercise import Edge, Exercise, Mistake
from attention.functional import scaled_dot_product_attention

SHARPNESS = 5


def _draw_text(generator: torch.Generator, back: int | None = None, length: int | None = None) -> tuple:
    """A loop of different symbols, one-hot but for a little noise that makes each number count."""
    period = primes(generator, 1)[0]
    length = 2 * period + 2 if length is None else length
    order = torch.randperm(period + 1, generator=generator)[:period]
    symbols = torch.eye(period + 1)[order][torch.arange(length) % period]
    symbols = symbols + 0.1 * torch.rand(symbols.shape, generator=generator)
    return symbols, back or one_of(generator, 1, 3)


def _tags(symbols: Tensor, back: int) -> Tensor:
    """The symbol so many places back, or zeros."""
    return torch.cat([torch.zeros_like(symbols[:back]), symbols[: max(len(symbols) - back, 0)]])


def _attend(query: Tensor, key: Tensor, value: Tensor, causal: bool = True) -> Tensor:
    return scaled_dot_product_attention(query, key, value, is_causal=causal, scale=SHARPNESS)


two_heads = Exercise(
    "two_heads",
    lambda symbols, back: _attend(symbols, _tags(symbols, back), symbols),
    _draw_text,
    edges=(
        Edge(partial(_draw_text, back=1), "Here the head looks one back."),
        Edge(
            partial(_draw_text, back=6, length=4),
            "Here nothing stands `back` places before any token: no token has a tag.",
        ),
        partial(_draw_text, back=1, length=1),
    ),
    mistakes=(
        Mistake(
            lambda symbols, back: _attend(symbols, symbols.roll(back, dims=0), symbols),
            "Your tags go round: the first tokens get the last ones' symbols. With nothing before them, theirs are 0.",
        ),
        Mistake(
            lambda symbols, back: _attend(_tags(symbols, back), symbols, symbols),
            "Your query is the tag and your key the symbol. Then a token asks for what stood before it. The token "
            "that carries the tag is to be found, so the tag is its key.",
        ),
        Mistake(
            lambda symbols, back: _attend(symbols, _tags(symbols, back), _tags(symbols, back)),
            "Your value is the tag, so the head says the symbol that asked. The value is the found token's symbol.",
        ),
        Mistake(
            lambda symbols, back: _attend(symbols, _tags(symbols, back), symbols, causal=False),
            "Each token sees the whole text, also what follows it. A causal mask is missing.",
        ),
    ),
)


def _draw_heads(generator: torch.Generator, sizes: Callable = primes, first: bool = False) -> tuple:
    (heads,) = normal("HLD")(generator, sizes)
    width = heads.size(0) * heads.size(2)
    W_o = torch.randn(13, width, generator=generator) / math.sqrt(width)
    return heads, W_o, 0 if first else one_of(generator, 1, len(heads) - 1)


def _joined(heads: Tensor, W_o: Tensor) -> Tensor:
    return heads.transpose(0, 1).flatten(1) @ W_o.T


def _all_but(heads: Tensor, head: int) -> Tensor:
    return heads * (torch.arange(len(heads)) != head)[:, None, None]


without_head = Exercise(
    "without_head",
    lambda heads, W_o, head: _joined(_all_but(heads, head), W_o),
    _draw_heads,
    edges=(partial(_draw_heads, first=True), single(partial(_draw_heads, first=True))),
    mistakes=(
        Mistake(
            lambda heads, W_o, head: _joined(heads - _all_but(heads, head), W_o),
            "You keep this head and silence all others. It is the other way round.",
        ),
        Mistake(
            lambda heads, W_o, head: _all_but(heads, head).reshape(heads.size(1), -1) @ W_o.T,
            "You join the heads by a view: a token's row then holds numbers of other tokens. Transpose first.",
        ),
        Mistake(
            lambda heads, W_o, head: _joined(heads, W_o * (torch.arange(W_o.size(1)) % len(heads) != head)),
            "You take away other columns of W_o: head h has the D columns from h · D on, side by side.",
        ),
    ),
)
