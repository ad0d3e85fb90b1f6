"""How long each chapter takes, estimated from its notebook; as an extension of Sphinx, puts the table into a page."""

import re
from collections import namedtuple

import nbformat
from nbformat import NotebookNode

from tools.notebooks.execute import CHAPTERS

FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
MARK = "<!-- workload -->"
TABLE = """\
Reading is taken at 75 words a minute, formulas included, code at 6 lines a minute, a figure at 3 minutes, an exercise \
at 10. What is folded is not counted, and the minutes are rounded to five.

| Chapter | Words | Lines of code | Figures | Reading, min | Exercises |
|---|---:|---:|---:|---:|---:|
"""


Load = namedtuple("Load", ["words", "lines", "figures", "lecture", "exercises"])


def setup(app):
    """Register with Sphinx."""
    app.connect("source-read", add_table)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_table(app, docname: str, source: list[str]) -> None:
    """Put the table where a page has the mark."""
    table = TABLE
    for path in CHAPTERS if MARK in source[0] else ():
        notebook = nbformat.read(path, as_version=4)
        load, title = count(notebook), notebook.cells[0].source.splitlines()[0].removeprefix("# ")
        table += f"| [{title}]({path.name}) | {' | '.join(map(str, load))} |\n"
    source[0] = source[0].replace(MARK, table)


def count(notebook: NotebookNode) -> Load:
    """Words, lines of code, figures and minutes of the lecture, and exercises; what is folded does not count."""
    words = lines = figures = exercises = 0
    practising = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for part in re.split("(?m)^(?=## )", re.sub("(?s)<details.*?</details>", "", cell.source)):
                if part.startswith("## "):
                    practising = part.startswith("## Exercises")
                exercises += len(re.findall("(?m)^### ", part)) if practising else 0
                words += 0 if practising else len(part.split())
        elif not practising:
            figures += str(cell.outputs).count("<attention-explorer")
            if not FOLDED & set(cell.metadata.get("tags", ())):
                lines += sum(bool(line.strip()) for line in cell.source.splitlines())
    minutes = 5 * round((round(words / 75) + round(lines / 6) + 3 * figures) / 5)
    return Load(words, lines, figures, minutes, exercises)
