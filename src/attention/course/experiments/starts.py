"""Chapters 10 and 12 from other starts: ``python -m attention.course.experiments.starts --help``.

One start shows what can happen, several show how far it depends on luck. Chapter 10's translator is trained from eight
seeds, and from three with one vector in place of attention; chapter 12's copier from eleven. The two chapters train one
of these each, and print what came of the others.

All runs together take about two minutes on one processor core.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attention.course.experiments import induction
from attention.course.experiments.runs import command, one_by_one, stored
from attention.course.experiments.sequence_to_sequence import Dates
from attention.course.training import exact_matches, train
from attention.modules import AdditiveAttention
from attention.seq2seq import Decoder, Encoder, Translator

STEPS = {"translator": 180, "one vector": 360, "copier": 200}
SEEDS = {"translator": range(8), "one vector": range(3), "copier": range(11)}
RUNS = [{"kind": kind, "seed": seed} for kind, seeds in SEEDS.items() for seed in seeds]
ASKED = ["24 June 1985", "June 24th, 1985", "Mon 24 Jun 85", "24.06.1985", "14/1/12"]
TEXTS, LENGTH = 64, 33  # on which the copier is tested


class OneVector(nn.Module):
    """Look at both ends of the source, whatever is asked: the states that have read all of it, from either side."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor) -> tuple[Tensor, Tensor]:
        """The last state of either direction as the output of each query, (B, L, E), and weights of 0, (B, L, S)."""
        last = attn_mask.long().sum(dim=-1) - 1  # (B, 1)
        texts = torch.arange(len(value), device=value.device)[:, None]
        forward, backward = value[texts, last], value[:, :1]  # (B, 1, E)
        half = value.size(2) // 2
        ends = torch.cat([forward[..., :half], backward[..., half:]], dim=-1)
        return ends.expand(query.shape), torch.zeros_like(key[..., 0])[:, None].expand(-1, query.size(1), -1)


@contextmanager
def double_precision() -> Iterator[None]:
    """New tensors are float64, also those that a model starts from: single precision differs between processors."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def translate(task: Dates, kind: str, seed: int, steps: int | None = None) -> tuple[Translator, list[float]]:
    """Train a translator of dates as chapter 10 does.

    Args:
        task: the dates.
        kind: ``"translator"``, or ``"one vector"`` for a decoder that is given the same two states at every step.
        seed: of the first weights and of the batches.
        steps: after how many of the run's steps to stop; after all when not given.

    Returns:
        the translator, and the loss of each step.
    """
    torch.manual_seed(seed)
    encoder = Encoder(len(task.characters), 64, bidirectional=True)
    attention = AdditiveAttention(64, 64, hidden_dim=32) if kind == "translator" else OneVector()
    model = Translator(encoder, Decoder(len(task.digits), 64, attention)).to(task.source.device)
    options = {"steps": STEPS[kind], "batch_size": 40, "learning_rate": 0.012}
    generator = torch.Generator().manual_seed(seed)
    losses = train(model, task.source, task.lengths, task.target, generator=generator, **options)
    return model, list(islice(losses, steps))


@torch.no_grad()
def ask(task: Dates, model: Translator) -> dict:
    """How many of a thousand dates are ``right``, what it ``writes`` for ``ASKED``, where the ``first`` digit looks."""
    source, lengths = task.characters.encode(ASKED, task.source.device)
    ids, weights = model.translate(source, lengths, max_steps=11)
    right = exact_matches(model, *task.held).sum().item()
    return {"right": right, "writes": task.digits.decode(ids), "first": weights[:, 0].argmax(dim=1).tolist()}


def copy(seed: int, device: torch.device, steps: int | None = None) -> tuple[nn.Module, list[float]]:
    """Train a copier as chapter 12 does, for so many steps or all; the model, and the loss of each step."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = induction.make().to(device)
    optimizer = torch.optim.Adam(model.parameters(), 0.006, betas=(0.9, 0.99))
    losses = []
    for _ in range(STEPS["copier"] if steps is None else steps):
        rows = induction.draw(32, generator, length=LENGTH)[0].to(device)  # (B, L + 1)
        loss = cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


@torch.no_grad()
def ablate(model: nn.Module, device: torch.device) -> dict:
    """The share of copied tokens that are ``right``, by block ``without`` each head, and ``two_ahead`` if steered so.

    The head that is steered is the one of the first block that looks one back.
    """
    rows, period = (each.to(device) for each in induction.draw(TEXTS, torch.Generator().manual_seed(1), length=LENGTH))
    tokens, length = rows[:, :-1], LENGTH - 1

    def share(masks: dict[int, Tensor] | None) -> float:
        return induction.loss_and_share(model(tokens, attn_masks=masks), tokens, period)[1]

    silent = [induction.silence(head, length).to(device) for head in range(induction.HEADS)]
    scores = induction.measure(model, tokens, period)["one_back"]
    return {
        "right": share(None),
        "without": [[share({block: mask}) for mask in silent] for block in range(2)],
        "two_ahead": induction.steer(model, tokens, period, [scores.index(max(scores))], 2),
    }


def run(device: torch.device) -> dict:
    """All runs, one after another, saying what comes out; returns what :func:`published` does."""
    task = Dates(device)

    def one(settings: dict) -> dict:
        kind, seed = settings["kind"], settings["seed"]
        if kind == "copier":
            model, losses = copy(seed, device)
            return {"losses": losses, **ablate(model, device)}
        model, losses = translate(task, kind, seed)
        return {"losses": losses, **ask(task, model)}

    with double_precision():
        return one_by_one(RUNS, one, device)


def published() -> dict:
    """The runs that come with the package.

    Returns:
        ``runs``: of each its settings, the loss of each step, ``losses``, and what :func:`ask` or :func:`ablate` found;
        ``session``: where they ran, for how many seconds.
    """
    return stored("starts")


def main(arguments: list[str] | None = None) -> None:
    command("attention.course.experiments.starts", __doc__, "starts.pt", run, arguments)


if __name__ == "__main__":
    main()
