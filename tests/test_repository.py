"""The repository's public address is the same everywhere, and one command changes it."""

import subprocess
import sys

import pytest
from tools import repository

OLD = "https://github.com/softlookup/softlookup"
NEW = "https://github.com/Ada-L/lookup.book"


@pytest.fixture
def tree(tmp_path):
    """A small repository with every kind of mention."""
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    texts = {
        "_config.yml": f"repository:\n  url: {OLD}\n",
        "README.md": f"git clone {OLD}.git\n[read](https://softlookup.github.io/softlookup/index.html)\n"
        "https://colab.research.google.com/github/softlookup/softlookup/blob/main/book/index.ipynb\n"
        "https://mybinder.org/v2/gh/softlookup/softlookup/main\n"
        "https://github.com/pytorch/pytorch\n",
        "pyproject.toml": f'Homepage = "https://softlookup.github.io/softlookup/"\nIssues = "{OLD}/issues"\n',
        "CITATION.cff": f"url: https://softlookup.github.io/softlookup/\nrepository-code: {OLD}\n",
        ".github/ISSUE_TEMPLATE/config.yml": f"url: {OLD}/blob/main/CONTRIBUTING.md\n",
        "book/index.ipynb": f'"%pip install --quiet git+{OLD}"',
        "unlike.txt": f"{OLD}-too",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG" + OLD.encode())
    return tmp_path


def test_every_file_gives_the_address_of_the_config():
    assert repository.strays() == []


def test_move_changes_every_mention_and_nothing_else(tree):
    assert repository.move(NEW + ".git", tree) == [
        ".github/ISSUE_TEMPLATE/config.yml",
        "CITATION.cff",
        "README.md",
        "_config.yml",
        "book/index.ipynb",
        "pyproject.toml",
    ]
    assert repository.address(tree) == NEW
    assert repository.site(tree) == "https://" + "ada-l.github.io/lookup.book"
    assert (tree / "pyproject.toml").read_text(encoding="utf-8").splitlines() == [
        'Homepage = "https://' + 'ada-l.github.io/lookup.book/"',
        f'Issues = "{NEW}/issues"',
    ]
    readme = (tree / "README.md").read_text(encoding="utf-8").splitlines()
    assert readme == [
        f"git clone {NEW}.git",
        "[read](https://" + "ada-l.github.io/lookup.book/index.html)",
        "https://colab.research.google.com/github/Ada-L/lookup.book/blob/main/book/index.ipynb",
        "https://mybinder.org/v2/gh/Ada-L/lookup.book/main",
        "https://github.com/pytorch/pytorch",
    ]
    assert repository.strays(tree) == []
    assert repository.move(OLD, tree)
    assert repository.strays(tree) == []


@pytest.mark.parametrize(
    "line",
    [
        "%pip install git+" + NEW,
        "git clone " + NEW,
        "https://ada-l.github.io/lookup",
        "https://colab.research.google.com/github/ada/lookup/blob/main",
        "https://mybinder.org/v2/gh/ada/lookup/main",
        "https://github.com/ada/softlookup/issues",
    ],
)
def test_a_stray_address_is_found(tree, line):
    (tree / "new.md").write_text("first\n" + line, encoding="utf-8")
    (stray,) = repository.strays(tree)
    assert stray.startswith("new.md:2: ")


@pytest.mark.parametrize("url", ["", "https://example.org/a/b", "github.com/a/b", "https://github.com/a"])
def test_an_address_elsewhere_is_refused(url):
    with pytest.raises(ValueError, match="such as https"):
        repository.checked(url)
    run = subprocess.run([sys.executable, repository.__file__, url], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "make repository URL=" in run.stderr
    assert "Traceback" not in run.stderr
