"""Chapter 10's dates, by recurrence and by a Transformer: ``python -m attention.course.experiments.dates --help``.

Both translators have about as many parameters, read the same batches of the same dates, with the same optimiser and
learning rate, and are tested on the same thousand others, over five seeds. The recurrent one is chapter 10's, with
additive attention.

All runs together take about six minutes on one processor core.
"""

import time

import torch
from torch import Tensor, nn

from attention.blocks import Block, DecoderBlock
from attention.course.experiments.runs import command, one_by_one, stored
from attention.course.experiments.sequence_to_sequence import Dates
from attention.course.training import exact_matches, train
from attention.masks import padding_mask
from attention.seq2seq import BOS, Translator

WIDTH, HEADS, BLOCKS, LONGEST = 48, 4, 1, 32
FIRST_LOSSES = 5  # kept of each run, so that a test can repeat its beginning

KINDS = ("recurrent", "Transformer")
STEPS = (100, 200, 400)
SEEDS = range(5)
RUNS = [{"kind": kind, "steps": steps, "seed": seed} for kind in KINDS for steps in STEPS for seed in SEEDS]


class TransformerTranslator(nn.Module):
    """An encoder of blocks and a decoder of blocks, called as :class:`attention.Translator` is."""

    def __init__(self, source_size: int, target_size: int) -> None:
        super().__init__()
        self.embed_source = nn.Embedding(source_size, WIDTH)
        self.embed_target = nn.Embedding(target_size, WIDTH)
        self.position_embedding = nn.Embedding(LONGEST, WIDTH)  # for both
        self.encoder = nn.ModuleList(Block(WIDTH, HEADS) for _ in range(BLOCKS))
        self.decoder = nn.ModuleList(DecoderBlock(WIDTH, HEADS) for _ in range(BLOCKS))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, target_size)

    def forward(self, source: Tensor, target: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Teacher forcing: logits (B, L, V), and the last block's weights on the source, (B, H, L, S)."""
        begin = torch.full_like(target[:, :1], BOS)
        return self.decode(torch.cat([begin, target[:, :-1]], dim=1), *self.encode(source, lengths))

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        mask = padding_mask(lengths, source.size(1)).to(source.device)  # (B, 1, S)
        x = self.embed_source(source) + self.position_embedding.weight[: source.size(1)]  # (B, S, E)
        for block in self.encoder:
            x, _ = block(x, mask)
        return self.encoder_norm(x), mask

    def decode(self, tokens: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embed_target(tokens) + self.position_embedding.weight[: tokens.size(1)]  # (B, L, E)
        for block in self.decoder:
            x, weights = block(x, memory, mask, is_causal=True, need_weights=True)
        return self.output(self.decoder_norm(x)), weights

    @torch.no_grad()
    def translate(self, source: Tensor, lengths: Tensor, *, max_steps: int) -> tuple[Tensor, Tensor]:
        """Greedy decoding: ids (B, max_steps), and the last block's weights on the source, (B, H, max_steps, S)."""
        memory, mask = self.encode(source, lengths)
        tokens = torch.full_like(source[:, :1], BOS)  # (B, 1)
        for _ in range(max_steps):
            logits, weights = self.decode(tokens, memory, mask)
            tokens = torch.cat([tokens, logits[:, -1:].argmax(dim=-1)], dim=1)
        return tokens[:, 1:], weights


def make(task: Dates, settings: dict) -> Translator | TransformerTranslator:
    """A translator before its first step."""
    torch.manual_seed(settings["seed"])
    if settings["kind"] == "Transformer":
        return TransformerTranslator(len(task.characters), len(task.digits))
    model, _ = task.begin({"attention": "additive", "masked": True, "seed": settings["seed"]})
    return model


def learn(task: Dates, settings: dict, steps: int | None = None) -> tuple[nn.Module, list[float]]:
    """Train a translator, in double precision, so that all processors come to the same.

    Args:
        task: the data.
        settings: one of ``RUNS``.
        steps: after how many of the run's steps to stop; after all when not given.

    Returns:
        the translator, ready to be asked, and the loss of each step.
    """
    model = make(task, settings).to(task.source.device, torch.float64)
    lessons = train(
        model,
        task.source,
        task.lengths,
        task.target,
        steps=settings["steps"],
        batch_size=64,
        learning_rate=0.01,
        generator=torch.Generator().manual_seed(settings["seed"]),
    )
    losses = [loss for _, loss in zip(range(steps or settings["steps"]), lessons, strict=False)]
    return model.eval(), losses


def published() -> dict:
    """The runs that come with the package.

    Returns:
        ``runs``: of each its settings, the number of ``parameters``, its first ``losses``, the ``seconds`` that the
        processor worked on its training, and the share of a thousand dates that is ``right``; ``session``: where they
        ran, for how many seconds.
    """
    return stored("dates")


def run(device: torch.device) -> dict:
    """All runs, one after another, saying what comes out; returns what :func:`published` does."""
    task = Dates(device)

    def one(settings: dict) -> dict:
        begun = time.process_time()
        model, losses = learn(task, settings)
        return {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "losses": losses[:FIRST_LOSSES],
            "seconds": time.process_time() - begun,
            "right": exact_matches(model, *task.held).double().mean().item(),
        }

    return one_by_one(RUNS, one, device)


def main(arguments: list[str] | None = None) -> None:
    command("attention.course.experiments.dates", __doc__, "dates.pt", run, arguments)


if __name__ == "__main__":
    main()
