"""Build the book from nothing into _build/html: ``make book``, or ``python -m tools.book [FOLDER]`` for another book.

A warning fails the build, and is shown.
"""

import gc
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def build(root: Path = ROOT) -> int:
    """Read and write every page anew, and return the exit status.

    Nothing is kept from the build before: a page that is kept may be stale, and its warnings are forgotten. Jupyter
    Book's own command does the same, without the first line and ``os._exit`` below, and takes twice as long.
    """
    gc.disable()  # a build is short: its garbage goes with the process
    from jupyter_book.sphinx import build_sphinx

    html = root / "_build" / "html"
    for folder in (html, html.parent / ".doctrees"):
        shutil.rmtree(folder, ignore_errors=True)
    failed = build_sphinx(
        root,
        html,
        path_config=root / "_config.yml",
        noconfig=True,
        confoverrides={"external_toc_path": str(root / "_toc.yml"), "latex_individualpages": False},
        warningiserror=True,
        keep_going=True,
        quiet=True,
    )
    return 1 if failed else 0  # an exit status, or an exception that has been printed


if __name__ == "__main__":
    status = build(*map(Path, sys.argv[1:]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # taking apart what the process holds takes a while
