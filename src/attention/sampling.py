"""How a next token is chosen, by a module that is asked and not trained.

Dimensions: … leading, V size of the vocabulary.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attention.arguments import check_counts, check_floating, check_positive, check_probability
from attention.functional import at_least_float32


def next_probabilities(
    logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """From what the next token is drawn: the softmax of ``logits / temperature``, cut off and made to sum to 1 again.

    Args:
        logits: (…, V).
        temperature: below 1 the likely tokens become likelier, above 1 less so.
        top_k: keep the k likeliest tokens.
        top_p: of those, keep the fewest likeliest whose probabilities sum to at least p (nucleus sampling); 1: all.

    Returns:
        probabilities (…, V).

    Raises:
        TypeError, ValueError: an argument is of another type or out of its range.

    Source: Fan et al. (2018), section 5, for top-k; Holtzman et al. (2020), section 3.1, for top-p.

    >>> next_probabilities(torch.tensor([0.5, 0.3, 0.2]).log(), top_p=0.6)
    tensor([0.6250, 0.3750, 0.0000])
    """
    check_floating("logits", logits)
    check_positive("temperature", temperature)
    dtype, logits = logits.dtype, logits.to(at_least_float32(logits))
    temperature = min(max(temperature, torch.finfo(logits.dtype).tiny), torch.finfo(logits.dtype).max)  # not 0, not ∞
    logits = (logits - logits.amax(dim=-1, keepdim=True)) / temperature  # the softmax is the same; none can overflow
    if top_k is None and top_p is None:
        return logits.softmax(dim=-1).to(dtype)
    logits, order = logits.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        check_counts(least=1, top_k=top_k)
        logits[..., top_k:] = -math.inf
    probabilities = logits.softmax(dim=-1)
    if top_p is not None:
        check_positive("top_p", top_p)
        check_probability("top_p", top_p)
        likelier = probabilities.cumsum(dim=-1) - probabilities  # what all likelier tokens have together
        probabilities = probabilities.masked_fill((likelier >= top_p) & (top_p < 1), 0.0)  # at 1, rounding cuts none
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probabilities).scatter(-1, order, probabilities).to(dtype)


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
