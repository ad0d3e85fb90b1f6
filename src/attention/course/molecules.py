"""Where the atoms of a few reactions are drawn. The places were computed by RDKit: ``tools/once/molecules.py``."""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attention.course.reaction import atoms, element, tokenize

FILE = Path(__file__).with_suffix(".json")
CHARGES = {"+": "⁺", "-": "⁻"}


class Drawing(NamedTuple):
    """A reaction as a picture: its atoms are counted from 0, in the order in which they are written."""

    symbols: list[str]  # elements, with their charges
    places: list[list[float]]  # (x, y) for each atom, in each molecule by itself
    bonds: list[list[int]]  # (atom, atom, 1, 2 or 3 lines)
    before: list[int]  # the reactants' atoms
    after: list[int]  # the products'


def drawing(line: str) -> Drawing:
    """The picture of one of chapter 15's reactions.

    Raises:
        ValueError: its places are not known.

    >>> drawing("CCCCBr.[OH-]>>CCCCO").symbols
    ['C', 'C', 'C', 'C', 'Br', 'O⁻', 'C', 'C', 'C', 'C', 'O']
    """
    if line not in known():
        raise ValueError(f"the places of {line!r} are not known; they are of {', '.join(known())}")
    tokens = tokenize(line)
    before, after = atoms(tokens)
    symbols, numbers = [symbol(tokens[position]) for position in before + after], [*range(len(before + after))]
    return Drawing(symbols, **known()[line], before=numbers[: len(before)], after=numbers[len(before) :])


def symbol(token: str) -> str:
    """An atom's element and its charge.

    >>> [symbol(token) for token in ("c", "Cl", "[nH]", "[O-]", "[BH4-]", "[Na+]")]
    ['C', 'Cl', 'N', 'O⁻', 'B⁻', 'Na⁺']
    """
    return element(token) + CHARGES.get(token[-2:-1], "")


@cache
def known() -> dict[str, dict[str, list]]:
    """The reactions whose places are known, and these."""
    return json.loads(FILE.read_text(encoding="utf-8"))
