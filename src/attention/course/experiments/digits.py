"""Handwritten digits, read as patches: ``python -m attention.course.experiments.digits --help``.

An encoder of two blocks reads sixteen patches of 2 × 2 as sixteen tokens, with positions that are learned, rotary in
two dimensions, or none. Each is tried at three learning rates, of which the best is chosen on digits that are kept for
this choice.

All runs together take about four minutes on one processor core.
"""

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from attention.blocks import Block
from attention.course.digits import read_digits, to_patches
from attention.course.experiments.runs import command, one_by_one, stored
from attention.positions import rotate

WIDTH, HEADS = 32, 4
SIDE = 4  # patches in a row of a picture, and in a column
BASE = 100.0  # of the rotary positions
BATCH, STEPS = 64, 400
TRAINING, CHOOSING = 1000, 197  # digits to learn from, and to choose a rate with; the other 600 are the test
FIRST_LOSSES = 5  # kept of each run, so that a test can repeat its beginning

KINDS = ("learned", "rotary", "none")
RATES = {
    "learned": (0.003, 0.01, 0.03),
    "rotary": (0.001, 0.003, 0.01),
    "none": (0.001, 0.003, 0.01),
}
CHOSEN = {"learned": 0.01, "rotary": 0.003, "none": 0.003}
SEEDS = range(5)
RUNS = [{"kind": kind, "rate": rate, "seed": seed} for kind in KINDS for rate in RATES[kind] for seed in SEEDS]


def rotate_in_two(
    query: Tensor, key: Tensor, query_places: Tensor, key_places: Tensor, *, base: float = BASE
) -> tuple[Tensor, Tensor]:
    """Rotary positions for a picture: half of each head's width is turned by the row, the other half by the column.

    Args:
        query: (…, L, D), with D a multiple of 4.
        key: (…, S, D).
        query_places: of the patches, 0 to 15, row by row from the top left, as in :func:`attention.rotate`.
        key_places: likewise.
        base: as in :func:`attention.rotate`.

    Returns:
        both, turned; their dot products depend on how far apart two patches are, in rows and in columns, alone.
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
    """The digits of a run, in an order that the seed draws.

    Returns:
        patches (N, 16, 4), their ink from 0 to 1, and digits (N,): 1000 for training, 197 for choosing, 600 for the
        test.
    """
    pictures, digits = read_digits()
    patches = to_patches(pictures.double() / 16)  # (1797, 16, 4)
    order = torch.randperm(len(digits), generator=Generator().manual_seed(seed))
    parts = order.split([TRAINING, CHOOSING, len(digits) - TRAINING - CHOOSING])
    return [(patches[part], digits[part]) for part in parts]


def learn(settings: dict, device: torch.device, steps: int | None = None) -> tuple[PictureEncoder, list[float]]:
    """Train a model, in double precision, so that all processors come to the same.

    Args:
        settings: one of ``RUNS``.
        device: where to train it.
        steps: how many; ``STEPS`` when not given. The learning rate's cycle is the same either way.

    Returns:
        the model, and the loss of each step.
    """
    patches, digits = (each.to(device) for each in draw(settings["seed"])[0])
    torch.manual_seed(settings["seed"])
    model = PictureEncoder(settings["kind"]).double().to(device)
    generator = Generator().manual_seed(settings["seed"])
    adam = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, settings["rate"], total_steps=STEPS)
    losses = []
    for _ in range(STEPS if steps is None else steps):
        rows = torch.randint(TRAINING, (BATCH,), generator=generator).to(device)
        loss = cross_entropy(model(patches[rows]), digits[rows])
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
        losses.append(loss.item())
    return model, losses


@torch.no_grad()
def share_right(model: nn.Module, patches: Tensor, digits: Tensor) -> float:
    """The share of digits that the model names rightly."""
    return (model(patches).argmax(dim=-1) == digits).double().mean().item()


def test(model: nn.Module, settings: dict) -> dict[str, float]:
    """The share of digits named rightly: ``choosing``, ``right`` in the test, and ``moved``, each's patches at random.

    Args:
        model: the model.
        settings: its run's.
    """
    device = next(model.parameters()).device
    parts = draw(settings["seed"])
    (choosing, choosing_digits), (patches, digits) = ([each.to(device) for each in part] for part in parts[1:])
    generator = Generator().manual_seed(settings["seed"])
    order = torch.rand(patches.shape[:2], generator=generator).argsort(dim=1).to(device)  # (600, 16)
    moved = patches.take_along_dim(order.unsqueeze(-1), dim=1)
    return {
        "choosing": share_right(model, choosing, choosing_digits),
        "right": share_right(model, patches, digits),
        "moved": share_right(model, moved, digits),
    }


def published() -> dict:
    """The runs that come with the package.

    Returns:
        ``runs``: of each its settings, its first ``losses``, its last ``loss``, and what :func:`test` found;
        ``session``: where they ran, for how many seconds.
    """
    return stored("digits")


def run(device: torch.device) -> dict:
    """All runs, one after another, saying what comes out; returns what :func:`published` does."""

    def one(settings: dict) -> dict:
        model, losses = learn(settings, device)
        return {"losses": losses[:FIRST_LOSSES], "loss": losses[-1], **test(model, settings)}

    return one_by_one(RUNS, one, device)


def main(arguments: list[str] | None = None) -> None:
    command("attention.course.experiments.digits", __doc__, "digits.pt", run, arguments)


if __name__ == "__main__":
    main()
