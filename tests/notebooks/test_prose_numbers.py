"""The numbers in prose: what counts as a claim, what backs one, and that every claim of the book is backed."""

from decimal import Decimal

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, writes

from attention.explorer import bars, choice, explore
from tools.notebooks.execute import BOOK, NOTEBOOKS
from tools.notebooks.prose_numbers import claims, faults, read

PAGES = read([*NOTEBOOKS, *sorted(BOOK.glob("*.md"))])
CLAIMS = {
    "It is 0.61, 39 %, −0.5, 3·10⁻⁸, $0.62$ or `297`.": ["0.61", "0.39", "-0.5", "3e-8", "0.62", "297"],
    "Seven percent of 102,400, a 6000th, and 4 times as many": ["0.07", "102400", "6000", "4"],
    "**5** and `2` and 3 of 7; 10 to 20 percent": ["5", "2", "0.1", "0.2"],
    "<details><summary>Why 0.61</summary> | 64 | 0.25 |</details>": ["0.61", "64", "0.25"],
    "chapters 10 and 11, 28 May 2024, float16, GPT-30, `x = 12`, *1969*, [a](b.ipynb#c?d=25), $D = 64$": [],
    "## 12. Masks": [],
    "10. First, as [Vaswani et al. (2017)](bibliography.md) say": [],
}


@pytest.mark.parametrize("text", CLAIMS)
def test_what_is_claimed(text):
    assert sorted(value for _, value, _ in claims(text)) == sorted(map(Decimal, CLAIMS[text]))


def shows(text, code=""):
    return new_code_cell(code, outputs=[new_output("stream", text=text)])


FIGURE = new_output("display_data", explore(lambda x: bars([x / 3, 0.4567]), x=[0.25, 0.75])._repr_mimebundle_())
ASKED = choice("Which?", ["1", "2"], lambda panel: int(panel.numbers["values"][0]) - 1, at={"x": 2}, because="0.61.")
QUESTION = new_output("display_data", explore(lambda x: bars([x]), predict=ASKED, x=[1, 2])._repr_mimebundle_())
BACKED = [
    ("It is 0.61, or 39 %, of 77 GB.", shows("loss 0.6149 of 77.31, 0.391")),
    ("All 6000 points have 0.61.", shows("", "n = 6_000\nassert abs(loss - 0.61) < 0.005")),
    ("It is 0.77.", shows("", "assert f'{loss:.2f}' == '0.77'")),
    ("Move it to 0.75.", new_code_cell("", outputs=[FIGURE])),
    ("It was 0.88 [there](#other).", shows("")),
    ("GPT has 96 heads ([Brown et al. (2020)](bibliography.md)).", shows("")),
    ("The score is $3 \\cdot 1 + 2 \\cdot 1 = 5$, 5 ÷ √2 = 3.54 and $\\tfrac{768}{12} = 64$.", shows("")),
    ("It is $(3, 0) + (0, 2) = (3, 2)$.", shows("", "W[0], W[1] = [3.0, 0.0], [0, 2]")),
    ("It is **5**.", shows("[1. 0. 5.]")),
]
WRONG = [
    ("It is 0.61.", shows("loss 0.6163")),
    ("It takes 12 of them.", shows("312 0.12 1.12 x12 float12 12.6")),
    ("It is 0.6.", shows("0.6123")),
    ("It is 0.61.", shows("", "because = '0.61'  # 0.61")),
    ("It is −0.61.", shows("0.61")),
    ("It is 39 %.", shows("39 of them")),
    ("It is 0.4567.", new_code_cell("", outputs=[FIGURE])),
    ("It was 0.88.", shows("")),
    ("GPT has 96 heads. As [Brown et al. (2020)](bibliography.md) say.", shows("")),
    ("The score is $3 \\cdot 1 + 2 \\cdot 1 = 6$.", shows("")),
    ("It is $(4, 0) + (0, 2) = (3, 2)$.", shows("", "W[0], W[1] = [4.0, 0.0], [0, 2]")),
    ("It is $(3, 0)$.", shows("", "W[0] = [4.0, 0.0]")),
    ("The score is $4 \\cdot 1 + 1 =$ **5**.", shows("6", "x[5] = 6")),
    ("It is **4**.", shows("3.54")),
    ("A figure asks.", new_code_cell("", outputs=[QUESTION])),
]


@pytest.mark.parametrize(("sentence", "cell", "right"), [(*c, True) for c in BACKED] + [(*c, False) for c in WRONG])
def test_what_backs_a_claim(sentence, cell, right, tmp_path):
    """A page whose first section shows 0.88, and whose second has the sentence and the cell."""
    cells = [new_markdown_cell("# Page\n\n## Other"), shows("0.88"), new_markdown_cell(f"## This\n\n{sentence}"), cell]
    (tmp_path / "page.ipynb").write_text(writes(new_notebook(cells=cells)), encoding="utf-8")
    assert (not list(faults(read([tmp_path / "page.ipynb"])))) == right


@pytest.fixture(scope="module")
def found():
    return list(faults(PAGES))


@pytest.mark.parametrize("name", PAGES)
def test_every_number_in_the_prose_is_backed(found, name):
    here = [fault for fault in found if fault.startswith(f"{name}:")]
    assert not here, "\n".join(["", *here])


EDITS = [  # as somebody might make them who changes one place and forgets another
    ("06-self-attention.ipynb", "tensor([3.0, 0.0])  # a pronoun", "tensor([4.0, 0.0])  # a pronoun"),
    ("06-self-attention.ipynb", "set the `3`", "set the `4`"),
    ("07-multi-head.ipynb", "approx5.2", "approx5.3"),
    ("teaching.md", "the weights 0.72", "the weights 0.75"),
    ("teaching.md", "slope is 0.25", "slope is 0.72"),  # which the question above it links to
]


@pytest.mark.parametrize(("name", "before", "after"), EDITS)
def test_a_wrong_number_in_the_book_is_told(name, before, after, tmp_path):
    text = (BOOK / name).read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{name} no longer has {before!r}: change EDITS"
    (tmp_path / name).write_text(text.replace(before, after), encoding="utf-8")
    assert list(faults(PAGES | read([tmp_path / name])))


def test_the_pages_with_one_sentence_have_one_set_of_numbers():
    """Chapter 6 makes queries and keys with matrices, and the page of twenty minutes writes them down."""

    def rows(page, place):
        (section,) = (each for each in PAGES[page] if place in each.anchors)
        pairs = {row for row in section.rows if len(row) == 2}
        return pairs, {row for row in section.rows if any(number % 1 for number in row)}

    typed, results = rows("twenty-minutes", "the-same-in-pytorch")
    others = "other queries and keys stand in the page of twenty minutes by hand, on its map or in PyTorch"
    assert rows("twenty-minutes", "one-map")[0] == typed, others
    assert len(rows("twenty-minutes", "one-row-by-hand")[0] ^ typed) == 1, others  # she, whose row the reader computes
    weights = {row for row in rows("06-self-attention", "with-three-matrices")[1] if 0.9 < sum(row) < 1.1}
    assert weights == results, "chapter 6 and the page of twenty minutes print other weights"
