"""A Sphinx extension: figures get numbers, their text beside them and their code below; and a page lists them all.

A figure is numbered by its chapter and its place there: the second of chapter 4 is Figure 4.2, and that of the page
of More on chapter 4 is Figure 4.B. The other pages have figures without numbers.
"""

import json
import re
from collections import namedtuple
from html import escape
from itertools import count, takewhile
from string import ascii_uppercase

import nbformat
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from nbformat import NotebookNode
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from tools.notebooks.execute import NOTEBOOKS, page_name

MARK = "<!-- figures -->"
CHAPTER = re.compile(r"(?:book/)?(?P<more>more/)?(?P<number>\d\d)-")
FIGURE = re.compile(
    r'<attention-explorer class="attention-explorer"(?: id="(?P<name>[^"]+)")?>\n'
    r'(?P<script><script type="application/json">(?P<data>.*?)</script>)(?P<head>\n<p class="head">)?'
)


def setup(app):
    """Register with Sphinx."""
    app.connect("source-read", add_list)
    app.add_transform(FiguresBeside)
    app.add_post_transform(CodeBelow)
    app.connect("html-page-context", add_numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


Figure = namedtuple("Figure", ["number", "anchor", "title", "question"])  # a number in chapters and their notes alone


def figures(notebook: NotebookNode, page: str) -> list[Figure]:
    """The figures of a notebook that was executed, in their order; ``page`` is the name of its page."""
    outputs = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())]
    places, found = numbers(page), []
    for match in FIGURE.finditer("".join(data.get("text/html", "") for data in outputs)):
        payload = json.loads(match["data"])
        number, anchor = next(places)
        asked = payload.get("predict", {}).get("question", "")
        found.append(Figure(number, match["name"] or anchor, payload.get("title", ""), asked))
    return found


def numbers(page: str):
    """The numbers of a page's figures, one after the other, each with the anchor of a figure that has no name."""
    chapter = CHAPTER.match(page)
    for place in count(1):
        in_page = ascii_uppercase[place - 1] if chapter and chapter["more"] else place
        number = f"{int(chapter['number'])}.{in_page}" if chapter else ""
        yield number, f"figure-{number.replace('.', '-').lower() or place}"


def add_numbers(app, pagename, templatename, context, doctree) -> None:
    """Write the numbers of a page's figures into it."""
    if doctree is not None:
        context["body"] = numbered(context["body"], pagename)


def numbered(body: str, page: str) -> str:
    """Give each figure its number and its anchor; and where no script runs, the head has the number too."""
    places = numbers(page)

    def begin(found: re.Match) -> str:
        number, anchor = next(places)
        anchor, head = found["name"] or anchor, found["head"] or ""
        if body.count(f' id="{anchor}"') > 1:
            raise ValueError(f"{page}: the figure {anchor!r} has the name of a heading or of another figure")
        own = f' data-number="{number}"' if number else ""
        head += f'<a href="#{anchor}">Figure {number}</a> · ' if number and head else ""
        return f'<attention-explorer class="attention-explorer" id="{anchor}"{own}>\n{found["script"]}{head}'

    return FIGURE.sub(begin, body)


class CodeBelow(SphinxPostTransform):
    """Put the folded code of a figure below it: what stands between a question and its figure parts them."""

    default_priority = 250  # when the code is folded (MyST-NB), and a notebook's outputs are chosen
    formats = ("html",)

    def run(self, **_) -> None:
        for cell in self.document.findall(nodes.container):
            drawn = "".join(raw.astext() for raw in cell.findall(nodes.raw))
            if cell.get("nb_element") != "cell_code" or "<attention-explorer" not in drawn:
                continue
            cell["classes"].append("with-figure")
            if isinstance(cell[0], HideCodeCellNode):
                code = cell.pop(0)
                code["prompt_show"], code["prompt_hide"] = "code", "hide the code"
                cell.append(code)


def add_list(app, docname: str, source: list[str]) -> None:
    """Put the list of figures where a page has the mark."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, listed())


def listed() -> str:
    """All figures under their chapters, the other pages behind them: number, title and question, linked."""
    text = ""
    for path in sorted(NOTEBOOKS, key=lambda path: (path.stem, path)):  # More behind its chapter
        notebook, page = nbformat.read(path, as_version=4), page_name(path)
        for place, figure in enumerate(figures(notebook, page)):
            title = notebook.cells[0].source.splitlines()[0].removeprefix("# ")
            text += "" if place else f"\n## {title}\n\n"
            asked = f"<br><small>{escape(figure.question)}</small>" if figure.question else ""
            name = f"Figure {figure.number}".strip()
            text += f'- <a href="{page}.html#{figure.anchor}">{name}</a> · {escape(figure.title)}{asked}\n'
    return text


class FiguresBeside(SphinxTransform):
    """Group each figure whose cell is tagged ``beside`` with the paragraph before it and the text up to the next cell.

    ``book/_front/beside.css`` sets them side by side.
    """

    default_priority = 800

    def apply(self, **_) -> None:
        for figure in [each for each in self.document.findall(nodes.container) if "tag_beside" in each["classes"]]:
            section = figure.parent
            at = section.index(figure)
            before = [*takewhile(_leads_to, reversed(section.children[:at]))]
            nearest = next((i for i, part in enumerate(before) if _is_text(part)), -1)
            before = before[: nearest + 1][::-1]
            behind = [*takewhile(_is_text, section.children[at + 1 :])]
            texts = [[nodes.container("", *text, classes=["said"])] if text else [] for text in (before, behind)]
            group = nodes.container("", *texts[0], figure, *texts[1], classes=["beside"])
            section[at - len(before) : at + len(behind) + 1] = [group]


def _is_text(node: nodes.Node) -> bool:
    return not isinstance(node, nodes.section | nodes.title) and "cell" not in node["classes"]


def _leads_to(node: nodes.Node) -> bool:
    """Text, or code of the figure in a cell of its own, which shows nothing."""
    shows = any("cell_output" in part.get("classes", ()) for part in node.children if isinstance(part, nodes.Element))
    return _is_text(node) or ("tag_hide-input" in node.get("classes", ()) and not shows)
