"""The package as it is published: a wheel that installs in an empty environment and says what there is to do."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from tools.edition import address, site
from tools.package import package

from attention.exercises import scores

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DATA = ["explorer/front/palette.css", "explorer/front/frame.js", "experiments/published.pt", "digits.npz"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A repository with all that this one keeps, changes not yet committed included."""
    folder = tmp_path_factory.mktemp("tree")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def built(tree, tmp_path_factory):
    """The wheel and the source, in this order."""
    source, wheel = package(tmp_path_factory.mktemp("dist") / "dist", root=tree)[::-1]
    assert (source.name, wheel.name) == tuple(
        f"softlookup-{PROJECT['version']}{end}" for end in (".tar.gz", "-py3-none-any.whl")
    )
    return wheel, source


def test_the_wheel_holds_every_file_of_the_package_and_its_licences(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    package_files = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "attention").rglob("*.*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert package_files <= names
    assert {f"attention/{name}" for name in DATA} <= package_files
    extra = {Path(name).name for name in names - package_files}
    assert extra == {"LICENSE", "LICENSE-TEXT", "THIRD-PARTY.md", "METADATA", "RECORD", "WHEEL", "top_level.txt"}


def test_its_metadata_is_complete(built):
    (name,) = (name for name in zipfile.ZipFile(built[0]).namelist() if name.endswith("/METADATA"))
    metadata = Parser().parsestr(zipfile.ZipFile(built[0]).read(name).decode("utf-8"))
    assert metadata["License-Expression"] == "MIT AND CC-BY-4.0"
    assert metadata.get_all("License-File") == ["LICENSE", "LICENSE-TEXT", "THIRD-PARTY.md"]
    assert metadata["Author"]
    assert metadata["Keywords"]
    links = dict(link.split(", ") for link in metadata.get_all("Project-URL"))
    assert links["Homepage"] == site() + "/"
    assert links["Source"] == address()
    floor = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {floor}" in metadata.get_all("Classifier")
    links = re.findall(r"\]\((.*?)\)", metadata.get_payload())
    assert links
    assert all(link.startswith("https://") for link in links)  # a package index has no files beside it


def test_the_source_builds_the_same_package(built):
    """Tests, tools and notebooks stay in the repository."""
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/attention/{name}" for name in DATA} | {"pyproject.toml", "src/README.md", "LICENSE-TEXT"} <= names
    assert not any(name.startswith(("tests", "tools", "book")) for name in names)


def test_it_installs_in_an_empty_environment_and_says_what_to_do(built, tmp_path):
    environment, others = tmp_path / "environment", tmp_path / "others"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    install = ["install", "--quiet", "--no-deps", "--no-index", built[0]]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    others.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():  # what the package needs, and not this checkout
        if "softlookup" not in path.name:
            (others / path.name).symlink_to(path)

    def run(*command):
        settings = {"cwd": tmp_path, "env": {"PYTHONPATH": str(others), "PATH": ""}}
        run = subprocess.run([python, *command], **settings, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout

    said = run("-m", "attention")
    assert said.startswith(f"Soft Lookup ({PROJECT['version']}): ")
    assert "tensor([[0.6443, 0.3177, 0.0381]])" in said  # a softmax of √2, 1/√2 and −√2
    assert f"{site()}/\n" in said
    assert f"git clone {address()}" in said
    assert "scores.distance_scores.check" in said
    assert hasattr(scores, "distance_scores")
    data = "from importlib.resources import files; import attention; print(attention.__file__); "
    found = run("-c", data + f"print(*(files(attention).joinpath(name).is_file() for name in {DATA}))")
    assert Path(found.splitlines()[0]).is_relative_to(environment)
    assert found.splitlines()[1] == " ".join(["True"] * len(DATA))


def test_only_what_is_committed_is_packed(tree, tmp_path):
    (tree / "src" / "attention" / "untracked.py").write_text("", encoding="utf-8")
    try:
        wheel = package(tmp_path / "dist", root=tree)[0]
    finally:
        (tree / "src" / "attention" / "untracked.py").unlink()
    assert "attention/untracked.py" not in zipfile.ZipFile(wheel).namelist()
