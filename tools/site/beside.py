"""A Sphinx extension: a figure whose cell is tagged ``beside`` is grouped with the paragraphs that speak of it.

``book/_front/beside.css`` sets them side by side where there is room. Without styles the page reads in its order, as it
does in a notebook.
"""

from itertools import takewhile

from docutils import nodes
from sphinx.transforms import SphinxTransform


def setup(app):
    """Register with Sphinx."""
    app.add_transform(FiguresBeside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class FiguresBeside(SphinxTransform):
    """Group each tagged figure with the text around it, between two headings and the next figures.

    Before it that is the paragraph that leads to it, or all from the first with a link to one of its states; behind it
    all up to the next cell, or to the one after the last such link.
    """

    default_priority = 801  # when links to states are known (book_extension)

    def apply(self, **_) -> None:
        for figure in [each for each in self.document.findall(nodes.container) if "tag_beside" in each["classes"]]:
            section = figure.parent
            at = section.index(figure)
            before = [*takewhile(_leads_to, reversed(section.children[:at]))]
            nearest = next((i for i, part in enumerate(before) if _is_text(part)), -1)
            before = before[: max([nearest, *_linked(before, figure)]) + 1][::-1]
            behind = [*takewhile(lambda node: not _ends(node), section.children[at + 1 :])]
            last = max(_linked(behind, figure), default=0)
            behind = [*behind[:last], *takewhile(_is_text, behind[last:])]
            texts = [[nodes.container("", *text, classes=["said"])] if text else [] for text in (before, behind)]
            group = nodes.container("", *texts[0], figure, *texts[1], classes=["beside"])
            section[at - len(before) : at + len(behind) + 1] = [group]


def _linked(parts: list[nodes.Node], figure: nodes.Node) -> list[int]:
    """Which of some parts have a link to a state of a figure."""
    drawn = _html(figure)

    def leads(link: nodes.reference) -> bool:
        return "state" in link["classes"] and f'id="{link["refuri"][1:].partition("?")[0]}"' in drawn

    return [i for i, part in enumerate(parts) if any(map(leads, part.findall(nodes.reference)))]


def _html(figure: nodes.Element) -> str:
    return "".join(raw.astext() for raw in figure.findall(nodes.raw))


def _is_text(node: nodes.Node) -> bool:
    return not isinstance(node, nodes.section | nodes.title) and "cell" not in node["classes"]


def _leads_to(node: nodes.Node) -> bool:
    """Text, or code of the figure in a cell of its own, which shows nothing."""
    shows = any("cell_output" in part.get("classes", ()) for part in node.children if isinstance(part, nodes.Element))
    return _is_text(node) or ("tag_hide-input" in node.get("classes", ()) and not shows)


def _ends(node: nodes.Node) -> bool:
    return isinstance(node, nodes.section) or "<attention-explorer" in _html(node)
