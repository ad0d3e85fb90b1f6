"""A Sphinx extension: what each page says of itself, to its reader and to those it is shared with.

Everything that holds the book's address takes it from _config.yml; no page fetches anything from there.
"""

import re
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import nbformat
from docutils import nodes
from markupsafe import Markup

from tools import edition, workload

PICTURE = "explorer.png"
PICTURE_SAYS = "Sliders over the weights of a soft lookup and the value that comes out"
LONGEST = 200  # characters of a description
CHAPTER = re.compile(r"book/(\d\d)-")
MORE = re.compile(r"book/more/")


def setup(app):
    """Register with Sphinx."""
    app.add_config_value("page_descriptions", {}, "env")
    app.connect("config-inited", set_address)
    app.connect("html-page-context", add_to_context)
    app.connect("build-finished", write_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def set_address(app, config) -> None:
    """Let Sphinx name each page's canonical address; and read once what is the same for all pages."""
    root = Path(app.srcdir)
    config.html_baseurl = edition.site(root)
    app.edition = {
        "address": edition.address(root),
        "edition": edition.version(root),
        "commit": edition.commit(root),
    }


def add_to_context(app, pagename, templatename, context, doctree) -> None:
    """Give a page its foot; and if it is one of the book's, its description, its place and *Did you stumble?*"""
    context |= app.edition
    if doctree is None:
        return
    page = f"{app.config.html_baseurl}/{pagename}.html"
    context["stumbled"] = stumbled(page=page, **app.edition)
    given = app.config.page_descriptions.get(pagename)
    title = doctree.next_node(nodes.title).astext()
    said = shortened(f"{title}. {description(doctree)}") if MORE.match(pagename) else description(doctree)
    context["metatags"] = context.get("metatags", "") + metatags(
        title, given or said, page, app.config.html_title, app.config.html_baseurl
    )
    context |= neighbours(app, pagename)
    if CHAPTER.match(pagename):
        count = max(CHAPTER.match(name)[1] for name in app.env.found_docs if CHAPTER.match(name))
        said = place(Path(app.srcdir, f"{pagename}.ipynb"), int(count))
        context["body"] = context["body"].replace("</h1>", f'</h1>\n<p class="place">{said}</p>', 1)


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


def description(doctree: nodes.document) -> str:
    """A page's first sentences, up to a formula."""
    text = ""
    for part in doctree.next_node(nodes.paragraph).children:
        if isinstance(part, nodes.math):
            break
        text += part.astext()
    return shortened(" ".join(text.split()))


def shortened(text: str, longest: int = LONGEST) -> str:
    """As many whole sentences as there is room for, or the beginning of the first.

    >>> shortened("One. Two? Three.", 12), shortened("One sentence, too long.", 14)
    ('One. Two?', 'One sentence…')
    """
    sentences = re.split(r"(?<=[.?!]) (?=\W?[A-Z])", text)
    if not re.search("[.?!:]$", sentences[-1]) and len(sentences) > 1:
        sentences.pop()  # a formula cut it off
    while len(sentences) > 1 and len(" ".join(sentences)) > longest:
        sentences.pop()
    kept = " ".join(sentences)
    if len(kept) <= longest:
        return kept
    return kept[: kept.rindex(" ", 0, longest)].rstrip(" ,;:") + "…"


def metatags(title: str, description: str, page: str, book: str, site: str) -> str:
    """What a page is shared with: a title, a description and a picture (Open Graph)."""
    properties = {
        "og:type": "article",
        "og:site_name": book,
        "og:title": title,
        "og:description": description,
        "og:url": page,
        "og:image": f"{site}/_static/{PICTURE}",
        "og:image:alt": PICTURE_SAYS,
    }
    tags = [f'<meta name="description" content="{escape(description)}">']
    tags += [f'<meta property="{name}" content="{escape(content)}">' for name, content in properties.items()]
    return "\n".join(["", *tags, '<meta name="twitter:card" content="summary_large_image">'])


def place(path: Path, count: int) -> str:
    """Where a chapter is in the course, and how long it takes: the instructors' page says how that is estimated."""
    load = workload.count(nbformat.read(path, as_version=4))
    parts = f"text {load.text}, code {load.code}, figures {load.drawn}"
    said = f"Chapter {int(path.name[:2])} of {count} · about {load.lecture} minutes ({parts})"
    return f"{said} · {load.exercises} exercises, {load.practice} minutes"


def stumbled(address: str, page: str, edition: str, commit: str) -> str:
    """The address of the form that asks where a reader stumbled, the page and the edition filled in."""
    fields = {"template": "stumbled.yml", "page": page, "edition": f"{edition} {commit}".strip()}
    return f"{address}/issues/new?{urlencode(fields)}"


def write_files(app, exception) -> None:
    """Write the sitemap, and the page that a server shows where there is none."""
    if exception:
        return
    titles = {name: app.env.titles[name].astext() for name in app.builder.relations}
    pages = {f"{app.config.html_baseurl}/{name}.html": title for name, title in titles.items()}
    Path(app.outdir, "sitemap.xml").write_text(sitemap(pages), encoding="utf-8")
    logo = Path(app.srcdir, app.config.html_favicon).read_text(encoding="utf-8")  # which knows light and dark
    home, search = next(iter(pages)), f"{app.config.html_baseurl}/search.html"
    context = {"title": app.config.html_title, "pages": pages, "home": home, "search": search, "logo": Markup(logo)}
    Path(app.outdir, "404.html").write_text(app.builder.templates.render("404.html", context), encoding="utf-8")


def sitemap(pages: list[str]) -> str:
    """The addresses of all pages, as search engines read them."""
    entries = "".join(f"<url><loc>{escape(page)}</loc></url>\n" for page in pages)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
    )
