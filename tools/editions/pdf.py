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

SITE = ROOT / "_build" / "html"
PAPERS = {"a4": "A4", "letter": "letter"}
VOLUMES = {"chapters": "The chapters", "reference": "Notes and reference"}
SUBTITLE = "Attention, from a dictionary to the Transformer"
WIDTH = 643  # pixels, 170 mm: the width of the text, at which the figures are drawn
FOOT = 58  # points: the lower margin, and more
HEIGHT = 860  # pixels that a figure may have: a page of letter paper has 896 of text
ANSWERS = re.compile("Answer|A model answer|A solution")  # how a fold begins that goes to its chapter's end
STYLES = ("pygments.css", "basic.css", "explorer.css", "softlookup.css")

READY = r"""async () => {
    await customElements.whenDefined('attention-explorer');
    await MathJax.startup.promise;
    await document.fonts.ready;
    for (const explorer of document.querySelectorAll('attention-explorer')) // one that is taller than a page is shrunk
        explorer.style.zoom = Math.min(1, HEIGHT / explorer.offsetHeight);
    const figures = () => [...document.querySelectorAll('attention-explorer')].map((each) => each.innerHTML).join();
    for (let before; before !== (before = figures());) // until all are drawn at their width
        await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 100)));
    const count = (selector) => document.querySelectorAll(selector).length;
    const shape = document.createElement('canvas').getContext('2d');
    const draw = (character) => {
        shape.clearRect(0, 0, 300, 150);
        shape.fillText(character, 50, 50);
        return shape.canvas.toDataURL();
    };
    const written = new Set(document.body.textContent.match(/[\u4e00-\u9fff]/g));
    return {
        unknown: [...written].filter((character) => draw(character) === draw('\u{10ffff}')).join(''),
        undrawn: count('attention-explorer:not(:has(.panels))') + count('.math:not(:has(mjx-container))'),
        wrong: count('mjx-merror, [data-mjx-error]'),
    };
}"""


# What is drawn is measured in the book's fonts, so they come first; then each printing draws alike.
DRAW = """addEventListener('DOMContentLoaded', async () => {
    await Promise.allSettled([...document.fonts].map((font) => font.load()));
    for (const name of ['mathjax/tex-svg-full.js', 'explorer.js']) {
        const script = document.createElement('script');
        Object.assign(script, {src: `_static/${name}`, async: false});
        document.head.append(script);
    }
});"""


class NoFontError(RuntimeError):
    """No font on this machine has a character of the book."""


class Chapter(NamedTuple):
    """A page of the book: its part's caption, its name, its text."""

    part: str
    name: str
    text: Tag

    @property
    def title(self) -> str:
        return self.text.h1.get_text().strip()


# ------------------------------------------------------------------------------------------------ the text of the book


def names(volume: str, root: Path = ROOT) -> list[tuple[str, str]]:
    """A volume's pages, each behind the caption of its part, in the order of the contents; the notes come first."""
    listed = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    entries = [(part["caption"], entry) for part in listed["parts"] for entry in part["chapters"]]
    notes = [("More", section["file"]) for _, entry in entries for section in entry.get("sections", ())]
    pages = [("", listed["root"]), *((caption, entry["file"]) for caption, entry in entries)]
    end = max(at for at, (_, name) in enumerate(pages) if re.match(r"book/\d", name)) + 1
    return pages[:end] if volume == "chapters" else notes + pages[end:]


def chapters(listed: list[tuple[str, str]], html: Path, site: str) -> list[Chapter]:
    """Read pages, and make one document's chapters of them.

    Args:
        listed: parts and names, as :func:`names` gives them.
        html: the folder of the built book.
        site: where it is published; links to pages that are not listed lead there.
    """
    known = {name for _, name in listed}
    return [Chapter(part, name, chapter(html / f"{name}.html", name, known, site)) for part, name in listed]


def chapter(path: Path, name: str, known: set[str], site: str) -> Tag:
    """A page's text as a chapter: everything unfolded, answers at its end, ids and links that hold among chapters."""
    page = path.read_text(encoding="utf-8")
    start, end = page.index('<article class="bd-article"'), page.index("</article>")
    soup = BeautifulSoup(f'<section class="chapter">{page[start:end]}</article></section>', "html.parser")
    text = soup.section
    for gone in text.select("a.headerlink, .copybtn, div.cell details.hide > summary"):
        gone.decompose()
    for drawing in text.select("div.tag_hide-input details.hide, div.tag_hide-cell:not(.tag_solution) details.hide"):
        drawing.decompose()
    for place in text.select(".place"):
        link = soup.new_tag("a", href=f"{site}/{name}.html")
        link.string = f"{site}/{name}.html".removeprefix("https://")
        place.extend([" · its figures move at ", link])
    _collect_answers(soup, text)
    for fold in text.find_all("details"):
        fold["open"] = ""
    for explorer in text.find_all("attention-explorer"):
        _show_printed_states(explorer)
    _join(text, name, known, site)
    return text


def _collect_answers(soup: BeautifulSoup, text: Tag) -> None:
    """Move solutions and answers to a section at the end, each below the title of what it answers; leave a link."""
    folds = [fold for fold in text.find_all("details", class_=False) if ANSWERS.match(fold.summary.get_text().strip())]
    cells = text.select("div.tag_solution")
    found = [part for part in text.find_all(["details", "div"]) if part in folds or part in cells]
    if not found:
        return
    end = soup.new_tag("section", id="answers", attrs={"class": "answers"})
    title = soup.new_tag("h2")
    title.string = "Answers and solutions"
    end.append(title)
    last = None
    for number, part in enumerate(found, start=1):
        heading = part.find_previous(["h1", "h2", "h3"])
        section = heading.parent
        if heading is not last:
            last, asked = heading, soup.new_tag("p", attrs={"class": "asked"})
            link = soup.new_tag("a", href=f"#{section['id']}")
            link.string = heading.get_text().strip()
            asked.append(link)
            end.append(asked)
        pointer = soup.new_tag("p", attrs={"class": "pointer"})
        link = soup.new_tag("a", href=f"#answer-{number}")
        link.string = "The solution" if part.name == "div" else "The answer"
        pointer.extend([link, " stands at the chapter’s end."])
        part.replace_with(pointer)
        answer = soup.new_tag("div", id=f"answer-{number}", attrs={"class": "answer"})
        for fold in [part, *part.select("details.hide")]:
            if fold.name == "details":
                fold.name, fold["class"] = "div", "unfolded"
            if fold.find("summary", recursive=False):
                fold.summary.decompose()
        answer.append(part)
        end.append(answer)
    text.article.append(end)


def _show_printed_states(explorer: Tag) -> None:
    """Put in the place of an explorer the states that its ``print`` names, or the one where it begins."""
    payload = json.loads(explorer.script.string)
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
        _write(payload, explorer)


def _write(payload: dict, explorer: Tag) -> None:
    explorer.script.string = json.dumps(payload, ensure_ascii=False).replace("<", "\\u003c")


def _join(text: Tag, name: str, known: set[str], site: str) -> None:
    """Give ids and links a page's name, so that they hold in a document of all pages."""
    folder = Path(name).parent
    for tag in text.find_all(id=True):
        tag["id"] = f"{name}/{tag['id']}"
    for tag in text.find_all("attention-explorer"):
        payload = json.loads(tag.script.string)
        if payload.get("name"):
            payload["name"] = f"{name}/{payload['name']}"  # the front end writes it into the id
            _write(payload, tag)
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


def document(parts: list[Chapter], html: Path, paper: str, front: str) -> str:
    """Title page and contents, and behind them the chapters, each with its title as running head."""
    first = (html / f"{parts[0].name}.html").read_text(encoding="utf-8")
    mathjax = re.search(r"<script>(window\.MathJax = .*?)</script>", first, re.DOTALL)[1]
    heads = "".join(
        f"@page {_page_name(part.name)} {{ @top-right {{ content: {json.dumps(part.title, ensure_ascii=False)}; }} }}\n"
        for part in parts
    )
    styles = "".join(f'<link rel="stylesheet" href="_static/{name}">' for name in STYLES)
    own = (Path(__file__).parent / "pdf.css").read_text(encoding="utf-8").replace("PAPER", PAPERS[paper])
    return (
        '<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>Soft Lookup: {SUBTITLE[0].lower()}{SUBTITLE[1:]}</title>{styles}<style>{own}\n{heads}</style>"
        f"<script>{mathjax}</script><script>{DRAW}</script></head><body>{front}"
        f'<main class="bd-content">{"".join(str(part.text) for part in parts)}</main></body></html>'
    )


def front(parts: list[Chapter], site: str, volume: str, root: Path = ROOT) -> str:
    """Title page and contents: a link to each chapter and to each of its sections, with room for its page."""
    settings = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    commit = edition.commit(root)
    cover = f"""<section class="cover"><img src="_static/logo.svg" alt="">
        <p class="title">{escape(settings["title"])}</p><p class="subtitle">{SUBTITLE}<br>{VOLUMES[volume]}</p>
        <p class="made">Edition {edition.version(root)}{f", commit {commit}" if commit else ""}<br>
        {escape(settings["author"])}<br>Text: CC BY 4.0. Code: MIT.</p>
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

NUMBER = """(pages) => document.querySelectorAll('.book-contents b').forEach((number, at) => {
    number.textContent = pages[at];
})"""


def printed(browser: Browser, document: str, html: Path) -> Pdf:
    """Print a document beside the book's static files; everything in it must be drawn."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("_static", "_images"):
            if (html / name).exists():
                Path(folder, name).symlink_to(html / name)
        source = Path(folder, "print.html")
        source.write_text(document, encoding="utf-8")
        window = browser.new_context(viewport={"width": WIDTH, "height": 900}, color_scheme="light", offline=True)
        page = window.new_page()
        page.set_default_timeout(300_000)
        page.emulate_media(media="print")
        page.goto(source.as_uri())
        ready = page.evaluate(READY.replace("HEIGHT", str(HEIGHT)))
        if ready["unknown"]:
            raise NoFontError(
                f"no font has {ready['unknown']}: install one (on Debian: apt-get install fonts-noto-cjk)"
            )
        if ready["undrawn"] or ready["wrong"]:
            raise RuntimeError(f"{ready['undrawn']} figures or formulas were not drawn, {ready['wrong']} are wrong")

        def pages() -> Pdf:
            return Pdf.open(
                io.BytesIO(page.pdf(prefer_css_page_size=True, print_background=True, outline=True, tagged=True))
            )

        page.evaluate(NUMBER, [*targets(pages())])
        made = pages()
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


def write(
    browser: Browser,
    target: Path,
    volume: str,
    paper: str = "a4",
    html: Path = SITE,
) -> Path:
    """Print a volume of the built book.

    Args:
        browser: for instance :func:`tools.chromium.chromium`'s.
        target: the file to write.
        volume: ``chapters`` or ``reference``.
        paper: ``a4`` or ``letter``.
        html: the folder of the built book.

    Raises:
        ValueError: another paper.
        FileNotFoundError: the book is not built.
        RuntimeError: a figure or a formula could not be drawn; ``NoFontError`` where no font has what is written.
    """
    if paper not in PAPERS:
        raise ValueError(f"paper must be {' or '.join(PAPERS)}, found {paper!r}")
    if not (html / "_static").is_dir():
        raise FileNotFoundError(f"there is no book in {html}: run make book")
    site = edition.site()
    parts = chapters(names(volume), html, site)
    with printed(browser, document(parts, html, paper, front(parts, site, volume)), html) as made:
        made.docinfo["/Author"] = "The Soft Lookup authors"
        made.docinfo["/Subject"] = f"Edition {edition.version()}"
        made.Root.PageMode = Name.UseOutlines
        target.parent.mkdir(parents=True, exist_ok=True)
        made.save(target, object_stream_mode=ObjectStreamMode.generate)
    return target


if __name__ == "__main__":
    with chromium() as browser:
        paper = sys.argv[1]
        for volume, title in VOLUMES.items():
            target = ROOT / "_build" / f"softlookup-{edition.version()}-{volume}-{paper}.pdf"
            made = write(browser, target, volume, paper)
            print(f"{title}: {made}, {made.stat().st_size / 1e6:.1f} MB")
