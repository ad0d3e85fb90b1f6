"""Chapter 10's dictionaries: ``python -m attention.course.experiments.sequence_to_sequence --help``.

Such as ``c7 a2 b9`` are to be read and answered with ``297``, with additive attention or with one vector, which may be
trained for longer.

All runs together take about seven minutes on one processor core.
"""

import string
from functools import cache, partial
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from attention.contexts import AdditiveAttention
from attention.course.data import Vocabulary, draw_dictionary
from attention.course.experiments.runs import FIRST_LOSSES, command, stored
from attention.course.training import train
from attention.seq2seq import Decoder, Encoder, Translator

SIZES = range(2, 9)  # of the dictionaries on which a translator is tested
HIDDEN = 64
READS, WRITES = Vocabulary("abcdefgh0123456789 "), Vocabulary(string.digits)
RUNS = [
    {"attention": attention, "steps": steps, "seed": seed}
    for attention, steps, starts in (("additive", 480, 8), ("one vector", 480, 8), ("one vector", 960, 3))
    for seed in range(starts)
]


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


def encode(pairs: list[tuple[str, str]], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Source, lengths and target of pairs of a text and its answer."""
    texts, answers = zip(*pairs, strict=True)
    return *READS.encode(texts, device), WRITES.encode(answers, device)[0]


@cache
def dictionaries(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Four thousand to train on; larger ones are harder, and are drawn more often."""
    generator = torch.Generator().manual_seed(1)
    sizes = torch.randint(1, 9, (4000, 2), generator=generator).amax(dim=1).tolist()
    return encode([draw_dictionary(size, generator=generator) for size in sizes], device)


def digits_right(model: Translator, device: torch.device) -> list[float]:
    """The share of digits that are right, by size, of 200 dictionaries each.

    Few different dictionaries of two entries exist, so most of those were trained on too.
    """
    shares = []
    for size in SIZES:
        generator = torch.Generator().manual_seed(size)
        pairs = [draw_dictionary(size, generator=generator) for _ in range(200)]
        source, lengths, target = encode(pairs, device)
        ids, _ = model.translate(source, lengths, max_steps=size + 1)
        is_right = pad(ids, (0, size + 1 - ids.size(1))) == target
        shares.append(is_right[:, :size].double().mean().item())
    return shares


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``, in double precision: its first ``losses``, and the share of ``digits`` that are right, by size.

    It takes all of its steps, or as many as ``steps`` says.
    """
    torch.manual_seed(settings["seed"])
    additive = settings["attention"] == "additive"
    attention = AdditiveAttention(HIDDEN, HIDDEN, HIDDEN // 2) if additive else OneVector()
    encoder = Encoder(len(READS), HIDDEN, bidirectional=True)
    model = Translator(encoder, Decoder(len(WRITES), HIDDEN, attention)).to(device, torch.float64)
    options = {"steps": settings["steps"], "batch_size": 32, "learning_rate": 0.015}
    losses = train(model, *dictionaries(device), generator=torch.Generator().manual_seed(settings["seed"]), **options)
    first = list(islice(losses, steps))[:FIRST_LOSSES]
    return {"losses": first, "digits": digits_right(model, device)}


published = partial(stored, "sequence_to_sequence")

if __name__ == "__main__":
    command("sequence_to_sequence", __doc__, RUNS, examine)
