"""Chapter 11's copying heads at other lengths, five seeds: ``python -m attention.course.experiments.lengths --help``.

A model of two blocks, of attention alone, learns the loops of :mod:`attention.course.experiments.induction` with one
kind of positions, in sequences of 32 tokens. In the test such loops stand at the end of sequences of 32, 64 and 128
tokens. Before them stand random symbols that the loop doesn't hold. So what is to be looked up in a longer sequence
stands only where training never reached.

All runs together take about four minutes on one processor core.
"""

import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from attention.course.experiments.induction import PERIODS, ahead, loss_and_share
from attention.course.experiments.runs import command, one_by_one, stored
from attention.masks import window_mask
from attention.transformer import Transformer

SYMBOLS = 64
LENGTH = 32  # of a loop, and of a sequence in training
LENGTHS = (32, 64, 128)  # of a sequence in the test
WIDTH, HEADS = 64, 4
BATCH, STEPS, RATE = 32, 400, 0.006
SEQUENCES = 200  # in the test, of each length
FIRST_LOSSES = 5  # kept of each run, so that a test can repeat its beginning

KINDS = ("learned", "learned, moved", "rotary", "ALiBi", "none")
SEEDS = range(5)
RUNS = [{"kind": kind, "seed": seed} for kind in KINDS for seed in SEEDS]


def draw(count: int, generator: Generator, length: int = LENGTH) -> tuple[Tensor, Tensor]:
    """Draw sequences that end with 32 tokens of a loop; before it stand symbols that are none of the loop's.

    Args:
        count: number of sequences.
        generator: the source of random numbers.
        length: of each sequence, L.

    Returns:
        tokens (count, L), and the number of symbols in each one's loop, (count, 1).
    """
    shortest, longest = PERIODS
    period = torch.randint(shortest, longest + 1, (count, 1), generator=generator)
    symbols = torch.rand(count, SYMBOLS, generator=generator).argsort(dim=-1)  # each row in an order of its own
    loop = symbols.gather(1, torch.arange(LENGTH) % period)
    others = torch.randint(longest, SYMBOLS, (count, length - LENGTH), generator=generator)
    return torch.cat([symbols.gather(1, others), loop], dim=1), period


def make(kind: str) -> Transformer:
    """The model, with an output of its own and embeddings of standard deviation 1; one of ``KINDS``."""
    positions = {"rotary": "rotary", "ALiBi": "alibi", "none": None}.get(kind, "learned")
    options = {"feed_forward": None, "tied": False, "embed_std": 1.0}
    return Transformer(SYMBOLS, WIDTH, HEADS, 2, max(LENGTHS), positions, **options)


def read(model: Transformer, tokens: Tensor, start: Tensor) -> Tensor:
    """The logits (N, L, V) of a model with learned positions, for tokens that stand at the places from ``start`` on.

    Args:
        model: the model.
        tokens: (N, L).
        start: the place of each sequence's first token, (N, 1).
    """
    places = start + torch.arange(tokens.size(1), device=tokens.device)  # (N, L)
    x = model.token_embedding(tokens) + model.position_embedding(places)  # (N, L, E)
    for block in model.blocks:
        x, _ = block(x, is_causal=True)
    return model.unembed(x)


def learn(settings: dict, device: torch.device, steps: int | None = None) -> tuple[Transformer, list[float]]:
    """Train a model on the next token, in double precision, so that all processors come to the same.

    Args:
        settings: one of ``RUNS``. The model with positions that are learned and *moved* reads each sequence at places
            that begin at random, so that each of the 128 is trained.
        device: where to train it.
        steps: how many; ``STEPS`` when not given.

    Returns:
        the model, and the loss of each step.
    """
    torch.manual_seed(settings["seed"])
    model = make(settings["kind"]).double().to(device)
    generator = torch.Generator().manual_seed(settings["seed"])
    optimizer = torch.optim.Adam(model.parameters(), RATE, betas=(0.9, 0.99))
    losses = []
    for _ in range(STEPS if steps is None else steps):
        tokens, period = (tensor.to(device) for tensor in draw(BATCH, generator))
        if settings["kind"] == "learned, moved":
            start = torch.randint(max(LENGTHS) - LENGTH + 1, (BATCH, 1), generator=generator)
            logits = read(model, tokens, start.to(device))  # (B, L, V)
        else:
            logits = model(tokens)
        loss = cross_entropy(logits.flatten(0, 1), ahead(tokens, period).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


@torch.no_grad()
def right(model: Transformer, length: int, window: int | None = None) -> float:
    """The share of right answers in the loop at the end, from its second time round.

    Args:
        model: the model.
        length: of each sequence.
        window: how many tokens each may look at, itself included; all before it when not given.
    """
    device = model.output.weight.device
    tokens, period = (tensor.to(device) for tensor in draw(SEQUENCES, torch.Generator().manual_seed(length), length))
    masks = None if window is None else dict.fromkeys(range(2), window_mask(length, window, device=device))
    logits = model(tokens, attn_masks=masks)[:, -LENGTH:]  # (N, 32, V)
    return loss_and_share(logits, tokens[:, -LENGTH:], period)[1]


def test(model: Transformer) -> dict[str, list[float]]:
    """The shares of right answers by length: ``right``, and in a ``window`` as long as the training's sequences."""
    return {
        "right": [right(model, length) for length in LENGTHS],
        "window": [right(model, length, window=LENGTH) for length in LENGTHS],
    }


def published() -> dict:
    """The runs that come with the package.

    Returns:
        ``runs``: of each its settings, its first ``losses``, its last ``loss``, and what :func:`test` found;
        ``session``: where they ran, for how many seconds.
    """
    return stored("lengths")


def run(device: torch.device) -> dict:
    """All runs, one after another, saying what comes out; returns what :func:`published` does."""

    def one(settings: dict) -> dict:
        model, losses = learn(settings, device)
        return {"losses": losses[:FIRST_LOSSES], "loss": losses[-1], **test(model)}

    return one_by_one(RUNS, one, device)


def main(arguments: list[str] | None = None) -> None:
    command("attention.course.experiments.lengths", __doc__, "lengths.pt", run, arguments)


if __name__ == "__main__":
    main()
