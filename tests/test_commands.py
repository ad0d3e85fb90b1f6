"""What the machine lacks is said in one clear sentence."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OLD = '#!/bin/sh\ncase "$2" in *version_info*3,*) exit 1 ;; *) echo 3.9.2 ;; esac\n'
BARE = '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; *) echo 3.12.1 ;; esac\n'


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "was not found"),
        ("#!/bin/sh\nexit 1\n", "does not run"),
        (OLD, "is Python 3.9.2"),
        (BARE, "is Python 3.12.1 without the modules venv and ensurepip"),
    ],
)
def test_no_usable_python(tmp_path, script, reason):
    python = tmp_path / "python"
    if script:
        python.write_text(script, encoding="utf-8")
        python.chmod(0o755)
    run = subprocess.run(
        ["sh", ROOT / "tools" / "environment.sh", python, "requirements-book.txt"],
        cwd=tmp_path,
        env={**os.environ, "PYTHON_SET_BY": "command line"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert f"'{python}' {reason}" in run.stderr
    assert "make PYTHON=" in run.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_no_browser():
    run = subprocess.run(
        ["make", "chromium", "CHROMIUM=/nowhere/chromium"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "This needs Chromium" in run.stderr.splitlines()[0]
