"""A Sphinx extension: an address that led to a place which has moved leads to where it is now (``book/moved.yml``)."""

import json
from functools import cache
from pathlib import Path

import yaml

LIST = Path(__file__).parent.parent / "book" / "moved.yml"

# The part behind a question mark is a figure's state, and goes along.
SCRIPT = (
    "<script>(moved=>{{let[place,state]=location.hash.slice(1).split('?'),to=moved[place];"
    "to&&location.replace(to+(state?'?'+state:''))}})({})</script>"
)


def setup(app):
    """Register with Sphinx."""
    app.connect("html-page-context", lead_on)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def lead_on(app, pagename, templatename, context, doctree) -> None:
    """Give a page whose places have moved the script that leads to them."""
    places = moved().get(pagename.removeprefix("book/"))
    if doctree is not None and places:
        context["body"] += SCRIPT.format(json.dumps(places, separators=(",", ":")))


@cache
def moved(path: Path = LIST) -> dict[str, dict[str, str]]:
    """For each page, its old anchors and the addresses, seen from that page, where they lead; read once."""
    pages = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {page: {old: _address(new) for old, new in (places or {}).items()} for page, places in pages.items()}


def _address(new: str) -> str:
    page, _, anchor = new.partition("#")
    return f"{page}.html#{anchor}" if page else new
