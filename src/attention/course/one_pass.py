"""One pass through the whole layer: a sentence through self-attention, from tokens to output, as one picture."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from attention.explorer import Station, flow
from attention.explorer.panels import Panel
from attention.functional import attention_weights

STEPS = ("X", "Q", "K", "V", "scores", "weights", "output")


def one_pass(
    X: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    words: Sequence[str],
    *,
    step: str = "output",
    query: str | None = None,
    mask: Tensor | None = None,
    parts: Sequence[Sequence[str]] = ((), (), ()),
    control: str = "",
    query_control: str = "",
) -> Panel:
    """Self-attention, X → Q, K, V → scores → weights → output, with the numbers of one token followed.

    Args:
        X: the tokens, (L, E).
        W_q: (E, D).
        W_k: (E, D).
        W_v: (E, Dv).
        words: L names of the tokens, all different.
        step: the matrix that is being computed, one of ``STEPS``.
        query: the word whose row is followed; the last when not given.
        mask: bool, (L, L), True = may attend.
        parts: names for the columns of X, for those of Q and K, and for those of V.
        control: a control of the explorer whose states are ``STEPS``, set by a tap on a matrix.
        query_control: a control of the explorer whose states are the words, set by a tap on a row.
    """
    words = list(words)
    query = query or words[-1]
    i = words.index(query)
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    D = Q.size(1)
    scores = Q @ K.T / math.sqrt(D)
    weights = attention_weights(Q, K, mask)
    output = weights @ V
    of_tokens, of_keys, of_values = (list(names) or None for names in parts)
    seen = torch.ones_like(weights, dtype=torch.bool) if mask is None else mask
    pairs = {"columns": words, "mask": seen}
    lines = [
        [
            Station("X", X, columns=of_tokens, digits=_digits(X)),
            Station("Q", Q, "X W_q", {"X": "i:"}, "query", columns=of_keys, digits=_digits(Q)),
            Station("K", K, "X W_k", {"X": "i:"}, "key", columns=of_keys, digits=_digits(K)),
            Station("V", V, "X W_v", {"X": "i:"}, "value", columns=of_values, digits=_digits(V)),
        ],
        [
            Station("scores", scores, f"QKᵀ ÷ √{D}", {"Q": "i:", "K": "j:"}, **pairs),
            Station("weights", weights, "softmax of scores", {"scores": "i:"}, "weights", **pairs),
            Station("output", output, "weights · V", {"weights": "i:", "V": ":j"}, "value", columns=of_values),
        ],
    ]
    said = {
        "X": "The sentence comes as a matrix X, one row for each token.",
        "Q": f"The row of {query}, times W_q, is the query of {query}: what it looks for.",
        "K": "Each row of X, times W_k, is a key: what a token is found by.",
        "V": "Each row of X, times W_v, is a value: what a token hands on.",
        "scores": f"The query of {query} with each key, divided by √{D}: {_most('score', scores[i], seen[i], words)}.",
        "weights": f"Softmax makes weights of them, which sum to 1: {_most('weight', weights[i], seen[i], words)}.",
        "output": f"Each value times its weight, added up: the output of {query}{_named(of_values, output[i])}.",
    }
    look = {"step": STEPS.index(step), "query": i, "control": control, "query_control": query_control}
    return flow(lines, rows=words, caption=said[step], **look)


def _digits(matrix: Tensor) -> int:
    """No decimals for whole numbers."""
    return 0 if torch.equal(matrix, matrix.round()) else 2


def _named(names: Sequence[str] | None, row: Tensor) -> str:
    """A row's numbers with their names, where they have any."""
    pairs = zip(names, row, strict=True) if names else ()
    shown = ", ".join(f"{name} {number:.2f}".replace("-", "−") for name, number in pairs)
    return f": {shown}" if names else ""


def _most(name: str, row: Tensor, seen: Tensor, words: Sequence[str]) -> str:
    """The largest number of a row in words, and whose it is."""
    if not seen.any():
        return f"no {name}, as no token is seen"
    largest = row[seen].max().item()
    first = [word for word, number, may in zip(words, row, seen, strict=True) if may and largest - number < 1e-6]
    shown = f"{largest:.2f}".replace("-", "−")
    if len(first) == seen.sum() > 1:
        return f"each {name} is {shown}"
    if len(first) > 1:
        return f"the largest {name}s, {shown}, belong to {', '.join(first[:-1])} and {first[-1]}"
    return f"the largest {name}, {shown}, belongs to {first[0]}"
