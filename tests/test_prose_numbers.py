"""The numbers in prose: what counts as a claim, what backs one, and that every claim of the book is backed."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tools.notebooks import NOTEBOOKS
from tools.prose_numbers import CITATION, Entry, claims, faults, read, read_list, unbacked

from attention.explorer import bars, explore

ROOT = Path(__file__).parent.parent
BOOK = [*NOTEBOOKS, *sorted((ROOT / "book").glob("*.md"))]
PAGES = read(BOOK)
ENTRIES = read_list(ROOT / "tests" / "prose_numbers.toml")


# What a claim is.

CLAIMED = {
    "a decimal": ("It is 0.61 there.", ["0.61"]),
    "a percentage": ("39 % of it, 39% and 7 percent", ["0.39", "0.39", "0.07"]),
    "a percentage in words": ("Seven percent of them", ["0.07"]),
    "hundredths": ("from 7 to 17 hundredths", ["0.07", "0.17"]),
    "a count": ("12 heads, 6000 points, 102,400 in all", ["12", "6000", "102400"]),
    "an ordinal": ("a 6000th of it", ["6000"]),
    "so many times": ("4 times as long, sixteen times as large", ["4", "16"]),
    "no number of times": ("many times, at 3, two at a time, 0 times infinity", []),
    "a power of ten": ("below 10⁻⁸, or 3·10⁻⁸, or 1e-8", ["1e-8", "3e-8", "1e-8"]),
    "a sign": ("−135° and −0.5, 12–15", ["-135", "-0.5", "12", "15"]),
    "a formula that is one number": ("About $3.4\\cdot 10^{38}$ and $0.61$", ["3.4e38", "0.61"]),
    "code that is one number": ("It answers `297`.", ["297"]),
    "a table": ("| 64 | 0.25 |\n|---|---|\n| wide | 0.30 |", ["0.25", "0.30"]),
    "a fold": ("<details><summary>Why 0.61</summary>\n\nBy 0.62.\n\n</details>", ["0.61", "0.62"]),
    "a small count": ("3 words, 2 heads", []),
    "other formulas": ("With $D = 64$ and\n\n$$\nx = 0.25\n$$", []),
    "code": ("`x = 0.25`\n\n```python\nx = 12\n```", []),
    "names": ("float16, GPT-30, `nn.Linear`, W12", []),
    "numbers of headings and lists": ("## 12. Masks\n\n10. First", []),
    "numbers of places": ("chapter 10, section 3.2.1, chapters 10, 11 and 12, figure 14, appendix A.1.2", []),
    "links": ("[the map](10-sequence-to-sequence.ipynb#x-25), <https://example.org/2017>", []),
    "years of a citation": ("as [Vaswani et al. (2017)](bibliography.md) say", []),
    "days": ("on 28 May 2024, as read in November 2026, from 9 June to 22 August", []),
    "colours": ('<span style="width: 30px">blue</span>', []),
}


@pytest.mark.parametrize(("text", "expected"), CLAIMED.values(), ids=CLAIMED)
def test_what_is_claimed(text, expected):
    assert sorted(claim.value for claim in claims(text)) == sorted(Decimal(number) for number in expected)


def test_a_date_is_claimed_as_it_stands():
    assert [claim.quoted for claim in claims("24.6.1985 becomes 1985-16-24")] == ["24.6.1985", "1985-16-24"]


# What backs a claim: in a book of two chapters, whose prose is one sentence each.


def book(tmp_path, sentence, *cells):
    """Two chapters; the sentence stands in the first one's second section, with the cells; return what is unbacked."""
    other = [new_markdown_cell("# 2. Other"), new_code_cell("", outputs=[new_output("stream", text="0.77\n")])]
    first = [
        new_markdown_cell("# 1. Chapter"),
        new_code_cell("", outputs=[new_output("stream", text="0.88 0.123\n")]),
        new_markdown_cell(f"## Section\n\n{sentence}"),
        *cells,
    ]
    for name, notebook in (("01-first", first), ("02-other", other)):
        nbformat.write(new_notebook(cells=notebook), tmp_path / f"{name}.ipynb")
    return [claim.quoted for claim in unbacked("01-first", read(sorted(tmp_path.glob("*.ipynb"))))]


def shows(text):
    return new_code_cell("", outputs=[new_output("stream", text=text)])


def explorer():
    figure = explore(lambda x: bars([x / 3, 0.4567]), x=[0.25, 0.75])
    return new_code_cell("", outputs=[new_output("display_data", figure._repr_mimebundle_())])


EMPTY = new_code_cell("x")  # a section with code, which shows nothing
BACKED = {
    "printed": ("It is 0.61.", shows("loss 0.61")),
    "printed, rounded": ("It is 0.61.", shows("loss 0.6149")),
    "printed in a table": (
        "It is 0.61.",
        new_code_cell("", outputs=[new_output("display_data", {"text/html": "<td>0.61</td>"})]),
    ),
    "a whole number, rounded": ("It holds 77 GB.", shows("77.31 GB")),
    "a percentage of a share": ("It is 39 %.", shows("0.391")),
    "a percentage of a percentage": ("It is 39 %.", shows("39%")),
    "a count with a comma": ("All 6000 points.", shows("6,000")),
    "a count in code": ("All 6000 points.", new_code_cell("n = 6_000")),
    "a number asserted": ("It is 0.61.", new_code_cell("assert abs(loss - 0.61) < 0.005")),
    "a small number": ("It is 10⁻⁸.", new_code_cell("eps = 1e-8")),
    "a sign": ("It is −0.61.", shows("-0.61")),
    "a fall": ("It falls by 0.61.", shows("-0.61")),
    "a formula": ("With $D = 64$ there are 64.", EMPTY),
    "an explorer's control": ("Move it to 0.75.", explorer()),
    "a date": ("It writes 1985-16-24.", shows("'1985-16-24'")),
    "another chapter, named": ("Chapter 2 found 0.77.", EMPTY),
    "another chapter, linked": ("[There](02-other.ipynb) it is 0.77.", EMPTY),
    "three digits, elsewhere on the page": ("It was 0.123.", EMPTY),
    "a section without code": ("It was 0.88.",),
    "a citation": ("GPT has 96 heads ([Brown et al. (2020)](bibliography.md)).", EMPTY),
    "a role that cites": ("GPT has 96 heads {cite:p}`brown2020`.", EMPTY),
}
WRONG = {
    "another number": ("It is 0.62.", shows("loss 0.6149")),
    "more digits than are shown": ("It is 0.614.", shows("loss 0.61")),
    "cut off, not rounded": ("It is 0.61.", shows("loss 0.6163")),
    "a part of a number": ("It takes 12 of them.", shows("312 0.12 1.12 x12 float12")),
    "a whole number, cut off": ("It takes 12 of them.", shows("12.6")),
    "one decimal by rounding": ("It is 0.6.", shows("0.6123")),
    "a constant by rounding": ("It is 0.61.", new_code_cell("x = 0.6123")),
    "a share without its percent": ("It is 39 %.", shows("39 of them")),
    "another sign": ("It is −0.61.", shows("0.61")),
    "a comment": ("It is 0.61.", new_code_cell("x = 1  # 0.61")),
    "the number itself, as a formula": ("It is $0.61$.", EMPTY),
    "what an explorer draws": ("It is 0.4567.", explorer()),
    "a date": ("It writes 1985-16-24.", shows("1985-06-24")),
    "another chapter": ("There it was 0.77.", EMPTY),
    "another section": ("It was 0.88.", EMPTY),
    "a citation elsewhere": ("As [Brown et al. (2020)](bibliography.md) say. GPT has 96 heads.", EMPTY),
}


@pytest.mark.parametrize("case", BACKED.values(), ids=BACKED)
def test_what_backs_a_claim(case, tmp_path):
    assert book(tmp_path, *case) == []


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_does_not(case, tmp_path):
    assert len(book(tmp_path, *case)) == 1


# The book itself.


@pytest.mark.parametrize("page", PAGES)
def test_every_number_in_the_prose_is_backed(page):
    assert faults(page, PAGES, ENTRIES) == []


def with_claim(page, section, claim, value):
    """The pages with another value in a claim, which is then the only one of its section."""
    sections = list(PAGES[page])
    sections[section] = replace(sections[section], claims=(replace(claim, value=value),))
    return PAGES | {page: sections}


def backed_decimals():
    """Where the book's decimals of two places or more are that a number shown backs, and no citation."""
    for page, sections in PAGES.items():
        for number, section in enumerate(sections):
            for claim in section.claims:
                decimal = claim.value is not None and claim.value.as_tuple().exponent < -1
                if decimal and not CITATION.search(claim.sentence) and claim not in unbacked(page, PAGES):
                    yield page, number, claim


def test_a_wrong_last_digit_is_nearly_always_told():
    told = []
    for page, section, claim in backed_decimals():
        sign, (*first, last), exponent = claim.value.as_tuple()
        value = Decimal((sign, (*first, (last + 3) % 10), exponent))
        told.append(any(left.value == value for left in unbacked(page, with_claim(page, section, claim, value))))
    assert len(told) > 20
    assert sum(told) / len(told) > 0.85


def test_a_wrong_number_is_told_with_its_sentence_and_what_to_do():
    page, section, claim = next(backed_decimals())
    value = claim.value + Decimal("0.12345")
    told = [
        fault
        for fault in faults(page, with_claim(page, section, claim, value), ENTRIES)
        if repr(claim.sentence) in fault
    ]
    assert told == [
        f"{page}: nothing backs {claim.quoted!r} in {claim.sentence!r}. Print or assert it in a cell of its section, "
        "name the chapter that shows it, cite a source, or list it in tests/prose_numbers.toml."
    ]


def test_an_entry_that_no_sentence_needs_is_told():
    entry = Entry("01-dictionary", "0.98765", "words that stand nowhere", "nothing")
    told = "01-dictionary: the list's entry '0.98765', 'words that stand nowhere', is not needed: remove it."
    assert faults("01-dictionary", PAGES, [*ENTRIES, entry])[-1] == told


def test_entries_are_for_pages_that_exist_and_name_their_source():
    assert {entry.page for entry in ENTRIES} <= set(PAGES)
    assert all(len(entry.source.split()) >= 3 for entry in ENTRIES)
