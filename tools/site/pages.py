"""A Sphinx extension: where a page is in the course, what comes next, its foot; and the book's address.

The card at a chapter's end (``book/_templates/card.html``) shows the next chapter, as its notebook has it.
"""

import re
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import nbformat
from docutils import nodes
from nbformat import NotebookNode

from tools.editions import edition
from tools.site import workload
from tools.site.sections import formula

CHAPTER = re.compile(r"book/\d\d-[\w-]+")


def setup(app):
    """Register with Sphinx."""
    app.connect("config-inited", set_address, priority=400)  # before the extensions that use it
    app.connect("html-page-context", add_to_context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def set_address(app, config) -> None:
    """Give Sphinx and its extensions the book's address; and read once what is the same for all pages."""
    config.html_baseurl = config.ogp_site_url = edition.site() + "/"
    config.notfound_urls_prefix = urlsplit(config.html_baseurl).path
    app.edition = {"address": edition.address(), "edition": edition.version(), "commit": edition.commit()}


def add_to_context(app, pagename, templatename, context, doctree) -> None:
    """Give a page its foot; and if it is one of the book's, its place, *Did you stumble?* and what comes next."""
    context |= app.edition
    if doctree is None:
        return
    for displayed in [*doctree.findall(nodes.math_block)]:  # the page is written; it is shared with words alone
        displayed.parent.remove(displayed)
    said = f"{app.edition['edition']} {app.edition['commit']}".strip()
    fields = {"template": "stumbled.yml", "page": f"{app.config.html_baseurl}{pagename}.html", "edition": said}
    context["stumbled"] = f"{app.edition['address']}/issues/new?{urlencode(fields)}"
    context |= neighbours(app, pagename)
    chapters = sorted(filter(CHAPTER.fullmatch, app.env.found_docs))
    if pagename in chapters:
        number, load = chapters.index(pagename) + 1, workload.count(read(app, pagename))
        place = f"Chapter {number} of {len(chapters)} · about {load.lecture} minutes · {load.exercises} exercises"
        head = f'</h1>\n<p class="place">{place}<span class="present"> · <a href="?present">present</a></span></p>'
        context["body"] = context["body"].replace("</h1>", head, 1)
        context["is_chapter"] = True
        for following in chapters[number : number + 1]:
            context |= {"following": following, "card": card(read(app, following))}


def read(app, page: str) -> NotebookNode:
    return nbformat.read(Path(app.srcdir, f"{page}.ipynb"), as_version=4)


def neighbours(app, pagename: str) -> dict[str, dict[str, str] | None]:
    """What comes before and after a page; pages of More lie beside the way, between their chapter and the next."""

    def link(other: str) -> dict[str, str]:
        title = app.builder.render_partial(app.env.titles[other])["title"]
        return {"link": app.builder.get_relative_uri(pagename, other), "title": title}

    way = [name for name in app.builder.relations if not name.startswith("book/more/")]
    above = app.builder.relations.get(pagename, [None])[0]
    if pagename not in way and above not in way:
        return {}
    at = way.index(pagename if pagename in way else above)
    found = {"prev": way[at - 1] if at and pagename in way else above, "next": (*way, None)[at + 1]}
    return {side: name and link(name) for side, name in found.items()}


def card(notebook: NotebookNode) -> dict[str, str | int]:
    """What a chapter's notebook says of itself: title, minutes, and its first bold question."""
    first = notebook.cells[0].source
    bold = " ".join(first.split()).split("**")[1::2]
    question = next((part for part in bold if part.endswith("?")), "")
    title = first.splitlines()[0].removeprefix("# ")
    return {"title": plain(title), "question": plain(question), "minutes": workload.count(notebook).lecture}


def plain(text: str) -> str:
    """A sentence without its marks.

    >>> plain("Where do $Q$ and\\n*K* come from?")
    'Where do Q and K come from?'
    """
    text = re.sub(r"\$([^$]+)\$", lambda found: formula(found[1]), text)
    return " ".join(re.sub(r"[*`]", "", text).split())
