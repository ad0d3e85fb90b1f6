"""How long each chapter takes, estimated from its notebook; as an extension of Sphinx, puts the table into a page."""

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

FOLDS = re.compile("<details.*?</details>", re.DOTALL)
FOLDED = {"hide-input", "hide-cell", "remove-input"}
BOOK = Path(__file__).parent.parent / "book"
MARK = "<!-- workload -->"

# Assumed, not measured: no class has been timed.
WORDS_A_MINUTE = 120
LINES_A_MINUTE = 12
MINUTES_AN_EXPLORER = 3
MINUTES_AN_EXERCISE = 10

TABLE = f"""\
Reading is taken at {WORDS_A_MINUTE} words a minute, formulas included, and {LINES_A_MINUTE} lines of code a minute, \
with {MINUTES_AN_EXPLORER} minutes for each explorer; an exercise at {MINUTES_AN_EXERCISE} minutes. Times are rounded \
to five minutes.

| Chapter | Words | Lines of code | Explorers | Exercises | Reading, min | With exercises, min |
|---|---:|---:|---:|---:|---:|---:|
"""


def setup(app):
    """Register with Sphinx."""
    app.connect("source-read", add_table)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_table(app, docname: str, source: list[str]) -> None:
    """Put the table where a page has the mark."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, table())


def table() -> str:
    """One row a chapter, and how the times were estimated."""
    rows = ""
    for path in sorted(BOOK.glob("[0-9]*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        title = notebook.cells[0].source.splitlines()[0].removeprefix("# ")
        numbers = [*count(notebook), *minutes(notebook)]
        rows += f"| [{title}]({path.name}) | {' | '.join(map(str, numbers))} |\n"
    return TABLE + rows


def minutes(notebook: NotebookNode) -> tuple[int, int]:
    """How long a chapter takes to read, without the exercises and with them, rounded to five minutes."""
    words, lines, explorers, exercises = count(notebook)
    reading = words / WORDS_A_MINUTE + lines / LINES_A_MINUTE + explorers * MINUTES_AN_EXPLORER
    return 5 * round(reading / 5), 5 * round((reading + exercises * MINUTES_AN_EXERCISE) / 5)


def count(notebook: NotebookNode) -> tuple[int, int, int, int]:
    """Words, lines of code, explorers and exercises; the set-up cell and the solutions do not count."""
    words = lines = explorers = exercises = 0
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "markdown":
            words += len(cell.source.split())
        elif "solution" in tags:
            exercises += 1
        elif "remove-cell" not in tags:
            lines += sum(bool(line.strip()) for line in cell.source.splitlines())
            explorers += sum(
                "<attention-explorer" in output.get("data", {}).get("text/html", "") for output in cell.outputs
            )
    return words, lines, explorers, exercises


def unfolded(notebook: NotebookNode) -> NotebookNode:
    """A copy of a chapter without what it folds, but with its figures: what a reader sees who opens nothing."""
    notebook = nbformat.from_dict(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = FOLDS.sub("", cell.source)
        elif FOLDED & set(cell.metadata.get("tags", [])):
            cell.source = ""
    return notebook
