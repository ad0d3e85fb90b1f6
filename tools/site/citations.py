"""A Sphinx extension: each citation leads to its work in the bibliography.

Authors write ``[Vaswani et al. (2017)](bibliography.md)``. The first name and the year are the work's key in
``references.bib``, and its anchor in the bibliography.
"""

import re

from docutils import nodes
from sphinx.util import logging

CITED = re.compile(r"\W*(\w+).*\b(\d{4})\b", re.DOTALL)


def setup(app):
    """Register with Sphinx."""
    app.config.bibtex_cite_id = "{key}"
    app.connect("doctree-resolved", lead_to_works)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def lead_to_works(app, doctree: nodes.document, docname: str) -> None:
    """Give each citation its work's anchor; a citation of no work is a warning, and so fails the build."""
    works = app.env.get_domain("cite").bibdata.data.entries
    for link in doctree.findall(nodes.reference):
        cited = CITED.match(link.astext())
        if not cited or not link.get("refuri", "").endswith("bibliography.html"):
            continue
        key = cited[1].lower() + cited[2]
        if key in works:
            link["refuri"] += f"#{key}"
        else:
            logging.getLogger(__name__).warning("references.bib has no %s: %s", key, link.astext(), location=docname)
