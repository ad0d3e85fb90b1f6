"""Training a translator, and counting what it gets right."""

from collections.abc import Iterator

import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy, pad

from attention.arguments import check_count, check_lengths, check_positive, shapes
from attention.seq2seq import PAD, Translator


def train(
    model: Translator,
    source: Tensor,
    lengths: Tensor,
    target: Tensor,
    *,
    steps: int,
    batch_size: int,
    learning_rate: float,
    generator: Generator,
) -> Iterator[float]:
    """Train with teacher forcing, one batch a step, for as long as the loop that asks goes on.

    Each step draws a batch with replacement and lowers the mean of ``−log p(target)`` over all tokens but padding,
    with Adam and a rate that rises to ``learning_rate`` and falls to nothing (one cycle).

    Args:
        model: what is trained, in place; set to training mode before each step.
        source: ids (N, S), all there are.
        lengths: of the sources, (N,).
        target: ids (N, T), each with ``EOS`` and then ``PAD``.
        steps: number of steps.
        batch_size: sources a step.
        learning_rate: the highest.
        generator: where the batches come from.

    Yields:
        the loss of each step.

    Raises:
        TypeError: a count is no integer.
        ValueError: a count or the rate is not positive, or there is not one target for each source.

    Source: Kingma and Ba (2015); Smith and Topin (2019) for the cycle.
    """
    check_count("steps", steps, least=1)
    check_count("batch_size", batch_size, least=1)
    check_positive("learning_rate", learning_rate)
    check_pairs(source, target)
    check_lengths(lengths, source)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=steps)
    batches = torch.randint(len(source), (steps, batch_size), generator=generator, device=generator.device)
    return (_step(model, optimizer, schedule, source[i], lengths[i], target[i]) for i in batches.to(source.device))


def exact_matches(model: Translator, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
    """Which sources the model translates without a fault, decoding greedily, without dropout.

    Args:
        model: what is asked; it is left in the mode it was in.
        source: ids (B, S).
        lengths: of the sources, (B,).
        target: ids (B, T), each with ``EOS`` and then ``PAD``.

    Returns:
        bool tensor (B,): True where every token is right, ``EOS`` among them.

    Raises:
        TypeError, ValueError: as :class:`Translator`; also if there is not one target for each source.
    """
    check_pairs(source, target)
    was_training = model.training
    ids, _ = model.eval().translate(source, lengths, max_steps=target.size(1))
    model.train(was_training)
    return (pad(ids, (0, target.size(1) - ids.size(1)), value=PAD) == target).all(-1)


def check_pairs(source: Tensor, target: Tensor) -> None:
    if len(source) != len(target):
        raise ValueError(f"target must have one row for each source, found {shapes(source=source, target=target)}")


def _step(model, optimizer, schedule, source: Tensor, lengths: Tensor, target: Tensor) -> float:
    source = source[:, : lengths.max()]  # padding that the batch does not need only takes time
    logits, _ = model.train()(source, target, lengths)
    loss = cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    return loss.item()
