"""A sentence that attends: words tinted by their weights, and joined by lines."""

from collections.abc import Sequence

from attention.explorer.panels import given
from attention.explorer.panels.tables import Matrix

__all__ = ["tokens"]


def tokens(
    weights,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    rows: int | None = None,
    mask=None,
    chosen: int | None = None,
    control: str = "",
    caption: str = "",
    axes: tuple[str, str] = ("query", "key"),
    limits: tuple[float, float] | None = None,
    digits: int = 2,
) -> Matrix:
    """A sentence as words, each tinted by the weight that the chosen query gives it.

    The reader chooses a query by a tap, by pointing, or with the arrow keys. With two rows, arcs lead from the chosen
    query to the keys, wider for a larger weight: words stand in two columns, single letters in two lines. In one row of
    keys that are not the queries, the words are large, and a control of the explorer chooses the query, by ``chosen``;
    where ``control`` names it, a tap on a word asks the question that gives it most.

    Args:
        weights: (L, S).
        queries: L words.
        keys: S words; the queries when not given.
        rows: 1 or 2 rows of words; 2 where the keys are given, else 1.
        mask: bool, broadcastable to (L, S), True = may attend.
        chosen: the query that is chosen at first, or in this state; the last when not given.
        control: a control of the explorer that choosing a query sets, to the query's number from 0.
        caption: one line above the words.
        axes: what a query and a key are: panels that name the same axis light each other.
        limits: the weights drawn palest and strongest; as :func:`heatmap`'s when not given.
        digits: decimals under a word.

    Raises:
        ValueError: words or a mask that do not fit the weights, or rows other than 1 and 2.
        TypeError: as :func:`heatmap`.

    >>> panel = tokens([[1.0, 0.0], [0.5, 0.5]], ["the", "cat"])
    >>> panel.words["rows"]
    1
    """
    values = given.numbers("weights", weights, 2)
    L, S = values.shape
    words_of_keys = queries if keys is None else keys
    rows = given.one_of("rows", rows or (1 if keys is None else 2), (1, 2))
    numbers = {"values": values}
    if mask is not None:
        numbers["mask"] = given.mask(mask, (L, S))
    words = {
        "queries": given.labels("queries", queries, L),
        "keys": given.labels("keys", words_of_keys, S),
        "rows": rows,
        "chosen": given.index("chosen", chosen, L),
        "control": str(control),
        "axes": list(axes),
        **given.look(caption, "weights", limits, digits),
    }
    return Tokens(numbers, words)


class Tokens(Matrix):
    kind = "tokens"
    sides = ("queries", "keys")

    def sets(self):
        return [(self.words["control"], len(self.words["queries"]))]
