"""The package as it is published: a wheel with all its files, which installs in an empty environment."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tools.editions.edition import version

ROOT = Path(__file__).parents[2]
NOT_COPIED = (".*", "_build", "__pycache__", "*.egg-info", "book")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source."""
    copy = tmp_path_factory.mktemp("built") / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", copy / "dist"]
    subprocess.run(build, cwd=copy, check=True, capture_output=True)
    return [copy / "dist" / f"softlookup-{version()}{end}" for end in ("-py3-none-any.whl", ".tar.gz")]


def test_the_wheel_holds_every_file_of_the_package_and_no_other(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    files = (path for path in (ROOT / "src").rglob("attention/**/*") if path.is_file() and path.suffix != ".pyc")
    files = {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert files <= names
    assert all(".dist-info/" in name for name in names - files)
    with tarfile.open(built[1]) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in files} <= source
    assert not any(name.startswith(("tests", "tools", "book")) for name in source)


def test_its_metadata_is_complete(built):
    (name,) = (name for name in zipfile.ZipFile(built[0]).namelist() if name.endswith("/METADATA"))
    metadata = Parser().parsestr(zipfile.ZipFile(built[0]).read(name).decode("utf-8"))
    licences = ["LICENSE", "LICENSE-TEXT", "THIRD-PARTY.md", "src/attention/course/rxnmapper/LICENSE"]
    assert metadata.get_all("License-File") == licences
    links = re.findall(r"\]\((.*?)\)", metadata.get_payload())
    assert links
    assert all(link.startswith("https://") for link in links)  # a package index has no files beside it
