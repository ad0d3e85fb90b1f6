"""Training a translator, and counting what it gets right.

Dimensions: N pairs of a source and a target, S source tokens, L target tokens, V size of the target's vocabulary.
"""

from collections.abc import Iterator

import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy, pad

from attention.arguments import check_counts, check_positive, shapes
from attention.seq2seq import PAD, Translator, lengths_on_cpu


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
    """Train with teacher forcing, one batch a step: each is taken when the caller's loop asks for its loss.

    Each step draws a batch with replacement and lowers the mean of ``−log p(token)`` over all target tokens that are
    not padding, with Adam. The learning rate follows one cycle over all ``steps``: it rises from a 25th of
    ``learning_rate`` to its peak after the first 30 % of them, and then falls to nearly 0 at the last. So a run of 100
    steps is not the first half of a run of 200.

    Args:
        model: the translator, trained in place; it is put into training mode before each step.
        source: ids (N, S).
        lengths: of the sources, integers (N,), from 1 to S.
        target: ids (N, L), each row followed by ``EOS`` and then ``PAD``.
        steps: number of steps, over which the learning rate's cycle runs.
        batch_size: number of pairs a step.
        learning_rate: the peak of the cycle.
        generator: the source of random numbers for the batches.

    Yields:
        the loss of each step.

    Raises:
        TypeError, ValueError: a count, the rate or a length is no number of its range, or there is not one target and
            one length for each source; said at once, before the first step.

    Source: Kingma and Ba (2015) for Adam; Smith and Topin (2019) for the cycle.
    """
    check_counts(least=1, steps=steps, batch_size=batch_size)
    check_positive("learning_rate", learning_rate)
    check_pairs(source, target)
    lengths = lengths_on_cpu(lengths, source)  # on the CPU, as the batches' rows: to read them takes no waiting
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=steps)
    batches = torch.randint(len(source), (steps, batch_size), generator=generator, device=generator.device).cpu()

    def take_steps() -> Iterator[float]:
        for rows in batches:  # (B,)
            longest = lengths[rows].max()  # columns that are padding in the whole batch would only take time
            rows_there = rows.to(source.device)
            batch_source, batch_target = source[rows_there, :longest], target[rows_there]  # (B, longest), (B, L)
            model.train()
            logits, _ = model(batch_source, batch_target, lengths[rows])  # (B, L, V)
            loss = cross_entropy(logits.flatten(0, 1), batch_target.flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            yield loss.item()

    return take_steps()


def exact_matches(model: Translator, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
    """Which sources the model translates without an error, decoding greedily.

    Args:
        model: the translator, which decodes without dropout and stays in its mode.
        source: ids (B, S).
        lengths: of the sources, integers (B,), from 1 to S.
        target: ids (B, L), each row followed by ``EOS`` and then ``PAD``.

    Returns:
        bool tensor (B,): True where every token is right, ``EOS`` among them.

    Raises:
        TypeError, ValueError: as :meth:`Translator.translate`; also if there is not one target for each source.
    """
    check_pairs(source, target)
    ids, _ = model.translate(source, lengths, max_steps=target.size(1))  # (B, at most L)
    ids = pad(ids, (0, target.size(1) - ids.size(1)), value=PAD)  # (B, L)
    return (ids == target).all(-1)


def check_pairs(source: Tensor, target: Tensor) -> None:
    if len(source) != len(target):
        raise ValueError(f"target must have one row for each source, found {shapes(source=source, target=target)}")
