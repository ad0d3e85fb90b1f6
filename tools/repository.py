"""The repository's public address: kept in _config.yml, changed everywhere by `make repository URL=…`."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = "tests/test_repository.py"  # made-up addresses, left as they are
ADDRESS = re.compile(r"https://github\.com/([A-Za-z0-9-]+)/([\w.-]*?\w)(?:\.git)?/?")
CITED = ("xiyuanyang-code.github.io", "jianye0428.github.io")  # pages of others, which the errata name
NAME = r"[\w-]+(?:\.(?!git\b)[\w-]+)*"
# Where a file speaks of this repository: what it installs, clones or opens, and where the book is published.
MENTIONS = re.compile(
    rf"git\+https://(?P<install>[^\s\"'\\()<>]+)"
    rf"|git clone https://(?P<clone>[^\s\"'\\()<>]+)"
    rf"|colab\.research\.google\.com/github/(?P<colab>[\w-]+/{NAME})"
    rf"|mybinder\.org/v2/gh/(?P<binder>[\w-]+/{NAME})"
    rf"|(?P<pages>[\w-]+\.github\.io(?:/{NAME})?)"
    rf"|github\.com/(?P<link>[\w-]+/{NAME})"
)


def address(root: Path = ROOT) -> str:
    """The address that the book gives: https://github.com/owner/name."""
    return yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]


def checked(url: str) -> str:
    """The address without a trailing slash or .git.

    Raises:
        ValueError: no repository on GitHub, the one host that Colab opens notebooks from and Pages publishes.
    """
    found = ADDRESS.fullmatch(url)
    if not found:
        raise ValueError(f"URL must be an address such as https://github.com/owner/name, found {url!r}")
    return f"https://github.com/{found[1]}/{found[2]}"


def forms(url: str) -> dict[str, str]:
    """How the address is written in the places that mention it, without https://."""
    owner, name = ADDRESS.fullmatch(url).groups()
    site = f"{owner.lower()}.github.io"
    return {
        "link": f"github.com/{owner}/{name}",
        "colab": f"colab.research.google.com/github/{owner}/{name}",
        "binder": f"mybinder.org/v2/gh/{owner}/{name}",
        "pages": site if name.lower() == site else f"{site}/{name}",
    }


def site(root: Path = ROOT) -> str:
    """Where the book is published, without a slash at the end."""
    return "https://" + forms(address(root))["pages"]


def files(root: Path = ROOT) -> dict[Path, str]:
    """Every text file that git keeps or would keep, with its text; not the examples of this tool's own test."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    texts = {}
    for name in sorted({*listed.stdout.split("\0")} - {"", EXAMPLES}):
        try:
            texts[root / name] = (root / name).read_bytes().decode("utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
    return texts


def move(url: str, root: Path = ROOT) -> list[str]:
    """Write the new address wherever the old one stood; return the names of the files that changed."""
    old, new = forms(address(root)), forms(checked(url))
    changed = []
    for path, text in files(root).items():
        moved = text
        for form in old:
            moved = re.sub(rf"{re.escape(old[form])}(?![\w-])", new[form], moved)
        if moved != text:
            path.write_bytes(moved.encode("utf-8"))
            changed.append(path.relative_to(root).as_posix())
    return changed


def strays(root: Path = ROOT) -> list[str]:
    """Every mention of another address, as file:line: address. A link to another project is none."""
    url = address(root)
    ours = forms(url)
    names = {"softlookup", url.rpartition("/")[2]}
    found = []
    for path, text in files(root).items():
        for number, line in enumerate(text.splitlines(), start=1):
            for mention in MENTIONS.finditer(line):
                if _is_stray(mention, ours, names):
                    found.append(f"{path.relative_to(root).as_posix()}:{number}: {mention[0]}")
    return found


def _is_stray(mention: re.Match, ours: dict[str, str], names: set[str]) -> bool:
    kind, text = mention.lastgroup, mention[mention.lastgroup]
    if kind in ("install", "clone"):
        return re.sub(r"(\.git)?([#@].*)?$", "", text) != ours["link"]
    if kind == "pages" and text.split("/")[0] in CITED:
        return False
    if kind == "link" and text.rpartition("/")[2] not in names:
        return False
    return mention[0] != ours[kind]


if __name__ == "__main__":
    try:
        print("\n".join(move(*sys.argv[1:2] or [""])) or "Nothing to change.")
    except ValueError as error:
        sys.exit(f"{error}; use: make repository URL=https://github.com/owner/name")
