"""The form that every notebook of the book has; :func:`faults` lists where one has not, and
``python -m tools.notebooks.form`` brings all into it, as far as that does not need them executed.
"""

import nbformat
from nbformat import NotebookNode
from nbval.plugin import find_comment_markers, find_metadata_tags

from tools.notebooks.execute import NOTEBOOKS, normalise

MOST_LINES = 25
MOST_FOLDED_LINES = 50  # of code that only draws, with the question and the reason of a prediction
SETUP = """\
try:
    import attention
except ModuleNotFoundError:
    %pip install --quiet git+{address}"""


def faults(notebook: NotebookNode, address: str) -> list[str]:
    """Where a notebook departs from the form.

    Args:
        notebook: as it is committed.
        address: the repository's public address, from which the first code cell installs the package.

    Returns:
        one sentence a fault; empty for a notebook that is fit to publish.
    """
    found = []
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if normalise(notebook) != notebook:
        found.append("it is not normalised: run make notebooks")
    if not codes or codes[0].source != SETUP.format(address=address):
        found.append("its first code cell is not the set-up cell of tools/notebooks/form.py")
    for number, cell in enumerate(codes, start=1):
        found += [f"code cell {number} {fault}" for fault in _cell_faults(cell)]
        if cell.execution_count != number:
            found.append(f"code cell {number} has execution count {cell.execution_count}: run make notebooks")
    return found


def _cell_faults(cell: NotebookNode) -> list[str]:
    found, lines = [], cell.source.splitlines()
    nbval = dict(find_metadata_tags(cell.metadata)) | dict(find_comment_markers(cell.source))
    tags = cell.metadata.get("tags", ())
    is_folded = "hide-input" in tags
    most = MOST_FOLDED_LINES if is_folded else MOST_LINES
    if len(lines) > most:
        found.append(f"has {len(lines)} lines, more than {most}")
    if is_folded and not lines[0].startswith("# @title "):
        found.append("is folded and has no title: begin it with a line '# @title What it draws', which Colab shows")
    if "solution" in tags and "hide-cell" not in tags:
        found.append("is a solution that all see: tag it hide-cell")
    if nbval.get("skip") or not nbval.get("check", True):
        found.append("has its output ignored: print it rounded, or assert its bounds")
    for output in cell.outputs:
        data = output.get("data", {})
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        if any(kind.startswith("image/") for kind in data) and len(alt.split()) < 4:
            found.append("shows a figure without an alt text of four words or more (cell metadata mystnb.image.alt)")
    return found


if __name__ == "__main__":  # make format
    for path in NOTEBOOKS:
        nbformat.write(normalise(nbformat.read(path, as_version=4)), path)
