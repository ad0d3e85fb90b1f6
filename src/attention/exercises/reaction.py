"""The exercises of chapter 13, a real model: from a table of shares to a map of atoms."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention.exercises.exercise import Exercise, Mistake

TIMES = 90


def _table(generator: torch.Generator, rows: int, columns: int) -> Tensor:
    return torch.randn(rows, columns, generator=generator).mul(2).softmax(dim=1)


def _draw(generator: torch.Generator) -> tuple:
    return (_table(generator, 7, 11),)


def _greedy(table: Tensor, row_bonds: Tensor | None = None, column_bonds: Tensor | None = None) -> Tensor:
    left = {(i, j): table[i, j].item() for i in range(table.size(0)) for j in range(table.size(1))}
    found = {}
    while left:
        i, j = max(left, key=left.get)
        found[i] = j
        left = {(row, column): share for (row, column), share in left.items() if row != i and column != j}
        if row_bonds is not None:
            for row, column in left:
                if row_bonds[i, row] and column_bonds[j, column]:
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


NEEDS_ALL = "Each row takes its own largest entry here, so two rows may take one column. Strike out what is taken."
IN_ORDER = "The rows are served in their order here. Take the largest entry of the whole table first."

assign = Exercise(
    "assign",
    _greedy,
    _draw,
    edges=(lambda generator: (_table(generator, 1, 1),), lambda generator: (_table(generator, 5, 5),)),
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
    ),
)


def _bonds(generator: torch.Generator, count: int) -> Tensor:
    """A tree, so that everything hangs together: each atom but the first is bonded to an earlier one."""
    bonds = torch.zeros(count, count, dtype=torch.bool)
    for atom in range(1, count):
        earlier = torch.randint(atom, (), generator=generator)
        bonds[atom, earlier] = bonds[earlier, atom] = True
    return bonds


def _draw_with_bonds(generator: torch.Generator) -> tuple:
    return _table(generator, 7, 11), _bonds(generator, 7), _bonds(generator, 11)


def _single(generator: torch.Generator) -> tuple:
    return _table(generator, 1, 1), _bonds(generator, 1), _bonds(generator, 1)


def _multiplies(chosen_pair: Callable) -> Callable:
    """A greedy map in which a choice multiplies other entries than it should."""

    def answer(table: Tensor, row_bonds: Tensor, column_bonds: Tensor) -> Tensor:
        left, columns = table.detach().clone(), torch.zeros(len(table), dtype=torch.long)
        for _ in range(len(left)):
            row, column = divmod(left.argmax().item(), left.size(1))
            columns[row] = column
            left[chosen_pair(row_bonds, column_bonds, row, column)] *= TIMES
            left[row], left[:, column] = -torch.inf, -torch.inf
        return columns

    return answer


assign_with_bonds = Exercise(
    "assign_with_bonds",
    _greedy,
    _draw_with_bonds,
    edges=(_single,),
    mistakes=(
        Mistake(
            lambda table, row_bonds, column_bonds: _greedy(table),
            "This is the map without bonds: a choice has to multiply the entries between its neighbours.",
        ),
        Mistake(
            lambda table, row_bonds, column_bonds: table.argmax(dim=1),
            NEEDS_ALL,
        ),
        Mistake(
            _multiplies(lambda row_bonds, column_bonds, i, j: row_bonds[i][:, None] | column_bonds[j]),
            "You multiply where one of the two is a neighbour. Both have to be: the row of i, and the column of j.",
        ),
        Mistake(
            _multiplies(lambda row_bonds, column_bonds, i, j: row_bonds[i][:, None].expand(-1, len(column_bonds))),
            "You look at the neighbours of the row alone. The column's count too.",
        ),
    ),
)
