"""The instructors' page: each chapter has a plan that shows figures, and three questions."""

import re
from pathlib import Path

import pytest

from tools.notebooks.execute import CHAPTERS

BOOK = Path(__file__).parents[2] / "book"
PAGE = (BOOK / "teaching.md").read_text(encoding="utf-8")
SECTIONS = {part.splitlines()[0]: part for part in re.split(r"(?m)^## ", PAGE)[1:]}


def section(name: str) -> str:
    (found,) = (part for title, part in SECTIONS.items() if f"]({name})" in title)
    return found


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_plan_leads_to_figures_of_its_chapter(path):
    plan = section(path.name)
    assert re.search(rf"\]\({path.name}#[\w-]+\?", plan)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_plan_has_three_questions_the_usual_wrong_answer_and_what_to_leave_out(path):
    plan = section(path.name)
    questions = re.findall(r"(?m)^\d\. \*\*(.+?)\*\* (?:Expect|Most say): \*(.+?)\* (.+)$", plan)
    assert len(questions) == 3
    assert all("?" in asked for asked, _, _ in questions)
    assert "Leave out: " in plan


def test_a_chapter_has_its_present_title():
    for path in CHAPTERS:
        title = re.search(r"# (\d+\. [^\\\"]+)", path.read_text(encoding="utf-8"))[1]
        assert section(path.name).startswith(f"[{title}]")
