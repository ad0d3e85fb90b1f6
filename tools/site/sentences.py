"""A Sphinx extension for sentences: citations lead to their works, links set figures, formulas keep what touches them.

Authors write ``[Vaswani et al. (2017)](bibliography.md)``. The first name and the year are the work's key in
``references.bib``, and its anchor in the bibliography.
"""

import re
from urllib.parse import quote

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

CITED = re.compile(r"\W*(\w+).*\b(\d{4})\b", re.DOTALL)


def setup(app):
    """Register with Sphinx."""
    app.config.bibtex_cite_id = "{key}"
    app.connect("doctree-resolved", lead_to_works)
    app.connect("doctree-resolved", forbid_breaks)
    app.add_transform(LinksToStates)
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


class LinksToStates(SphinxTransform):
    """Leave links such as ``#lookup?temperature=0.05`` to the explorer: they name no place in the text.

    Their class makes them look like what they are (``book/_front/text.css``). ``03-scaling.ipynb#widen?width=4`` leads
    to a state of a figure on another page, and with ``&present`` behind it to that figure in the lecture view.
    """

    default_priority = 800  # before MyST looks for the places

    def apply(self, **_) -> None:
        for link in self.document.findall(nodes.reference):
            if re.match(r"#[\w-]+\?", link.get("refuri", "")):
                link.attributes.pop("id_link", None)
                link["classes"].append("state")
        for link in [*self.document.findall(addnodes.pending_xref)]:
            if "?" in (link.get("reftargetid") or ""):
                page = self.app.builder.get_relative_uri(self.env.docname, link["reftarget"])
                state, present, _ = link["reftargetid"].partition("&present")
                state = f"{page}{'?present' if present else ''}#{quote(state, safe='?=&,+%')}"
                link.replace_self(nodes.reference("", "", *link.children, refuri=state, internal=True))


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
