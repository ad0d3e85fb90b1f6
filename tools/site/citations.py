"""A Sphinx extension: each citation leads to its work in the bibliography, and its page holds the work's card.

Authors write ``[Vaswani et al. (2017)](bibliography.md)``. The first name and the year are the work's key in
``references.bib``, and its anchor in the bibliography. ``book/_front/citations.js`` shows the cards.
"""

import re
from urllib.parse import urlsplit

from docutils import nodes
from markupsafe import Markup
from pybtex.database import Entry
from pybtex.richtext import Text
from sphinx.util import logging

CITED = re.compile(r"\W*(\w+).*\b(\d{4})\b", re.DOTALL)
PLACES = ("booktitle", "journal", "publisher", "institution", "howpublished")  # where a work appeared: the first it has
MOST_AUTHORS = 3

CARD = Markup(
    '<span class="work" data-key="{key}"><span>{authors}, {year}</span><cite>{title}</cite><span>{place}</span>'
    "<span>{links}</span></span>"
)
LINK = Markup('<a href="{}">{}</a>')


def setup(app):
    """Register with Sphinx."""
    app.config.bibtex_cite_id = "{key}"
    app.connect("doctree-resolved", lead_to_works)
    app.connect("html-page-context", add_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def lead_to_works(app, doctree: nodes.document, docname: str) -> None:
    """Give each citation its work's anchor; a citation of no work is a warning, and so fails the build."""
    works = app.env.get_domain("cite").bibdata.data.entries
    for link in doctree.findall(nodes.reference):
        cited = CITED.match(link.astext())
        if not cited or not link.get("refuri", "").endswith("bibliography.html"):
            continue
        key = cited[1].lower() + cited[2]
        if key not in works:
            logging.getLogger(__name__).warning("references.bib has no %s: %s", key, link.astext(), location=docname)
            continue
        link["refuri"] += f"#{key}"
        link["classes"].append("cites")


def add_cards(app, pagename, templatename, context, doctree) -> None:
    """Give a page's template (book/_templates/layout.html) a card for each work that the page cites."""
    works = app.env.get_domain("cite").bibdata.data.entries
    links = (
        [link["refuri"] for link in doctree.findall(nodes.reference) if "cites" in link["classes"]] if doctree else []
    )
    context["works"] = Markup("").join(card(works[link.partition("#")[2]], link) for link in sorted({*links}))


def card(work: Entry, address: str) -> Markup:
    """What a reader wants to know of a work: who, when, what, where; and the way to it."""
    links = [LINK.format(address, "In the bibliography")]
    if source := source_of(work):
        links.insert(0, LINK.format(source, f"Read it at {urlsplit(source).hostname.removeprefix('www.')}"))
    place = next((plain(work.fields[name]) for name in PLACES if name in work.fields), "")
    return CARD.format(
        key=work.key,
        authors=authors(work),
        year=work.fields["year"],
        title=plain(work.fields["title"]),
        place=place,
        links=Markup(" · ").join(links),
    )


def source_of(work: Entry) -> str:
    """The address at which a work is read, if it has one."""
    return f"https://doi.org/{work.fields['doi']}" if "doi" in work.fields else work.fields.get("url", "")


def authors(work: Entry) -> str:
    """The first authors by their full names, and whether there are more."""
    people = work.persons["author"]
    names = [
        plain(" ".join(person.first_names + person.middle_names + person.prelast_names + person.last_names))
        for person in people
    ]
    if len(names) > MOST_AUTHORS or names[-1] == "others":
        return ", ".join(names[:MOST_AUTHORS]) + " and others"
    return ", ".join([*names[:-2], " and ".join(names[-2:])])


def plain(latex: str) -> str:
    """A field of ``references.bib`` without its LaTeX."""
    return str(Text.from_latex(latex))
