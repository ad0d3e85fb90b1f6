"""The book's figures: each has a title and a number, and one page lists them."""

import re

import nbformat
import pytest

from attention.explorer import bars, choice, explore
from tools.notebooks.execute import NOTEBOOKS, page_name
from tools.site.figures import Figure, figures, listed, numbered


def html(**options):
    return explore(lambda x=1: bars([x]), **options)._repr_mimebundle_()["text/html"]


def notebook(*outputs):
    cells = [nbformat.v4.new_markdown_cell("# A chapter")]
    for output in outputs:
        shown = nbformat.v4.new_output("display_data", {"text/html": output})
        cells.append(nbformat.v4.new_code_cell("explore(…)", outputs=[shown]))
    return nbformat.v4.new_notebook(cells=cells)


ASKED = choice("Which?", ["a", "b"], lambda panel: int(panel.numbers["values"][0] > 1), at={"x": 2}, because="So.")
PAIR = html(title="One & more"), html(title="Two", name="two", predict=ASKED, x=[1, 2])


def test_figures_are_numbered_by_chapter_and_place_and_elsewhere_have_anchors_alone():
    found = figures(notebook(*PAIR), "book/04-softmax")
    assert found == [Figure("4.1", "figure-4-1", "One & more", ""), Figure("4.2", "two", "Two", "Which?")]
    found = figures(notebook(*PAIR), "book/index")
    assert [(figure.number, figure.anchor) for figure in found] == [("", "figure-1"), ("", "two")]


def test_a_page_has_the_numbers_without_scripts_too():
    page = numbered(html() + PAIR[1], "book/11-transformer")  # one without a title disturbs no other
    assert re.findall(r' id="([^"]+)" data-number="([\d.]+)"', page) == [("figure-11-1", "11.1"), ("two", "11.2")]
    assert page.count("Figure 11.") == 1
    assert '<p class="head"><a href="#two">Figure 11.2</a> · Two</p>' in page


def test_a_name_that_the_page_has_already_is_refused():
    with pytest.raises(ValueError, match="book/index: the figure 'two' has the name of a heading"):
        numbered('<section id="two">' + PAIR[1], "book/index")


def test_a_title_is_a_text():
    with pytest.raises(TypeError, match="title must be a text, found 4"):
        html(title=4)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=page_name)
def test_every_figure_of_the_book_has_a_title_and_an_anchor_of_its_own(path):
    found = figures(nbformat.read(path, as_version=4), page_name(path))
    titles, anchors = [figure.title for figure in found], [figure.anchor for figure in found]
    assert all(0 < len(title) <= 45 for title in titles), titles
    assert len(set(titles)) == len(titles), titles
    assert len(set(anchors)) == len(anchors), anchors


def test_the_list_has_every_figure_with_its_number_title_and_question():
    text = listed()
    every = [(figures(nbformat.read(path, as_version=4), page_name(path)), path) for path in NOTEBOOKS]
    assert sum(len(found) for found, _ in every) == text.count("\n- ") > 60
    last, path = every[0][0][-1], every[0][1]
    assert f'<a href="{page_name(path)}.html#{last.anchor}">Figure {last.number}</a> · ' in text
    assert text.count("<small>") == sum(bool(figure.question) for found, _ in every for figure in found) > 20
