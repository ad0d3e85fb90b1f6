"""The edition in one file, to keep on a stick: ``make archive`` writes ``_build/softlookup-VERSION.zip``.

The same files make the same bytes: names in order, one date, one set of permissions.
"""

import json
import re
import zipfile
from datetime import datetime
from pathlib import Path

from tools.editions import edition
from tools.editions.edition import ROOT

MOST = 40_000_000  # bytes
PAGE = re.compile(r"\]\((?P<up>\.\./)?(?P<page>[\w-]+)\.md(?P<place>#[\w-]+)?\)")
PAPERS = ["LICENSE", "LICENSE-TEXT", "CHANGELOG.md", "CITATION.cff"]
README = """\
Soft Lookup: attention, from a dictionary to the Transformer
Edition {edition}, commit {commit}

html/index.html   The course. Open it in a browser: every slider works, and nothing needs a network.
{pdf}   The course for print.
notebooks/        The chapters as Jupyter notebooks. The first cell of each installs the course's package where it is
                  missing, which takes a network and git, once.
CHANGELOG.md      What changed since the last edition.

The newest edition:     {site}/
Say what is unclear:    {address}/issues

Code is under the MIT licence (LICENSE), text and figures under CC BY 4.0 (LICENSE-TEXT).
"""


def printed(root: Path = ROOT, paper: str = "a4") -> Path:
    """Where ``make pdf`` writes the printed book."""
    return root / "_build" / f"softlookup-{edition.version(root)}-{paper}.pdf"


def contents(root: Path = ROOT) -> dict[str, bytes]:
    """Every file of the archive, by its name in there.

    Raises:
        FileNotFoundError: the book is not built or not printed.
    """
    html, pdf = root / "_build" / "html", printed(root)
    for path, command in ((html / "index.html", "make book"), (pdf, "make pdf")):
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing: run {command}")
    about = {
        "edition": edition.version(root),
        "commit": edition.commit(root) or "unknown",
        "pdf": pdf.name,
        "site": edition.site(root),
        "address": edition.address(root),
    }
    files = {"README.txt": README.format(**about).encode(), pdf.name: pdf.read_bytes()}
    files |= {name: (root / name).read_bytes() for name in PAPERS}
    files |= {
        f"html/{path.relative_to(html).as_posix()}": path.read_bytes() for path in html.rglob("*") if path.is_file()
    }
    files |= {
        f"notebooks/{path.relative_to(root / 'book').as_posix()}": beside_pages(path.read_text("utf-8"))
        for folder in ("book", "book/more")
        for path in (root / folder).glob("*.ipynb")
    }
    files["notebooks/one_file.py"] = (root / "book" / "one_file.py").read_bytes()
    return {f"softlookup-{about['edition']}/{name}": files[name] for name in sorted(files)}


def beside_pages(notebook: str) -> bytes:
    """A notebook whose links to pages that are no notebooks lead to the built ones in the archive."""
    cells = json.loads(notebook)
    for cell in cells["cells"]:
        if cell["cell_type"] == "markdown":
            text = PAGE.sub(r"](\g<up>../html/book/\g<page>.html\g<place>)", "".join(cell["source"]))
            cell["source"] = text.splitlines(keepends=True)
    return (json.dumps(cells, ensure_ascii=False, indent=1) + "\n").encode()


def write(target: Path, files: dict[str, bytes], moment: datetime) -> Path:
    """Write a zip archive that depends on nothing but its arguments.

    Raises:
        ValueError: it is larger than 40 MB.
    """
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, max(moment, datetime(1980, 1, 1, tzinfo=moment.tzinfo)).timetuple()[:6])
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(entry, content, compresslevel=9)
    if target.stat().st_size > MOST:
        raise ValueError(f"the archive has {target.stat().st_size / 1e6:.1f} MB, more than {MOST / 1e6:.0f}")
    return target


if __name__ == "__main__":
    made = write(ROOT / "_build" / f"softlookup-{edition.version()}.zip", contents(), edition.moment())
    print(f"The archive: {made}, {made.stat().st_size / 1e6:.1f} MB")
