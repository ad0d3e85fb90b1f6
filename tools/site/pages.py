"""A Sphinx extension: where a page is in the course, its foot, and the book's address for what asks for it."""

import re
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import nbformat
from docutils import nodes

from tools.editions import edition
from tools.site import workload

CHAPTER = re.compile(r"book/(\d\d)-")
MORE = re.compile(r"book/more/")


def setup(app):
    """Register with Sphinx."""
    app.connect("config-inited", set_address, priority=400)  # before the extensions that use it
    app.connect("html-page-context", add_to_context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def set_address(app, config) -> None:
    """Give Sphinx and its extensions the book's address; and read once what is the same for all pages."""
    root = Path(app.srcdir)
    config.html_baseurl = config.ogp_site_url = edition.site(root) + "/"
    config.notfound_urls_prefix = urlsplit(config.html_baseurl).path
    app.edition = {
        "address": edition.address(root),
        "edition": edition.version(root),
        "commit": edition.commit(root),
    }


def add_to_context(app, pagename, templatename, context, doctree) -> None:
    """Give a page its foot; and if it is one of the book's, its place and *Did you stumble?*"""
    context |= app.edition
    if doctree is None:
        return
    for formula in [*doctree.findall(nodes.math_block)]:  # the page is written; it is shared with words alone
        formula.parent.remove(formula)
    context["stumbled"] = stumbled(page=f"{app.config.html_baseurl}{pagename}.html", **app.edition)
    context |= neighbours(app, pagename)
    if CHAPTER.match(pagename):
        count = max(CHAPTER.match(name)[1] for name in app.env.found_docs if CHAPTER.match(name))
        said = place(Path(app.srcdir, f"{pagename}.ipynb"), int(count))
        context["body"] = context["body"].replace("</h1>", f'</h1>\n<p class="place">{said}</p>', 1)


def neighbours(app, pagename: str) -> dict[str, dict[str, str] | None]:
    """What comes before and after a page; pages of More lie beside the way, between their chapter and the next."""
    way = [name for name in app.builder.relations if not MORE.match(name)]
    above = app.builder.relations.get(pagename, [None])[0]
    if pagename not in way and above not in way:
        return {}
    at = way.index(pagename if pagename in way else above)
    found = {"prev": way[at - 1] if at and pagename in way else above, "next": (*way, None)[at + 1]}
    return {side: name and _link(app, pagename, name) for side, name in found.items()}


def _link(app, pagename: str, other: str) -> dict[str, str]:
    title = app.builder.render_partial(app.env.titles[other])["title"]
    return {"link": app.builder.get_relative_uri(pagename, other), "title": title}


def place(path: Path, count: int) -> str:
    """Where a chapter is in the course, and how long it takes: the instructors' page says how that is estimated."""
    load = workload.count(nbformat.read(path, as_version=4))
    parts = "text {}, code {}, figures {}".format(*load.parts)
    said = f"Chapter {int(path.name[:2])} of {count} · about {load.lecture} minutes ({parts})"
    return f"{said} · {load.exercises} exercises, {load.exercises * workload.MINUTES_AN_EXERCISE} minutes"


def stumbled(address: str, page: str, edition: str, commit: str) -> str:
    """The address of the form that asks where a reader stumbled, the page and the edition filled in."""
    fields = {"template": "stumbled.yml", "page": page, "edition": f"{edition} {commit}".strip()}
    return f"{address}/issues/new?{urlencode(fields)}"
