"""A build of a book shows its warnings each time, and keeps nothing of the build before."""

import subprocess
import sys

import pytest

from conftest import ROOT


@pytest.fixture
def book(tmp_path):
    """A book of two pages, in a folder of its own."""
    (tmp_path / "_config.yml").write_text("title: A book\nexecute: {execute_notebooks: 'off'}\n")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: first\nchapters: [{file: second}]\n")
    (tmp_path / "first.md").write_text("# First\n\n[](second.md)\n")
    (tmp_path / "second.md").write_text("# Second\n\nA word.\n")
    return tmp_path


def build(folder):
    command = [sys.executable, "-m", "tools.book", folder]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_warning_fails_each_build_and_is_shown(book):
    (book / "second.md").write_text("# Second\n\n{nonsense}`A word.`\n")
    for _ in range(2):
        run = build(book)
        assert run.returncode == 1
        assert 'second.md:3: WARNING: Unknown interpreted text role "nonsense"' in run.stderr


def test_nothing_is_kept_of_the_build_before(book):
    assert build(book).returncode == 0
    pages = book / "_build" / "html"
    assert "Second" in (pages / "first.html").read_text("utf-8")
    (book / "_toc.yml").write_text("format: jb-book\nroot: first\n")
    (book / "second.md").unlink()
    run = build(book)
    assert run.returncode == 1
    assert "'second.md'" in run.stderr  # of the page that is as it was
    assert not (pages / "second.html").exists()
