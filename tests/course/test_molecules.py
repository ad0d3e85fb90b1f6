"""Where atoms are drawn: the file against the reactions' own tokens."""

import pytest

from attention.course.molecules import KNOWN, drawing, symbol
from attention.course.reaction import element, tokenize


@pytest.mark.parametrize("line", KNOWN)
def test_each_atom_that_is_written_has_its_place_in_order(line):
    picture, tokens = drawing(line), tokenize(line)
    written = [token for token in tokens if element(token)]
    assert picture.symbols == [symbol(token) for token in written]
    assert len(picture.places) == len(picture.symbols)
    assert [*picture.before, *picture.after] == [*range(len(written))]
    assert len(picture.before) == sum(element(token) is not None for token in tokens[: tokens.index(">>")])
