"""The book's Sphinx extensions on pages of their own: text beside a figure, what is searched."""

from docutils import nodes
from docutils.utils import new_document
from nbformat.v4 import new_markdown_cell, new_notebook

from tools.site.figures import FiguresBeside
from tools.site.pages import card as chapter_card
from tools.site.sections import formula, sections
from tools.site.sentences import forbid_breaks


def paragraph(text: str) -> nodes.paragraph:
    return nodes.paragraph("", text)


def cell(*tags: str) -> nodes.container:
    return nodes.container("", classes=["cell", *tags])


def grouped(*parts: nodes.Node) -> list[list[str]]:
    """What stands before, in and behind the group of a section's parts, each paragraph by its first word."""
    document = new_document("page")
    section = nodes.section("", nodes.title("", "A title"), *parts)
    document += section
    FiguresBeside(document).apply()
    (at,) = [i for i, part in enumerate(section) if "beside" in part.get("classes", ())]
    outside = [section[1:at], section[at].children, section[at + 1 :]]
    return [[part.astext().split()[0] for one in some for part in one.findall(nodes.paragraph)] for some in outside]


def test_a_figure_stands_beside_the_text_around_it():
    told = [paragraph("one"), paragraph("two"), cell("tag_beside"), paragraph("three"), paragraph("four")]
    assert grouped(*told, cell(), paragraph("five")) == [["one"], ["two", "three", "four"], ["five"]]


def test_code_of_the_figure_in_a_cell_of_its_own_does_not_part_it_from_its_text():
    told = [paragraph("one"), paragraph("two"), cell("tag_hide-input"), cell("tag_beside")]
    assert grouped(*told) == [["one"], ["two"], []]


def test_a_heading_ends_it():
    next_one = nodes.section("", nodes.title("", "Next"), paragraph("three"))
    assert grouped(paragraph("one"), cell("tag_beside"), paragraph("two"), next_one) == [[], ["one", "two"], ["three"]]


def test_a_formula_is_found_by_its_words():
    latex = r"\textcolor{#0072B2}{q}\cdot\textcolor{#B35900}{k_i} / \sqrt{D} \le \tfrac12\alpha"
    assert formula(latex) == "q·k_i / √D ≤1/2α"
    assert formula(r"\frac{1}{\sqrt{D}}\sum_i\mathbf{q}_i^\top") == "1/√D∑_iq_iᵀ"


def test_a_formula_keeps_what_touches_it():
    document = new_document("page")
    sentence = nodes.paragraph()
    for words in ("Of ", " and (", "), not ", " or "):
        sentence += [nodes.Text(words), nodes.math("", "x")]
    sentence += nodes.Text(".")
    document += [sentence, nodes.paragraph("", "", nodes.math("", "y"), nodes.strong("", "bold"))]
    forbid_breaks(None, document, "page")
    assert document.astext() == "Of x and (x), not x or x.\n\nybold"
    assert [part.astext() for part in document.findall(nodes.inline)] == ["(x),", "x."]


def test_sections_hold_their_own_text_alone():
    inner = nodes.section("", nodes.title("", "Inner"), paragraph("below"), ids=["inner"])
    fold = nodes.raw("", "<details><summary>Why?</summary>", format="html")
    shown = nodes.container("", paragraph("result"), classes=["cell_output"])
    outer = nodes.section("", nodes.title("", "Outer"), paragraph("above"), fold, shown, inner, ids=["outer"])
    assert sections(outer, {}) == [("", "Outer", "above Why?"), ("inner", "Inner", "below")]


def test_the_card_at_a_chapter_s_end_shows_the_next_one():
    head = "# 4. A *title*\n\nText, **a word**. **Why does $Q$\nask $K^\\top$?** And **why?**"
    card = chapter_card(new_notebook(cells=[new_markdown_cell(head)]))
    assert (card["title"], card["question"]) == ("4. A title", "Why does Q ask Kᵀ?")
