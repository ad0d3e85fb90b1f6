"""A Sphinx extension: the card at a chapter's end, which shows the next chapter, as its notebook has it.

``book/_templates/card.html`` sets it right before the links to the pages before and behind.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import nbformat
from markupsafe import Markup, escape
from nbformat import NotebookNode

from tools import lecture, workload
from tools.figures import PAYLOAD
from tools.sections import formula

CHAPTER = re.compile(r"book/(\d\d)-[\w-]+")

# A picture's boxes, and the space between them, in pixels.
WIDTH, HEIGHT, ACROSS, DOWN = 76, 30, 90, 46
LONGEST = 9  # characters that a box has room for; more stand closer


class Card(NamedTuple):
    """What a card says of the chapter that comes next."""

    title: str
    question: str
    minutes: int
    picture: str


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


def card(notebook: NotebookNode) -> Card:
    """What a chapter's notebook says of itself: title, question, minutes, and its first diagram as a small picture."""
    title = notebook.cells[0].source.splitlines()[0].removeprefix("# ")
    minutes = workload.count(notebook).lecture
    return Card(plain(title), plain(lecture.question(notebook)), minutes, picture(notebook))


def plain(text: str) -> str:
    """A sentence without its marks.

    >>> plain("Where do $Q$ and\\n*K* come from?")
    'Where do Q and K come from?'
    """
    text = re.sub(r"\$([^$]+)\$", lambda found: formula(found[1]), text)
    return " ".join(re.sub(r"[*`]", "", text).split())


def picture(notebook: NotebookNode) -> str:
    """The first diagram of a notebook, in the state where it begins, as an SVG; empty if there is none."""
    pages = [
        output.get("data", {}).get("text/html", "") for cell in notebook.cells for output in cell.get("outputs", [])
    ]
    payloads = [json.loads(found["data"]) for page in pages for found in PAYLOAD.finditer(page)]
    panels = [panel for payload in payloads for panel in payload["panels"]]
    diagrams = [panel["fields"] for panel in panels if panel["kind"] == "diagram"]
    return drawn(diagrams[0]["boxes"]["items"][0], diagrams[0]["arrows"]["items"][0]) if diagrams else ""


def drawn(boxes: list[dict], arrows: list[dict]) -> str:
    """Boxes over the lines between their middles; what is lit is drawn in its colour."""
    left = min(box["column"] for box in boxes)
    places = {box["name"]: ((box["column"] - left) * ACROSS + 2, box["row"] * DOWN + 2) for box in boxes}
    width, height = (max(place) for place in zip(*places.values(), strict=True))
    parts = []
    for arrow in arrows:
        (x, y), (to_x, to_y) = places[arrow["from"]], places[arrow["to"]]
        line = f"M{x + WIDTH / 2:g},{y + HEIGHT / 2:g}L{to_x + WIDTH / 2:g},{to_y + HEIGHT / 2:g}"
        parts.append(f'<path d="{line}" stroke="var(--al-{"ink" if arrow["lit"] else "line"})" stroke-width="2"/>')
    for box in boxes:
        x, y = places[box["name"]]
        is_long = len(box["label"]) > LONGEST
        narrowed = f' textLength="{WIDTH - 8}" lengthAdjust="spacingAndGlyphs"' if is_long else ""
        edge, ink = (f"var(--al-{box['color']})",) * 2 if box["lit"] else ("var(--al-line)", "var(--al-muted)")
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="var(--al-paper)" stroke="{edge}"'
            f' stroke-width="{2 if box["lit"] else 1}"/><text x="{x + WIDTH / 2:g}" y="{y + 20:g}"'
            f' fill="{ink}"{narrowed}>'
            f"{escape(box['label'])}</text>"
        )
    size = f"0 0 {width + WIDTH + 2:g} {height + HEIGHT + 2:g}"
    return Markup(
        f'<svg viewBox="{size}" aria-hidden="true" text-anchor="middle" font-size="14">{"".join(parts)}</svg>'
    )
