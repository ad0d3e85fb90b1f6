"""What a command needs is installed, and no more: from which lock, from which index, and what is said of it."""

import doctest
import os
import re
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from tools import environment

import attention

ROOT = Path(__file__).parent.parent
PIN = "2.13.0"


def pins(lock):
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE))


def plain(name):
    return re.sub("[-_.]+", "-", name).lower()


def test_the_book_s_lock_is_a_part_of_the_whole_one():
    book, whole = pins(environment.BOOK), pins(environment.ALL)
    assert book.items() <= whole.items()
    assert "torch" not in book
    assert len(book) < 0.7 * len(whole)
    asked = re.findall(r"^[\w-]+", (ROOT / "requirements-book.in").read_text(encoding="utf-8"), re.MULTILINE)
    assert {plain(name) for name in asked} <= book.keys()


def test_its_examples_are_true():
    results = doctest.testmod(environment)
    assert results.attempted >= 3
    assert results.failed == 0


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("  Using cached torch-2.13.0-cp311-cp311-manylinux.whl (527.1 MB)", "  torch, 527.1 MB"),
        ("Downloading sphinx-design (2.2MiB)", "  sphinx-design, 2.2MiB"),
        ("Installing collected packages: idna, torch", "Writing 2 packages"),
        ("  Downloading idna-3.20-py3-none-any.whl (71 kB)", ""),
        ("WARNING: Location 'file:///simple/idna/' is ignored: it is neither a file nor a directory.", ""),
        ("WARNING: Retrying after connection broken", "WARNING: Retrying after connection broken"),
        ("Requirement already satisfied: idna==3.20 in ./.venv", ""),
        (" + idna==3.20", ""),
        ("rxnmapper 0.4.3 requires pandas>=1.0.3, which is not installed.", ""),
        (
            "jupyter 1.0 requires idna>=4, which is not installed.",
            "jupyter 1.0 requires idna>=4, which is not installed.",
        ),
        ("Installed 96 packages in 300ms", "Installed 96 packages in 300ms"),
        ("      error: command 'gcc' failed", "      error: command 'gcc' failed"),
    ],
)
def test_of_what_pip_and_uv_say_the_large_and_the_wrong_is_shown(said, shown):
    assert environment.shown(said + "\n") == shown


@pytest.fixture
def torch(monkeypatch):
    """A machine where PyTorch is asked for: what is there, and what is then done."""

    class Machine:
        installed, gpu, index = "", False, True

        def ask(self, named=""):
            self.done = []
            environment.install_torch(PIN, named)
            return self.done

    def version(name):
        if not machine.installed:
            raise environment.PackageNotFoundError(name)
        return machine.installed

    machine = Machine()
    monkeypatch.setattr(environment.sys, "platform", "linux")
    monkeypatch.setattr(environment, "version", version)
    monkeypatch.setattr(environment, "has_gpu", lambda: machine.gpu)
    monkeypatch.setattr(environment, "answers", lambda url: machine.index)
    monkeypatch.setattr(environment, "install", lambda *what: machine.done.append(what[-1]) or True)
    monkeypatch.setattr(environment.subprocess, "run", lambda command, **_: machine.done.append(command[3]))
    return machine


@pytest.mark.parametrize(
    ("gpu", "named", "done"),
    [
        (False, "", [f"torch=={PIN}+cpu"]),
        (True, "", []),
        (True, "cpu", [f"torch=={PIN}+cpu"]),
        (False, "cuda", []),
    ],
)
def test_pytorch_is_built_for_what_is_there_or_named(torch, gpu, named, done):
    torch.gpu = gpu
    assert torch.ask(named) == done


def test_pytorch_stays_until_another_is_named(torch):
    torch.installed, torch.gpu = f"{PIN}+cpu", True
    assert torch.ask() == torch.ask("cpu") == []
    assert torch.ask("cuda") == ["uninstall"]
    torch.installed = PIN
    assert torch.ask() == torch.ask("cuda") == []
    assert torch.ask("cpu") == [f"torch=={PIN}+cpu"]
    torch.installed, torch.gpu = "2.12.0+cpu", False
    assert torch.ask() == [f"torch=={PIN}+cpu"]


def test_without_pytorch_s_own_index_it_is_said_how_large_the_usual_one_is(torch, capsys):
    torch.index = False
    assert torch.ask() == []
    said = capsys.readouterr().out
    assert environment.CPU_BUILDS in said
    assert "2.7 GB" in said


def test_another_choice_is_an_error(torch):
    with pytest.raises(SystemExit, match="TORCH must be cpu or cuda, found 'gpu'"):
        torch.ask("gpu")


def test_a_server_that_is_silent_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(environment, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        assert not environment.answers(f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - begun < 2

    class Answer(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(200 if self.path == "/cpu/torch/" else 404)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert environment.answers(f"http://127.0.0.1:{server.server_port}/cpu")
        assert not environment.answers(f"http://127.0.0.1:{server.server_port}/other")
        server.shutdown()


@pytest.mark.parametrize(
    ("uv", "done"),
    [
        ("exit 0", ["uv --version", "uv pip install --python {python} -r a"]),
        ('[ "$1" = --version ]', ["uv --version", "uv pip install --python {python} -r a", "-m pip"]),
        ("exit 127", ["uv --version", "-m pip"]),  # as a shim of pyenv
    ],
)
def test_uv_is_used_where_it_is_there_and_else_pip(tmp_path, monkeypatch, uv, done):
    for name, script in {"uv": uv, "python": "exit 0"}.items():
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $@" >> {tmp_path}/log\n{script}\n', encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(environment.sys, "executable", str(tmp_path / "python"))
    assert environment.install("-r", "a")
    log = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert len(log) == len(done)
    assert all(part.format(python=tmp_path / "python") in line for part, line in zip(done, log, strict=True))


def test_the_book_is_built_from_its_lock_alone(tmp_path):
    """Without the package and whatever else is installed here."""
    for name in ("_config.yml", "_toc.yml", "book", "pyproject.toml", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    here = {plain(name) for name in pins(environment.BOOK)}
    absent = {"attention"} | {
        module for module, owners in packages_distributions().items() if not here & {plain(name) for name in owners}
    }
    assert {"torch", "numpy", "matplotlib", "jupyterlab"} < absent
    hide = f"import sys\nsys.modules.update(dict.fromkeys({absent - {'tools'}}))"
    (tmp_path / "sitecustomize.py").write_text(hide, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "tools.book", tmp_path],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    page = (tmp_path / "_build/html/book/api.html").read_text(encoding="utf-8")
    public = [thing for name in attention.__all__ if callable(thing := getattr(attention, name))]
    anchors = [f"{thing.__module__}.{thing.__qualname__}" for thing in public] + ["attention.explorer.heatmap"]
    assert [anchor for anchor in anchors if f'id="{anchor}"' not in page] == []
