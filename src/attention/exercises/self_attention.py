"""The exercises of chapter 6, self-attention."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import NO_CLAMP, Edge, Exercise, Mistake, ones, primes


def _attend(query: Tensor, key: Tensor, value: Tensor, divisor: float | None = None) -> Tensor:
    divisor = math.sqrt(query.size(1)) if divisor is None else divisor
    return (query @ key.T / divisor).softmax(dim=1) @ value


def _slowly(target: Tensor, source: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    outputs = []
    for asking in target:
        query = asking @ w_q
        scores = [(query * (other @ w_k)).sum() / math.sqrt(len(query)) for other in source]
        powers = [torch.exp(score - max(scores)) for score in scores]
        values = [other @ w_v for other in source]
        outputs.append(sum(power * value for power, value in zip(powers, values, strict=True)) / sum(powers))
    return torch.stack(outputs)


def _self_attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    return _slowly(x, x, w_q, w_k, w_v)


def _draw_maps(generator: torch.Generator, width: int, head: int) -> list[Tensor]:
    shapes = (width, head), (width, head), (width, 2)
    return [torch.randn(shape, generator=generator) / math.sqrt(width) for shape in shapes]


def _draw_sentence(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    length, width, head = sizes(generator, 3)
    return torch.randn(length, width, generator=generator), *_draw_maps(generator, width, head)


def _far_apart(generator: torch.Generator, lengths: tuple[int, ...], width: int, head: int) -> tuple:
    """Sentences along one line, and maps that make their scores up to 10⁴, or down to −10⁴, and far apart."""
    line = torch.nn.functional.normalize(torch.randn(width, generator=generator), dim=0)
    w_q, w_k, w_v = _draw_maps(generator, width, head)
    factor = (1e4 * math.sqrt(head) / ((line @ w_q) @ (line @ w_k)).abs()).sqrt()
    steps = [(1 + torch.randperm(length, generator=generator)) / length for length in lengths]
    return *(one[:, None] * line for one in steps), factor * w_q, factor * w_k, w_v


def _draw_far_sentence(generator: torch.Generator) -> tuple:
    length, width, head = primes(generator, 3)
    return _far_apart(generator, (length,), width, head)


self_attention = Exercise(
    "self_attention",
    _self_attention,
    _draw_sentence,
    edges=(partial(_draw_sentence, sizes=ones), Edge(_draw_far_sentence, NO_CLAMP)),
    mistakes=(
        Mistake(
            lambda x, w_q, w_k, w_v: _attend(x @ w_q, x @ w_k, x @ w_v, divisor=1.0),
            "Nothing is divided: the scores are to be divided by the root of the queries' width.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v: _attend(x @ w_q, x @ w_k, x @ w_v, divisor=math.sqrt(x.size(1))),
            "Under the root is the width of x. The product is summed over the width of a query: w_q has it.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v: _attend(x @ w_k, x @ w_q, x @ w_v),
            "Queries and keys have changed places: row i must be what token i *asks*, so it comes from w_q.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v: (x @ w_q @ (x @ w_k).T / math.sqrt(w_q.size(1))).softmax(dim=0) @ (x @ w_v),
            "Your columns sum to 1. Each token, a row, has to share out its own 1.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v: _attend(x @ w_q, x @ w_k, x),
            "You average the tokens themselves. What is handed over are their values, made with w_v.",
        ),
    ),
)


def _draw_two_sentences(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    target, source, width, head = sizes(generator, 4)
    sentences = [torch.randn(length, width, generator=generator) for length in (target, source)]
    return *sentences, *_draw_maps(generator, width, head)


def _draw_far_sentences(generator: torch.Generator) -> tuple:
    target, source, width, head = primes(generator, 4)
    return _far_apart(generator, (target, source), width, head)


cross_attention = Exercise(
    "cross_attention",
    _slowly,
    _draw_two_sentences,
    edges=(partial(_draw_two_sentences, sizes=ones), Edge(_draw_far_sentences, NO_CLAMP)),
    mistakes=(
        Mistake(
            lambda target, source, w_q, w_k, w_v: _attend(source @ w_q, target @ w_k, target @ w_v),
            "The roles are exchanged: your output has one row a *source* token. The target asks.",
        ),
        Mistake(
            lambda target, source, w_q, w_k, w_v: _attend(target @ w_q, source @ w_k, target @ w_v),
            "The keys are the source's and the values the target's. There must be one value for each key, of the same "
            "token.",
        ),
        Mistake(
            lambda target, source, w_q, w_k, w_v: _attend(target @ w_q, target @ w_k, target @ w_v),
            "This is self-attention of the target: the source is not read at all.",
        ),
        Mistake(
            lambda target, source, w_q, w_k, w_v: (
                ((target @ w_q) @ (source @ w_k).T / math.sqrt(w_q.size(1))).softmax(dim=0) @ (source @ w_v)
            ),
            "Your columns sum to 1. Each token of the target, a row, has to share out its own 1.",
        ),
        Mistake(
            lambda target, source, w_q, w_k, w_v: _attend(
                target @ w_q, source @ w_k, source @ w_v, divisor=math.sqrt(target.size(1))
            ),
            "Under the root is the width of the tokens. The product is summed over the width of a query: w_q has it.",
        ),
    ),
)


def _order_error(model: Callable[[Tensor], Tensor], tokens: Tensor, order: Tensor) -> Tensor:
    before, after = model(tokens), model(torch.stack([tokens[place] for place in order]))
    return torch.stack([after[new] - before[old] for new, old in enumerate(order.tolist())])


def _draw_model(generator: torch.Generator, width: int | None = None, length: int = 13) -> tuple:
    """A layer with positions, hence not equivariant; a sentence; and an order, not its own inverse if long."""
    (width,) = [width] if width else primes(generator, 1)
    places = torch.randn(length, width, generator=generator)
    maps = _draw_maps(generator, width, width)[:2]

    def model(tokens: Tensor) -> Tensor:
        placed = tokens + places
        return _attend(placed @ maps[0], placed @ maps[1], placed)

    order = torch.randperm(length, generator=generator)
    while length > 2 and torch.equal(order, order.argsort()):
        order = torch.randperm(length, generator=generator)
    return model, torch.randn(length, width, generator=generator), order


order_error = Exercise(
    "order_error",
    _order_error,
    _draw_model,
    edges=(partial(_draw_model, width=1, length=1),),
    mistakes=(
        Mistake(
            lambda model, tokens, order: model(tokens[order]) - model(tokens),
            "You compare rows that belong to different tokens: put the old outputs in the new order too.",
        ),
        Mistake(
            lambda model, tokens, order: model(tokens[order]) - model(tokens)[order.argsort()],
            "You put the old outputs in the inverse order: `[order]`, as the tokens themselves.",
        ),
        Mistake(
            lambda model, tokens, order: model(tokens[order])[order.argsort()] - model(tokens),
            "Right, but in the old order: row i of the result is to be about the token that stands in place i *now*.",
        ),
        Mistake(
            lambda model, tokens, order: (model(tokens[order]) - model(tokens)[order]).abs(),
            "The differences are right but for their signs, which are wanted.",
        ),
        Mistake(
            lambda model, tokens, order: model(tokens[order]) - model(tokens[order])[order],
            "Both runs are given the new order. The old outputs come from the tokens as they were.",
        ),
    ),
)


def _previous_map(places: Tensor) -> Tensor:
    """The sum of the outer products of each place and the one before it."""
    before = [max(place - 1, 0) for place in range(len(places))]
    return sum(torch.outer(places[place], places[other]) for place, other in enumerate(before)).detach()


def _draw_places(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    """Orthogonal rows of length 1, in a space that is wider than there are places."""
    length, width = sorted(sizes(generator, 2))
    return (torch.linalg.qr(torch.randn(width, length, generator=generator)).Q.T,)


previous_map = Exercise(
    "previous_map",
    _previous_map,
    _draw_places,
    edges=(partial(_draw_places, sizes=ones),),
    mistakes=(
        Mistake(
            lambda places: places.T @ torch.cat([places[1:], places[-1:]]),
            "This attends to the place *after* each one: place i is to be turned into place i − 1.",
        ),
        Mistake(
            lambda places: places.T @ places.roll(1, dims=0),
            "All but the first place are right: it has none before it, and is to be turned into itself.",
        ),
        Mistake(
            lambda places: torch.cat([places[:1], places[:-1]]),
            "These are the queries, the rows that places @ w_q must have. Which w_q makes them?",
        ),
        Mistake(
            lambda places: torch.cat([places[:1], places[:-1]]).T @ places,
            "Transposed: this turns place i − 1 into place i.",
        ),
        Mistake(
            lambda places: places[1:].T @ places[:-1],
            "All but the first place are right: yours becomes 0, and it is to stay as it is.",
        ),
    ),
)
