"""The exercises of chapter 15, a real model: from a table of shares to a map of atoms."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import torch
from torch import Tensor

from attention.exercises.draws import changed, one_of
from attention.exercises.exercise import Edge, Exercise, Mistake

Bonds = Sequence[tuple[int, int]]


def _table(generator: torch.Generator, rows: int, columns: int) -> Tensor:
    return torch.randn(rows, columns, generator=generator).softmax(dim=1)


def _bonds(generator: torch.Generator, count: int) -> list[tuple[int, int]]:
    """A tree, so that everything hangs together: each atom but the first is bonded to an earlier one."""
    return [(one_of(generator, 0, atom - 1), atom) for atom in range(1, count)]


def _draw_with_bonds(generator: torch.Generator) -> tuple:
    """Few rows and columns, so that two rows often want the same one."""
    rows, columns = one_of(generator, 11, 13), one_of(generator, 17, 19)
    return _table(generator, rows, columns), _bonds(generator, rows), _bonds(generator, columns)


def _shuffled(generator: torch.Generator, rows: list[list[float]]) -> tuple:
    table = torch.tensor(rows)
    row, column = (torch.randperm(size, generator=generator) for size in table.shape)
    return (table[row][:, column],)


def _greedy(
    table: Tensor,
    row_bonds: Bonds = (),
    column_bonds: Bonds = (),
    counts: Callable[[tuple[bool, bool]], bool] = all,
    both_ways: bool = True,
) -> Tensor:
    """The largest entry first. ``counts`` tells by the nearness of row and column which entries are multiplied."""

    def near(a: int, b: int, bonds: Bonds) -> bool:
        return (a, b) in bonds or (both_ways and (b, a) in bonds)

    left = {(i, j): table[i, j].item() for i in range(table.size(0)) for j in range(table.size(1))}
    found = {}
    while left:
        i, j = max(left, key=left.get)
        found[i] = j
        left = {(row, column): share for (row, column), share in left.items() if row != i and column != j}
        for row, column in left:
            if counts((near(i, row, row_bonds), near(j, column, column_bonds))):
                left[row, column] *= 90
    return torch.tensor([found[i] for i in range(table.size(0))])


def _served(table: Tensor, rows: Iterable[int]) -> Tensor:
    """Each row takes its largest entry among the columns that are left."""
    left, columns = table.detach().clone(), torch.zeros(len(table), dtype=torch.long)
    for row in rows:
        columns[row] = left[row].argmax()
        left[:, columns[row]] = -torch.inf
    return columns


def _row_is_kept(table: Tensor) -> Tensor:
    left, columns = table.detach().clone(), torch.zeros(len(table), dtype=torch.long)
    for _ in range(len(left)):
        row, column = divmod(left.argmax().item(), left.size(1))
        columns[row] = column
        left[:, column] = -torch.inf
    return columns


# The largest sum of shares gives the first column to the second row.
GREED_COSTS = [[0.60, 0.39, 0.01], [0.58, 0.30, 0.12]]
# Once the first column is taken, the third row has more to give than the second, whose largest entry was larger …
ORDER_TURNS = [[0.70, 0.20, 0.06, 0.04], [0.65, 0.05, 0.16, 0.14], [0.10, 0.30, 0.50, 0.10]]
# … but here it has less, if what is left of each row is divided by its sum.
SUMS_TURN_IT = [[0.70, 0.20, 0.10], [0.60, 0.30, 0.10], [0.05, 0.50, 0.45]]

assign = Exercise(
    "assign",
    _greedy,
    changed(_draw_with_bonds, lambda table, *bonds: (table,)),
    edges=(
        lambda generator: (_table(generator, 1, 1),),
        Edge(
            partial(_shuffled, rows=GREED_COSTS),
            "The largest sum is not asked for: take the largest entry first, whatever it costs the other rows.",
        ),
        partial(_shuffled, rows=ORDER_TURNS),
        Edge(
            partial(_shuffled, rows=SUMS_TURN_IT),
            "Do not divide each row by what is left in it, as RXNMapper's program does. Here the entries stay.",
        ),
        Edge(
            lambda generator: (1e30 * _table(generator, 4, 5).log(),),
            "Here every entry lies far below 0. Strike out with −∞, which is below any number.",
        ),
        lambda generator: (torch.tensor([[0.9, 0.5], [0.4, 0.1]]),),
    ),
    mistakes=(
        Mistake(
            lambda table: table.argmax(dim=1),
            "Each row takes its own largest entry here, so two rows may take one column. Strike out what is taken.",
        ),
        Mistake(
            lambda table: _served(table, range(len(table))),
            "The rows are served in their order here. Take the largest entry of the whole table first.",
        ),
        Mistake(_row_is_kept, "A row that has its column has to be struck out too, or it takes another one."),
        Mistake(
            lambda table: _served(table, table.max(dim=1).values.argsort(descending=True).tolist()),
            "You set the order of the rows before the first strike. After each strike look for the largest entry anew.",
        ),
    ),
)


def _draw_one_bond(generator: torch.Generator, share: float) -> tuple:
    """A choice for the first row, and a share for its neighbour that times 90 comes near another one's, 0.9."""
    table = torch.tensor([[0.95, 0.03, 0.02], [0.1 - share, share, 0.9]])
    order = torch.randperm(3, generator=generator)
    places = order.argsort()[:2].tolist()  # where the first two columns went
    return table[:, order], [(0, 1)], [tuple(places)]


# The second row and the third want the second column: who multiplies the whole second row lets it win.
RIVALS = [[0.95, 0.02, 0.02, 0.01], [0.10, 0.50, 0.05, 0.35], [0.05, 0.60, 0.20, 0.15]]
TWICE = [[0.90, 0.02, 0.02, 0.06], [0.10, 0.001, 0.10, 0.50], [0.02, 0.02, 0.80, 0.16]]

assign_with_bonds = Exercise(
    "assign_with_bonds",
    _greedy,
    _draw_with_bonds,
    edges=(
        lambda generator: (_table(generator, 1, 1), [], []),
        lambda generator: (*_shuffled(generator, SUMS_TURN_IT), [], []),
        lambda generator: (torch.tensor(RIVALS), [(0, 1)], [(0, 2)]),
        lambda generator: (torch.tensor(TWICE), [(0, 1), (1, 2)], [(0, 1), (1, 2)]),
        *(
            Edge(
                partial(_draw_one_bond, share=share),
                "A choice multiplies the entries between its neighbours by 90, however small, and adds nothing.",
            )
            for share in (0.001, 0.0094, 0.0106)
        ),
    ),
    mistakes=(
        Mistake(
            lambda table, row_bonds, column_bonds: _greedy(table),
            "This is the map without bonds: a choice has to multiply the entries between its neighbours.",
        ),
        Mistake(
            partial(_greedy, counts=any),
            "You multiply where one of the two is a neighbour. Both have to be: the row of i, and the column of j.",
        ),
        Mistake(
            partial(_greedy, counts=lambda near: near[0]),
            "You look at the neighbours of the row alone. The column's count too.",
        ),
        Mistake(partial(_greedy, both_ways=False), "A bond (a, b) makes b a neighbour of a, and a a neighbour of b."),
    ),
)
