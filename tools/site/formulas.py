"""A Sphinx extension: a formula in a sentence keeps what touches it, such as its full stop, on its line."""

import re

from docutils import nodes


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", forbid_breaks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def forbid_breaks(app, doctree: nodes.document, docname: str) -> None:
    """A browser may break a line before and behind a drawn formula, also where no space is: forbid it there."""
    for formula in list(doctree.findall(nodes.math)):
        parent, at = formula.parent, formula.parent.index(formula)
        together = nodes.inline("", "", formula.deepcopy(), classes=["text-nowrap"])  # Bootstrap's, as the theme's
        for place, touching in ((at - 1, r"\S+$"), (at + 1, r"^\S+")):
            text = parent[place] if 0 <= place < len(parent) else None
            if isinstance(text, nodes.Text) and (found := re.search(touching, text)):
                together.insert(0 if place < at else 2, nodes.Text(found[0]))
                parent[place] = nodes.Text(re.sub(touching, "", text))
        if len(together) > 1:
            parent[at] = together
