"""The built book for print, in two volumes: ``make pdf``, or ``make pdf PAPER=letter``, writes them to ``_build``.

Chromium prints title page, contents and pages of a volume as one document, twice: from the first it is read on which
pages the chapters and their sections begin. The text is that of the pages in ``_build/html``.
"""

import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from copy import copy
from html import escape
from pathlib import Path
from typing import NamedTuple

import yaml
from bs4 import BeautifulSoup, Tag
from pikepdf import Name, ObjectStreamMode, Pdf
from playwright.sync_api import Browser

from tools.chromium import chromium
from tools.editions import edition
from tools.editions.edition import ROOT

HTML = ROOT / "_build" / "html"
PAPERS = {"a4": "A4", "letter": "letter"}
VOLUMES = {"chapters": "The chapters", "reference": "Notes and reference"}
SUBTITLE = "Attention, from a dictionary to the Transformer"
WIDTH = 643  # pixels, 170 mm: the width of the text, at which the figures are drawn
FOOT = 58  # points: the lower margin, and more
HEIGHT = 860  # pixels that a figure may have: a page of letter paper has 896 of text
ANSWERS = re.compile("Answer|A model answer|A solution")  # how a fold begins that goes to its chapter's end
STYLES = ("pygments.css", "basic.css", "explorer.css", "softlookup.css")
SCRIPTS = ("mathjax/tex-svg-full.js", "explorer.js")

LOAD_FONTS = "() => Promise.allSettled([...document.fonts].map((font) => font.load())).then(() => true)"
IS_DRAWN = (
    "!document.querySelector('attention-explorer:not(:has(.panels)), .math:not(:has(mjx-container)), mjx-merror')"
)
FIT = """async (height) => {
    for (const explorer of document.querySelectorAll('attention-explorer')) // one that is taller than a page is shrunk
        explorer.style.zoom = Math.min(1, height / explorer.offsetHeight);
    const figures = () => [...document.querySelectorAll('attention-explorer')].map((each) => each.innerHTML).join();
    for (let before; before !== (before = figures());) // until all are drawn at their width
        await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 100)));
}"""
NUMBER = """(pages) => document.querySelectorAll('.book-contents b').forEach((number, at) => {
    number.textContent = pages[at];
})"""


class Chapter(NamedTuple):
    """A page of the book: its part's caption, its name, its text."""

    part: str
    name: str
    text: Tag


# ------------------------------------------------------------------------------------------------ the text of the book


def names(volume: str) -> list[tuple[str, str]]:
    """A volume's pages, each behind the caption of its part, in the order of the contents; the notes come first."""
    listed = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    entries = [(part["caption"], entry) for part in listed["parts"] for entry in part["chapters"]]
    notes = [("More", section["file"]) for _, entry in entries for section in entry.get("sections", ())]
    pages = [("", listed["root"]), *((caption, entry["file"]) for caption, entry in entries)]
    end = max(at for at, (_, name) in enumerate(pages) if re.match(r"book/\d", name)) + 1
    return pages[:end] if volume == "chapters" else notes + pages[end:]


def chapter(name: str, known: set[str], site: str) -> Tag:
    """A page's text as a chapter: everything unfolded, answers at its end, ids and links that hold among chapters.

    Args:
        name: what the contents call the page.
        known: the names of all pages of the volume.
        site: where the book is published; links to other pages lead there.
    """
    page = (HTML / f"{name}.html").read_text(encoding="utf-8")
    start, end = page.index('<article class="bd-article"'), page.index("</article>")
    soup = BeautifulSoup(f'<section class="chapter">{page[start:end]}</article></section>', "html.parser")
    text = soup.section
    drawing = "div.tag_hide-input details.hide, div.tag_hide-cell:not(.tag_solution) details.hide"
    for gone in text.select(f"a.headerlink, .copybtn, {drawing}, div.cell details.hide > summary"):
        gone.decompose()
    for place in text.select(".place"):
        address = f"{site}/{name}.html"
        place.extend([" · its figures move at ", _link(soup, address, address.removeprefix("https://"))])
    _collect_answers(soup, text)
    for fold in text.find_all("details"):
        fold["open"] = ""
    for explorer in text.find_all("attention-explorer"):
        _show_printed_states(explorer, name)
    _join(text, name, known, site)
    return text


def _link(soup: BeautifulSoup, address: str, words: str) -> Tag:
    link = soup.new_tag("a", href=address)
    link.string = words
    return link


def _collect_answers(soup: BeautifulSoup, text: Tag) -> None:
    """Move solutions and answers to a section at the end, each below the title of what it answers; leave a link."""
    folds = [fold for fold in text.find_all("details", class_=False) if ANSWERS.match(fold.summary.get_text().strip())]
    cells = text.select("div.tag_solution")
    end = BeautifulSoup('<section id="answers"><h2>Answers and solutions</h2></section>', "html.parser").section
    last = None
    for number, part in enumerate([part for part in text.find_all(["details", "div"]) if part in folds + cells]):
        heading = part.find_previous(["h1", "h2", "h3"])
        if heading is not last:
            last, asked = heading, soup.new_tag("p", attrs={"class": "asked"})
            asked.append(_link(soup, f"#{heading.parent['id']}", heading.get_text().strip()))
            end.append(asked)
        pointer = soup.new_tag("p", attrs={"class": "pointer"})
        what = "The solution" if part in cells else "The answer"
        pointer.extend([_link(soup, f"#answer-{number}", what), " stands at the chapter’s end."])
        part.replace_with(pointer)
        answer = soup.new_tag("div", id=f"answer-{number}")
        answer.append(part)
        for fold in answer.select(":scope > details, details.hide"):
            fold.name, fold["class"] = "div", "unfolded"
            if fold.find("summary", recursive=False):
                fold.summary.decompose()
        end.append(answer)
    if last:
        text.article.append(end)


def _show_printed_states(explorer: Tag, page: str) -> None:
    """Put in the place of an explorer the states that its ``print`` names, or the one where it begins."""
    payload = json.loads(explorer.script.string)
    if payload.get("name"):
        payload["name"] = f"{page}/{payload['name']}"  # the front end writes it into the id
    beginning = {control["name"]: control["states"][control["initial"]] for control in payload["controls"]}
    for number, state in enumerate(payload.pop("print", [beginning])):
        for control in payload["controls"]:
            control["initial"] = control["states"].index(state[control["name"]])
        if "predict" in payload:
            payload["predict"]["state"] = state  # where no one answers, a question moves nothing
        if number > 0:
            explorer.insert_after(copy(explorer))
            explorer = explorer.find_next_sibling("attention-explorer")
            explorer.attrs.pop("id", None)
            payload["name"] = ""
            payload.pop("predict", None)
        explorer.script.string = json.dumps(payload, ensure_ascii=False).replace("<", "\\u003c")


def _join(text: Tag, name: str, known: set[str], site: str) -> None:
    """Give ids and links a page's name, so that they hold in a document of all pages."""
    folder = Path(name).parent
    for tag in text.find_all(id=True):
        tag["id"] = f"{name}/{tag['id']}"
    for tag in text.find_all(href=re.compile("^(?!https?:|mailto:|//)")):
        page, _, anchor = tag["href"].partition("#")
        target = os.path.normpath(folder / page.removesuffix(".html")) if page else name
        if target not in known:
            tag["href"] = f"{site}/{os.path.normpath(folder / page)}" + (f"#{anchor}" if anchor else "")
        else:
            tag["href"] = f"#{target}" + (f"/{anchor.partition('?')[0]}" if anchor else "")
    for tag in text.find_all(src=re.compile("^(?!https?:|data:|//)")):
        tag["src"] = os.path.normpath(folder / tag["src"])
    text["id"] = name
    text["style"] = f"page: {_page_name(name)}"


def _page_name(name: str) -> str:
    return "p-" + re.sub(r"\W", "-", name)


# ------------------------------------------------------------------------------------------------ the document


def document(parts: list[Chapter], paper: str, front: str) -> str:
    """Title page and contents, and behind them the chapters, each with its title as running head."""
    first = (HTML / f"{parts[0].name}.html").read_text(encoding="utf-8")
    mathjax = re.search(r"<script>(window\.MathJax = .*?)</script>", first, re.DOTALL)[1]
    titles = [
        (_page_name(part.name), json.dumps(part.text.h1.get_text().strip(), ensure_ascii=False)) for part in parts
    ]
    heads = "\n".join(f"@page {name} {{ @top-right {{ content: {title}; }} }}" for name, title in titles)
    styles = "".join(f'<link rel="stylesheet" href="_static/{name}">' for name in STYLES)
    own = (Path(__file__).parent / "pdf.css").read_text(encoding="utf-8").replace("PAPER", PAPERS[paper])
    return (
        '<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>Soft Lookup: {SUBTITLE[0].lower()}{SUBTITLE[1:]}</title>{styles}<style>{own}\n{heads}</style>"
        f"<script>{mathjax}</script></head><body>{front}"
        f'<main class="bd-content">{"".join(str(part.text) for part in parts)}</main></body></html>'
    )


def front(parts: list[Chapter], site: str, volume: str) -> str:
    """Title page and contents: a link to each chapter and to each of its sections, with room for its page."""
    commit = edition.commit()
    cover = f"""<section class="cover"><img src="_static/logo.svg" alt="">
        <p class="title">Soft Lookup</p><p class="subtitle">{SUBTITLE}<br>{VOLUMES[volume]}</p>
        <p class="made">Edition {edition.version()}{f", commit {commit}" if commit else ""}<br>
        The Soft Lookup authors<br>Text: CC BY 4.0. Code: MIT.</p>
        <p class="made">This is the printed form of <a href="{site}/">{site.removeprefix("https://")}</a>, where every
        figure moves and every chapter is a notebook. On paper a figure shows one of its states, and says which. Code
        that only draws is left out.</p></section>"""
    entries, part = [], ""
    for chapter in parts:
        if chapter.part != part:
            part = chapter.part
            entries.append(f'<p class="part">{escape(part)}</p>')
        for heading in chapter.text.find_all(["h1", "h2"]):
            place = heading.find_parent("section", id=True)["id"]
            title = escape(" ".join(heading.get_text().split()))
            entries.append(f'<a class="rank{heading.name[1]}" href="#{place}"><span>{title}</span><i></i><b></b></a>')
    return f'{cover}<nav class="book-contents"><p class="contents-title">Contents</p>{"".join(entries)}</nav>'


# ------------------------------------------------------------------------------------------------ printing


def printed(browser: Browser, document: str) -> Pdf:
    """Print a document beside the book's static files; it waits until everything in it is drawn."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("_static", "_images"):
            if (HTML / name).exists():
                Path(folder, name).symlink_to(HTML / name)
        source = Path(folder, "print.html")
        source.write_text(document, encoding="utf-8")
        window = browser.new_context(viewport={"width": WIDTH, "height": 900}, color_scheme="light", offline=True)
        page = window.new_page()
        page.set_default_timeout(300_000)
        page.emulate_media(media="print")
        page.goto(source.as_uri())
        page.evaluate(LOAD_FONTS)  # what is drawn is measured in them
        for name in SCRIPTS:
            page.add_script_tag(url=f"_static/{name}")
        page.wait_for_function(IS_DRAWN)
        page.evaluate(FIT, HEIGHT)
        options = {"prefer_css_page_size": True, "print_background": True, "outline": True, "tagged": True}
        page.evaluate(NUMBER, [*targets(Pdf.open(io.BytesIO(page.pdf(**options))))])
        made = Pdf.open(io.BytesIO(page.pdf(**options)))
        window.close()
        return made


def targets(document: Pdf) -> Iterator[int]:
    """The page, from 1, of each link of the document to a place in it; those of the contents come first."""
    numbers = {page.objgen: number for number, page in enumerate(document.pages, start=1)}
    for page in document.pages:
        for link in page.get("/Annots", ()):
            if "/Dest" in link:
                place = document.Root.Dests[link.Dest] if isinstance(link.Dest, Name) else link.Dest
                # A heading that slipped over its page's end is noted by Chromium for the page where it was.
                yield numbers[place[0].objgen] + (float(place[3]) < FOOT)


def write(browser: Browser, target: Path, volume: str, paper: str = "a4") -> Path:
    """Print a volume of the built book.

    Args:
        browser: for instance :func:`tools.chromium.chromium`'s.
        target: the file to write.
        volume: ``chapters`` or ``reference``.
        paper: ``a4`` or ``letter``.

    Raises:
        ValueError: another paper.
    """
    if paper not in PAPERS:
        raise ValueError(f"paper must be {' or '.join(PAPERS)}, found {paper!r}")
    site, listed = edition.site(), names(volume)
    known = {name for _, name in listed}
    parts = [Chapter(part, name, chapter(name, known, site)) for part, name in listed]
    target.parent.mkdir(parents=True, exist_ok=True)
    made = printed(browser, document(parts, paper, front(parts, site, volume)))
    made.save(target, object_stream_mode=ObjectStreamMode.generate)  # two thirds of the size
    return target


if __name__ == "__main__":
    with chromium() as browser:
        paper = sys.argv[1]
        for volume, title in VOLUMES.items():
            target = ROOT / "_build" / f"softlookup-{edition.version()}-{volume}-{paper}.pdf"
            made = write(browser, target, volume, paper)
            print(f"{title}: {made}, {made.stat().st_size / 1e6:.1f} MB")
