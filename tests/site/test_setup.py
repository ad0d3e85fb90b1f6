"""The notebooks' first cell, where the package is missing: it installs it, and leaves torch alone."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

from tools.editions.edition import address
from tools.notebooks.form import SETUP

ROOT = Path(__file__).parents[2]
FOUND = """
import torch, attention
print(attention.attention_weights(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [1.0, 1.0], [-2.0, 0.0]])))
print(torch.__version__, attention.__file__)"""


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("git"), reason="pip gets the package with git")
def test_it_installs_the_package_and_leaves_torch_alone(tmp_path):
    origin, environment, others = tmp_path / "origin", tmp_path / "environment", tmp_path / "others"
    origin.mkdir()
    for name in ("pyproject.toml", "MANIFEST.in", "src", "LICENSE", "LICENSE-TEXT", "THIRD-PARTY.md"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, origin / name)
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *author, *command], cwd=origin, check=True)
    # all that is installed here, but not the package
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    others.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "softlookup" not in path.name:
            (others / path.name).symlink_to(path)
    (packages,) = environment.glob("lib/*/site-packages")
    (packages / "others.pth").write_text(str(others))
    (tmp_path / "cell.ipy").write_text(SETUP.format(address=address()) + FOUND, encoding="utf-8")
    settings = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{origin.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": address(),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way of saying: build with the setuptools that is here
    }
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [environment / "bin/python", "-m", "IPython", "cell.ipy"]
    run = subprocess.run(command, cwd=tmp_path, env=known | settings, capture_output=True, text=True, check=False)
    assert run.stdout.splitlines()[-1:] == [f"{torch.__version__} {packages / 'attention/__init__.py'}"], run
    assert "tensor([[0.6443, 0.3177, 0.0381]])" in run.stdout  # a softmax of √2, 1/√2 and −√2
