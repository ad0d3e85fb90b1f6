"""The picture that grows through the book: the whole formula, with the part lit that a chapter explains."""

from itertools import pairwise

from attention.explorer import Box, diagram
from attention.explorer.panels import Panel

BOXES = {
    "positions": Box("P", "positions", says="where each token stands", link="08-positions.html"),
    "tokens": Box("X", "tokens", says="a row of numbers for each token", link="06-self-attention.html"),
    "query": Box("Q", "queries", "query", "what is asked for, a row for each query", "01-dictionary.html"),
    "key": Box("K", "keys", "key", "what each entry is found by, a row for each", "01-dictionary.html"),
    "value": Box("V", "values", "value", "what each entry gives, a row for each", "01-dictionary.html"),
    "scores": Box("QKᵀ", "scores", says="how well each key matches each query", link="02-scores.html"),
    "scaled": Box("÷ √D", "scaled", says="so that wide vectors do not make it sharp", link="03-scaling.html"),
    "masked": Box("mask", "masked", says="what may not be seen gets a score of −∞", link="05-masking.html"),
    "weights": Box("softmax", "weights", "weights", "shares that add up to 1 in each row", "04-softmax.html"),
    "output": Box("· V", "output", "value", "values, averaged with these weights", "01-dictionary.html"),
    "heads": Box("W_o", "heads joined", "value", "several lookups side by side, joined", "07-multi-head.html"),
    "added": Box("X + …", "residual stream", says="what was found, added to X", link="11-transformer.html"),
    "feed-forward": Box("FFN", "feed-forward", says="a network for each token alone", link="11-transformer.html"),
}

# For each chapter, what it explains: boxes, and arrows by their two ends.
LIT: dict[int, list[str | tuple[str, str]]] = {
    1: ["query", "key", "value", "weights", "output", ("weights", "output"), ("value", "output")],
    2: ["scores", ("query", "scores"), ("key", "scores")],
    3: ["scaled", ("scores", "scaled")],
    4: ["weights", ("masked", "weights")],
    5: ["masked", ("scaled", "masked")],
    6: ["tokens", "query", "key", "value", ("tokens", "query"), ("tokens", "key"), ("tokens", "value")],
    7: ["heads", ("output", "heads")],
    8: ["positions", *[("positions", name) for name in ("tokens", "query", "key", "masked")]],
    11: ["added", "feed-forward", ("tokens", "added"), ("heads", "added"), ("added", "feed-forward")],
    13: ["tokens", "key", "value", ("tokens", "key"), ("tokens", "value"), ("key", "scores"), ("value", "output")],
    14: ["scores", "scaled", "masked", "weights", ("scores", "scaled"), ("scaled", "masked"), ("masked", "weights")],
    15: ["weights", "heads", ("masked", "weights"), ("weights", "output"), ("output", "heads")],
}


def formula(chapter: int) -> Panel:
    """Attention from its inputs to its output, ``softmax(QKᵀ / √D) V``, with one chapter's part lit.

    From chapter 6 on, queries, keys and values are made from tokens; from chapter 7 on, heads are joined. In
    chapter 8 positions enter, and in chapter 11 the rest of a Transformer's block.

    Args:
        chapter: the number of a chapter that explains a part of the formula.

    >>> formula(3).words["alt"].split(". ")[0]
    'Q queries; K keys; V values; QKᵀ scores; ÷ √D scaled; mask masked; softmax weights; · V output'
    """
    chain = ["scores", "scaled", "masked", "weights", "output"]
    rows: list[list[str | None]] = [["query", "key", "value", None, None], chain]
    arrows = [("query", "scores"), ("key", "scores"), ("value", "output"), *pairwise(chain)]
    if chapter >= 6:
        rows.insert(0, [None, "tokens", None, None, None])
        arrows += [("tokens", "query"), ("tokens", "key"), ("tokens", "value")]
    if chapter >= 7:
        rows.append([None, None, None, None, "heads"])
        arrows.append(("output", "heads"))
    if chapter >= 8:
        rows[0][3] = "positions"
        arrows += [("positions", name) for name in ("tokens", "query", "key", "masked")]
    if chapter >= 11:
        rows[-1][2:4] = ["feed-forward", "added"]
        arrows += [("tokens", "added"), ("heads", "added"), ("added", "feed-forward")]
    names = {name for row in rows for name in row}
    return diagram(rows, arrows, boxes={name: BOXES[name] for name in BOXES if name in names}, lit=LIT[chapter])
