"""Where the atoms of the reactions that chapter 15 draws are placed.

RDKit 2026.9.1 computed the places: each molecule by itself with ``rdDepictor.Compute2DCoords``, in the order in which
its atoms are written, and its bonds with ``Chem.Kekulize``, so that rings have single and double ones in turn.
"""

import json
from pathlib import Path
from typing import NamedTuple

from attention.course.reaction import atoms, element, tokenize

KNOWN = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
CHARGES = {"+": "⁺", "-": "⁻"}


class Drawing(NamedTuple):
    """A reaction as a picture: its atoms are counted from 0, in the order in which they are written."""

    symbols: list[str]  # elements, with their charges
    places: list[list[float]]  # (x, y) for each atom, in each molecule by itself
    bonds: list[list[int]]  # (atom, atom, 1, 2 or 3 lines)
    before: list[int]  # the reactants' atoms
    after: list[int]  # the products'


def drawing(line: str) -> Drawing:
    """The picture of one of the reactions in ``KNOWN``.

    >>> drawing("CC(=O)Cl.CCN>>CCNC(=O)C").symbols
    ['C', 'C', 'O', 'Cl', 'C', 'C', 'N', 'C', 'C', 'N', 'C', 'O', 'C']
    """
    tokens = tokenize(line)
    before, after = atoms(tokens)
    symbols, numbers = [symbol(tokens[position]) for position in before + after], [*range(len(before + after))]
    return Drawing(symbols, **KNOWN[line], before=numbers[: len(before)], after=numbers[len(before) :])


def symbol(token: str) -> str:
    """An atom's element and its charge.

    >>> [symbol(token) for token in ("c", "Cl", "[nH]", "[O-]", "[BH4-]", "[Na+]")]
    ['C', 'Cl', 'N', 'O⁻', 'B⁻', 'Na⁺']
    """
    return element(token) + CHARGES.get(token[-2:-1], "")
