"""Nodes at their places, joined by edges, that attend to one another."""

from collections.abc import Sequence

from attention.explorer.panels import given
from attention.explorer.panels.tables import Matrix, matrix_table

__all__ = ["graph"]


def graph(
    labels: Sequence[str],
    places,
    edges: Sequence[tuple[int, ...]],
    weights,
    *,
    names: Sequence[str] | None = None,
    queries: Sequence[int] | None = None,
    keys: Sequence[int] | None = None,
    chosen: int | None = None,
    caption: str = "",
    axes: tuple[str, str] = ("query", "key"),
    limits: tuple[float, float] | None = None,
) -> Matrix:
    """A graph whose nodes are tinted by the weights that a chosen node gives them.

    The reader chooses a query by a tap, by pointing, or with the arrow keys; the picture's caption then names the keys
    of its two largest weights. Parts of the graph that no edge joins stand side by side, in the order of their first
    nodes, and a plus between them. Where no query is a key, an arrow leads from the keys' parts to the queries'.

    Args:
        labels: K short texts, one for each node, as they are drawn.
        places: (K, 2), x and y of each node, y upwards. Only places within a part are compared.
        edges: two nodes, by their numbers from 0, or these and how many lines join them, up to three.
        weights: (Q, S). What is more than there are queries and keys is not drawn, so that graphs of several sizes can
            be the states of one explorer.
        names: K texts by which the nodes are told apart. When not given, these are the labels; where two labels are
            the same, all nodes are numbered from 1.
        queries: nodes that attend; all when not given.
        keys: nodes that are attended to; all when not given.
        chosen: which of the queries is chosen at first, or in this state, counted from 0; the last when not given.
        caption: one line above the picture.
        axes: what a query and a key are: panels that name the same axis light each other.
        limits: the weights drawn palest and strongest; as :func:`heatmap`'s when not given.

    Raises:
        ValueError: places or edges that do not fit the labels, a query or a key that is no node, weights with too few
            rows or columns, and as :func:`heatmap`.
        TypeError: as :func:`heatmap`.

    >>> panel = graph(["C", "O"], [[0, 0], [1, 0]], [(0, 1, 2)], [[0.2, 0.8], [0.5, 0.5]])
    >>> panel.words["drawing"]["edges"]
    [[0, 1, 2]]
    """
    labels = [str(label) for label in labels]
    K = len(labels)
    spots = given.numbers("places", places, 2)
    if spots.shape != (K, 2):
        raise ValueError(f"places must be x and y of {K} nodes, ({K}, 2), found shape {spots.shape}")
    joined = [_edge(*edge, count=K) for edge in edges]
    queries = [given.index("a node of queries", node, K) for node in (range(K) if queries is None else queries)]
    keys = [given.index("a node of keys", node, K) for node in (range(K) if keys is None else keys)]
    values = given.numbers("weights", weights, 2)
    if values.shape[0] < len(queries) or values.shape[1] < len(keys):
        raise ValueError(f"weights must be at least ({len(queries)}, {len(keys)}), found shape {values.shape}")
    if names is None:
        same = len(set(labels)) < K
        names = [f"{label} {number}" if same else label for number, label in enumerate(labels, start=1)]
    if len(names) != K:
        raise ValueError(f"names must be {K}, one for each label, found {len(names)}")
    words = {
        "drawing": {
            "labels": labels,
            "names": [str(name) for name in names],
            "places": [[round(float(part), 2) for part in spot] for spot in spots],
            "edges": joined,
            "parts": _parts(K, joined),
            "queries": queries,
            "keys": keys,
        },
        "chosen": given.index("chosen", chosen, len(queries)),
        "axes": list(axes),
        **given.look(caption, "weights", limits, 3),
    }
    return Graph({"values": values}, words)


class Graph(Matrix):
    kind = "graph"

    def plain(self):
        (_, queries), (_, keys) = self.axes()
        return matrix_table(self, queries, keys, self.numbers["values"][: len(queries), : len(keys)])

    def axes(self):
        drawing = self.words["drawing"]
        names = ([drawing["names"][node] for node in drawing[side]] for side in ("queries", "keys"))
        return list(zip(self.words["axes"], names, strict=True))


def _edge(start: int, end: int, lines: int = 1, *, count: int) -> list[int]:
    """The two nodes of an edge, and how many lines join them."""
    nodes = [given.index("a node of edges", node, count) for node in (start, end)]
    return [*nodes, given.one_of("lines of edges", int(lines), (1, 2, 3))]


def _parts(count: int, edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """The nodes of each part that no edge joins to another."""
    part = list(range(count))  # of each node: the first node that it is joined to
    for start, end, _ in edges:
        first, other = sorted((part[start], part[end]))
        part = [first if each == other else each for each in part]
    return [[node for node in range(count) if part[node] == first] for first in sorted(set(part))]
