"""Chapter 8's comparison of positions, over five seeds: ``python -m attention.course.experiments.positions --help``.

A model of two causal layers reads random letters, and names for each the letter that stood three places earlier. It
reads 32 letters in training, and 32, 64 and 128 in the test. Only the last 16 letters of each test sequence count, so
that the longer ones ask at places beyond those of a training sequence.

All runs together take about five minutes on one processor core.
"""

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attention.blocks import Block, FeedForward
from attention.course.experiments.runs import FIRST_LOSSES, command, descend, stored
from attention.masks import window_mask
from attention.positions import alibi_bias, rotate_heads, sinusoidal_positions

LETTERS = 10
BACK = 3  # where the letter stands that is asked for
LENGTH = 32  # of a sequence in training
LENGTHS = (32, 64, 128)  # in the test
COUNTED = 16  # letters at the end of a test sequence
SEQUENCES = 200  # in the test, of each length
WIDTH, HEADS, LAYERS = 32, 4, 2
BATCH, STEPS, RATE = 16, 600, 0.005

KINDS = ("none", "learned", "sinusoidal", "rotary", "ALiBi", "ALiBi, steep")  # steep: eight times the usual slopes
RUNS = [{"kind": kind, "seed": seed} for kind in KINDS for seed in range(5)]


class Reader(nn.Module):
    """A small causal Transformer that says one letter for each it reads.

    Args:
        kind: one of ``KINDS``: how it is told where a letter stands.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.letters = nn.Embedding(LETTERS, WIDTH)
        if kind == "learned":
            self.places = nn.Embedding(max(LENGTHS), WIDTH)
            nn.init.normal_(self.places.weight, std=0.5)
        inner = partial(FeedForward, hidden_dim=2 * WIDTH)
        turn = rotate_heads if kind == "rotary" else None
        self.blocks = nn.ModuleList(Block(WIDTH, HEADS, feed_forward=inner, process_heads=turn) for _ in range(LAYERS))
        self.norm, self.name = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, LETTERS)

    def forward(self, letters: Tensor, window: int | None = None, **options) -> Tensor:
        """Letters (B, L) → one score for each letter that may be the answer, (B, L, LETTERS).

        Args:
            letters: whole numbers (B, L).
            window: how many letters each may look at, itself included; all before it when not given.
            options: for each block, such as ``attn_mask`` in place of a window.
        """
        length, x = letters.size(1), self.letters(letters)
        like = {"device": x.device, "dtype": x.dtype}
        if window is not None:
            options["attn_mask"] = window_mask(length, window, device=x.device)
        if self.kind == "learned":
            x = x + self.places(torch.arange(length, device=x.device))
        elif self.kind == "sinusoidal":
            x = x + sinusoidal_positions(length, WIDTH, **like)
        elif self.kind.startswith("ALiBi"):
            options["attn_bias"] = alibi_bias(HEADS, length, **like) * (8 if self.kind == "ALiBi, steep" else 1)
        for block in self.blocks:
            x, _ = block(x, is_causal=True, **options)
        return self.name(self.norm(x))


def learn(settings: dict, device: torch.device, steps: int | None = None) -> tuple[Reader, list[float]]:
    """Train a reader, in double precision, so that all processors come to the same.

    Args:
        settings: one of ``RUNS``.
        device: where to train it.
        steps: after how many of the run's steps to stop; after all when not given.

    Returns:
        the reader, and the loss of each step.
    """
    torch.manual_seed(settings["seed"])
    model = Reader(settings["kind"]).double().to(device)
    generator = torch.Generator().manual_seed(settings["seed"])
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)

    def loss_of(step: int) -> Tensor:
        letters = torch.randint(LETTERS, (BATCH, LENGTH), generator=generator).to(device)
        found = model(letters)[:, BACK:]  # the first letters have none so far before them
        return cross_entropy(found.flatten(0, 1), letters[:, :-BACK].flatten())

    return model, descend(optimizer, loss_of, steps or STEPS, schedule)


@torch.no_grad()
def right(model: Reader, length: int, **options) -> float:
    """The share of right answers at the end of sequences of this length, with options of :meth:`Reader.forward`."""
    letters = torch.randint(LETTERS, (SEQUENCES, length), generator=torch.Generator().manual_seed(length))
    letters = letters.to(model.name.weight.device)
    found = model(letters, **options).argmax(dim=-1)[:, -COUNTED:]
    return (found == letters[:, -COUNTED - BACK : -BACK]).double().mean().item()


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``: its first ``losses``, its last ``loss``, and the shares of right answers by length: ``right``,
    and in a ``window`` as long as the training's sequences.
    """
    model, losses = learn(settings, device, steps)
    found = {"losses": losses[:FIRST_LOSSES], "loss": losses[-1]}
    found["right"] = [right(model, length) for length in LENGTHS]
    return found | {"window": [right(model, length, window=LENGTH) for length in LENGTHS]}


published = partial(stored, "positions")

if __name__ == "__main__":
    command("positions", __doc__, RUNS, examine)
