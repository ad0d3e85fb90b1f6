"""Chapter 10's translators over three seeds: ``python -m attention.course.experiments.sequence_to_sequence --help``.

Two tasks. *Dictionaries* such as ``c7 a2 b9`` are to be read and answered with ``297``: with additive attention or with
the encoder's last state alone, and with an encoder that reads in one direction or in both. *Dates* are to be rewritten:
with additive or with dot-product attention, and with a mask over the padding or without one.

All runs together take some minutes on one processor core.
"""

import string
import time

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from attention.contexts import DotProductAttention, LastState
from attention.course.data import Vocabulary, draw_dates, draw_dictionary
from attention.course.experiments.runs import command, session, stored
from attention.course.training import exact_matches, train
from attention.modules import AdditiveAttention
from attention.seq2seq import Decoder, Encoder, Translator

SEEDS = range(3)
SIZES = range(2, 9)  # of the dictionaries on which a translator is tested
EXTRA = (0, 20, 60)  # columns of padding added to the batch of dates on which a translator is tested
FIRST_LOSSES = 5  # kept of each run, so that a test can repeat its beginning
HIDDEN = 64

ATTENTIONS = {
    "last state": LastState,
    "additive": lambda: AdditiveAttention(query_dim=HIDDEN, key_dim=HIDDEN, hidden_dim=HIDDEN // 2),
    "dot product": DotProductAttention,
}
DICTIONARIES = [
    {"attention": attention, "bidirectional": bidirectional, "steps": steps, "seed": seed}
    for steps in (120, 480)
    for attention in ("last state", "additive")
    for bidirectional in (False, True)
    for seed in SEEDS
]
DATES = [
    {"attention": attention, "masked": masked, "steps": steps, "seed": seed}
    for attention, masked, steps in (
        ("additive", True, 200),
        ("additive", False, 200),
        ("dot product", True, 200),
        ("dot product", True, 300),
    )
    for seed in SEEDS
]


class Unmasked(nn.Module):
    """An attention that ignores its mask, so that padding may be attended to."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, query: Tensor, key: Tensor, value: Tensor, attn_mask=None) -> tuple[Tensor, Tensor]:
        return self.attention(query, key, value)


class Dictionaries:
    """The task of the dictionaries: four thousand to train on, 200 of each size to test on.

    Larger ones are harder, and are drawn more often to train on. Few different ones of two entries exist, so most of
    those in the test were trained on too.

    Args:
        device: where the numbers lie.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.letters, self.digits = Vocabulary("abcdefgh0123456789 "), Vocabulary("0123456789")
        generator = torch.Generator().manual_seed(1)
        sizes = torch.randint(1, 9, (4000, 2), generator=generator).amax(dim=1).tolist()  # larger ones more often
        self.source, self.lengths, self.target = self._encode(
            [draw_dictionary(size, generator=generator) for size in sizes]
        )

    def begin(self, settings: dict) -> tuple[Translator, dict]:
        """A translator before its first step, and how it is to be trained."""
        torch.manual_seed(settings["seed"])
        encoder = Encoder(len(self.letters), HIDDEN, bidirectional=settings["bidirectional"])
        decoder = Decoder(len(self.digits), HIDDEN, attention=ATTENTIONS[settings["attention"]]())
        return Translator(encoder, decoder), {"batch_size": 32, "learning_rate": 0.015}

    def test(self, model: Translator) -> dict[str, list[float]]:
        """The shares of ``digits`` and of whole ``answers`` that are right, by size."""
        digits, answers = [], []
        for size in SIZES:
            generator = torch.Generator().manual_seed(size)
            source, lengths, target = self._encode([draw_dictionary(size, generator=generator) for _ in range(200)])
            ids, _ = model.translate(source, lengths, max_steps=size + 1)
            ids = pad(ids, (0, size + 1 - ids.size(1)))
            is_right = (ids == target)[:, :size]
            digits.append(is_right.double().mean().item())
            answers.append(is_right.all(dim=1).double().mean().item())
        return {"digits": digits, "answers": answers}

    def _encode(self, entries: list[tuple[str, str]]) -> tuple[Tensor, Tensor, Tensor]:
        source, lengths = self.letters.encode([text for text, _ in entries], self.device)
        target, _ = self.digits.encode([answer for _, answer in entries], self.device)
        return source, lengths, target


class Dates:
    """The task of the dates: ten thousand to train on, a thousand others to test on.

    Args:
        device: where the numbers lie.
    """

    def __init__(self, device: torch.device) -> None:
        pairs = draw_dates(11_000, generator=torch.Generator().manual_seed(0))
        self.characters = Vocabulary(string.ascii_letters + string.digits + " ,./")
        self.digits = Vocabulary(string.digits + "-")
        source, lengths = self.characters.encode([text for text, _ in pairs], device)
        target, _ = self.digits.encode([iso for _, iso in pairs], device)
        self.source, self.lengths, self.target = source[:10_000], lengths[:10_000], target[:10_000]
        self.held = source[10_000:], lengths[10_000:], target[10_000:]

    def begin(self, settings: dict) -> tuple[Translator, dict]:
        """A translator before its first step, and how it is to be trained."""
        torch.manual_seed(settings["seed"])
        attention = ATTENTIONS[settings["attention"]]()
        if not settings["masked"]:
            attention = Unmasked(attention)
        encoder = Encoder(len(self.characters), HIDDEN, bidirectional=True)
        decoder = Decoder(len(self.digits), HIDDEN, attention=attention)
        return Translator(encoder, decoder), {"batch_size": 64, "learning_rate": 0.01}

    @torch.no_grad()
    def test(self, model: Translator) -> dict[str, float | list[float]]:
        """The share that is ``right`` of a thousand dates.

        Of the first 250, by how much padding is added to the batch: the share that is right, ``right_wider``, and the
        mean weight on padding, ``on_padding``.
        """
        right_wider, on_padding = [], []
        source, lengths, target = (tensor[:250] for tensor in self.held)
        for extra in EXTRA:
            wider = pad(source, (0, extra))
            right_wider.append(exact_matches(model, wider, lengths, target).double().mean().item())
            _, weights = model(wider, target, lengths)
            is_padding = torch.arange(wider.size(1), device=wider.device) >= lengths[:, None]
            on_padding.append((weights * is_padding[:, None]).sum(dim=2).mean().item())
        right = exact_matches(model, *self.held).double().mean().item()
        return {"right": right, "right_wider": right_wider, "on_padding": on_padding}


TASKS = {"dictionaries": (Dictionaries, DICTIONARIES), "dates": (Dates, DATES)}


def learn(task: Dictionaries | Dates, settings: dict, steps: int | None = None) -> tuple[Translator, list[float]]:
    """Train a translator, in double precision, so that all processors come to the same.

    Args:
        task: the data.
        settings: one of ``DICTIONARIES`` or ``DATES``.
        steps: after how many of the run's steps to stop; after all when not given.

    Returns:
        the translator, ready to be asked, and the loss of each step.
    """
    model, options = task.begin(settings)
    model = model.to(task.source.device, torch.float64)
    lessons = train(
        model,
        task.source,
        task.lengths,
        task.target,
        steps=settings["steps"],
        generator=torch.Generator().manual_seed(settings["seed"]),
        **options,
    )
    losses = [loss for _, loss in zip(range(steps or settings["steps"]), lessons, strict=False)]
    return model.eval(), losses


def published() -> dict:
    """The runs that come with the package.

    Returns:
        ``dictionaries`` and ``dates``: of each run its settings, its first ``losses``, and what ``test`` of its task
        found; ``session``: where they ran, for how many seconds.
    """
    return stored("sequence_to_sequence")


def run(device: torch.device) -> dict:
    """All runs, one after another, saying what comes out; returns what :func:`published` does."""
    start = time.monotonic()
    found = {}
    for name, (make_task, all_settings) in TASKS.items():
        task = make_task(device)
        found[name] = []
        for settings in all_settings:
            model, losses = learn(task, settings)
            result = task.test(model)
            found[name].append(settings | {"losses": losses[:FIRST_LOSSES]} | result)
            print(name, settings, result, flush=True)
    return found | {"session": session(device, start)}


def main(arguments: list[str] | None = None) -> None:
    command("attention.course.experiments.sequence_to_sequence", __doc__, "sequence-to-sequence.pt", run, arguments)


if __name__ == "__main__":
    main()
