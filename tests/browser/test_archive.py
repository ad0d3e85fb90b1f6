"""The archive: all that it should hold, and a book that opens from where it is unpacked."""

import re
import zipfile

import nbformat
import pytest

from tools.editions import archive, edition

NOTEBOOK = nbformat.v4.new_notebook(
    cells=[
        nbformat.v4.new_markdown_cell("# First\n\n[two](second.md#second), [three](03-three.ipynb)", id="one"),
        nbformat.v4.new_code_cell('"[two](second.md)"', id="two"),
    ]
)


@pytest.fixture
def small_book(tmp_path):
    """A book of one page and a notebook, printed and not built."""
    texts = {
        "_config.yml": "title: A book\nrepository: {url: https://github.com/a/b}\n",
        "pyproject.toml": '[project]\nversion = "2026.11.22"\n',
        "book/second.md": "# Second\n\nA word.\n",
        "book/one_file.py": "import torch\n",
        **{name: name for name in archive.PAPERS},
    }
    for folder in ("book", "_build"):
        (tmp_path / folder).mkdir()
    for file, text in texts.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    nbformat.write(NOTEBOOK, tmp_path / "book" / "first.ipynb")
    archive.printed(tmp_path).write_bytes(b"%PDF")
    return tmp_path


def test_notebooks_lead_to_the_pages_beside_them(small_book):
    folder = small_book
    (folder / "_build" / "html").mkdir()
    (folder / "_build" / "html" / "index.html").write_text("", encoding="utf-8")
    files = archive.contents(folder)
    assert {name.partition("/")[2] for name in files} == {
        "README.txt",
        "softlookup-2026.11.22-a4.pdf",
        "html/index.html",
        "notebooks/first.ipynb",
        "notebooks/one_file.py",
        *archive.PAPERS,
    }
    notebook = nbformat.reads(files["softlookup-2026.11.22/notebooks/first.ipynb"].decode(), as_version=4)
    nbformat.validate(notebook)
    assert [cell.source for cell in notebook.cells] == [
        "# First\n\n[two](../html/book/second.html#second), [three](03-three.ipynb)",
        '"[two](second.md)"',
    ]
    readme = files["softlookup-2026.11.22/README.txt"].decode()
    assert edition.site(folder) in readme
    assert "https://github.com/a/b/issues" in readme


def test_what_is_not_built_is_named(small_book):
    folder = small_book
    with pytest.raises(FileNotFoundError, match=r"index\.html is missing: run make book"):
        archive.contents(folder)
    (folder / "_build" / "html").mkdir()
    (folder / "_build" / "html" / "index.html").write_text("", encoding="utf-8")
    archive.printed(folder).unlink()
    with pytest.raises(FileNotFoundError, match=r"a4\.pdf is missing: run make pdf"):
        archive.contents(folder)


def test_the_book_opens_where_it_is_unpacked(tmp_path, monkeypatch, visit):
    pdf = tmp_path / "book.pdf"
    pdf.write_bytes(b"%PDF")
    monkeypatch.setattr(archive, "printed", lambda root: pdf)
    with zipfile.ZipFile(archive.write(tmp_path / "a.zip", archive.contents(), edition.moment())) as made:
        assert made.testzip() is None
        made.extractall(tmp_path / "a stick")
    (folder,) = (tmp_path / "a stick").iterdir()
    assert folder.name == f"softlookup-{edition.version()}"
    opened = visit((folder / "html" / "index.html").as_uri(), folder.as_uri())
    opened.page.wait_for_url("**/book/index.html")
    opened.page.goto((folder / "html" / "book" / "01-dictionary.html").as_uri())
    opened.page.locator(".choices .quiet").evaluate_all("(buttons) => buttons.forEach((button) => button.click())")
    slider = opened.page.locator("attention-explorer input[type=range]").first
    before = slider.get_attribute("aria-valuetext")
    slider.press("Home")
    assert slider.get_attribute("aria-valuetext") != before
    assert opened.abroad == []
    assert opened.complaints == []
    for notebook in (folder / "notebooks").rglob("*.ipynb"):
        for page in re.findall(r"\]\(((?:\.\./)+html/[^)#]*)", notebook.read_text(encoding="utf-8")):
            assert (notebook.parent / page).is_file(), page
