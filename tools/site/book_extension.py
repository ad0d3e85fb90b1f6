"""The book's own Sphinx extension: what _config.yml cannot say, and the scripts and styles of its pages."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from urllib.parse import quote

from docutils import nodes
from markupsafe import Markup
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from tools.editions.edition import ROOT

# Formulas as SVG, with their glyphs in the script: browsers may refuse font files to a page opened from disk.
MATHJAX = "tex-svg-full.js"
FRONT = ROOT / "book" / "_front"  # the pages' own; the explorers' comes from the package
EXPLORER = run_path(str(ROOT / "src/attention/explorer/front.py"))  # alone: the package around it imports PyTorch
STYLES = ("fonts", "theme", "text", "welcome", "code", "folds", "beside")
STYLES += ("api", "citations", "find", "around", "paper")
SCRIPTS = ("beside", "formulas", "paper", "predicted", "stumbled")


def setup(app):
    """Register with Sphinx."""
    app.config.mathjax_path = f"mathjax/{MATHJAX}"
    app.connect("builder-inited", copy_mathjax)
    app.connect("builder-inited", write_front)
    # a page shows what others say: the search their text, a chapter's end the next one
    app.connect("env-get-outdated", lambda app, env, *_: env.found_docs)
    app.add_transform(LinksToStates)
    app.connect("html-page-context", add_to_context)
    app.connect("html-page-context", name_toggles, priority=900)  # when the theme has made its contents
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def copy_mathjax(app) -> None:
    """Copy MathJax, with what its menu may load, and without the combinations of it that the book does not use.

    This also makes the folder that the theme copies its logo into, even when the build fails before making it.
    """
    source = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
    unused = {path.name for path in source.glob("*.js")} - {MATHJAX}
    shutil.copytree(source, Path(app.outdir, "_static", "mathjax"), ignore=lambda *_: unused, dirs_exist_ok=True)


def write_front(app) -> None:
    """Write the scripts, the stylesheets and the fonts of every page of the book, and the script of the search page."""
    files = {
        "explorer.css": EXPLORER["stylesheet"](),
        "explorer.js": EXPLORER["script"](),
        "softlookup.css": _joined(STYLES, "css"),
        "softlookup.js": f"(() => {{\n{_joined(SCRIPTS, 'js')}}})();\n",
        "find.js": f"(() => {{\n{_joined(('find',), 'js')}}})();\n",
    }
    for name, text in files.items():
        Path(app.outdir, "_static", name).write_text(text, encoding="utf-8")
    shutil.copytree(FRONT / "fonts", Path(app.outdir, "_static", "fonts"), dirs_exist_ok=True)


def _joined(names: tuple[str, ...], suffix: str) -> str:
    return "\n".join((FRONT / f"{name}.{suffix}").read_text(encoding="utf-8") for name in names)


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
                name_and_state = link["reftargetid"].removesuffix("&present")
                view = "?present" if link["reftargetid"].endswith("&present") else ""
                state = f"{page}{view}#{quote(name_and_state, safe='?=&,+%')}"
                link.replace_self(nodes.reference("", "", *link.children, refuri=state, internal=True))


def add_to_context(app, pagename, templatename, context, doctree) -> None:
    """Give the page's template (book/_templates/layout.html) its helper, and the page a body that can be read aloud."""
    context["without_font_preloads"] = without_font_preloads
    if "body" in context:
        context["body"] = readable(context["body"])


def name_toggles(app, pagename, templatename, context, doctree) -> None:
    """Give the buttons in the contents, which open a chapter's further pages, the name that the theme leaves out."""
    if contents := context.get("generate_toctree_html"):
        context["generate_toctree_html"] = lambda *given, **how: with_names(contents(*given, **how))


def without_font_preloads(head: str) -> Markup:
    """Leave out the links that ask for a font before the page needs it.

    >>> without_font_preloads('<meta><link rel="preload" as="font" href="a.woff2" /><link href="a.css" />')
    Markup('<meta><link href="a.css" />')
    """
    return Markup(re.sub(r'<link rel="preload" as="font"[^>]*>', "", head))


def with_names(contents):
    """The page's contents (of Beautiful Soup), whose folds have an arrow alone, with a name for each."""
    for fold in contents.find_all("summary") if contents else ():
        fold["aria-label"] = f"Below {fold.find_parent('li').a.get_text().strip()}"
    return contents


def readable(body: str) -> str:
    """Replace what screen readers stumble over.

    Lists without terms in signatures, a role that no list may hold, and one name for all folds in place of their own.

    >>> readable('<dt class="sig py"><dl><dd>length</dd></dl></dt><dl><dd>as it was</dd></dl>')
    '<dt class="sig py"><span><span class="sig-line">length</span></span></dt><dl><dd>as it was</dd></dl>'
    """
    tags = {"<dl>": "<span>", "</dl>": "</span>", "<dd>": '<span class="sig-line">', "</dd>": "</span>"}

    def without_list(signature: re.Match) -> str:
        return re.sub("</?d[ld]>", lambda tag: tags[tag[0]], signature[0])

    body = re.sub(r'<dt class="sig .*?</dt>', without_list, body, flags=re.DOTALL)
    body = body.replace(' aria-label="Toggle hidden content"', "")
    return body.replace('role="doc-biblioentry"', 'role="listitem"')
