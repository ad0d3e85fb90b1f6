"""Chapter 10's experiments: ``python -m attention.course.experiments.sequence_to_sequence --help``.

Two tasks. *Dictionaries* such as ``c7 a2 b9`` are to be read and answered with ``297``, with additive attention or with
one vector, which may be trained for longer or be wider. *Dates* are to be rewritten, with a mask over the padding or
without one.

All runs together take about ten minutes on one processor core.
"""

import string
from functools import cache
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from attention.course.data import Vocabulary, draw_dates, draw_dictionary
from attention.course.experiments.runs import FIRST_LOSSES, command, stored
from attention.course.training import exact_matches, train
from attention.modules import AdditiveAttention
from attention.seq2seq import Decoder, Encoder, Translator

SIZES = range(2, 9)  # of the dictionaries on which a translator is tested
EXTRA = (0, 20, 60)  # columns of padding added to the batch of dates on which a translator is tested
HIDDEN = 64
DICTIONARIES = [
    {"attention": attention, "width": width, "steps": steps, "seed": seed}
    for attention, width, steps, starts in (
        ("additive", HIDDEN, 480, 8),
        ("one vector", HIDDEN, 480, 8),
        ("one vector", HIDDEN, 960, 3),
        ("one vector", 2 * HIDDEN, 480, 3),
    )
    for seed in range(starts)
]
DATES = [
    {"attention": "additive", "masked": masked, "steps": 200, "seed": seed}
    for masked in (True, False)
    for seed in range(3)
]
RUNS = [{"task": "dictionaries"} | run for run in DICTIONARIES] + [{"task": "dates"} | run for run in DATES]


class Unmasked(AdditiveAttention):
    """An attention that ignores its mask, so that padding may be attended to."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, attn_mask=None) -> tuple[Tensor, Tensor]:
        return super().forward(query, key, value)


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


class Task:
    """Pairs of a text and its answer as ids, the characters that it ``reads``, and those that it ``writes``."""

    def __init__(self, reads: str, writes: str, pairs: list[tuple[str, str]], device: torch.device) -> None:
        self.characters, self.digits, self.device = Vocabulary(reads), Vocabulary(writes), device
        self.pairs = self.encode(pairs)

    def encode(self, pairs: list[tuple[str, str]]) -> tuple[Tensor, Tensor, Tensor]:
        """Source, lengths and target of some pairs."""
        source, lengths = self.characters.encode([text for text, _ in pairs], self.device)
        return source, lengths, self.digits.encode([answer for _, answer in pairs], self.device)[0]


@cache
def dictionaries(device: torch.device) -> Task:
    """Four thousand to train on; larger ones are harder, and are drawn more often."""
    generator = torch.Generator().manual_seed(1)
    sizes = torch.randint(1, 9, (4000, 2), generator=generator).amax(dim=1).tolist()
    pairs = [draw_dictionary(size, generator=generator) for size in sizes]
    return Task("abcdefgh0123456789 ", string.digits, pairs, device)


@cache
def dates(device: torch.device) -> Task:
    """Ten thousand to train on, and a thousand others."""
    pairs = draw_dates(11_000, generator=torch.Generator().manual_seed(0))
    return Task(string.ascii_letters + string.digits + " ,./", string.digits + "-", pairs, device)


def learn(settings: dict, device: torch.device, steps: int | None = None) -> tuple[Translator, list[float]]:
    """Train a translator, in double precision, so that all processors come to the same.

    Returns:
        the translator, and the loss of each of the run's steps, or of the first ``steps``.
    """
    torch.manual_seed(settings["seed"])
    if settings["task"] == "dictionaries":
        task, options = dictionaries(device), {"batch_size": 32, "learning_rate": 0.015}
        width = settings["width"]
        attention = AdditiveAttention(width, width, width // 2) if settings["attention"] == "additive" else OneVector()
    else:
        task, options = dates(device), {"batch_size": 64, "learning_rate": 0.01}
        width = HIDDEN
        attention = (AdditiveAttention if settings["masked"] else Unmasked)(width, width, width // 2)
    encoder = Encoder(len(task.characters), width, bidirectional=True)
    decoder = Decoder(len(task.digits), width, attention=attention)
    model = Translator(encoder, decoder).to(device, torch.float64)
    training = [tensor[:10_000] for tensor in task.pairs]
    generator = torch.Generator().manual_seed(settings["seed"])
    losses = train(model, *training, steps=settings["steps"], generator=generator, **options)
    return model, list(islice(losses, steps))


def test_dictionaries(model: Translator, task: Task) -> dict[str, list[float]]:
    """The shares of ``digits`` and of whole ``answers`` that are right, by size, of 200 each.

    Few different dictionaries of two entries exist, so most of those were trained on too.
    """
    digits, answers = [], []
    for size in SIZES:
        generator = torch.Generator().manual_seed(size)
        source, lengths, target = task.encode([draw_dictionary(size, generator=generator) for _ in range(200)])
        ids, _ = model.translate(source, lengths, max_steps=size + 1)
        is_right = (pad(ids, (0, size + 1 - ids.size(1))) == target)[:, :size]
        digits.append(is_right.double().mean().item())
        answers.append(is_right.all(dim=1).double().mean().item())
    return {"digits": digits, "answers": answers}


@torch.no_grad()
def test_dates(model: Translator, task: Task) -> dict[str, list[float]]:
    """Of 250 other dates, by how much padding is added: the share ``right_wider``, the mean weight ``on_padding``."""
    right_wider, on_padding = [], []
    source, lengths, target = (tensor[10_000:10_250] for tensor in task.pairs)
    for extra in EXTRA:
        wider = pad(source, (0, extra))
        right_wider.append(exact_matches(model, wider, lengths, target).double().mean().item())
        _, weights = model(wider, target, lengths)
        is_padding = torch.arange(wider.size(1), device=wider.device) >= lengths[:, None]
        on_padding.append((weights * is_padding[:, None]).sum(dim=2).mean().item())
    return {"right_wider": right_wider, "on_padding": on_padding}


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``: its first ``losses``, and what the test of its task found."""
    model, losses = learn(settings, device, steps)
    if settings["task"] == "dictionaries":
        found = test_dictionaries(model.eval(), dictionaries(device))
    else:
        found = test_dates(model.eval(), dates(device))
    return {"losses": losses[:FIRST_LOSSES], **found}


def published() -> dict[str, list[dict]]:
    """The stored runs of ``dictionaries`` and of ``dates``: of each its settings, and what :func:`examine` returned."""
    runs = stored("sequence_to_sequence")["runs"]
    return {task: [run for run in runs if run["task"] == task] for task in ("dictionaries", "dates")}


if __name__ == "__main__":
    command("sequence_to_sequence", __doc__, RUNS, examine)
