"""How long each chapter takes, estimated from its notebook; as an extension of Sphinx, puts the table into a page."""

import re
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

FOLDS = re.compile("<details.*?</details>", re.DOTALL)
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
HEADING = re.compile(r"^##? .*", re.MULTILINE)
EXERCISE = re.compile(r"^### ", re.MULTILINE)
BOOK = Path(__file__).parents[2] / "book"
MARK = "<!-- workload -->"

# Assumed, not measured: no class has been timed.
WORDS_A_MINUTE = 75
LINES_A_MINUTE = 6
MINUTES_A_FIGURE = 3
MINUTES_AN_EXERCISE = 10

TABLE = f"""\
Reading is taken at {WORDS_A_MINUTE} words a minute, formulas included, code at {LINES_A_MINUTE} lines a minute, a \
figure at {MINUTES_A_FIGURE} minutes, an exercise at {MINUTES_AN_EXERCISE}. What is folded is not counted. A lecture's \
minutes are rounded to five.

| Chapter | Words | Lines of code | Figures | Lecture, min | Exercises | Exercises, min |
|---|---:|---:|---:|---:|---:|---:|
"""


class Load(NamedTuple):
    """What a chapter asks of its reader: its lecture without what is folded, and its exercises."""

    words: int
    lines: int
    figures: int
    exercises: int

    @property
    def text(self) -> int:
        """The minutes for the words."""
        return round(self.words / WORDS_A_MINUTE)

    @property
    def code(self) -> int:
        """The minutes for the lines of code."""
        return round(self.lines / LINES_A_MINUTE)

    @property
    def drawn(self) -> int:
        """The minutes for the figures."""
        return self.figures * MINUTES_A_FIGURE

    @property
    def lecture(self) -> int:
        """The minutes for all three, rounded to five."""
        return 5 * round((self.text + self.code + self.drawn) / 5)

    @property
    def practice(self) -> int:
        """The minutes for the exercises."""
        return self.exercises * MINUTES_AN_EXERCISE


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
        load = count(notebook)
        numbers = [load.words, load.lines, load.figures, load.lecture, load.exercises, load.practice]
        rows += f"| [{title}]({path.name}) | {' | '.join(map(str, numbers))} |\n"
    return TABLE + rows


def count(notebook: NotebookNode) -> Load:
    """Words, lines of code and figures of the lecture, and the exercises; what is folded does not count."""
    words = lines = figures = exercises = 0
    practising = False  # whether a cell stands under the heading "Exercises"
    for cell in unfolded(notebook).cells:
        if cell.cell_type == "markdown":
            for part in re.split(r"(?m)^(?=##? )", cell.source):
                heading = HEADING.match(part)
                practising = heading[0] == "## Exercises" if heading else practising
                exercises += practising * len(EXERCISE.findall(part))
                words += (not practising) * len(part.split())
        elif not practising:
            lines += lines_of(cell)
            figures += figures_of(cell)
    return Load(words, lines, figures, exercises)


def lines_of(cell: NotebookNode) -> int:
    """How many lines of a cell say something."""
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def figures_of(cell: NotebookNode) -> int:
    """How many figures a cell shows."""
    outputs = cell.get("outputs", ())
    return sum("<attention-explorer" in output.get("data", {}).get("text/html", "") for output in outputs)


def unfolded(notebook: NotebookNode) -> NotebookNode:
    """A copy of a chapter without what it folds, but with its figures: what a reader sees who opens nothing."""
    notebook = nbformat.from_dict(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = FOLDS.sub("", cell.source)
        elif FOLDED & set(cell.metadata.get("tags", [])):
            cell.source = ""
    return notebook
