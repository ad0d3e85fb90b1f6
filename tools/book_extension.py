"""The book's own Sphinx extension: what _config.yml cannot say."""

import re
from pathlib import Path

from markupsafe import Markup


def setup(app):
    """Register with Sphinx; comes after sphinx-mathjax-offline in the list of extensions."""
    # Formulas as SVG, with their glyphs in the script: browsers may refuse font files to a page opened from disk.
    app.config.mathjax_path = "mathjax/tex-svg-full.js"
    app.connect("builder-inited", make_static_folder)
    app.connect("html-page-context", add_to_context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def make_static_folder(app) -> None:
    """Make the folder that the theme copies its logo into, which it does even when the build fails before making it."""
    Path(app.outdir, "_static").mkdir(parents=True, exist_ok=True)


def add_to_context(app, pagename, templatename, context, doctree) -> None:
    """Give the page's template (book/_templates/layout.html) its helper."""
    context["without_font_preloads"] = without_font_preloads


def without_font_preloads(head: str) -> Markup:
    """Leave out the links that ask for a font before the page needs it.

    >>> without_font_preloads('<meta><link rel="preload" as="font" href="a.woff2" /><link href="a.css" />')
    Markup('<meta><link href="a.css" />')
    """
    return Markup(re.sub(r'<link rel="preload" as="font"[^>]*>', "", head))
