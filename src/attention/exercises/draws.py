"""Fresh inputs that several chapters draw."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import ones, primes


def normal(*shapes: str, scale: float = 1.0, **fixed: int) -> Callable:
    """Draws normal numbers in these shapes: a letter is a dimension, another prime each time, or what is fixed."""
    letters = [letter for letter in dict.fromkeys("".join(shapes)) if letter not in fixed]

    def draw(generator: torch.Generator, sizes: Callable = primes) -> tuple:
        size = dict(zip(letters, sizes(generator, len(letters)), strict=True)) | fixed
        return tuple(scale * torch.randn([size[letter] for letter in shape], generator=generator) for shape in shapes)

    return draw


def single(draw: Callable) -> Callable:
    """The same draw with every dimension 1, where a ``squeeze`` takes away too much."""
    return partial(draw, sizes=ones)


def weights(*shape: str, **fixed: int) -> Callable:
    """Draws a table, or a row, of weights."""
    draw = normal(*shape, **fixed)
    return lambda generator, sizes=primes: tuple(table.softmax(dim=-1) for table in draw(generator, sizes))


def far(generator: torch.Generator, queries: int, keys: int, width: int) -> tuple[Tensor, Tensor]:
    """Along one line: products of 4·10⁴ and more, in every other row −4·10⁴ and less, and as far apart."""
    line = torch.nn.functional.normalize(torch.randn(width, generator=generator), dim=0)
    signs, steps = (-1) ** torch.arange(queries), 1 + torch.randperm(keys, generator=generator)
    return 200 * signs[:, None] * line, 200 * steps[:, None] * line
