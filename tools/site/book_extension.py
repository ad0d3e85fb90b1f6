"""The book's own Sphinx extension: what _config.yml cannot say, and the scripts and styles of its pages."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

from tools.editions.edition import ROOT

# Formulas as SVG, with their glyphs in the script: browsers may refuse font files to a page opened from disk.
MATHJAX = "tex-svg-full.js"
FRONT = ROOT / "book" / "_front"  # the pages' own; the explorers' comes from the package
EXPLORER = run_path(str(ROOT / "src/attention/explorer/front.py"))  # alone: the package around it imports PyTorch
STYLES = ("fonts", "theme", "text", "welcome", "code", "folds", "beside")
STYLES += ("api", "citations", "find", "around", "paper")
SCRIPTS = ("formulas", "paper")


def setup(app):
    """Register with Sphinx."""
    app.config.mathjax_path = f"mathjax/{MATHJAX}"
    app.connect("builder-inited", copy_mathjax)
    app.connect("builder-inited", write_front)
    # a page shows what others say: the search their text, a chapter's end the next one
    app.connect("env-get-outdated", lambda app, env, *_: env.found_docs)
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

    def joined(suffix: str, *names: str) -> str:
        text = "\n".join((FRONT / f"{name}.{suffix}").read_text(encoding="utf-8") for name in names)
        return text if suffix == "css" else f"(() => {{\n{text}}})();\n"

    files = {"explorer.css": EXPLORER["stylesheet"](), "explorer.js": EXPLORER["script"]()}
    files |= {"softlookup.css": joined("css", *STYLES), "softlookup.js": joined("js", *SCRIPTS)}
    files["find.js"] = joined("js", "find")
    for name, text in files.items():
        Path(app.outdir, "_static", name).write_text(text, encoding="utf-8")
    shutil.copytree(FRONT / "fonts", Path(app.outdir, "_static", "fonts"), dirs_exist_ok=True)


def add_to_context(app, pagename, templatename, context, doctree) -> None:
    """Give the page a body that can be read aloud."""
    if "body" in context:
        context["body"] = readable(context["body"])


def name_toggles(app, pagename, templatename, context, doctree) -> None:
    """Give the buttons in the contents, which open a chapter's further pages, the name that the theme leaves out."""
    contents = context.get("generate_toctree_html")

    def named(*given, **how):
        found = contents(*given, **how)  # of Beautiful Soup
        for fold in found.find_all("summary") if found else ():
            fold["aria-label"] = f"Below {fold.find_parent('li').a.get_text().strip()}"
        return found

    context["generate_toctree_html"] = contents and named


def readable(body: str) -> str:
    """Replace what screen readers stumble over.

    Lists without terms in signatures, a role that no list may hold, and one name for all folds in place of their own.

    >>> readable('<dt class="sig py"><dl><dd>length</dd></dl></dt><dl><dd>as it was</dd></dl>')
    '<dt class="sig py"><span><span class="sig-line">length</span></span></dt><dl><dd>as it was</dd></dl>'
    """
    tags = {"<dl>": "<span>", "</dl>": "</span>", "<dd>": '<span class="sig-line">', "</dd>": "</span>"}
    parts = re.split(r'(<dt class="sig .*?</dt>)', body, flags=re.DOTALL)
    parts[1::2] = [re.sub("</?d[ld]>", lambda tag: tags[tag[0]], signature) for signature in parts[1::2]]
    body = "".join(parts)
    body = body.replace(' aria-label="Toggle hidden content"', "")
    return body.replace('role="doc-biblioentry"', 'role="listitem"')
