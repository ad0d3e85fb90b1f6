"""The printed book, opened: its pages, bookmarks, links and fonts, and that nothing of the text is lost."""

import itertools
import json
import re
import unicodedata
from copy import copy
from functools import lru_cache

import pytest
import torch
from bs4 import BeautifulSoup
from pypdf import PdfReader
from tools import edition, pdf
from tools.edition import site

from attention.explorer import bars, explore, heatmap, marker
from conftest import BOOK, PAGES

FEW = [("The course", "book/03-scaling"), ("Appendices", "book/notation"), ("Appendices", "book/errata")]
CHINESE = re.compile("[\u4e00-\u9fff]")


def printed(*arguments):
    try:
        return pdf.write(*arguments)
    except pdf.NoFontError as no_font:
        pytest.skip(str(no_font))


@pytest.fixture(scope="module")
def whole(browser, tmp_path_factory):
    return PdfReader(printed(browser, tmp_path_factory.mktemp("whole") / "book.pdf"))


@pytest.fixture(scope="module")
def few(browser, tmp_path_factory):
    return printed(browser, tmp_path_factory.mktemp("few") / "few.pdf", "letter", FEW)


def flat(text):
    """A text without its spaces, which a printed line may change, and without ligatures or radicals for letters."""
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


@lru_cache
def article(name):
    page = (BOOK / f"{name}.html").read_text(encoding="utf-8")
    text = page[page.index('<article class="bd-article"') : page.index("</article>")]
    return BeautifulSoup(text, "html.parser")


def links(reader):
    for page in reader.pages:
        for link in page.get("/Annots", ()):
            yield page, link.get_object()


def fonts(reader):
    """Every font of the document, with a composite font's parts in its place."""
    seen = {}
    for page in reader.pages:
        for font in page["/Resources"].get("/Font", {}).values():
            font = font.get_object()
            for part in font.get("/DescendantFonts", [font]):
                seen[id(part.get_object())] = part.get_object()
    return seen.values()


# ------------------------------------------------------------------------------------------------ the whole book


def test_its_bookmarks_are_the_book_s_pages_in_their_order(whole):
    titles = [mark.title for mark in whole.outline if not isinstance(mark, list)]
    listed = [name for _, name in pdf.names()]
    assert sorted(f"{name}.html" for name in listed) == PAGES
    assert titles == [article(name).h1.find(string=True) for name in listed]


def test_each_chapter_begins_on_a_page_of_its_own_with_its_first_words(whole):
    marks = [mark for mark in whole.outline if not isinstance(mark, list)]
    pages = [whole.get_destination_page_number(mark) for mark in marks]
    assert len(set(pages)) == len(pages)
    for (_, name), page in zip(pdf.names(), pages, strict=True):
        text = flat(whole.pages[page].extract_text())
        begin = next(p for p in article(name).find_all("p", class_=lambda found: found != "place"))
        words = flat(begin.get_text()).partition("\\(")[0][:60]
        assert flat(article(name).h1.find(string=True)) in text, name
        assert words in text, name


def test_its_pages_are_a4_counted_from_the_first_chapter_and_none_is_blank(whole):
    assert 100 < len(whole.pages) < 500
    labels = whole.page_labels
    first = labels.index("1")
    assert labels[:3] == ["i", "ii", "iii"]
    assert labels[first:] == [str(number) for number in range(1, len(labels) - first + 1)]
    assert whole.get_destination_page_number(whole.outline[0]) == first
    for number, page in enumerate(whole.pages):
        assert [float(side) for side in page.mediabox[2:]] == pytest.approx([595, 842], abs=1)
        if len(page.get_contents().get_data()) < 20_000:  # most have much more, and take long to read
            head_and_foot = flat(labels[number] + "".join(mark.title for mark in chapters_of(whole, number)))
            assert len(flat(page.extract_text())) > len(head_and_foot) + 20, number


def chapters_of(reader, number):
    """The bookmark of the chapter that a page belongs to."""
    marks = [mark for mark in reader.outline if not isinstance(mark, list)]
    return [mark for mark in marks if reader.get_destination_page_number(mark) <= number][-1:]


def test_its_fonts_are_in_the_file(whole):
    found = [*fonts(whole)]
    assert len(found) > 3
    for font in found:
        inside = font["/Subtype"] == "/Type3" or any(
            name in font["/FontDescriptor"] for name in ("/FontFile", "/FontFile2", "/FontFile3")
        )
        assert inside, font


def test_its_links_lead_to_places_in_it_or_to_the_web(whole):
    places = whole.named_destinations
    inner = 0
    for _, link in links(whole):
        if "/Dest" in link:
            inner += 1
            assert not isinstance(link["/Dest"], str) or link["/Dest"] in places, link
        else:
            assert link["/A"]["/URI"].startswith(("https://", "http://")), link
            assert ".invalid" not in link["/A"]["/URI"]
    assert inner > 200


def test_it_says_what_it_is(whole):
    assert whole.metadata.title == "Soft Lookup: attention, from a dictionary to the Transformer"
    assert whole.metadata.author == "The Soft Lookup authors"
    assert whole.trailer["/Root"]["/Lang"] == "en"
    cover = whole.pages[0].extract_text()
    assert f"Edition {edition.version()}" in cover
    assert site().removeprefix("https://") in flat(cover)
    assert whole.stream.seek(0, 2) < 20e6  # bytes


# ------------------------------------------------------------------------------------------------ some chapters, read


@pytest.fixture(scope="module")
def pages(few):
    """The words of each page, without its running head and its number, which come first."""
    reader = PdfReader(few)
    pages = [page.extract_text().split("\n") for page in reader.pages]
    for lines, label in zip(pages[1:], reader.page_labels[1:], strict=True):
        del lines[: lines.index(label) + 1]
    return [flat("".join(lines)) for lines in pages]


@pytest.fixture(scope="module")
def text(pages):
    return "".join(pages)


def is_printed(words, pages):
    """Are the words on one page, or do they go on at the top of the next? The words of a figure come last on each."""
    return any(words in page for page in pages) or any(
        words[:cut] in page and following.startswith(words[cut:])
        for page, following in itertools.pairwise(pages)
        for cut in range(1, len(words))
    )


def test_the_contents_name_the_page_of_each_section_and_lead_there(few):
    reader = PdfReader(few)
    contents = reader.pages[1]
    lines = contents.extract_text().splitlines()
    led = 0
    for page, link in links(reader):
        if page == contents:
            target = reader.get_page_number(link["/Dest"][0].get_object())
            line = [line for line in lines if re.search(r" \d+$", line)][led]
            title, _, number = line.rpartition(" ")
            assert reader.page_labels[target] == number, line
            assert flat(title) in flat(reader.pages[target].extract_text()), line
            led += 1
    headings = [heading for _, name in FEW for heading in article(name).find_all(["h1", "h2"])]
    assert led == len(headings) + 1  # and the answers


def test_no_word_of_the_prose_is_lost(pages):
    for _, name in FEW:
        page = copy(article(name))
        for gone in page.select(".place, .math, attention-explorer, summary, div.tag_hide-input details, .headerlink"):
            gone.replace_with("\0")
        for paragraph in page.find_all(["p", "li", "pre", "td"]):
            for words in paragraph.get_text().split("\0"):
                assert is_printed(flat(words), pages), words


def test_chinese_is_printed_and_formulas_are_drawn(text):
    written = set("".join(article(name).get_text() for _, name in FEW))
    assert len({*filter(CHINESE.match, written)}) > 5
    assert {*filter(CHINESE.match, written)} <= {*text}
    assert not re.search(r"\\\(|\\\[|\\sqrt|\\frac|operatorname", text)


def test_solutions_and_answers_stand_at_the_end_of_their_chapter(text):
    solution = flat(article("book/03-scaling").select_one(".tag_solution pre").get_text())
    model = flat("The fixed root matters at the start of training.")
    end = text.rindex("Answersandsolutions")
    assert text.index(flat("What you can do now")) < end
    assert text.rindex(flat("The fixed root matters")) > end
    assert text.rindex(solution) > end
    assert text.count(solution) == text.count(model) == 1
    assert "Showasolution" not in text
    assert "Showthecode" not in text


def test_a_figure_says_in_which_state_it_is(text):
    assert flat("width = 1024") in text


def test_the_same_pages_make_the_same_file(browser, few, tmp_path):
    assert pdf.write(browser, tmp_path / "again.pdf", "letter", FEW).read_bytes() == few.read_bytes()


def test_letter_is_another_paper(few):
    assert {tuple(map(round, page.mediabox[2:])) for page in PdfReader(few).pages} == {(612, 792)}


# ------------------------------------------------------------------------------------------------ one page


def test_a_chapter_printed_by_its_reader_is_light_with_answers_and_without_drawing_code(visit, tmp_path):
    page = visit((BOOK / "book" / "03-scaling.html").as_uri(), theme="dark").page
    page.wait_for_function("document.querySelector('.math mjx-container')")
    seen = "[document.documentElement.dataset.theme, document.querySelectorAll('article details[open]').length]"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.onPaper = {seen}; }})")
    before = page.evaluate(seen)
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert page.evaluate(seen) == before
    theme, opened = page.evaluate("onPaper")
    assert theme == "light"
    assert opened > before[1]
    text = flat("".join(each.extract_text() for each in PdfReader(tmp_path / "page.pdf").pages))
    assert flat("The fixed root matters") in text
    assert "correct:values" in text
    assert "@title" not in text
    assert "Didyoustumble" not in text


def made(tmp_path, html, name="book/one"):
    (tmp_path / "book").mkdir()
    page = f'<article class="bd-article"><section id="top"><h1>One</h1>{html}</section></article>'
    (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")
    return pdf.chapter(tmp_path / f"{name}.html", name, {"book/one", "book/two"}, "https://example.org/book")


def test_an_explorer_is_printed_in_each_state_that_its_author_names(tmp_path):
    figure = explore(
        lambda heat, late=False: bars([heat, float(late)]),
        name="lookup",
        print=[{"heat": 4.0}, {"heat": 0.5, "late": True}],
        heat=[0.5, 1.0, 4.0],
        late=False,
    )
    text = made(tmp_path, figure._repr_mimebundle_()["text/html"])
    payloads = [json.loads(script.string) for script in text.select("attention-explorer > script")]
    assert [[control["initial"] for control in payload["controls"]] for payload in payloads] == [[2, 0], [0, 1]]
    assert [payload["name"] for payload in payloads] == ["book/one/lookup", ""]
    assert [figure.get("id") for figure in text.find_all("attention-explorer")] == ["book/one/lookup", None]


def test_on_paper_a_question_leaves_the_figure_where_it_begins(browser, tmp_path):
    at_half = marker("How much?", at={"heat": 0.5}, because="That is so.")
    figure = explore(lambda heat=4.0: bars([heat / 8]), name="asked", predict=at_half, heat=[0.5, 4.0])
    text = made(tmp_path, figure._repr_mimebundle_()["text/html"])
    (found,) = [json.loads(script.string) for script in text.select("attention-explorer > script")]
    assert found["predict"]["state"] == {"heat": 4.0}
    document = pdf.body([pdf.Chapter("", "book/notation", text)], BOOK, "letter")
    pdf.printed(browser, document, BOOK, tmp_path / "print")
    (page,) = PdfReader(tmp_path / "print" / "print.pdf").pages
    words = page.extract_text()
    assert "0.50" in words, "the state where it begins is drawn"
    assert "How much?" in words
    assert "It is 0.06. That is so." in words


def test_a_figure_that_is_taller_than_a_page_is_shrunk_to_one(browser, tmp_path):
    rows = [f"row {number}." for number in range(60)]
    figure = explore(lambda late: heatmap(torch.zeros(60, 3), rows=rows, columns=["a", "b", "c"]), late=False)
    html = figure._repr_mimebundle_()["text/html"].replace('class="', 'class="ae ', 1)
    text = made(tmp_path, "<p>Before.</p>" + html)
    document = pdf.body([pdf.Chapter("", "book/notation", text)], BOOK, "letter")
    pdf.printed(browser, document, BOOK, tmp_path / "print")
    reader = PdfReader(tmp_path / "print" / "print.pdf")
    (page,) = [page for page in (flat(page.extract_text()) for page in reader.pages) if "row0." in page]
    assert all(flat(row) in page for row in rows)


def test_links_hold_among_chapters(tmp_path):
    links = {
        "#top": "#book/one/top",
        "two.html": "#book/two",
        "two.html#place": "#book/two/place",
        "#lookup?heat=1": "#book/one/lookup",
        "three.html#place": "https://example.org/book/book/three.html#place",
        "https://example.com/#x": "https://example.com/#x",
    }
    text = made(tmp_path, "".join(f'<a href="{link}">a</a>' for link in links) + '<img src="../_images/a.png">')
    assert [link["href"] for link in text.find_all("a")] == [*links.values()]
    assert text.img["src"] == "_images/a.png"
    assert text.section["id"] == "book/one/top"


def test_folds_open_and_code_that_only_draws_is_left_out(tmp_path):
    text = made(
        tmp_path,
        "<details><summary>Why?</summary><p>So.</p></details>"
        '<div class="cell tag_hide-input"><details class="hide"><summary>Show</summary>plot()</details>a figure</div>'
        "<details><summary>Answer</summary><p>Yes.</p></details>",
    )
    assert text.details.has_attr("open")
    assert "plot()" not in text.get_text()
    assert "a figure" in text.get_text()
    answers = text.select_one(".answers")
    assert answers.h2.get_text() == "Answers and solutions"
    assert [part.get_text() for part in answers.select(".asked, .answer")] == ["One", "Yes."]
    assert text.select_one(".pointer a")["href"] == "#" + answers.select_one(".answer")["id"]


def test_what_is_missing_is_said(browser, tmp_path):
    with pytest.raises(ValueError, match="paper must be a4 or letter, found 'a3'"):
        pdf.write(browser, tmp_path / "book.pdf", "a3")
    with pytest.raises(FileNotFoundError, match="make book"):
        pdf.write(browser, tmp_path / "book.pdf", html=tmp_path)
