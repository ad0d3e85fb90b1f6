"""The exercises of chapter 6, self-attention."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import normal, single
from attention.exercises.exercise import NO_CLAMP, Edge, Exercise, Mistake, primes


def _attend(query: Tensor, key: Tensor, value: Tensor, divisor: float | None = None, dim: int = 1) -> Tensor:
    return (query @ key.T / (divisor or math.sqrt(query.size(1)))).softmax(dim=dim) @ value


def _cross_attention(target: Tensor, source: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    outputs = []
    for asking in target:
        query = asking @ w_q
        scores = [(query * (other @ w_k)).sum() / math.sqrt(len(query)) for other in source]
        powers = [torch.exp(score - max(scores)) for score in scores]
        values = [other @ w_v for other in source]
        outputs.append(sum(power * value for power, value in zip(powers, values, strict=True)) / sum(powers))
    return torch.stack(outputs)


def _draw(generator: torch.Generator, sizes: Callable = primes, sentences: tuple[str, ...] = ("TE",)) -> tuple:
    *sentences, w_q, w_k, w_v = normal(*sentences, "ED", "ED", "EV", V=2)(generator, sizes)
    return *sentences, *(matrix / math.sqrt(len(matrix)) for matrix in (w_q, w_k, w_v))


def _draw_far(generator: torch.Generator, sentences: tuple[str, ...] = ("TE",)) -> tuple:
    """Sentences along one line, and maps that make their scores up to 10⁴, or down to −10⁴, and far apart."""
    *sentences, w_q, w_k, w_v = _draw(generator, sentences=sentences)
    line = torch.nn.functional.normalize(sentences[0][0], dim=0)
    factor = (1e4 * math.sqrt(w_q.size(1)) / ((line @ w_q) @ (line @ w_k)).abs()).sqrt()
    steps = [(1 + torch.randperm(len(one), generator=generator)) / len(one) for one in sentences]
    return *(one[:, None] * line for one in steps), factor * w_q, factor * w_k, w_v


self_attention = Exercise(
    "self_attention",
    lambda x, *maps: _cross_attention(x, x, *maps),
    _draw,
    edges=(single(_draw), Edge(_draw_far, NO_CLAMP)),
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
            lambda x, w_q, w_k, w_v: _attend(x @ w_q, x @ w_k, x @ w_v, dim=0),
            "Your columns sum to 1. Each token, a row, has to share out its own 1.",
        ),
        Mistake(
            lambda x, w_q, w_k, w_v: _attend(x @ w_q, x @ w_k, x),
            "You average the tokens themselves. What is handed over are their values, made with w_v.",
        ),
    ),
)

cross_attention = Exercise(
    "cross_attention",
    _cross_attention,
    partial(_draw, sentences=("TE", "SE")),
    edges=(
        single(partial(_draw, sentences=("TE", "SE"))),
        Edge(partial(_draw_far, sentences=("TE", "SE")), NO_CLAMP),
    ),
    mistakes=(
        Mistake(
            lambda t, s, w_q, w_k, w_v: _attend(s @ w_q, t @ w_k, t @ w_v),
            "The roles are exchanged: your output has one row a *source* token. The target asks.",
        ),
        Mistake(
            lambda t, s, w_q, w_k, w_v: _attend(t @ w_q, s @ w_k, t @ w_v),
            "The keys are the source's and the values the target's. There must be one value for each key, of the same "
            "token.",
        ),
        Mistake(
            lambda t, s, w_q, w_k, w_v: _attend(t @ w_q, t @ w_k, t @ w_v),
            "This is self-attention of the target: the source is not read at all.",
        ),
        Mistake(
            lambda t, s, w_q, w_k, w_v: _attend(t @ w_q, s @ w_k, s @ w_v, dim=0),
            "Your columns sum to 1. Each token of the target, a row, has to share out its own 1.",
        ),
        Mistake(
            lambda t, s, w_q, w_k, w_v: _attend(t @ w_q, s @ w_k, s @ w_v, divisor=math.sqrt(t.size(1))),
            "Under the root is the width of the tokens. The product is summed over the width of a query: w_q has it.",
        ),
    ),
)


def _order_error(model: Callable[[Tensor], Tensor], tokens: Tensor, order: Tensor) -> Tensor:
    before, after = model(tokens), model(torch.stack([tokens[place] for place in order]))
    return torch.stack([after[new] - before[old] for new, old in enumerate(order.tolist())])


def _draw_model(generator: torch.Generator, **fixed: int) -> tuple:
    """A layer with positions, hence not equivariant; a sentence; and an order, which is not its own inverse if long."""
    tokens, places, w_q, w_k = normal("LE", "LE", "EE", "EE", **fixed)(generator)

    def model(tokens: Tensor) -> Tensor:
        placed = tokens + places
        return _attend(placed @ w_q / math.sqrt(len(w_q)), placed @ w_k / math.sqrt(len(w_q)), placed)

    cycle = torch.randperm(len(tokens), generator=generator)  # each place gets the token of the next in this cycle
    return model, tokens, torch.empty_like(cycle).scatter(0, cycle, cycle.roll(1))


order_error = Exercise(
    "order_error",
    _order_error,
    _draw_model,
    edges=(partial(_draw_model, L=1, E=1), partial(_draw_model, L=13)),
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
    return sum(torch.outer(place, places[max(i - 1, 0)]) for i, place in enumerate(places)).detach()


def _draw_places(generator: torch.Generator, sizes: Callable = primes) -> tuple:
    """Orthogonal rows of length 1, in a space that is wider than there are places."""
    length, width = sorted(sizes(generator, 2))
    return (torch.linalg.qr(torch.randn(width, length, generator=generator)).Q.T,)


previous_map = Exercise(
    "previous_map",
    _previous_map,
    _draw_places,
    edges=(single(_draw_places),),
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
