"""Handwritten digits, read as patches: ``python -m attention.course.experiments.digits --help``.

An encoder of two blocks reads sixteen patches of 2 × 2 as sixteen tokens, with positions that are learned, rotary in
two dimensions, or none. Each is tried at three learning rates, of which the best is chosen on digits that are kept for
this choice.

All runs together take about four minutes on one processor core.
"""

from functools import partial

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from attention.blocks import Block
from attention.course.digits import read_digits, to_patches
from attention.course.experiments.runs import FIRST_LOSSES, command, descend, stored
from attention.positions import rotate

WIDTH, HEADS = 32, 4
SIDE = 4  # patches in a row of a picture, and in a column
BASE = 100.0  # of the rotary positions
BATCH, STEPS = 64, 400
TRAINING, CHOOSING = 1000, 197  # digits to learn from, and to choose a rate with; the other 600 are the test

RATES = {"learned": (0.003, 0.01, 0.03), "rotary": (0.001, 0.003, 0.01), "none": (0.001, 0.003, 0.01)}
CHOSEN = {"learned": 0.01, "rotary": 0.003, "none": 0.003}
RUNS = [{"kind": kind, "rate": rate, "seed": seed} for kind in RATES for rate in RATES[kind] for seed in range(5)]


def rotate_in_two(
    query: Tensor, key: Tensor, query_places: Tensor, key_places: Tensor, *, base: float = BASE
) -> tuple[Tensor, Tensor]:
    """Rotary positions for a picture: half of each head's width is turned by the row, the other half by the column.

    As :func:`attention.rotate_heads`, but for places 0 to 15, row by row from the top left. Dot products then depend on
    how far apart two patches are, in rows and in columns, alone.
    """

    def turn(x: Tensor, places: Tensor) -> Tensor:
        by_row, by_column = x.chunk(2, dim=-1)
        row, column = places // SIDE, places % SIDE
        return torch.cat([rotate(by_row, row, base=base), rotate(by_column, column, base=base)], dim=-1)

    return turn(query, query_places), turn(key, key_places)


class PictureEncoder(nn.Module):
    """An encoder of two blocks: from the patches of a picture, in any order, to a score for each of the ten digits.

    Args:
        positions: ``"learned"``, ``"rotary"`` in two dimensions, or ``"none"``.
    """

    def __init__(self, positions: str) -> None:
        super().__init__()
        self.embed = nn.Linear(4, WIDTH)
        self.place = nn.Embedding(SIDE**2, WIDTH) if positions == "learned" else None
        turn = rotate_in_two if positions == "rotary" else None
        self.blocks = nn.ModuleList(Block(WIDTH, HEADS, process_heads=turn) for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, 10)

    def forward(self, patches: Tensor, places: Tensor | None = None) -> Tensor:
        """Patches (B, 16, 4) and where each of them stands, (16,), row by row if not given → logits (B, 10)."""
        if places is None:
            places = torch.arange(patches.size(1), device=patches.device)
        x = self.embed(patches)  # (B, 16, E)
        if self.place is not None:
            x = x + self.place(places)
        for block in self.blocks:
            x, _ = block(x, positions=None if block.attend.process_heads is None else places)
        return self.output(self.norm(x).mean(dim=1))


def draw(seed: int) -> list[tuple[Tensor, Tensor]]:
    """The digits of a run, in an order that the seed draws: 1000 for training, 197 for choosing, 600 for the test.

    Each is patches (N, 16, 4), their ink from 0 to 1, and digits (N,).
    """
    pictures, digits = read_digits()
    patches = to_patches(pictures.double() / 16)  # (1797, 16, 4)
    order = torch.randperm(len(digits), generator=Generator().manual_seed(seed))
    parts = order.split([TRAINING, CHOOSING, len(digits) - TRAINING - CHOOSING])
    return [(patches[part], digits[part]) for part in parts]


def learn(settings: dict, device: torch.device, steps: int = STEPS) -> tuple[PictureEncoder, list[float]]:
    """Train a model, in double precision, so that all processors come to the same; the model, and each step's loss."""
    patches, digits = (each.to(device) for each in draw(settings["seed"])[0])
    torch.manual_seed(settings["seed"])
    model = PictureEncoder(settings["kind"]).double().to(device)
    generator = Generator().manual_seed(settings["seed"])
    adam = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, settings["rate"], total_steps=STEPS)  # however many are taken

    def loss_of(step: int) -> Tensor:
        rows = torch.randint(TRAINING, (BATCH,), generator=generator).to(device)
        return cross_entropy(model(patches[rows]), digits[rows])

    return model, descend(adam, loss_of, steps, schedule)


@torch.no_grad()
def test(model: nn.Module, seed: int, device: torch.device) -> dict[str, float]:
    """The share named rightly: ``choosing``, ``right`` in the test, and ``moved``, its patches at random."""

    def share(patches: Tensor, digits: Tensor) -> float:
        return (model(patches.to(device)).argmax(dim=-1) == digits.to(device)).double().mean().item()

    _, choosing, (patches, digits) = draw(seed)
    order = torch.rand(patches.shape[:2], generator=Generator().manual_seed(seed)).argsort(dim=1)  # (600, 16)
    moved = patches.take_along_dim(order.unsqueeze(-1), dim=1)
    return {"choosing": share(*choosing), "right": share(patches, digits), "moved": share(moved, digits)}


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``: its first ``losses``, its last ``loss``, and what :func:`test` found."""
    model, losses = learn(settings, device, STEPS if steps is None else steps)
    return {"losses": losses[:FIRST_LOSSES], "loss": losses[-1], **test(model, settings["seed"], device)}


published = partial(stored, "digits")

if __name__ == "__main__":
    command("digits", __doc__, RUNS, examine)
