"""Chapter 11's verbs that agree, over ten starts: ``python -m attention.course.experiments.agreement --help``.

A small grammar makes sentences whose verb agrees with the subject, past other nouns: *the dog near the cats sleeps*. A
Transformer learns to write them; of each start this keeps which rule its verbs follow, how many of its sentences are
grammatical, and what is left without one of its heads. Then it is trained without one of its parts.

All runs together take about ten minutes on one processor core.
"""

import math
import re
from functools import cache, partial
from random import Random

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from attention.blocks import FeedForward
from attention.course.experiments.runs import command, descend, stored
from attention.transformer import Transformer

# Singular and plural. A verb of DOES stands alone, one of SEES has an object.
NOUNS = ("dog cat bird child king teacher student friend", "dogs cats birds children kings teachers students friends")
DOES = ("sleeps runs sings laughs waits", "sleep run sing laugh wait")
SEES = ("sees likes helps follows knows", "see like help follow know")
NEAR, WHEN = "near behind with", "today quietly again"
VOCABULARY = [".", "the", "that", *" ".join([*NOUNS, *DOES, *SEES, NEAR, WHEN]).split()]
IDS = {word: number for number, word in enumerate(VOCABULARY)}

WIDTH, HEADS, BLOCKS, LENGTH = 64, 4, 2, 24
BATCH, RATE, WARM_UP, STEPS, EARLY = 16, 0.003, 50, 600, 150
SENTENCES, TESTED, WRITTEN = 20_000, 400, 200  # in the text; of either kind in the test; by the model
WITHOUT = ("nothing", "norms", "feed-forward", "second block", "residual", "attention")
RUNS = [{"without": without, "seed": seed} for without in WITHOUT for seed in range(10)]
AFTER = ". the cats sleep . the dog near the cats behind the children"  # here a head's looks are kept


def pick(words: str, random: Random) -> str:
    choices = words.split()
    return choices[int(random.random() * len(choices))]


def noun_phrase(number: int, depth: int, random: Random) -> list[str]:
    """A noun with what may follow it: *the dog*, *the dog near the cats*, *the dog that the cats see*."""
    phrase, kind, other = ["the", pick(NOUNS[number], random)], random.random(), int(2 * random.random())
    if depth and kind < 0.3:
        phrase += [pick(NEAR, random), *noun_phrase(other, depth - 1, random)]
    elif depth and kind < 0.45:
        phrase += ["that", pick(SEES[number], random), *noun_phrase(other, depth - 1, random)]
    elif depth and kind < 0.6:
        phrase += ["that", *noun_phrase(other, 0, random), pick(SEES[other], random)]
    return phrase


def sentence(random: Random) -> tuple[list[str], list[str], int]:
    """The words of the subject, those that follow it, and the subject's number: 0 for one, 1 for several."""
    number = int(2 * random.random())
    subject = noun_phrase(number, 2, random)
    if random.random() < 0.5:
        rest = [pick(DOES[number], random)]
    else:
        rest = [pick(SEES[number], random), *noun_phrase(int(2 * random.random()), 0, random)]
    if random.random() < 0.3:
        rest.append(pick(WHEN, random))
    return subject, [*rest, "."], number


@cache
def pattern() -> re.Pattern:
    """What a grammatical sentence looks like, as a regular expression."""

    def one_of(words: str) -> str:
        return f"({'|'.join(words.split())}) "

    def phrase(number: int, depth: int) -> str:
        noun = "the " + one_of(NOUNS[number])
        if not depth:
            return noun
        seen_by = f"({'|'.join(phrase(other, 0) + one_of(SEES[other]) for other in (0, 1))})"
        below, sees = either(depth - 1), one_of(SEES[number])
        return f"{noun}({one_of(NEAR)}{below}|that {sees}{below}|that {seen_by})?"

    def either(depth: int) -> str:
        return f"({phrase(0, depth)}|{phrase(1, depth)})"

    whole = (phrase(n, 2) + f"({one_of(DOES[n])}|{one_of(SEES[n])}{either(0)})" for n in (0, 1))
    return re.compile(f"({'|'.join(whole)})({one_of(WHEN)})?[.]")


def grammatical(text: str) -> bool:
    """Whether a text is one sentence of the grammar.

    >>> grammatical("the dog near the cats sleeps ."), grammatical("the dog near the cats sleep .")
    (True, False)
    """
    return pattern().fullmatch(text) is not None


def text(seed: int = 0) -> list[str]:
    """The words of 20,000 sentences, one after another, a full stop first."""
    random = Random(seed)
    words = ["."]
    for _ in range(SENTENCES):
        subject, rest, _ = sentence(random)
        words += subject + rest
    return words


def kinds(pairs: tuple[list, list]) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Of each list of beginnings with numbers: ids (N, L), each last word's place (N,), is the subject plural (N,)."""
    found = []
    for beginnings, plural in (zip(*pair, strict=True) for pair in pairs):
        rows = [torch.tensor([IDS[word] for word in beginning]) for beginning in beginnings]
        last = torch.tensor([len(row) - 1 for row in rows])
        found.append((nn.utils.rnn.pad_sequence(rows, batch_first=True), last, torch.tensor(plural) == 1))
    return found


@cache
def questions(count: int = TESTED, last: str = "noun") -> list[tuple[Tensor, Tensor, Tensor]]:
    """Beginnings of sentences up to the verb, as :func:`kinds`: the last noun has the subject's number, and another.

    Each ends in a noun, or, with ``last="verb"``, in a verb that has its own subject: *the dog that the cats see*.
    """
    random, nouns, same, other = Random(99), " ".join(NOUNS).split(), [], []
    while min(len(same), len(other)) < count:
        subject, _, number = sentence(random)
        if (subject[-1] in nouns) == (last == "noun"):
            nearest = [word for word in subject if word in nouns][-1]
            (same if nearest in NOUNS[number].split() else other).append(([".", *subject], number))
    return kinds((same[:count], other[:count]))


@cache
def fronted() -> list[tuple[Tensor, Tensor, Tensor]]:
    """As :func:`questions`, with another phrase in front: *near the cats the dog*, which the grammar never makes.

    The subject is the last noun here. In the second kind the first noun, which it is elsewhere, has another number.
    """
    random, found = Random(7), ([], [])
    for other in [0] * TESTED + [1] * TESTED:
        number = int(2 * random.random())
        first, subject = pick(NOUNS[number ^ other], random), pick(NOUNS[number], random)
        found[other].append(([".", pick(NEAR, random), "the", first, "the", subject], number))
    return kinds(found)


@torch.no_grad()
def right(read, device: torch.device, asked: list[tuple[Tensor, Tensor, Tensor]]) -> list[float]:
    """The share of verbs of the right number, of each kind: all verbs of that number together are the likelier."""
    shares = []
    for ids, last, plural in asked:
        chances = read(ids.to(device)).cpu()[torch.arange(len(ids)), last].softmax(-1)  # (N, V)
        one, several = (chances[:, [IDS[word] for word in (DOES[n] + " " + SEES[n]).split()]].sum(-1) for n in (0, 1))
        shares.append(((several > one) == plural).double().mean().item())
    return shares


@torch.no_grad()
def write(read, count: int, generator: Generator, device: torch.device) -> list[str]:
    """So many sentences, each to its full stop or as far as the model reads."""
    ids = torch.zeros(count, 1, dtype=torch.long)
    for _ in range(LENGTH - 1):
        following = read(ids.to(device))[:, -1].softmax(-1).cpu()  # (N, V)
        ids = torch.cat([ids, torch.multinomial(following, 1, generator=generator)], dim=1)
    written = (" ".join(VOCABULARY[number] for number in row) for row in ids[:, 1:].tolist())
    return [re.sub(r" \..*", " .", each) for each in written]


def reader(without: str, seed: int, device: torch.device):
    """A model without one of its parts, and the function that reads (B, L) with it; more arguments are the model's."""
    torch.manual_seed(seed)
    model = Transformer(
        len(VOCABULARY),
        WIDTH,
        HEADS,
        1 if without == "second block" else BLOCKS,
        LENGTH,
        feed_forward=None if without == "feed-forward" else FeedForward,
        norm_layer=nn.Identity if without == "norms" else nn.LayerNorm,
        tied=False,
        embed_std=1.0,
    ).to(device)

    def read(ids: Tensor, **options) -> Tensor:
        if without not in ("residual", "attention"):
            return model(ids, **options)
        x, stays = model.embed(ids), without == "attention"
        for block in model.blocks:
            if without == "residual":
                n = block.before_self_attention(x)
                x = block.self_attention(n, n, n, is_causal=True)[0]
            x = block.feed_forward(block.before_feed_forward(x)) + (x if stays else 0)
        return model.unembed(x)

    return model, read


def rate(step: int) -> float:
    """The learning rate: it rises for 50 steps, and falls along a cosine to nearly 0."""
    return RATE * min(1, (step + 1) / WARM_UP) * (1 + math.cos(math.pi * step / STEPS)) / 2


def learn(without: str, seed: int, device: torch.device, steps: int = STEPS, look=None):
    """Train a model, and call ``look`` with what reads at step 150; the model, what reads, the loss of each step."""
    model, read = reader(without, seed, device)
    words = torch.tensor([IDS[word] for word in text(seed)])
    stops = (words[:-LENGTH] == 0).nonzero()  # each row begins at a full stop, and so with a sentence
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.99))

    def loss_of(step: int) -> Tensor:
        if look and step == EARLY:
            look(read)
        optimizer.param_groups[0]["lr"] = rate(step)
        starts = stops[torch.randint(len(stops), (BATCH,), generator=generator)]  # (B, 1)
        rows = words[starts + torch.arange(LENGTH + 1)].to(device)  # (B, L + 1)
        return cross_entropy(read(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())

    return model, read, descend(optimizer, loss_of, steps)


def without_head(read, block: int, head: int):
    """What reads as ``read`` does, with one head that sees nothing and so adds nothing."""

    def silenced(ids: Tensor) -> Tensor:
        mask = torch.ones(1, HEADS, ids.size(1), ids.size(1), dtype=torch.bool, device=ids.device)
        mask[:, head] = False
        return read(ids, attn_masks={block: mask})

    return silenced


def examine(settings: dict, device: torch.device, steps: int | None = None) -> dict:
    """One of ``RUNS``.

    Returns:
        the first three ``losses``, and at the end ``right`` (:func:`right`: of both kinds of :func:`questions`, and of
        the second that ends in a verb) and the share of written sentences that are ``grammatical``. Of the whole model
        also ``right`` at step 150, as ``early``; without each head, by block, as ``heads``; where :func:`fronted` is
        asked, as ``fronted``; and ``looks`` (blocks, heads, L), where each head looks at the end of ``AFTER``.
    """
    early, asked = [], [*questions(), questions(last="verb")[1]]
    model, read, losses = learn(
        **settings, device=device, steps=steps or STEPS, look=lambda read: early.extend(right(read, device, asked))
    )
    written = write(read, WRITTEN, torch.Generator().manual_seed(1), device)
    found = {"losses": losses[:3], "right": right(read, device, asked)}
    found["grammatical"] = sum(map(grammatical, written)) / WRITTEN
    if settings["without"] == "nothing":
        heads = [[right(without_head(read, block, h), device, asked) for h in range(HEADS)] for block in range(BLOCKS)]
        maps = model.attention_maps(torch.tensor([[IDS[word] for word in AFTER.split()]], device=device))
        looks = torch.stack([weights[0, :, -1].detach().cpu() for weights in maps])
        found |= {"early": early, "heads": heads, "looks": looks, "fronted": right(read, device, fronted())}
    return found


published = partial(stored, "agreement")

if __name__ == "__main__":
    command("agreement", __doc__, RUNS, examine)
