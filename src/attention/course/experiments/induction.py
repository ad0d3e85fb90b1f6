"""Chapter 12's copying heads over five seeds: ``python -m attention.course.experiments.induction --help``.

A sequence is a loop: some distinct symbols, 8 to 16 of them, again and again. What comes first can't be known. From the
second time round, a symbol's successor is what followed it the last time. A model of two blocks, of attention alone,
learns to say so; the experiment measures when, which heads do it, and what happens when one of them is silenced, kept
from the second block's queries, keys or values, or made to look k back.

All runs together take about two minutes on one processor core.
"""

import time

import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from attention.course.experiments.runs import command, session, stored
from attention.transformer import Transformer

SYMBOLS = 32
LENGTH = 32  # of a sequence
PERIODS = (8, 16)  # the shortest loop and the longest
WIDTH, HEADS = 64, 2
BATCH, STEPS, RATE = 32, 300, 0.006
SEQUENCES = 256  # in the test
EVERY = 20  # steps from one measurement to the next
BACK = (1, 2, 3, 4, 5)  # how far the head is made to look
FIRST_LOSSES = 5  # kept of each run, so that a test can repeat its beginning

KINDS = ("learned", "pinned")
SEEDS = range(5)
RUNS = [{"kind": kind, "seed": seed} for kind in KINDS for seed in SEEDS]


def draw(
    count: int, generator: Generator, *, length: int = LENGTH, periods: tuple[int, int] = PERIODS
) -> tuple[Tensor, Tensor]:
    """Draw loops.

    Args:
        count: number of sequences.
        generator: the source of random numbers.
        length: of each sequence, L.
        periods: the shortest loop and the longest.

    Returns:
        tokens (count, L), and the length of each one's loop, (count, 1).
    """
    shortest, longest = periods
    period = torch.randint(shortest, longest + 1, (count, 1), generator=generator)
    symbols = torch.rand(count, SYMBOLS, generator=generator).argsort(dim=-1)  # each row in an order of its own
    return symbols.gather(1, torch.arange(length) % period), period


def make() -> Transformer:
    """The model: two blocks of attention alone, with an output of its own and embeddings of standard deviation 1."""
    return Transformer(SYMBOLS, WIDTH, HEADS, 2, LENGTH, feed_forward=None, tied=False, embed_std=1.0)


def silence(heads: int | list[int], length: int) -> Tensor:
    """A mask (1, H, L, L) under which one head, or each of some, sees nothing, and the others what they like."""
    mask = torch.ones(1, HEADS, length, length, dtype=torch.bool)
    mask[:, heads] = False
    return mask


def pin(heads: list[int], back: int, length: int) -> Tensor:
    """A mask (1, H, L, L) under which some heads see only the token ``back`` places earlier."""
    places = torch.arange(length)
    mask = torch.ones(1, HEADS, length, length, dtype=torch.bool)
    mask[:, heads] = places[:, None] - back == places
    return mask


def bar(length: int) -> Tensor:
    """A mask (1, 1, L, L) under which no head sees the token right before; the first token still sees itself."""
    positions = torch.arange(length)
    return (positions[:, None] - 1 != positions)[None, None]


def learn(
    settings: dict, device: torch.device, steps: int | None = None, measured: tuple | None = None
) -> tuple[Transformer, list[float], list[dict]]:
    """Train a model on the next token, in double precision, so that all processors come to the same.

    Args:
        settings: one of ``RUNS``, or of :mod:`attention.course.experiments.plans`. A ``"pinned"`` model has a head
            that looks one back from the start, a ``"barred"`` one a first block that cannot look one back.
        device: where to train it.
        steps: how many; ``STEPS`` when not given.
        measured: tokens and periods on which :func:`measure` looks at it every 20 steps, from 0 to the end.

    Returns:
        the model, the loss of each step, and what was measured.
    """
    torch.manual_seed(settings["seed"])
    model = make().double().to(device)
    generator = torch.Generator().manual_seed(settings["seed"])
    optimizer = torch.optim.Adam(model.parameters(), RATE, betas=(0.9, 0.99))
    masks = {
        "pinned": {0: pin([0], 1, LENGTH).to(device)},
        "barred": {0: bar(LENGTH).to(device)},
    }.get(settings["kind"])
    losses, history = [], []
    steps = STEPS if steps is None else steps
    for step in range(steps):
        if measured and step % EVERY == 0:
            history.append({"step": step, **measure(model, *measured, masks)})
        tokens, period = (tensor.to(device) for tensor in draw(BATCH, generator))
        logits = model(tokens, attn_masks=masks)  # (B, L, V)
        loss = cross_entropy(logits.flatten(0, 1), ahead(tokens, period).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if measured:
        history.append({"step": steps, **measure(model, *measured, masks)})
    return model, losses, history


def copied(tokens: Tensor, period: Tensor) -> Tensor:
    """Where the next token can be known: where the present one has been there before; bool (N, L)."""
    return torch.arange(tokens.size(1), device=tokens.device) >= period


def ahead(tokens: Tensor, period: Tensor, by: int = 1) -> Tensor:
    """The token that stands ``by`` places later in the loop, (N, L), also where the sequence has ended."""
    places = torch.arange(tokens.size(1), device=tokens.device)
    return tokens.gather(1, (places + by) % period)


def loss_and_share(logits: Tensor, tokens: Tensor, period: Tensor) -> tuple[float, float]:
    """The mean loss where the next token can be known, and the share of such places where it comes out likeliest."""
    there, answers = copied(tokens, period), ahead(tokens, period)
    loss = cross_entropy(logits[there], answers[there]).item()
    return loss, (logits.argmax(dim=-1) == answers)[there].double().mean().item()


def one_back(weights: Tensor, period: Tensor) -> list[float]:
    """Each head's mean weight on the token before, in the first time round, where the second block needs it.

    Args:
        weights: (N, H, L, L), of the first block.
        period: (N, 1).
    """
    before = weights.diagonal(-1, dim1=-2, dim2=-1)  # (N, H, L − 1), for the queries 1, 2, …
    first = torch.arange(1, weights.size(-1), device=weights.device) < period  # (N, L − 1)
    return [before[:, head][first].mean().item() for head in range(weights.size(1))]


def induction(weights: Tensor, period: Tensor) -> list[float]:
    """Each head's mean weight on what followed the present token before, from the second time round.

    Args:
        weights: (N, H, L, L), of the second block.
        period: (N, 1).
    """
    places = torch.arange(weights.size(-1), device=weights.device)
    steps_on = places - places[:, None]  # (L, L), key − query
    followed = ((steps_on - 1) % period[:, :, None] == 0) & (places > 0)  # (N, L, L); the first followed nothing
    on_those = (weights * followed[:, None]).sum(-1)  # (N, H, L); later keys have no weight
    later = places >= period  # (N, L)
    return [on_those[:, head][later].mean().item() for head in range(weights.size(1))]


@torch.no_grad()
def measure(model: Transformer, tokens: Tensor, period: Tensor, masks: dict[int, Tensor] | None = None) -> dict:
    """The ``loss`` and the ``right`` share on what is copied, each head's score: ``one_back``, ``induction``."""
    loss, right = loss_and_share(model(tokens, attn_masks=masks), tokens, period)
    first, second = model.attention_maps(tokens, attn_masks=masks)
    return {"loss": loss, "right": right, "one_back": one_back(first, period), "induction": induction(second, period)}


@torch.no_grad()
def without(model: Transformer, tokens: Tensor, head: int, role: str) -> Tensor:
    """The logits (N, L, V) of a model whose second block can't see a head of the first in one of its three roles.

    Args:
        model: the model, of two blocks.
        tokens: (N, L).
        head: of the first block.
        role: ``"query"``, ``"key"`` or ``"value"``.
    """
    mask = silence(head, tokens.size(1)).to(tokens.device)
    first, second = model.blocks
    x = model.embed(tokens)  # (N, L, E)
    lacking, _ = first(x, mask, is_causal=True)
    x, _ = first(x, is_causal=True)
    read = {"query": x, "key": x, "value": x} | {role: lacking}
    added, _ = second.attend(**{name: second.before_attend(each) for name, each in read.items()}, is_causal=True)
    return model.unembed(x + added)


@torch.no_grad()
def averaged(model: Transformer, tokens: Tensor, places: Tensor, number: int, head: int) -> Tensor:
    """The logits (N, L, V) of a model one of whose heads adds everywhere what it adds on average (mean ablation).

    Args:
        model: the model.
        tokens: (N, L).
        places: bool (N, L), over which the average is taken.
        number: of the block.
        head: of that block.
    """
    mask = silence(head, tokens.size(1)).to(tokens.device)
    x = model.embed(tokens)  # (N, L, E)
    for current, block in enumerate(model.blocks):
        before = x
        x, _ = block(before, is_causal=True)
        if current == number:
            lacking, _ = block(before, mask, is_causal=True)
            x = lacking + (x - lacking)[places].mean(dim=0)  # with attention alone, x − lacking is what the head adds
    return model.unembed(x)


@torch.no_grad()
def steer(model: Transformer, tokens: Tensor, period: Tensor, heads: list[int], back: int) -> float:
    """The share of places, from the second time round, at which the model says the token ``back`` ahead.

    Args:
        model: the model.
        tokens: (N, L).
        period: (N, 1).
        heads: the first block's heads that are made to look ``back``.
        back: how far.
    """
    mask = pin(heads, back, tokens.size(1)).to(tokens.device)
    said = model(tokens, attn_masks={0: mask}).argmax(dim=-1)  # (N, L)
    return (said == ahead(tokens, period, back))[copied(tokens, period)].double().mean().item()


@torch.no_grad()
def prove(model: Transformer, tokens: Tensor, period: Tensor) -> dict:
    """What each head is for.

    Returns:
        ``back`` and ``copy``, the heads of the first and of the second block with the highest scores; ``silenced``,
        the loss without each head, by block; ``averaged`` and ``averaged_copied``, likewise, with what each head adds
        on average in its place, over all places and over the copied ones; ``both_silenced``, the loss without the
        heads of each block; ``without``, the loss if the second block can't see the head ``back`` in its queries, keys
        or values; ``steered`` and ``both_steered``, the shares of :func:`steer` for each of ``BACK``.
    """
    scores = measure(model, tokens, period)
    back = max(range(HEADS), key=lambda head: scores["one_back"][head])
    copy = max(range(HEADS), key=lambda head: scores["induction"][head])

    def loss(logits: Tensor) -> float:
        return loss_and_share(logits, tokens, period)[0]

    def by_mean(places: Tensor) -> list[list[float]]:
        return [[loss(averaged(model, tokens, places, block, head)) for head in range(HEADS)] for block in range(2)]

    masks = [silence(head, tokens.size(1)).to(tokens.device) for head in range(HEADS)]
    both = silence([0, 1], tokens.size(1)).to(tokens.device)
    return {
        "back": back,
        "copy": copy,
        "silenced": [[loss(model(tokens, attn_masks={block: mask})) for mask in masks] for block in range(2)],
        "averaged": by_mean(torch.ones_like(tokens, dtype=torch.bool)),
        "averaged_copied": by_mean(copied(tokens, period)),
        "both_silenced": [loss(model(tokens, attn_masks={block: both})) for block in range(2)],
        "without": {role: loss(without(model, tokens, back, role)) for role in ("query", "key", "value")},
        "steered": [steer(model, tokens, period, [back], by) for by in BACK],
        "both_steered": [steer(model, tokens, period, [0, 1], by) for by in BACK],
    }


def published() -> dict:
    """The runs that come with the package.

    Returns:
        ``runs``: of each its settings, its first ``losses``, its ``history``, a list of what :func:`measure` found,
        and, but for the pinned models, what :func:`prove` found; ``session``: where they ran, for how many seconds.
    """
    return stored("induction")


def run(device: torch.device) -> dict:
    """All runs, one after another, saying what comes out; returns what :func:`published` does."""
    start = time.monotonic()
    tokens, period = (tensor.to(device) for tensor in draw(SEQUENCES, torch.Generator().manual_seed(1)))
    found = []
    for settings in RUNS:
        model, losses, history = learn(settings, device, measured=(tokens, period))
        result = {"losses": losses[:FIRST_LOSSES], "history": history}
        if settings["kind"] != "pinned":  # that one can't do without its mask
            result |= prove(model, tokens, period)
        found.append(settings | result)
        print(settings, {name: part for name, part in result.items() if name != "history"}, history[-1], flush=True)
    return {"runs": found, "session": session(device, start)}


def main(arguments: list[str] | None = None) -> None:
    command("attention.course.experiments.induction", __doc__, "induction.pt", run, arguments)


if __name__ == "__main__":
    main()
