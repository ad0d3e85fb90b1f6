"""Chapter 12's copying heads over five seeds: ``python -m attention.course.experiments.induction --help``.

A sequence is a loop: some distinct symbols, 8 to 16 of them, again and again. What comes first can't be known. From the
second time round, a symbol's successor is what followed it the last time. A model of two blocks, of attention alone,
learns to say so; the experiment measures what is lost when one of its heads is silenced, or adds what it adds on
average.

All runs together take about a minute on one processor core.
"""

from functools import partial

import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from attention.course.experiments.runs import FIRST_LOSSES, command, descend, stored
from attention.transformer import Transformer

SYMBOLS = 32
LENGTH = 32  # of a sequence
PERIODS = (8, 16)  # the shortest loop and the longest
WIDTH, HEADS = 64, 2
BATCH, STEPS, RATE = 32, 300, 0.006
SEQUENCES = 256  # in the test
RUNS = [{"kind": "learned", "seed": seed} for seed in range(5)]


def draw(
    count: int, generator: Generator, *, length: int = LENGTH, periods: tuple[int, int] = PERIODS
) -> tuple[Tensor, Tensor]:
    """Sequences (count, L), each a loop as long as ``periods`` allow, and the length of each one's loop, (count, 1)."""
    shortest, longest = periods
    period = torch.randint(shortest, longest + 1, (count, 1), generator=generator)
    symbols = torch.rand(count, SYMBOLS, generator=generator).argsort(dim=-1)  # each row in an order of its own
    return symbols.gather(1, torch.arange(length) % period), period


def make() -> Transformer:
    """The model: two blocks of attention alone, with an output of its own and embeddings of standard deviation 1."""
    return Transformer(SYMBOLS, WIDTH, HEADS, 2, LENGTH, feed_forward=None, tied=False, embed_std=1.0)


def silence(heads: list[int], length: int) -> Tensor:
    """A mask (1, H, L, L) under which some heads see nothing, and the others what they like."""
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


def learn(settings: dict, device: torch.device, steps: int = STEPS) -> tuple[Transformer, list[float]]:
    """Train a model on the next token, in double precision, so that all processors come to the same.

    The first block of a ``"barred"`` model cannot look one back.

    Returns:
        the model, and the loss of each step.
    """
    torch.manual_seed(settings["seed"])
    model = make().double().to(device)
    generator = torch.Generator().manual_seed(settings["seed"])
    masks = {0: bar(LENGTH).to(device)} if settings["kind"] == "barred" else None

    def loss_of(step: int) -> Tensor:
        tokens, period = (tensor.to(device) for tensor in draw(BATCH, generator))
        logits = model(tokens, attn_masks=masks)  # (B, L, V)
        return cross_entropy(logits.flatten(0, 1), ahead(tokens, period).flatten())

    return model, descend(torch.optim.Adam(model.parameters(), RATE, betas=(0.9, 0.99)), loss_of, steps)


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

    The first block's weights are (N, H, L, L), the loops' lengths (N, 1).
    """
    before = weights.diagonal(-1, dim1=-2, dim2=-1)  # (N, H, L − 1), for the queries 1, 2, …
    first = torch.arange(1, weights.size(-1), device=weights.device) < period  # (N, L − 1)
    return [before[:, head][first].mean().item() for head in range(weights.size(1))]


def induction(weights: Tensor, period: Tensor) -> list[float]:
    """Each head's mean weight on what followed the present token before, from the second time round.

    The second block's weights are (N, H, L, L), the loops' lengths (N, 1).
    """
    places = torch.arange(weights.size(-1), device=weights.device)
    steps_on = places - places[:, None]  # (L, L), key − query
    followed = ((steps_on - 1) % period[:, :, None] == 0) & (places > 0)  # (N, L, L); the first followed nothing
    on_those = (weights * followed[:, None]).sum(-1)  # (N, H, L); later keys have no weight
    later = places >= period  # (N, L)
    return [on_those[:, head][later].mean().item() for head in range(weights.size(1))]


@torch.no_grad()
def measure(model: Transformer, tokens: Tensor, period: Tensor) -> dict:
    """The share ``right`` on what is copied, and each head's score: ``one_back``, ``induction``."""
    _, right = loss_and_share(model(tokens), tokens, period)
    first, second = model.attention_maps(tokens)
    return {"right": right, "one_back": one_back(first, period), "induction": induction(second, period)}


@torch.no_grad()
def averaged(model: Transformer, tokens: Tensor, places: Tensor, number: int, head: int) -> Tensor:
    """The logits (N, L, V) of a model one of whose heads adds what it adds on average (mean ablation).

    The head is one of block ``number``; the average is taken over ``places``, bool (N, L).
    """
    mask = silence([head], tokens.size(1)).to(tokens.device)
    x = model.embed(tokens)  # (N, L, E)
    for current, block in enumerate(model.blocks):
        before = x
        x, _ = block(before, is_causal=True)
        if current == number:
            lacking, _ = block(before, mask, is_causal=True)
            x = lacking + (x - lacking)[places].mean(dim=0)  # with attention alone, x − lacking is what the head adds
    return model.unembed(x)


def test_texts(device: torch.device) -> tuple[Tensor, Tensor]:
    """The sequences of the test, and the length of each one's loop."""
    tokens, period = draw(SEQUENCES, torch.Generator().manual_seed(1))
    return tokens.to(device), period.to(device)


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``.

    Returns:
        the first ``losses``; the loss with each head ``silenced``, by block; ``averaged`` and ``averaged_copied``,
        likewise, with what each head adds on average in its place, over all places and over the copied ones;
        ``both_silenced``, by block.
    """
    tokens, period = test_texts(device)
    model, losses = learn(settings, device, STEPS if steps is None else steps)

    @torch.no_grad()
    def without(block: int, heads: list[int]) -> float:
        mask = silence(heads, tokens.size(1)).to(device)
        return loss_and_share(model(tokens, attn_masks={block: mask}), tokens, period)[0]

    def by_mean(places: Tensor) -> list[list[float]]:
        logits = [[averaged(model, tokens, places, block, head) for head in range(HEADS)] for block in range(2)]
        return [[loss_and_share(each, tokens, period)[0] for each in of_block] for of_block in logits]

    return {
        "losses": losses[:FIRST_LOSSES],
        "silenced": [[without(block, [head]) for head in range(HEADS)] for block in range(2)],
        "averaged": by_mean(torch.ones_like(tokens, dtype=torch.bool)),
        "averaged_copied": by_mean(copied(tokens, period)),
        "both_silenced": [without(block, [0, 1]) for block in range(2)],
    }


published = partial(stored, "induction")

if __name__ == "__main__":
    command("induction", __doc__, RUNS, examine)
