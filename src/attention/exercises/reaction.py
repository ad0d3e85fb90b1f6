"""The exercises of chapter 15, a real model: from a table of shares to a map of atoms."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from attention.exercises.exercise import Edge, Exercise, Mistake

TIMES = 90
Bonds = Sequence[tuple[int, int]]


def _table(generator: torch.Generator, rows: int, columns: int) -> Tensor:
    return torch.randn(rows, columns, generator=generator).softmax(dim=1)


def _sizes(generator: torch.Generator) -> list[int]:
    """So many rows and columns that two rows often want the same one."""
    return [sizes[torch.randint(2, (), generator=generator)] for sizes in ((11, 13), (17, 19))]


def _draw(generator: torch.Generator) -> tuple:
    return (_table(generator, *_sizes(generator)),)


def _greedy(table: Tensor, row_bonds: Bonds = (), column_bonds: Bonds = ()) -> Tensor:
    left = {(i, j): table[i, j].item() for i in range(table.size(0)) for j in range(table.size(1))}
    found = {}
    while left:
        i, j = max(left, key=left.get)
        found[i] = j
        left = {(row, column): share for (row, column), share in left.items() if row != i and column != j}
        for row, column in left:
            if {(i, row), (row, i)} & {*row_bonds} and {(j, column), (column, j)} & {*column_bonds}:
                left[row, column] *= TIMES
    return torch.tensor([found[i] for i in range(table.size(0))])


def _row_by_row(table: Tensor) -> Tensor:
    left, columns = table.detach().clone(), []
    for row in range(len(left)):
        columns.append(left[row].argmax())
        left[:, columns[-1]] = -1
    return torch.stack(columns)


def _row_is_kept(table: Tensor) -> Tensor:
    left, columns = table.detach().clone(), torch.zeros(len(table), dtype=torch.long)
    for _ in range(len(left)):
        row, column = divmod(left.argmax().item(), left.size(1))
        columns[row] = column
        left[:, column] = -1
    return columns


def _rows_in_the_order_of_their_largest(table: Tensor) -> Tensor:
    left, columns = table.detach().clone(), torch.zeros(len(table), dtype=torch.long)
    for row in table.max(dim=1).values.argsort(descending=True).tolist():
        columns[row] = left[row].argmax()
        left[:, columns[row]] = -1
    return columns


def _shuffled(generator: torch.Generator, rows: list[list[float]]) -> tuple:
    table = torch.tensor(rows)
    row, column = (torch.randperm(size, generator=generator) for size in table.shape)
    return (table[row][:, column],)


# The largest sum of shares gives the first column to the second row.
GREED_COSTS = [[0.60, 0.39, 0.01], [0.58, 0.30, 0.12]]
# Once the first column is taken, the third row has more to give than the second, whose largest entry was larger …
ORDER_TURNS = [[0.70, 0.20, 0.06, 0.04], [0.65, 0.05, 0.16, 0.14], [0.10, 0.30, 0.50, 0.10]]
# … but here it has less, if what is left of each row is divided by its sum.
SUMS_TURN_IT = [[0.70, 0.20, 0.10], [0.60, 0.30, 0.10], [0.05, 0.50, 0.45]]


NEEDS_ALL = "Each row takes its own largest entry here, so two rows may take one column. Strike out what is taken."
IN_ORDER = "The rows are served in their order here. Take the largest entry of the whole table first."

assign = Exercise(
    "assign",
    _greedy,
    _draw,
    edges=(
        lambda generator: (_table(generator, 1, 1),),
        lambda generator: (_table(generator, 5, 5),),
        Edge(
            partial(_shuffled, rows=GREED_COSTS),
            "The largest sum is not asked for: take the largest entry first, whatever it costs the other rows.",
        ),
        partial(_shuffled, rows=ORDER_TURNS),
        Edge(
            partial(_shuffled, rows=SUMS_TURN_IT),
            "Do not divide each row by what is left in it, as RXNMapper's program does. Here the entries stay.",
        ),
    ),
    mistakes=(
        Mistake(lambda table: table.argmax(dim=1), NEEDS_ALL),
        Mistake(_row_by_row, IN_ORDER),
        Mistake(
            lambda table: table.argmax(dim=0),
            "This gives each column a row. Asked for is each row's column.",
        ),
        Mistake(
            _row_is_kept,
            "A row that has its column has to be struck out too, or it takes another one.",
        ),
        Mistake(
            _rows_in_the_order_of_their_largest,
            "You set the order of the rows before the first strike. After each strike look for the largest entry anew.",
        ),
    ),
)


def _bonds(generator: torch.Generator, count: int) -> list[tuple[int, int]]:
    """A tree, so that everything hangs together: each atom but the first is bonded to an earlier one."""
    return [(torch.randint(atom, (), generator=generator).item(), atom) for atom in range(1, count)]


def _draw_with_bonds(generator: torch.Generator) -> tuple:
    rows, columns = _sizes(generator)
    return _table(generator, rows, columns), _bonds(generator, rows), _bonds(generator, columns)


def _draw_one_bond(generator: torch.Generator, share: float) -> tuple:
    """A choice for the first atom, and a share for its neighbour that comes near another one's, 0.9, when it is
    multiplied."""
    table = torch.tensor([[0.95, 0.03, 0.02], [0.1 - share, share, 0.9]])
    rows, columns = torch.randperm(2, generator=generator), torch.randperm(3, generator=generator)
    places = columns.argsort()[:2].sort().values  # where the first two columns went
    return table[rows][:, columns], [(0, 1)], [tuple(places.tolist())]


def _draw_rivals(generator: torch.Generator) -> tuple:
    """The second row and the third want the second column: who multiplies the whole second row lets it win."""
    table = [[0.95, 0.02, 0.02, 0.01], [0.10, 0.50, 0.05, 0.35], [0.05, 0.60, 0.20, 0.15]]
    return torch.tensor(table), [(0, 1)], [(0, 2)]


def _near(atom: int, bonds: Bonds) -> list[int]:
    return [b if a == atom else a for a, b in bonds if atom in (a, b)]


def _multiplies(pairs: Callable) -> Callable:
    """A greedy map in which a choice changes other entries than it should."""

    def answer(table: Tensor, row_bonds: Bonds, column_bonds: Bonds) -> Tensor:
        left, columns = table.detach().clone(), torch.zeros(len(table), dtype=torch.long)
        for _ in range(len(left)):
            row, column = divmod(left.argmax().item(), left.size(1))
            columns[row] = column
            near = torch.zeros_like(left, dtype=torch.bool)
            for i, j in pairs(left.shape, row, column, row_bonds, column_bonds):
                near[i, j] = True
            left[near] *= TIMES
            left[row], left[:, column] = -torch.inf, -torch.inf
        return columns

    return answer


def _either(shape: tuple, row: int, column: int, row_bonds: Bonds, column_bonds: Bonds) -> list[tuple[int, int]]:
    rows, columns = _near(row, row_bonds), _near(column, column_bonds)
    return [(i, j) for i in range(shape[0]) for j in range(shape[1]) if i in rows or j in columns]


def _rows_alone(shape: tuple, row: int, column: int, row_bonds: Bonds, column_bonds: Bonds) -> list[tuple[int, int]]:
    return [(i, j) for i in _near(row, row_bonds) for j in range(shape[1])]


def _one_way(shape: tuple, row: int, column: int, row_bonds: Bonds, column_bonds: Bonds) -> list[tuple[int, int]]:
    return [(i, j) for a, i in row_bonds if a == row for b, j in column_bonds if b == column]


BY_90 = (
    "A choice multiplies the entries between its neighbours by 90: a very small one stays behind, and nothing is added."
)

assign_with_bonds = Exercise(
    "assign_with_bonds",
    _greedy,
    _draw_with_bonds,
    edges=(
        lambda generator: (_table(generator, 1, 1), [], []),
        lambda generator: (*_shuffled(generator, SUMS_TURN_IT), [], []),
        _draw_rivals,
        *(Edge(partial(_draw_one_bond, share=share), BY_90) for share in (0.001, 0.0094, 0.0106)),
    ),
    mistakes=(
        Mistake(
            lambda table, row_bonds, column_bonds: _greedy(table),
            "This is the map without bonds: a choice has to multiply the entries between its neighbours.",
        ),
        Mistake(
            _multiplies(_either),
            "You multiply where one of the two is a neighbour. Both have to be: the row of i, and the column of j.",
        ),
        Mistake(
            _multiplies(_rows_alone),
            "You look at the neighbours of the row alone. The column's count too.",
        ),
        Mistake(
            _multiplies(_one_way),
            "A bond (a, b) makes b a neighbour of a, and a a neighbour of b.",
        ),
    ),
)
