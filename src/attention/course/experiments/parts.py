"""Chapter 12's removals over five seeds: ``python -m attention.course.experiments.parts --help``.

A small Transformer learns five tasks, each time without one of its parts. It reads a question, then the answer, and is
trained to say the answer's next symbol:

- *reversing*: ten digits; the same digits from the last to the first;
- *sorting*: ten digits; the same digits in order;
- *induction*: the loops of :mod:`attention.course.experiments.induction`, where every symbol from the second time
  round is an answer;
- *sums*: two numbers of at most two digits; their sum. A tenth of the pairs is kept for the test;
- *table*: two digits a and b; the entry f(a, b) of a random table, which can only be learned by heart. One
  block has to do, with two heads and once more with four.

Then a Transformer of six blocks learns to reverse, with each norm, and without warm-up, clipping or weight decay.

All runs together take about fifteen minutes on one processor core.
"""

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, pad

from attention.blocks import FeedForward
from attention.course.experiments import induction
from attention.course.experiments.runs import command, one_by_one, stored
from attention.transformer import Transformer

WIDTH, LONGEST = 48, 32
BATCH, RATE = 32, 0.01
SEQUENCES = 1000  # in the test
FIRST_LOSSES = 5  # kept of each run, so that a test can repeat its beginning
UNASKED = -100  # the answer where there is no question
EQUALS, PLUS = 10, 11  # the symbols after the ten digits; a question ends with EQUALS

# Each task draws what the model reads, (N, L), and where it is asked the next symbol, (N, L), as `ask` puts them.


def reversing(count: int, generator: Generator, test: bool = False) -> tuple[Tensor, Tensor]:
    digits = torch.randint(10, (count, 10), generator=generator)
    return ask(pad(digits, (0, 1), value=EQUALS), digits.flip(1))


def sorting(count: int, generator: Generator, test: bool = False) -> tuple[Tensor, Tensor]:
    digits = torch.randint(10, (count, 10), generator=generator)
    return ask(pad(digits, (0, 1), value=EQUALS), digits.sort(dim=1).values)


def loops(count: int, generator: Generator, test: bool = False) -> tuple[Tensor, Tensor]:
    tokens, period = induction.draw(count, generator)
    return tokens, induction.ahead(tokens, period).masked_fill(~induction.copied(tokens, period), UNASKED)


def sums(count: int, generator: Generator, test: bool = False) -> tuple[Tensor, Tensor]:
    pairs = torch.randperm(10_000, generator=torch.Generator().manual_seed(0))  # of a and b, as 100a + b
    pairs = pairs[:1000] if test else pairs[1000:]
    pairs = pairs[torch.randint(len(pairs), (count,), generator=generator)]
    a, b = pairs // 100, pairs % 100
    plus, equals = torch.full_like(a, PLUS), torch.full_like(a, EQUALS)
    question = torch.stack([a // 10, a % 10, plus, b // 10, b % 10, equals], dim=1)
    return ask(question, torch.stack([(a + b) // 100, (a + b) // 10 % 10, (a + b) % 10], dim=1))


def table(count: int, generator: Generator, test: bool = False) -> tuple[Tensor, Tensor]:
    entries = torch.randint(10, (10, 10), generator=torch.Generator().manual_seed(0))
    a, b = torch.randint(10, (2, count), generator=generator)
    return ask(torch.stack([a, b, torch.full_like(a, EQUALS)], dim=1), entries[a, b].unsqueeze(1))


def ask(question: Tensor, answer: Tensor) -> tuple[Tensor, Tensor]:
    """Put questions and answers one after the other.

    Args:
        question: (N, Q).
        answer: (N, A).

    Returns:
        what the model reads, (N, Q + A − 1), all but the last symbol of the answer; and for each place the next symbol
        if it is the answer's, ``UNASKED`` if not.
    """
    unasked = torch.full_like(question[:, 1:], UNASKED)
    return torch.cat([question, answer[:, :-1]], dim=1), torch.cat([unasked, answer], dim=1)


TASKS = {
    "reversing": {"draw": reversing, "symbols": 11, "blocks": 2, "heads": 4, "steps": 150},
    "sorting": {"draw": sorting, "symbols": 11, "blocks": 2, "heads": 4, "steps": 200},
    "induction": {"draw": loops, "symbols": induction.SYMBOLS, "blocks": 2, "heads": 4, "steps": 300},
    "sums": {"draw": sums, "symbols": 12, "blocks": 2, "heads": 4, "steps": 600},
    "table": {"draw": table, "symbols": 11, "blocks": 1, "heads": 2, "steps": 400},
    "table, four heads": {"draw": table, "symbols": 11, "blocks": 1, "heads": 4, "steps": 400},
}
WITHOUT = ("nothing", "residual", "norm", "residual and norm", "positions", "feed-forward", "all heads but one")
RECIPES = {
    "pre-norm": {"norm": "pre", "warm_up": 0, "clip": None, "decay": 0.0},
    "pre-norm, warm-up": {"norm": "pre", "warm_up": 50, "clip": None, "decay": 0.0},
    "post-norm": {"norm": "post", "warm_up": 0, "clip": None, "decay": 0.0},
    "post-norm, warm-up": {"norm": "post", "warm_up": 50, "clip": None, "decay": 0.0},
    "post-norm, all three": {"norm": "post", "warm_up": 50, "clip": 1.0, "decay": 0.1},
    "post-norm, no warm-up": {"norm": "post", "warm_up": 0, "clip": 1.0, "decay": 0.1},
    "post-norm, no clipping": {"norm": "post", "warm_up": 50, "clip": None, "decay": 0.1},
    "post-norm, no weight decay": {"norm": "post", "warm_up": 50, "clip": 1.0, "decay": 0.0},
}
SEEDS = range(5)
PARTS = [
    {"task": task, "without": without, "blocks": TASKS[task]["blocks"], "recipe": "pre-norm, warm-up"}
    for task in TASKS
    for without in WITHOUT
]
DEPTH = [
    {"task": "reversing", "without": "nothing", "blocks": 6, "recipe": recipe}
    for recipe in RECIPES
    if recipe != "pre-norm, warm-up"
]
RUNS = [settings | {"seed": seed} for settings in PARTS + DEPTH for seed in SEEDS]


def make(settings: dict) -> Transformer:
    """The model of one of ``RUNS``, with an output of its own; the residual is left to :func:`read`."""
    task, without = TASKS[settings["task"]], settings["without"]
    return Transformer(
        task["symbols"],
        WIDTH,
        num_heads=1 if without == "all heads but one" else task["heads"],
        num_layers=settings["blocks"],
        max_length=LONGEST,
        positions=None if without == "positions" else "learned",
        norm=RECIPES[settings["recipe"]]["norm"],
        feed_forward=None if without == "feed-forward" else FeedForward,
        tied=False,
        embed_std=0.3,
        norm_layer=nn.Identity if "norm" in without else nn.LayerNorm,
    )


def read(model: Transformer, tokens: Tensor, without: str) -> Tensor:
    """The logits (N, L, V) for tokens (N, L). Without a residual, each layer's output takes the place of its input."""
    if "residual" not in without:
        return model(tokens)
    x = model.embed(tokens)  # (N, L, E)
    for block in model.blocks:
        normed = block.before_attend(x)
        x, _ = block.attend(normed, normed, normed, is_causal=True)
        x = block.feed_forward(block.before_feed_forward(x))
    return model.unembed(x)


def learn(settings: dict, device: torch.device, steps: int | None = None) -> tuple[Transformer, list[float]]:
    """Train a model, in double precision, so that all processors come to the same.

    The learning rate rises for the steps of the warm-up, if there is one, and then falls to 0 in a straight line.

    Args:
        settings: one of ``RUNS``.
        device: where to train it.
        steps: after how many of the task's steps to stop; after all when not given.

    Returns:
        the model, and the loss of each step.
    """
    task, recipe = TASKS[settings["task"]], RECIPES[settings["recipe"]]
    all_steps, warm_up = task["steps"], recipe["warm_up"]
    torch.manual_seed(settings["seed"])
    model = make(settings).double().to(device)
    generator = torch.Generator().manual_seed(settings["seed"])
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.99), weight_decay=recipe["decay"])
    losses = []
    for step in range(all_steps if steps is None else steps):
        rising = (step + 1) / warm_up if step < warm_up else 1.0
        falling = (all_steps - step) / (all_steps - warm_up)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(rising, falling)
        tokens, answers = (tensor.to(device) for tensor in task["draw"](BATCH, generator))
        logits = read(model, tokens, settings["without"])  # (B, L, V)
        loss = cross_entropy(logits.flatten(0, 1), answers.flatten(), ignore_index=UNASKED)
        optimizer.zero_grad()
        loss.backward()
        if recipe["clip"]:
            nn.utils.clip_grad_norm_(model.parameters(), recipe["clip"])
        optimizer.step()
        losses.append(loss.item())
    return model, losses


@torch.no_grad()
def test(model: Transformer, settings: dict) -> dict[str, float]:
    """The share of the answers' ``symbols`` that are right, and of whole ``answers``, on a thousand questions.

    Each symbol is said after the true ones. As soon as one of them is wrong the whole answer counts as wrong, so that
    the second share is that of greedy decoding too.
    """
    questions = TASKS[settings["task"]]["draw"](SEQUENCES, torch.Generator().manual_seed(1), test=True)
    tokens, answers = (tensor.to(model.output.weight.device) for tensor in questions)
    is_right = read(model, tokens, settings["without"]).argmax(dim=-1) == answers  # (N, L)
    is_asked = answers != UNASKED
    whole = (is_right | ~is_asked).all(dim=1)  # (N,)
    return {"symbols": is_right[is_asked].double().mean().item(), "answers": whole.double().mean().item()}


def published() -> dict:
    """The runs that come with the package.

    Returns:
        ``runs``: of each its settings, its first ``losses``, its last ``loss``, and what :func:`test` found;
        ``session``: where they ran, for how many seconds.
    """
    return stored("parts")


def run(device: torch.device) -> dict:
    """All runs, one after another, saying what comes out; returns what :func:`published` does."""

    def one(settings: dict) -> dict:
        model, losses = learn(settings, device)
        return {"losses": losses[:FIRST_LOSSES], "loss": losses[-1], **test(model, settings)}

    return one_by_one(RUNS, one, device)


def main(arguments: list[str] | None = None) -> None:
    command("attention.course.experiments.parts", __doc__, "parts.pt", run, arguments)


if __name__ == "__main__":
    main()
