"""How long each chapter takes, estimated from its notebook; as an extension of Sphinx, puts the table into a page."""

import re
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

from tools.notebooks.execute import CHAPTERS

FOLDS = re.compile("<details.*?</details>", re.DOTALL)
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
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
    def parts(self) -> tuple[int, int, int]:
        """The minutes for words, code and figures."""
        return round(self.words / WORDS_A_MINUTE), round(self.lines / LINES_A_MINUTE), self.figures * MINUTES_A_FIGURE

    @property
    def lecture(self) -> int:
        """The minutes for all three, rounded to five."""
        return 5 * round(sum(self.parts) / 5)


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
    for path in CHAPTERS:
        notebook = nbformat.read(path, as_version=4)
        title = notebook.cells[0].source.splitlines()[0].removeprefix("# ")
        load = count(notebook)
        numbers = [*load[:3], load.lecture, load.exercises, load.exercises * MINUTES_AN_EXERCISE]
        rows += f"| [{title}]({path.name}) | {' | '.join(map(str, numbers))} |\n"
    return TABLE + rows


def count(notebook: NotebookNode) -> Load:
    """Words, lines of code and figures of the lecture, and the exercises; what is folded does not count."""
    words = lines = figures = exercises = 0
    practising = False  # whether a cell stands under the heading "Exercises"
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for part in re.split(r"(?m)^(?=##? )", FOLDS.sub("", cell.source)):
                if re.match("##? ", part):
                    practising = part.startswith("## Exercises\n")
                if practising:
                    exercises += len(re.findall("(?m)^### ", part))
                else:
                    words += len(part.split())
        elif not practising:
            if not FOLDED & set(cell.metadata.get("tags", [])):
                lines += sum(bool(line.strip()) for line in cell.source.splitlines())
            outputs = cell.get("outputs", ())
            figures += sum("<attention-explorer" in output.get("data", {}).get("text/html", "") for output in outputs)
    return Load(words, lines, figures, exercises)
