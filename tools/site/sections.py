"""A Sphinx extension: what the search looks through, the text of each section, as a script for the search page.

A page from disk may not fetch its neighbours, but may load a script. ``book/_front/find.js`` ranks and shows. Sphinx's
own index is left out: it knows in which page a word stands, but not in which section.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from pybtex.database import Entry
from pybtex.richtext import Text
from pylatexenc.latex2text import LatexNodes2Text
from sphinx import addnodes

PLACES = (nodes.section, addnodes.desc, nodes.citation)
UNSAID = (nodes.title, nodes.math_block, nodes.literal_block, nodes.comment, nodes.label)
UNSAID += (addnodes.desc_signature, addnodes.index)
DRAWN = {"cell_output", "tag_hide-input", "tag_hide-cell"}  # what a cell shows, and code that only draws
SPACES = {"between-macro-and-chars": False, "between-latex-constructs": True}  # most of those that are written


def setup(app):
    """Register with Sphinx."""
    app.connect("builder-inited", begin)
    app.connect("doctree-resolved", collect)
    app.connect("html-collect-pages", lambda app: [("search", {}, "search.html")])
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def begin(app) -> None:
    """Turn Sphinx's own search off, and begin with nothing."""
    app.builder.search = False
    app.sections = {}


def collect(app, doctree: nodes.document, docname: str) -> None:
    """Keep what a page's sections say."""
    app.sections[docname] = sections(doctree, app.env.get_domain("cite").bibdata.data.entries)


def write(app, exception) -> None:
    """Write the sections of all pages, in the order of the book."""
    if exception:
        return
    pages = [[f"{name}.html", app.env.titles[name].astext(), app.sections[name]] for name in app.builder.relations]
    script = f"const PAGES = {json.dumps(pages, ensure_ascii=False, separators=(',', ':'))};\n"
    Path(app.outdir, "_static", "sections.js").write_text(script, encoding="utf-8")


def sections(doctree: nodes.document, works: dict) -> list[tuple[str, str, str]]:
    """Anchor, title and text of a page's sections, each function of the package, and each work of the bibliography."""
    found = []
    for place in doctree.findall(lambda node: isinstance(node, PLACES)):
        anchor, title = _name(place, works)
        body = " ".join(_text(child) for child in place.children)
        found.append((anchor if found else "", title, " ".join(body.split())))  # a page's first section is the page
    return found


def _name(place: nodes.Element, works: dict) -> tuple[str, str]:
    """The anchor and the title of a place."""
    if isinstance(place, addnodes.desc):
        signature = place.next_node(addnodes.desc_signature)
        return signature["ids"][0], signature.next_node(addnodes.desc_name).astext()
    anchor = place["ids"][0]
    if isinstance(place, nodes.citation):
        return anchor, f"{authors(works[anchor])}, {works[anchor].fields['year']}"
    return anchor, " ".join(_inline(place.next_node(nodes.title)).split())


def authors(work: Entry) -> str:
    """The first three authors of a work by their full names, and whether there are more."""
    people = [who.first_names + who.middle_names + who.prelast_names + who.last_names for who in work.persons["author"]]
    names = [str(Text.from_latex(" ".join(parts))) for parts in people]
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 or names[-1] == "others" else "")


def _text(node: nodes.Node) -> str:
    """What a reader sees of a node, apart from what is a section of its own, figures and displayed formulas."""
    if isinstance(node, PLACES + UNSAID) or (isinstance(node, nodes.Element) and DRAWN & set(node.get("classes", ()))):
        return ""
    if isinstance(node, nodes.raw):
        return re.sub("<[^>]*>", " ", node.astext())
    if isinstance(node, nodes.TextElement):
        return _inline(node)
    return " ".join(_text(child) for child in node.children)


def _inline(node: nodes.Element) -> str:
    if isinstance(node, nodes.math):
        return formula(node.astext())
    return "".join(_inline(child) if child.children else child.astext() for child in node.children)


def formula(latex: str) -> str:
    """A formula in a line of text, roughly; a search for q finds a bold one, too."""
    latex = re.sub(r"\\(?:mathbf|boldsymbol)\b", "", re.sub(r"\\[td]frac", r"\\frac", latex))
    text = LatexNodes2Text(strict_latex_spaces=SPACES).latex_to_text(latex)
    return re.sub(r"√\((\w+)\)", r"√\1", text).replace("^⊤", "ᵀ")
