"""Chapter 8's comparison of positions, over five seeds: ``python -m attention.course.experiments.positions --help``.

Two tasks on random letters. *Three back*: name the letter that stood three places earlier. *After*: name the letter
that came after the present one when it last occurred. A model of two causal layers reads 32 letters in training, and
32, 64 and 128 in the test. Only the last 16 letters of each test sequence count, so that the longer ones ask at places
beyond those of a training sequence.

All runs together take about twelve minutes on one processor core.
"""

from copy import deepcopy
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attention.blocks import Block, FeedForward
from attention.course.experiments.runs import FIRST_LOSSES, command, descend, stored
from attention.masks import window_mask
from attention.positions import alibi_bias, rotate_heads, sinusoidal_positions

LETTERS = 10
LENGTH = 32  # of a sequence in training
LENGTHS = (32, 64, 128)  # in the test
COUNTED = 16  # letters at the end of a test sequence
SEQUENCES = 200  # in the test, of each length
WIDTH, HEADS, LAYERS = 32, 4, 2
BATCH, STEPS, RATE = 16, 600, 0.005
UNASKED = -100  # the answer where there is no question

KINDS = ("none", "learned", "learned, moved", "sinusoidal", "rotary", "ALiBi")
MORE_ALIBI = ("ALiBi, longer", "ALiBi, steep")  # trained twice as long; with slopes eight times as steep
SEEDS = range(5)


def three_back(letters: Tensor) -> Tensor:
    """The letter three places earlier, (B, L); the first three have none."""
    answers = torch.full_like(letters, UNASKED)
    answers[:, 3:] = letters[:, :-3]
    return answers


def after(letters: Tensor) -> Tensor:
    """The letter that followed when the present letter last occurred, (B, L); where it occurs first, there is none."""
    before = (letters[:, :, None] == letters[:, None]).tril(-1)  # (B, L, L): where the present letter stood earlier
    following = (before * torch.arange(1, letters.size(1) + 1, device=letters.device)).amax(dim=2)  # (B, L)
    return letters.gather(1, following).where(following > 0, UNASKED)


TASKS = {"three back": three_back, "after": after}
RUNS = [{"task": task, "kind": kind, "seed": seed} for task in TASKS for kind in KINDS for seed in SEEDS]
RUNS += [{"task": "three back", "kind": kind, "seed": seed} for kind in MORE_ALIBI for seed in SEEDS]


class Reader(nn.Module):
    """A small causal Transformer that says one letter for each it reads.

    Args:
        kind: one of ``KINDS`` or ``MORE_ALIBI``: how it is told where a letter stands.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.letters = nn.Embedding(LETTERS, WIDTH)
        if kind.startswith("learned"):
            self.places = nn.Embedding(max(LENGTHS), WIDTH)
            nn.init.normal_(self.places.weight, std=0.5)
        inner = partial(FeedForward, hidden_dim=2 * WIDTH)
        turn = rotate_heads if kind == "rotary" else None
        self.blocks = nn.ModuleList(Block(WIDTH, HEADS, feed_forward=inner, process_heads=turn) for _ in range(LAYERS))
        self.norm, self.name = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, LETTERS)

    def forward(self, letters: Tensor, positions: Tensor | None = None, window: int | None = None, **options) -> Tensor:
        """Letters (B, L) → one score for each letter that may be the answer, (B, L, LETTERS).

        Args:
            letters: whole numbers (B, L).
            positions: where they stand, (L,); 0, 1, 2, … when not given. ALiBi knows the distances without them.
            window: how many letters each may look at, itself included; all before it when not given.
            options: for each block, such as ``attn_mask`` in place of a window.
        """
        length, x = letters.size(1), self.letters(letters)
        like = {"device": x.device, "dtype": x.dtype}
        positions = torch.arange(length, device=x.device) if positions is None else positions
        own = {} if window is None else {"attn_mask": window_mask(length, window, device=x.device)}
        if self.kind.startswith("learned"):
            x = x + self.places(positions)
        elif self.kind == "sinusoidal":
            x = x + sinusoidal_positions(int(positions.max()) + 1, WIDTH, **like)[positions]
        elif self.kind == "rotary":
            own["positions"] = positions
        elif self.kind.startswith("ALiBi"):
            own["attn_bias"] = alibi_bias(HEADS, length, **like) * (8 if self.kind == "ALiBi, steep" else 1)
        for block in self.blocks:
            x, _ = block(x, is_causal=True, **own, **options)
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
    all_steps = 2 * STEPS if settings["kind"] == "ALiBi, longer" else STEPS
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=all_steps)

    def loss_of(step: int) -> Tensor:
        letters = torch.randint(LETTERS, (BATCH, LENGTH), generator=generator).to(device)
        positions = torch.arange(LENGTH, device=device)
        if settings["kind"] == "learned, moved":  # begin anywhere: each place is trained, those at the ends seldom
            positions = positions + int(torch.randint(max(LENGTHS) - LENGTH + 1, (), generator=generator))
        answers = TASKS[settings["task"]](letters)
        found = model(letters, positions)
        return cross_entropy(found.flatten(0, 1), answers.flatten(), ignore_index=UNASKED)

    return model, descend(optimizer, loss_of, steps or all_steps, schedule)


@torch.no_grad()
def right(model: Reader, task: str, length: int, **options) -> float:
    """The share of right answers at the end of sequences of this length, with options of :meth:`Reader.forward`."""
    letters = torch.randint(LETTERS, (SEQUENCES, length), generator=torch.Generator().manual_seed(length))
    letters = letters.to(model.name.weight.device)
    answers = TASKS[task](letters)[:, -COUNTED:]
    found = model(letters, **options)[:, -COUNTED:].argmax(dim=-1)
    return (found == answers)[answers != UNASKED].double().mean().item()


def with_larger_base(model: Reader, length: int) -> Reader:
    """A copy, with the longest wave of a head stretched as the text is, and the shortest left alone (NTK-aware)."""
    dim, model = WIDTH // HEADS, deepcopy(model)
    base = 10000.0 * (length / LENGTH) ** (dim / (dim - 2))
    for block in model.blocks:
        block.attend.process_heads = partial(rotate_heads, base=base)
    return model


def test(model: Reader, task: str) -> dict[str, list[float]]:
    """The shares of right answers by length: ``right``, and in a ``window`` as long as the training's sequences.

    Of rotary positions also with the positions pressed together into the trained range, ``interpolated`` (Chen et al.,
    2023), and with a larger base, ``NTK-aware``; both without further training.
    """
    shares = {
        "right": [right(model, task, length) for length in LENGTHS],
        "window": [right(model, task, length, window=LENGTH) for length in LENGTHS],
    }
    if model.kind == "rotary":
        pressed = [torch.arange(length, device=model.name.weight.device) * LENGTH / length for length in LENGTHS]
        shares["interpolated"] = [right(model, task, len(each), positions=each) for each in pressed]
        shares["NTK-aware"] = [right(with_larger_base(model, length), task, length) for length in LENGTHS]
    return shares


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``: its first ``losses``, its last ``loss``, and what :func:`test` found."""
    model, losses = learn(settings, device, steps)
    return {"losses": losses[:FIRST_LOSSES], "loss": losses[-1], **test(model, settings["task"])}


published = partial(stored, "positions")

if __name__ == "__main__":
    command("positions", __doc__, RUNS, examine)
