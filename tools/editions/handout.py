"""The notebooks for a class, without the exercises' answers: ``make handout`` writes them to ``_build/handout``.

It packs them too, into the file that a release offers for download.
"""

import re
import shutil
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.editions.edition import site, version
from tools.notebooks.execute import BOOK, NOTEBOOKS

FOLDER = BOOK.parent / "_build" / "handout"
ANSWER = re.compile(r"<details><summary>(?!Hint).*?</details>\n*", re.DOTALL)
PAGE = re.compile(r"\]\((?:\.\./)?([\w-]+)\.md(#[\w-]+)?\)")


def handout(notebook: NotebookNode, pages: str) -> NotebookNode:
    """A copy of a notebook without its exercises' answers; hints, and answers to what was to be predicted, stay.

    Args:
        notebook: one of the book's.
        pages: where the book is published; links to its pages that are no notebooks lead there.
    """
    notebook = nbformat.from_dict(notebook)
    notebook.cells = [cell for cell in notebook.cells if "solution" not in cell.metadata.get("tags", [])]
    exercises = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts = re.split(r"^(## .*exercises$|## )", cell.source, flags=re.MULTILINE | re.IGNORECASE)
            for number, part in enumerate(parts):
                if part.startswith("## "):
                    exercises = len(part) > 3
                elif exercises:
                    parts[number] = ANSWER.sub("", part)
            cell.source = PAGE.sub(rf"]({pages}/book/\1.html\2)", "".join(parts))
    return notebook


def write(folder: Path) -> None:
    """Write every notebook of the book into the folder, over what may stand there."""
    (folder / "more").mkdir(parents=True, exist_ok=True)
    for path in NOTEBOOKS:
        nbformat.write(handout(nbformat.read(path, as_version=4), site()), folder / path.relative_to(BOOK))
    shutil.copy(BOOK / "one_file.py", folder)


if __name__ == "__main__":
    write(FOLDER)
    packed = FOLDER.with_name(f"softlookup-handout-{version()}")
    packed = shutil.make_archive(str(packed), "zip", FOLDER.parent, FOLDER.name)  # in a folder of its own
    print(f"The notebooks without solutions: {FOLDER}, packed: {packed}")
