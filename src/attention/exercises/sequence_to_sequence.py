"""The exercises of chapter 10, additive attention at work, and a decoder that writes."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import normal, single, weights
from attention.exercises.exercise import NO_CLAMP, Edge, Exercise, Mistake, ones, primes


def _scores(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    rows = []
    for q in query:
        rows.append(torch.stack([w_v @ torch.tanh(W_q @ q + W_k @ k) for k in key]))
    return torch.stack(rows)


_draw_scorer = normal("LD", "SK", "HD", "HK", "H", H=13)


def _pairs(query: Tensor, key: Tensor, W_q: Tensor, W_k: Tensor) -> tuple[Tensor, Tensor]:
    return (query @ W_q.T)[:, None], (key @ W_k.T)[None]


additive_scores = Exercise(
    "additive_scores",
    _scores,
    _draw_scorer,
    edges=(single(_draw_scorer),),
    without=("a loop",),
    mistakes=(
        Mistake(
            lambda q, k, W_q, W_k, w: sum(map(torch.tanh, _pairs(q, k, W_q, W_k))) @ w,
            "You take the tanh before the sum. Then the query adds the same number to every score of its row, and a "
            "softmax does not see it. Add first.",
        ),
        Mistake(
            lambda q, k, W_q, W_k, w: sum(_pairs(q, k, W_q, W_k)) @ w,
            "The tanh is missing. Without it a query adds the same number to the scores of all keys.",
        ),
        Mistake(
            lambda q, k, W_q, W_k, w: torch.tanh(sum(_pairs(q, k, W_q, W_k)) @ w),
            "You take the tanh of the score, after w. It belongs to each hidden number, before w adds them up.",
        ),
        Mistake(
            lambda q, k, W_q, W_k, w: (torch.tanh(sum(_pairs(q, k, W_q, W_k))) @ w).softmax(dim=1),
            "These are the weights: the scores are wanted, from before the softmax.",
        ),
        Mistake(
            lambda q, k, W_q, W_k, w: (q @ W_q.T) @ (k @ W_k.T).T,
            "This is the dot product of the two projections. Additive attention adds them, takes the tanh, and then "
            "the product with w_v.",
        ),
    ),
)


def inside(query: Tensor, key: Tensor) -> Tensor:
    return torch.tanh(query[:, None] + key).sum(dim=-1)


def before(query: Tensor, key: Tensor) -> Tensor:
    return (torch.tanh(query[:, None]) + torch.tanh(key)).sum(dim=-1)


def nowhere(query: Tensor, key: Tensor) -> Tensor:
    return (query[:, None] + key).sum(dim=-1)


def outside(query: Tensor, key: Tensor) -> Tensor:
    return torch.tanh((query[:, None] + key).sum(dim=-1))


def product(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.T


SCORERS = (inside, before, nowhere, outside, product)


def _weights(scorer: Callable, query: Tensor, key: Tensor) -> Tensor:
    return scorer(query, key).softmax(dim=1)


def _hears(scorers: list[Callable], query: Tensor, key: Tensor) -> Tensor:
    found = []
    for scorer in scorers:
        first, *rest = _weights(scorer, query, key)
        found.append(any(not torch.allclose(row, first, atol=1e-5) for row in rest))
    return torch.tensor(found)


def _draw_scorers(generator: torch.Generator) -> tuple:
    queries, keys, width = primes(generator, 3)
    order = torch.randperm(len(SCORERS), generator=generator).tolist()
    query, key = (0.3 * torch.randn(n, width, generator=generator) for n in (queries, keys))
    return [_unnamed(SCORERS[i]) for i in order], query, key


def _draw_a_late_difference(generator: torch.Generator) -> tuple:
    """All queries are alike but the last."""
    scorers, query, key = _draw_scorers(generator)
    return scorers, torch.cat([query[:1].expand(len(query) - 1, -1), query[-1:]]), key


def _draw_a_middle_difference(generator: torch.Generator) -> tuple:
    """All queries are alike but the second."""
    scorers, query, key = _draw_scorers(generator)
    others = query[:1].expand(len(query) - 2, -1)
    return scorers, torch.cat([query[:2], others]), key


def _draw_opposite_queries(generator: torch.Generator, last: bool) -> tuple:
    """Two queries to which a product gives the same weights for the first two keys, or the last two, and no others."""
    scorers, query, key = _draw_scorers(generator)
    keys = torch.stack([0 * key[0], 0 * key[0], key[0], -key[0]])
    return scorers, torch.stack([query[0], -query[0]]), keys.flip(0) if last else keys


def _unnamed(scorer: Callable) -> Callable:
    """The scorer under a name that does not tell which it is."""

    def scores(query: Tensor, key: Tensor) -> Tensor:
        return scorer(query, key)

    return scores


hears_the_query = Exercise(
    "hears_the_query",
    _hears,
    _draw_scorers,
    edges=(
        _draw_a_late_difference,
        _draw_a_middle_difference,
        *(
            Edge(partial(_draw_opposite_queries, last=last), "Compare the weights of all keys.")
            for last in (False, True)
        ),
    ),
    mistakes=(
        Mistake(
            lambda scorers, query, key: ~_hears(scorers, query, key),
            "The other way round: True for a scorer whose weights depend on the query.",
        ),
        Mistake(
            lambda scorers, query, key: torch.tensor(
                [torch.equal(scorer(query, key), inside(query, key)) for scorer in scorers]
            ),
            "Not only the right one hears the query. A tanh after the sum, and a plain product, let it choose too.",
        ),
        Mistake(
            lambda scorers, query, key: torch.ones(len(scorers), dtype=torch.bool),
            "All of them? Two things look like a query that is heard: a number added to a whole row of scores, which "
            "the softmax cancels, and rounding. Compare the weights, with torch.allclose.",
        ),
    ),
)


def _context(scores: Tensor, lengths: Tensor, value: Tensor) -> Tensor:
    rows = []
    for sample, length in enumerate(lengths.tolist()):
        weights = scores[sample, :, :length].softmax(dim=1)
        rows.append(weights @ value[sample, :length])
    return torch.stack(rows)


def _draw_padded(generator: torch.Generator, sizes: Callable = primes, keys: int = 13, shortest: int = 1) -> tuple:
    batch, queries, width = sizes(generator, 3)
    lengths = torch.randint(shortest, max(keys, shortest + 1), (batch,), generator=generator)
    value = torch.randn(batch, keys, width, generator=generator)
    return torch.randn(batch, queries, keys, generator=generator), lengths, value


def _draw_far(generator: torch.Generator) -> tuple:
    """The steps' scores lie 10⁴ above 0 and as far below it, in turn."""
    scores, lengths, value = _draw_padded(generator)
    far = 1e4 * (-1.0) ** torch.arange(scores.shape[1])
    return scores + far[:, None], lengths, value


def _is_key(scores: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(scores.shape[2]) < lengths[:, None, None]


context = Exercise(
    "context",
    _context,
    _draw_padded,
    edges=(
        partial(_draw_padded, sizes=ones, keys=1),
        partial(_draw_padded, shortest=13),
        Edge(_draw_far, f"{NO_CLAMP} What is hidden has a score of −∞, not some number."),
    ),
    mistakes=(
        Mistake(
            lambda scores, lengths, value: scores.softmax(dim=2) @ value,
            "The padding takes its share: hide the scores behind each length before the softmax.",
        ),
        Mistake(
            lambda scores, lengths, value: (scores.softmax(dim=2) * _is_key(scores, lengths)) @ value,
            "You hide the padding after the softmax, so the weights that are left do not sum to 1. Hide its scores.",
        ),
        Mistake(
            lambda scores, lengths, value: (scores * _is_key(scores, lengths)).softmax(dim=2) @ value,
            "A score of 0 hides nothing, it is a score like others. What weighs nothing has a score of −∞.",
        ),
        Mistake(
            lambda scores, lengths, value: (
                scores.masked_fill(torch.arange(scores.shape[2]) > lengths[:, None, None], -math.inf).softmax(dim=2)
                @ value
            ),
            "One pad is still seen: positions count from 0, so the first one to hide is number `length`.",
        ),
        Mistake(
            lambda scores, lengths, value: (
                scores.masked_fill(~_is_key(scores, lengths), -math.inf).softmax(dim=1) @ value
            ),
            "Your softmax goes over the steps, dim 1: a state that is hidden from all of them gives NaN. Let the "
            "weights of one step sum to 1 over the states, dim 2.",
        ),
    ),
)


def _alignment(weights: Tensor) -> Tensor:
    return torch.tensor([[max(range(len(row)), key=row.__getitem__) for row in sample] for sample in weights.tolist()])


alignment = Exercise(
    "alignment",
    _alignment,
    weights("BLS"),
    edges=(single(weights("BLS")),),
    mistakes=(
        Mistake(
            lambda weights: weights.argmax(dim=1),
            "You ask of each source token which target token looks at it most. It is the target that asks.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=0),
            "You compare samples of the batch with each other. Compare the source tokens of one target token.",
        ),
        Mistake(
            lambda weights: weights.amax(dim=2),
            "These are the largest weights. Their places are wanted.",
        ),
        Mistake(
            lambda weights: weights.max(dim=2),
            "`max` returns two tensors, the largest weights and their places. Return the places alone, as argmax does.",
        ),
        Mistake(
            lambda weights: weights.argmax(dim=2).float(),
            "The values are right, but places are whole numbers.",
        ),
    ),
)


PAD, START, END = range(3)  # as :mod:`attention.seq2seq` has them


def _write(step: Callable, state: Tensor, max_steps: int) -> Tensor:
    rows = []
    for row in range(len(state)):  # one answer at a time
        token, row_state, ids = START, state[row : row + 1], []
        while len(ids) < max_steps and token != END:
            logits, row_state = step(torch.tensor([token]), row_state)
            token = int(logits.argmax())
            ids.append(token)
        rows.append(torch.tensor(ids + [PAD] * (max_steps - len(ids))))
    return torch.stack(rows)


def _draw_decoder(
    generator: torch.Generator,
    sizes: Callable = primes,
    max_steps: int = 8,
    all_end: bool = False,
    writes_padding: bool = False,
) -> tuple:
    batch, width, size = sizes(generator, 3)
    table = torch.randn(size + 3, width, generator=generator)  # an embedding for each token
    maps = torch.randn(width, width, generator=generator), torch.randn(width, size + 3, generator=generator)
    first, last = (
        (0, 3) if writes_padding else (0, 5) if all_end else (-3, 5)
    )  # from below -1 a row does not end within the eight steps
    clock = first + torch.arange(batch) / batch * (last - first) + torch.rand((), generator=generator)
    state = torch.cat([clock[:, None], torch.randn(batch, width, generator=generator)], dim=1)

    def step(token: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        clock, hidden = state[:, :1] + 1, torch.tanh(state[:, 1:] @ maps[0] + table[token])
        logits = torch.sin(hidden @ maps[1])  # between -1 and 1
        logits[:, [PAD, START]] = -9.0  # not the likeliest
        if writes_padding:
            logits[:, [PAD]] = torch.where((clock > 4) & (clock <= 5), 2.0, -9.0)  # once, before its end
        logits[:, [END]] = torch.where((clock > 6) & (clock <= 7), 2.0, -9.0)  # once: afterwards a row goes on
        return logits, torch.cat([clock, hidden], dim=1)

    return step, state, max_steps


def _decoded(step, state, max_steps, *, feed=True, keep=True, pads=True, forgets=False) -> Tensor:
    """Greedy decoding of all rows together, or a mistaken one."""
    token, done, ids = torch.full((len(state),), START), torch.zeros(len(state), dtype=torch.bool), []
    for _ in range(max_steps):
        logits, following = step(token, state)
        best = logits.argmax(dim=1).masked_fill(done & pads, PAD)
        state = following if keep else state
        token = best if feed else token
        ids.append(best)
        done = (best == END) | (done & (not forgets))
    return torch.stack(ids, dim=1)


greedy = Exercise(
    "greedy",
    _write,
    _draw_decoder,
    mistakes=(
        Mistake(
            lambda step, state, max_steps: _decoded(step, state, max_steps, pads=False),
            "A row goes on after its end token (2). Remember which rows have ended, and write 0 there.",
        ),
        Mistake(
            lambda step, state, max_steps: _decoded(step, state, max_steps, forgets=True),
            "You ask only whether the token before was 2. A row that has ended stays ended: remember it.",
        ),
        Mistake(
            lambda step, state, max_steps: _decoded(step, state, max_steps, keep=False),
            "Each step begins again from the first state. Hand on the state that the step returns.",
        ),
        Mistake(
            lambda step, state, max_steps: _decoded(step, state, max_steps, feed=False),
            "Each step reads the start token. After the first step it must read the token that was written last.",
        ),
        Mistake(
            lambda *decoder: (ids := _decoded(*decoder)).masked_fill(ids == END, PAD),
            "The end token itself is lost: a row is padded *after* it. Mark a row as ended when its 2 has been kept.",
        ),
    ),
    edges=(
        Edge(
            partial(_draw_decoder, all_end=True),
            "Here every row ends early. The result has max_steps columns all the same: the rest hold 0.",
        ),
        Edge(
            partial(_draw_decoder, writes_padding=True),
            "Here a row writes a 0 before its 2. You take it for an end: before the 2, a 0 is a token like others.",
        ),
        partial(_draw_decoder, sizes=ones, max_steps=1),
    ),
)
