"""Chapters 10 and 12 from other starts: ``python -m attention.course.experiments.starts --help``.

One start shows what can happen, several show how far it depends on luck. Chapter 10's translator is trained from eight
seeds, chapter 12's copier from eleven. The two chapters train one of these each, and print what came of the others.

All runs together take about two minutes on one processor core.
"""

import string
from functools import cache, partial
from itertools import islice

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attention.contexts import AdditiveAttention
from attention.course.data import Vocabulary, draw_dates
from attention.course.experiments import induction
from attention.course.experiments.runs import command, descend, stored
from attention.course.training import exact_matches, train
from attention.seq2seq import Decoder, Encoder, Translator

STEPS = {"translator": 180, "copier": 200}
SEEDS = {"translator": range(8), "copier": range(11)}
RUNS = [{"kind": kind, "seed": seed} for kind, seeds in SEEDS.items() for seed in seeds]
ASKED = ["24 June 1985", "June 24th, 1985", "Mon 24 Jun 85", "24.06.1985", "14/1/12"]
READS, WRITES = Vocabulary(string.ascii_letters + string.digits + " ,./"), Vocabulary(string.digits + "-")
TEXTS, LENGTH = 64, 33  # on which the copier is tested


@cache
def dates(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Source, lengths and target: ten thousand to train on, and another thousand."""
    texts, isos = zip(*draw_dates(11_000, generator=torch.Generator().manual_seed(0)), strict=True)
    return *READS.encode(texts, device), WRITES.encode(isos, device)[0]


def translate(seed: int, device: torch.device, steps: int | None) -> dict:
    """A translator of dates as chapter 10's.

    The loss of each step, ``losses``; how many of a thousand dates are ``right``; what it ``writes`` for ``ASKED``, and
    where the ``first`` digit of each looks most.
    """
    torch.manual_seed(seed)
    encoder, attention = Encoder(len(READS), 64, bidirectional=True), AdditiveAttention(64, 64, 32)
    model = Translator(encoder, Decoder(len(WRITES), 64, attention)).to(device)
    options = {"steps": STEPS["translator"], "batch_size": 40, "learning_rate": 0.012}
    training, held = ([tensor[part] for tensor in dates(device)] for part in (slice(10_000), slice(10_000, None)))
    losses = list(islice(train(model, *training, generator=torch.Generator().manual_seed(seed), **options), steps))
    ids, weights = model.translate(*READS.encode(ASKED, device), max_steps=11)
    right = exact_matches(model, *held).sum().item()
    looks = weights[:, 0].argmax(dim=1).tolist()
    return {"losses": losses, "right": right, "writes": WRITES.decode(ids), "first": looks}


def copy(seed: int, device: torch.device, steps: int | None) -> dict:
    """A copier as chapter 12's.

    The loss of each step, ``losses``; the shares of copied tokens that are right, by block ``without`` each head, and
    ``two_ahead``, of the token two ahead, if the head of the first block that looks one back looks two back. How far
    each head of that block does so is ``one_back``.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = induction.make().to(device)

    def loss_of(step: int) -> Tensor:
        rows = induction.draw(32, generator, length=LENGTH)[0].to(device)  # (B, L + 1)
        return cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())

    optimizer = torch.optim.Adam(model.parameters(), 0.006, betas=(0.9, 0.99))
    losses = descend(optimizer, loss_of, STEPS["copier"] if steps is None else steps)
    rows, period = induction.draw(TEXTS, torch.Generator().manual_seed(1), length=LENGTH)
    tokens, period = rows[:, :-1].to(device), period.to(device)

    @torch.no_grad()
    def share(block: int, mask: Tensor, ahead: int = 1) -> float:
        said = model(tokens, attn_masks={block: mask.to(device)}).argmax(dim=-1)  # (N, L)
        is_right = said == induction.ahead(tokens, period, ahead)
        return is_right[induction.copied(tokens, period)].double().mean().item()

    silent = [induction.silence([head], LENGTH - 1) for head in range(induction.HEADS)]
    one_back = induction.one_back(model.attention_maps(tokens)[0], period)
    steered = induction.pin([one_back.index(max(one_back))], 2, LENGTH - 1)
    without = [[share(block, mask) for mask in silent] for block in range(2)]
    return {"losses": losses, "without": without, "two_ahead": share(0, steered, ahead=2), "one_back": one_back}


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``, as :func:`translate` or :func:`copy` returns it; its first weights are float64 too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # single precision differs between processors
    try:
        run = copy if settings["kind"] == "copier" else translate
        return run(settings["seed"], device, steps)
    finally:
        torch.set_default_dtype(before)


published = partial(stored, "starts")

if __name__ == "__main__":
    command("starts", __doc__, RUNS, examine)
