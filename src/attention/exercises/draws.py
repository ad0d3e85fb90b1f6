"""Fresh inputs, as most exercises draw them."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

PRIMES = (3, 5, 7, 11)
NO_CLAMP = (
    "Here the scores lie 10⁴ above 0, or as far below it. Do not clamp them, and where you write the exponentials "
    "yourself, subtract the largest score first."
)


def primes(generator: torch.Generator, count: int) -> list[int]:
    """So many dimensions, no two alike."""
    return [PRIMES[index] for index in torch.randperm(len(PRIMES), generator=generator)[:count].tolist()]


def one_of(generator: torch.Generator, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``, both included."""
    return int(torch.randint(low, high + 1, (), generator=generator))


def normal(*shapes: str, scale: float = 1.0, **fixed: int) -> Callable:
    """Draws normal numbers in these shapes: a letter is a dimension, another prime each time, or what is fixed."""
    letters = [letter for letter in dict.fromkeys("".join(shapes)) if letter not in fixed]

    def draw(generator: torch.Generator, sizes: Callable = primes) -> tuple:
        size = dict(zip(letters, sizes(generator, len(letters)), strict=True)) | fixed
        return tuple(scale * torch.randn([size[letter] for letter in shape], generator=generator) for shape in shapes)

    return draw


def single(draw: Callable) -> Callable:
    """The same draw with every dimension 1, where a ``squeeze`` takes away too much."""
    return partial(draw, sizes=lambda generator, count: [1] * count)


def changed(draw: Callable, change: Callable) -> Callable:
    """The same draw, its arguments changed."""
    return lambda generator, **options: change(*draw(generator, **options))


def far(generator: torch.Generator, queries: int, keys: int, width: int) -> tuple[Tensor, Tensor]:
    """Along one line: products of 4·10⁴ and more, in every other row −4·10⁴ and less, and as far apart."""
    line = torch.nn.functional.normalize(torch.randn(width, generator=generator), dim=0)
    signs, steps = (-1) ** torch.arange(queries), 1 + torch.randperm(keys, generator=generator)
    return 200 * signs[:, None] * line, 200 * steps[:, None] * line


def centred(gradient: Tensor) -> Tensor:
    """A gradient by weights, whose rows sum to 1: what is added to a whole row makes no difference."""
    return gradient - gradient.mean(dim=-1, keepdim=True)
