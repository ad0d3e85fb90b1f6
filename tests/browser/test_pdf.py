"""The printed volumes, opened, with their pages, outlines, links and fonts.

Printing takes seconds a page. So a page of each kind is printed; with ``PRINT_EVERY_PAGE``, as for a release, all are.
"""

import os
import re
import sys
import unicodedata
from functools import cache

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from conftest import BOOK, PAGES
from tools.chromium import has_chinese
from tools.editions import pdf

pytestmark = pytest.mark.xdist_group("pdf")


OF_EACH_KIND = ("index", "03-scaling", "11-transformer", "more/03-scaling", "api", "notation", "errata")
EVERY = os.environ.get("PRINT_EVERY_PAGE")
NAMES = {
    volume: [name for name in pdf.names(volume) if EVERY or name.removeprefix("book/") in OF_EACH_KIND]
    for volume in pdf.VOLUMES
}


@pytest.fixture(params=pdf.VOLUMES)
def volume(request):
    return request.param


@pytest.fixture(scope="session")
def printed(browser, tmp_path_factory):
    """Print a volume, each once: a fixture with parameters would print them in turn, test after test."""

    @cache
    def print_volume(volume):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pdf, "names", NAMES.get)
            return PdfReader(pdf.write(browser, tmp_path_factory.mktemp("print") / "book.pdf", volume))

    return print_volume


@pytest.fixture
def book(printed, volume):
    return printed(volume)


@pytest.fixture
def marks(book):
    """Title → number of its first page, of each chapter."""
    chapters = [mark for mark in book.outline if not isinstance(mark, list)]
    return {mark.title: book.get_destination_page_number(mark) for mark in chapters}


def flat(text):  # without spaces, which a printed line may change, and without ligatures or radicals for letters
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def article(name):
    page = (BOOK / f"{name}.html").read_text(encoding="utf-8")
    return BeautifulSoup(page[page.index("<article") : page.index("</article>")], "html.parser")


def words(book, marks, title):
    """A chapter's text."""
    end = min((page for page in marks.values() if page > marks[title]), default=len(book.pages))
    return flat("".join(page.extract_text() for page in book.pages[marks[title] : end]))


def test_each_page_of_the_book_stands_in_one_volume():
    assert sorted(f"{name}.html" for volume in pdf.VOLUMES for name in pdf.names(volume)) == PAGES


def test_each_page_is_a_chapter_that_begins_with_its_first_words(book, marks, volume):
    assert [flat(title) for title in marks] == [flat(article(name).h1.find(string=True)) for name in NAMES[volume]]
    assert len({*marks.values()}) == len(marks)
    for name, (title, page) in zip(NAMES[volume], marks.items(), strict=True):
        text = flat(book.pages[page].extract_text())
        begin = next(p for p in article(name).find_all("p", class_=lambda found: found != "place"))
        assert flat(title) in text, name
        assert flat(begin.get_text()).partition("\\(")[0][:60] in text, name


def test_pages_are_a4_and_numbered_and_the_contents_name_them(book, marks):
    first = min(marks.values())
    for number, page in enumerate(book.pages[first:], start=1):
        assert [float(side) for side in page.mediabox[2:]] == pytest.approx([595, 842], abs=1)
        if len(page.get_contents().get_data()) < 20_000:  # most have much more, and take long to read
            assert re.search(rf"(?m)^{number}$", page.extract_text()), number
            assert flat(page.extract_text()) != str(number), "an empty page"
    contents = flat("".join(page.extract_text() for page in book.pages[1:first]))
    for title, page in marks.items():
        assert f"{flat(title)}{page - first + 1}" in contents


def test_links_lead_into_the_book_or_to_the_web(book, marks):
    links = [link.get_object() for page in book.pages for link in page.get("/Annots", ())]
    inner = [link["/Dest"] for link in links if "/Dest" in link]
    assert inner
    assert {*filter(lambda place: isinstance(place, str), inner)} <= {*book.named_destinations}
    assert all(link["/A"]["/URI"].startswith(("https://", "http://", "mailto:")) for link in links if "/A" in link)


def test_formulas_answers_and_chinese_are_printed(book, marks, volume):
    if volume == "reference":
        if sys.platform == "linux" and not has_chinese():
            pytest.skip("no font has Chinese characters")
        written = set(re.findall("[\u4e00-\u9fff]", article("book/errata").get_text()))
        assert set() < written <= {*words(book, marks, "What the sources get wrong")}
        return
    (title,) = (title for title in marks if title.startswith("3. "))
    text = words(book, marks, title)
    assert not re.search(r"\\\(|\\\[|\\sqrt|\\frac|operatorname", text)
    solution = flat(article("book/03-scaling").select_one(".tag_solution pre").get_text())
    assert text.index(solution) > text.rindex("Answersandsolutions") > text.index(flat("What you can do now"))


def test_a_chapter_printed_by_its_reader_is_light_and_without_what_is_folded(visit, tmp_path):
    page = visit((BOOK / "book" / "03-scaling.html").as_uri(), theme="dark").page
    page.wait_for_function("document.querySelector('.math mjx-container')")
    page.evaluate("addEventListener('beforeprint', () => { window.onPaper = document.documentElement.dataset.theme; })")
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert page.evaluate("onPaper") == "light"
    text = flat("".join(each.extract_text() for each in PdfReader(tmp_path / "page.pdf").pages))
    assert flat("The fixed root matters") not in text
    assert "@title" not in text
