"""A Sphinx extension: a formula in a sentence keeps what touches it, such as its full stop, on its line."""

import re

from docutils import nodes

BEFORE = re.compile(r"\S*$")
BEHIND = re.compile(r"^\S*")


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", forbid_breaks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def forbid_breaks(app, doctree: nodes.document, docname: str) -> None:
    """A browser may break a line before and behind a drawn formula, also where no space is: forbid it there."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        at = parent.index(formula)
        before = cut_out(parent, at - 1, BEFORE) if at else ""
        behind = cut_out(parent, at + 1, BEHIND) if at + 1 < len(parent) else ""
        if before or behind:
            together = nodes.inline("", "", classes=["text-nowrap"])  # Bootstrap's, which the theme brings
            parent[at] = together
            together += [nodes.Text(before), formula, nodes.Text(behind)]


def cut_out(parent: nodes.Element, at: int, pattern: re.Pattern) -> str:
    """Take out of a text what the pattern finds; nothing where no text stands."""
    if not isinstance(parent[at], nodes.Text):
        return ""
    text = parent[at].astext()
    parent[at] = nodes.Text(pattern.sub("", text, count=1))
    return pattern.search(text)[0]
