"""A module as it is when it is asked, not trained."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def without_dropout(module: nn.Module) -> Iterator[None]:
    """Put the module and its parts into evaluation mode, and afterwards back into the mode that each was in."""
    training = [part for part in module.modules() if part.training]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True
