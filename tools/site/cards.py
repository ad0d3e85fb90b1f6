"""A Sphinx extension: the card at a chapter's end, which shows the next chapter, as its notebook has it.

``book/_templates/card.html`` sets it right before the links to the pages before and behind.
"""

import re
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

from tools.site import workload
from tools.site.sections import formula

CHAPTER = re.compile(r"book/(\d\d)-[\w-]+")


class Card(NamedTuple):
    """What a card says of the chapter that comes next."""

    title: str
    question: str
    minutes: int


def setup(app):
    """Register with Sphinx."""
    app.connect("html-page-context", add_to_context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_to_context(app, pagename, templatename, context, doctree) -> None:
    """Give a chapter's template the next chapter, or none after the last."""
    if not CHAPTER.fullmatch(pagename):
        return
    chapters = sorted(filter(CHAPTER.fullmatch, app.env.found_docs))
    context["is_chapter"] = True
    for following in chapters[chapters.index(pagename) + 1 :][:1]:
        context["following"] = following
        context["card"] = card(nbformat.read(Path(app.srcdir, f"{following}.ipynb"), as_version=4))


def question(notebook: NotebookNode) -> str:
    """What a chapter asks: the first bold sentence of its first cell that ends in a question mark."""
    bold = " ".join(notebook.cells[0].source.split()).split("**")[1::2]
    return next((part for part in bold if part.endswith("?")), "")


def card(notebook: NotebookNode) -> Card:
    """What a chapter's notebook says of itself: title, question, minutes."""
    title = notebook.cells[0].source.splitlines()[0].removeprefix("# ")
    minutes = workload.count(notebook).lecture
    return Card(plain(title), plain(question(notebook)), minutes)


def plain(text: str) -> str:
    """A sentence without its marks.

    >>> plain("Where do $Q$ and\\n*K* come from?")
    'Where do Q and K come from?'
    """
    text = re.sub(r"\$([^$]+)\$", lambda found: formula(found[1]), text)
    return " ".join(re.sub(r"[*`]", "", text).split())
