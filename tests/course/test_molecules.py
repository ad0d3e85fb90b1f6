"""Where atoms are drawn: the file against the reactions' own tokens, and against the program that computed it."""

import json

import pytest

from attention.course.molecules import drawing, known, symbol
from attention.course.reaction import ESTER, REACTIONS, element, tokenize

LINES = REACTIONS | ESTER


def test_the_file_has_the_chapter_s_reactions_and_no_others():
    assert [*known()] == [*LINES.values()]


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_each_atom_that_is_written_has_its_place_in_order(line):
    picture, tokens = drawing(line), tokenize(line)
    written = [token for token in tokens if element(token)]
    assert picture.symbols == [symbol(token) for token in written]
    assert len(picture.places) == len(picture.symbols)
    assert [*picture.before, *picture.after] == [*range(len(written))]
    assert len(picture.before) == sum(element(token) is not None for token in tokens[: tokens.index(">>")])


def test_an_unknown_reaction_is_told():
    with pytest.raises(ValueError, match="the places of 'C>>C' are not known; they are of CC"):
        drawing("C>>C")


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_places_are_rdkit_s(line):
    pytest.importorskip("rdkit", reason="RDKit is not installed: the weekly job has it")
    from tools.once.molecules import drawn

    assert json.loads(json.dumps(drawn(line))) == known()[line]
