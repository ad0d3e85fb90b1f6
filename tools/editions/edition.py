"""Which edition this is: its name, its commit, its addresses.

``python -m tools.editions.edition v2026.11.22`` checks that a tag names this edition, and prints what the changelog
says of it.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def version(root: Path = ROOT) -> str:
    """The edition's name: its day, as pyproject.toml has it, say 2026.11.22."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def commit(root: Path = ROOT) -> str:
    """The short name of the commit, with a plus behind it where files have changed since; empty without git."""
    if not (root / ".git").exists() or not shutil.which("git"):  # a folder above it may have a history of its own
        return ""
    command = ["git", "describe", "--always", "--abbrev=9", "--exclude=*", "--dirty=+"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()


def address(root: Path = ROOT) -> str:
    """The repository's public address, as _config.yml has it: https://github.com/owner/name."""
    return re.search(r"\burl: ([^\s}]+)", (root / "_config.yml").read_text(encoding="utf-8"))[1]


def site(root: Path = ROOT) -> str:
    """Where the book is published, without a slash at the end."""
    owner, name = address(root).split("/")[-2:]
    return f"https://{owner.lower()}.github.io/{name}"


def notes(root: Path = ROOT) -> str:
    """What the changelog says of this edition."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version(root))}\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    if not found or not found[1].strip():
        raise ValueError(f"CHANGELOG.md says nothing of the edition {version(root)}")
    return found[1].strip() + "\n"


if __name__ == "__main__":
    tag = sys.argv[1] if len(sys.argv) > 1 else ""
    if tag != f"v{version()}":
        sys.exit(f"the tag must be v{version()}, found {tag!r}")
    print(notes(), end="")
