"""The picture of the whole formula: which chapter sees what of it."""

from pathlib import Path

import pytest

from attention.course.formula import LIT, formula


@pytest.mark.parametrize("chapter", LIT)
def test_each_chapter_s_part_is_lit_and_nothing_else(chapter):
    words = formula(chapter).words
    lit = {box["name"] for box in words["boxes"] if box["lit"]}
    lit |= {(arrow["from"], arrow["to"]) for arrow in words["arrows"] if arrow["lit"]}
    assert lit == set(LIT[chapter])


def test_between_all_chapters_the_whole_formula_is_lit():
    lit = {part for parts in LIT.values() for part in parts if isinstance(part, str)}
    assert lit == {box["name"] for box in formula(11).words["boxes"]}


def test_each_box_opens_a_chapter():
    for box in formula(11).words["boxes"]:
        assert Path("book", box["link"]).with_suffix(".ipynb").exists(), box
        assert box["says"]
