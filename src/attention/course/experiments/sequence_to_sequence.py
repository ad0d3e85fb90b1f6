"""Chapter 10's translators over three seeds: ``python -m attention.course.experiments.sequence_to_sequence --help``.

Two tasks. *Dictionaries* such as ``c7 a2 b9`` are to be read and answered with ``297``: with additive attention or with
the encoder's last state alone, and with an encoder that reads in one direction or in both. *Dates* are to be rewritten,
with a mask over the padding or without one.

All runs together take some minutes on one processor core.
"""

import string
from functools import cache
from itertools import islice

import torch
from torch import Tensor
from torch.nn.functional import pad

from attention.contexts import LastState
from attention.course.data import Vocabulary, draw_dates, draw_dictionary
from attention.course.experiments.runs import FIRST_LOSSES, command, stored
from attention.course.training import exact_matches, train
from attention.modules import AdditiveAttention
from attention.seq2seq import Decoder, Encoder, Translator

SIZES = range(2, 9)  # of the dictionaries on which a translator is tested
EXTRA = (0, 20, 60)  # columns of padding added to the batch of dates on which a translator is tested
HIDDEN = 64
DICTIONARIES = [
    {"attention": attention, "bidirectional": bidirectional, "steps": steps, "seed": seed}
    for steps in (120, 480)
    for attention in ("last state", "additive")
    for bidirectional in (False, True)
    for seed in range(3)
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
        encoder = Encoder(len(task.characters), HIDDEN, bidirectional=settings["bidirectional"])
        is_last = settings["attention"] == "last state"
        attention = LastState() if is_last else AdditiveAttention(HIDDEN, HIDDEN, HIDDEN // 2)
    else:
        task, options = dates(device), {"batch_size": 64, "learning_rate": 0.01}
        attention = (AdditiveAttention if settings["masked"] else Unmasked)(HIDDEN, HIDDEN, HIDDEN // 2)
        encoder = Encoder(len(task.characters), HIDDEN, bidirectional=True)
    decoder = Decoder(len(task.digits), HIDDEN, attention=attention)
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
