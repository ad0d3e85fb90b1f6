"""A Sphinx extension: where a page is in the course, what comes next, its foot; and the book's address.

The card at a chapter's end (``book/_templates/card.html``) shows the next chapter, as its notebook has it.
"""

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import nbformat
from docutils import nodes
from nbformat import NotebookNode

from tools.editions import edition
from tools.site import workload
from tools.site.sections import formula

CHAPTER = re.compile(r"book/(\d\d)-[\w-]+")
MORE = re.compile(r"book/more/")


class Card(NamedTuple):
    """What a card says of the chapter that comes next."""

    title: str
    question: str
    minutes: int


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
    """Give a page its foot; and if it is one of the book's, its place, *Did you stumble?* and what comes next."""
    context |= app.edition
    if doctree is None:
        return
    for displayed in [*doctree.findall(nodes.math_block)]:  # the page is written; it is shared with words alone
        displayed.parent.remove(displayed)
    context["stumbled"] = stumbled(page=f"{app.config.html_baseurl}{pagename}.html", **app.edition)
    context |= neighbours(app, pagename)
    chapters = sorted(filter(CHAPTER.fullmatch, app.env.found_docs))
    if pagename in chapters:
        said = place(read(app, pagename), int(CHAPTER.match(pagename)[1]), len(chapters))
        head = f'</h1>\n<p class="place">{said} · <a href="?present">present</a></p>'
        context["body"] = context["body"].replace("</h1>", head, 1)
        context["is_chapter"] = True
        for following in chapters[chapters.index(pagename) + 1 :][:1]:
            context |= {"following": following, "card": card(read(app, following))}


def read(app, page: str) -> NotebookNode:
    return nbformat.read(Path(app.srcdir, f"{page}.ipynb"), as_version=4)


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


def place(notebook: NotebookNode, number: int, count: int) -> str:
    """Where a chapter is in the course, and how long it takes: the instructors' page says how that is estimated."""
    load = workload.count(notebook)
    return f"Chapter {number} of {count} · about {load.lecture} minutes · {load.exercises} exercises"


def card(notebook: NotebookNode) -> Card:
    """What a chapter's notebook says of itself: title, minutes, and its first bold question."""
    first = notebook.cells[0].source
    bold = " ".join(first.split()).split("**")[1::2]
    question = next((part for part in bold if part.endswith("?")), "")
    title = first.splitlines()[0].removeprefix("# ")
    return Card(plain(title), plain(question), workload.count(notebook).lecture)


def plain(text: str) -> str:
    """A sentence without its marks.

    >>> plain("Where do $Q$ and\\n*K* come from?")
    'Where do Q and K come from?'
    """
    text = re.sub(r"\$([^$]+)\$", lambda found: formula(found[1]), text)
    return " ".join(re.sub(r"[*`]", "", text).split())


def stumbled(address: str, page: str, edition: str, commit: str) -> str:
    """The address of the form that asks where a reader stumbled, the page and the edition filled in."""
    fields = {"template": "stumbled.yml", "page": page, "edition": f"{edition} {commit}".strip()}
    return f"{address}/issues/new?{urlencode(fields)}"
