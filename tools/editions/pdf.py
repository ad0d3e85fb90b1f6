"""The built book for print, in two volumes: ``make pdf``, or ``make pdf PAPER=letter``, writes them to ``_build``.

Chromium prints each page of ``_build/html`` by itself, its answers moved to its end; the numbers go on.
"""

import io
import re
import sys
from html import escape
from pathlib import Path

from playwright.sync_api import Browser, Page
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, TextStringObject

from tools.chromium import chromium
from tools.editions import edition
from tools.editions.edition import ROOT

HTML = ROOT / "_build" / "html"
VOLUMES = {"chapters": "The chapters", "reference": "Notes and reference"}
SUBTITLE = "Attention, from a dictionary to the Transformer"
WIDTH = 643  # pixels, 170 mm: the width of the text, at which the figures are drawn
HEIGHT = 860  # pixels that a figure may have: a page of letter paper has 896 of text
NUMBERS = "@page { @bottom-center { content: counter(page) } } html { counter-reset: page %d }"
STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")

# Before the explorers draw: the states that a figure's `print` names, or the one where it begins.
PRINTED_STATES = """addEventListener('readystatechange', () => {
    for (const explorer of document.querySelectorAll('attention-explorer:not([data-printed])')) {
        const payload = JSON.parse(explorer.querySelector('script').textContent);
        const start = Object.fromEntries(payload.controls.map(({name, states, initial}) => [name, states[initial]]));
        for (const state of (payload.print ?? [start]).toReversed()) {
            const printed = explorer.cloneNode(true);
            for (const control of payload.controls) control.initial = control.states.indexOf(state[control.name]);
            if (payload.predict) payload.predict.state = state; // where no one answers, a question moves nothing
            printed.dataset.printed = '';
            printed.querySelector('script').textContent = JSON.stringify(payload);
            explorer.after(printed);
        }
        explorer.remove();
    }
}, {once: true, capture: true})"""
ANSWERS_AND_LINKS = """([name, site]) => {
    const article = document.querySelector('.bd-article');
    for (const fold of article.querySelectorAll('details:not(.tag_hide-input *)')) fold.open = true;
    for (const drawn of article.querySelectorAll('.tag_hide-cell:not(.tag_solution) details.hide')) drawn.remove();
    const isAnswer = (part) => part.matches('div') || /^\\s*(Answer|A model answer|A solution)/.test(part.textContent);
    const answers = [...article.querySelectorAll('div.tag_solution, details:not([class])')].filter(isAnswer);
    if (answers.length) article.insertAdjacentHTML('beforeend', '<h2>Answers and solutions</h2>');
    for (const answer of answers) {
        const asked = document.createElement('p');
        asked.className = 'asked';
        asked.textContent = answer.closest('section').querySelector('h1, h2, h3').firstChild.textContent;
        article.append(asked, answer);
    }
    const place = article.querySelector('.place');
    if (place) place.textContent = `${place.firstChild.textContent}its figures move at ${site}/${name}.html`;
    for (const link of article.querySelectorAll('a[href]')) {
        const [address, anchor = ''] = new URL(link.getAttribute('href'), location.href).href.split('#');
        const target = address === location.href && document.getElementById(anchor.split('?')[0]);
        if (target && !target.id.startsWith(name)) target.id = `${name}/${target.id}`; // one among all pages'
        if (target) link.setAttribute('href', `#${target.id}`);
    }
}"""
DRAWN = """async (height) => {
    await window.MathJax?.startup.promise;
    await document.fonts.ready;
    for (const explorer of document.querySelectorAll('attention-explorer')) // one that is taller than a page is shrunk
        explorer.style.zoom = Math.min(1, height / explorer.offsetHeight);
    const figures = () => [...document.querySelectorAll('attention-explorer')].map((each) => each.innerHTML).join();
    for (let before; before !== (before = figures());) // until all are drawn at their width
        await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 100)));
}"""


def names(volume: str) -> list[str]:
    """A volume's pages in the order of the contents; in the second the notes come first."""
    listed = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    notes = [name for name in listed if name.startswith("book/more/")]
    pages = [name for name in listed if name not in notes]
    end = max(at for at, name in enumerate(pages) if re.match(r"book/\d", name)) + 1
    return pages[:end] if volume == "chapters" else notes + pages[end:]


def printed(page: Page, paper: str, numbers: str = "") -> PdfReader:
    """What a window shows, on paper, with the style of its pages' numbers."""
    page.add_style_tag(content=f"{STYLE} @page {{ size: {paper} }} {numbers}")
    pdf = page.pdf(prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
    return PdfReader(io.BytesIO(pdf))


def cover(volume: str, starts: dict[str, int]) -> str:
    """Title page and contents: each chapter with its page."""
    site, commit = edition.site(), edition.commit()
    made = f"Edition {edition.version()}{f', commit {commit}' if commit else ''}"
    contents = "".join(f"<p><span>{escape(title)}</span><b>{page}</b></p>" for title, page in starts.items())
    return f"""<div class="cover"><h1>Soft Lookup</h1><p>{SUBTITLE}<br>{VOLUMES[volume]}</p>
        <p>{made}<br>The Soft Lookup authors<br>Text: CC BY 4.0. Code: MIT.</p>
        <p>This is the printed form of <a href="{site}/">{site.removeprefix("https://")}</a>, where every figure moves
        and every chapter is a notebook. On paper a figure shows one of its states, and says which. Code that only draws
        is left out.</p></div><div class="contents"><h2>Contents</h2>{contents}</div>"""


def write(browser: Browser, target: Path, volume: str, paper: str = "a4") -> Path:
    """Print a volume of the built book, ``chapters`` or ``reference``, into a file, on paper of a name CSS knows."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    page.emulate_media(media="print")
    page.add_init_script(PRINTED_STATES)
    chapters, starts, count = [], {}, 0
    for name in names(volume):
        page.goto((HTML / f"{name}.html").as_uri())
        page.evaluate(DRAWN, HEIGHT)
        page.evaluate(ANSWERS_AND_LINKS, [name, edition.site()])
        starts[page.locator("h1").first.evaluate("title => title.firstChild.textContent")] = count + 1
        chapters.append(printed(page, paper, NUMBERS % count))
        count += len(chapters[-1].pages)
    page.goto((HTML / "404.html").as_uri())
    page.set_content(cover(volume, starts))
    book = PdfWriter()
    book.append(printed(page, paper), import_outline=False)
    for chapter in chapters:
        book.append(chapter)
    for link in (link for printed_page in book.pages for link in printed_page.get("/Annots", ())):
        action = link.get_object().get("/A", {})
        if "/URI" in action:  # from disk; on the web, pages are where the book is published
            address = action["/URI"].replace(HTML.as_uri(), edition.site())
            action[NameObject("/URI")] = TextStringObject(address)
    book.add_metadata({"/Title": f"Soft Lookup. {SUBTITLE}"})
    page.close()
    target.parent.mkdir(parents=True, exist_ok=True)
    book.write(target)
    return target


if __name__ == "__main__":
    with chromium() as browser:
        paper = sys.argv[1]
        for volume, title in VOLUMES.items():
            target = ROOT / "_build" / f"softlookup-{edition.version()}-{volume}-{paper}.pdf"
            made = write(browser, target, volume, paper)
            print(f"{title}: {made}, {made.stat().st_size / 1e6:.1f} MB")
