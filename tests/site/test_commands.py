"""What the Makefile does with the machine that it finds: its Python, its GPU, the book's address."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from tools.editions import edition

ROOT = Path(__file__).resolve().parents[2]
OLD = '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\n'
pytestmark = pytest.mark.skipif(sys.platform == "win32" or not shutil.which("make"), reason="make is not there")


def make(folder, *arguments, **settings):
    command = ["make", "--file", ROOT / "Makefile", *arguments]
    return subprocess.run(
        command, cwd=folder, env=os.environ | settings, capture_output=True, text=True, check=False, errors="replace"
    )


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def folder(tmp_path):
    """An empty checkout, with a space in its path."""
    folder = tmp_path / "soft lookup"
    for name in ("requirements.txt", "requirements-book.txt", "pyproject.toml"):
        write(folder / name, "torch==2.0 ; there\n")
    return folder


@pytest.mark.parametrize(("python", "found"), [(None, "not there"), (OLD, "Python 3.9.2")])
def test_without_a_python_that_will_do_one_line_says_so(folder, python, found):
    if python:
        write(folder / "a python", python)
    run = make(folder, "book", f"PYTHON={folder}/a python")
    assert run.returncode == 2
    said = run.stderr.splitlines()[0]
    assert "apt-get install python3-venv" in said
    assert f"'{folder}/a python' is {found}: name another, make PYTHON=" in said
    assert not (folder / ".venv").exists()


@pytest.mark.parametrize("has_gpu", [False, True])
def test_without_a_gpu_pytorch_is_got_as_it_is_built_for_cpus(folder, has_gpu):
    write(folder / ".venv/pyvenv.cfg", "")
    # there is no index for it: the usual one has to do
    write(folder / ".venv/bin/python", '#!/bin/sh\necho "$@" >> log\ncase "$*" in *whl/cpu*) exit 1 ;; esac\n')
    write(folder / "bin/uname", "#!/bin/sh\necho Linux\n")
    write(folder / "bin/nvidia-smi", f"#!/bin/sh\nexit {0 if has_gpu else 9}\n")
    run = make(folder, "environment", PATH=f"{folder}/bin:{os.environ['PATH']}")
    assert run.returncode == 0, run.stderr
    installed = [line.partition("--no-compile ")[2].split() for line in (folder / "log").read_text().splitlines()]
    assert installed.pop() == ["-r", "requirements.txt"]
    assert [command[-1] for command in installed] == ([] if has_gpu else ["torch==2.0"])


def test_the_book_is_built_with_what_its_own_lock_names():
    lock = re.findall(r"^[\w-]+", (ROOT / "requirements-book.txt").read_text(encoding="utf-8"), re.MULTILINE)
    named = {module: [name.lower().replace("_", "-") for name in of] for module, of in packages_distributions().items()}
    missing = [module for module, names in named.items() if set(lock).isdisjoint(names)]
    extensions = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]["extensions"]
    code = f"import sys; sys.modules |= dict.fromkeys({missing}); import {', '.join(extensions)}"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_address_is_changed_everywhere_and_back(tmp_path):
    copy, old, new = tmp_path / "copy", edition.address(), "https://github.com/Ada-L/" + "lookup.book"
    unlike = shutil.ignore_patterns(".*venv", "_build", "__pycache__", ".git", ".*_cache", ".hypothesis", "*.egg-info")
    shutil.copytree(ROOT, copy, ignore=unlike)
    (copy / "unlike.md").write_text(f"{old}-too", encoding="utf-8")

    def texts():
        return {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}

    before = texts()
    assert make(copy, "repository", f"URL={new}.git").returncode == 0
    assert (edition.address(copy), edition.site(copy)) == (new, "https://ada-l.github.io/" + "lookup.book")
    left = {old.partition("//")[2].encode(), edition.site().partition("//")[2].encode()}
    after = texts()
    assert [
        path for path, text in after.items() if path.name != "unlike.md" and any(name in text for name in left)
    ] == []
    assert after[copy / "README.md"].count(new[19:].encode()) > 3
    assert make(copy, "repository", f"URL={old}").returncode == 0
    assert [path for path, text in texts().items() if text != before[path]] == []


@pytest.mark.parametrize("url", ["", "https://example.org/a/b", "https://github.com/a"])
def test_an_address_elsewhere_is_refused(folder, url):
    run = make(folder, "repository", f"URL={url}")
    assert run.returncode == 2
    assert f"make repository URL=https://github.com/owner/name: found '{url}'" in run.stderr


def test_what_is_published_was_tested():
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]
    deployments = [job for job in jobs.values() if "actions/deploy-pages" in str(job["steps"])]
    assert [set(job["needs"]) >= {"test", "book"} for job in deployments] == [True]
    tests = [path.name for path in (ROOT / ".github/workflows").iterdir() if "deploy-pages" in path.read_text("utf-8")]
    assert tests == ["test.yml"]
    assert {"run": ".ci/run"} in jobs["test"]["steps"]
