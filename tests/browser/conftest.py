"""A real Chromium, and the built book as a reader gets it: from disk and from a server on this machine."""

import contextlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from attention.explorer import Explorer
from attention.explorer.front import script, stylesheet
from tools.chromium import chromium

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "_build" / "html"
PAGES = sorted(path.relative_to(BOOK).as_posix() for path in (BOOK / "book").rglob("*.html"))

UNDRAWN = """async () => {
    await window.MathJax?.startup.promise;
    return [...document.querySelectorAll('.math')].filter(
        (math) => !math.querySelector('mjx-container') || math.querySelector('mjx-merror, [data-mjx-error]')).length;
}"""


@pytest.fixture(scope="session")
def browser():
    with chromium() as browser:
        yield browser


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def origins():
    """Where the book is: its folder, and the same on localhost."""
    if not PAGES:
        pytest.fail("The book is not built: run make book.")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=BOOK)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"disk": BOOK.as_uri(), "server": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()


class Visit:
    """A page that is open, with what it asked for and what it complained of."""

    def __init__(self, page: Page, origin: str):
        self.page = page
        self.abroad: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self._note(request.url, origin))
        page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, url: str, origin: str) -> None:
        if not url.startswith((origin, "data:", "blob:", "about:")):
            self.abroad.append(url)


def new_visit(browser: Browser, origin: str, *, width=1280, height=900, theme="light", **options) -> Visit:
    """A fresh window, with nothing open yet."""
    window = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, **options)
    return Visit(window.new_page(), origin)


@pytest.fixture(scope="session")
def windows(browser: Browser):
    """Open a window of some origin and options, or take the one that is: ``windows(origin, width=…, theme=…)``."""
    opened: dict[tuple, Visit] = {}

    def window(origin: str, **options) -> Visit:
        like = (origin, *sorted(options.items()))
        if like not in opened:
            opened[like] = new_visit(browser, origin, **options)
        return opened[like]

    yield window
    for visit in opened.values():
        visit.page.context.close()


@pytest.fixture
def visit(browser: Browser):
    """Open a URL in a fresh window: ``visit(url, origin, width=…, theme=…)``."""
    with contextlib.ExitStack() as windows:

        def open_window(url: str, origin: str = "file:", **options) -> Visit:
            visit = new_visit(browser, origin, **options)
            windows.callback(visit.page.context.close)
            visit.page.goto(url)
            return visit

        yield open_window


@pytest.fixture
def show(windows, visit, tmp_path):
    """Write explorers, and HTML around them, into a page on disk and open it; ``hash`` is the address behind it.

    Tests share a window, but those that change more than its size, which want one of their ``own``.
    """

    def open_page(*parts: Explorer | str, theme="light", hash="", own: bool = False, **options) -> Page:
        html = "".join(part if isinstance(part, str) else part._repr_mimebundle_()["text/html"] for part in parts)
        (tmp_path / "page.html").write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>intact</title>'
            '<meta name="viewport" content="width=device-width">'
            f"<style>{stylesheet()}</style><script>{script()}</script>{html}",
            encoding="utf-8",
        )
        opened = visit("about:blank", **options) if own else windows("file:", **options)
        opened.page.goto("about:blank")
        opened.complaints.clear()
        opened.page.set_viewport_size({"width": options.get("width", 1280), "height": 900})
        opened.page.mouse.move(0, 0)
        opened.page.goto((tmp_path / "page.html").as_uri() + hash)
        assert opened.complaints == []
        return opened.page

    return open_page


def reload_until_storage_works(page: Page) -> Page:
    """The page, loaded again until what it keeps is kept.

    A page that reads ``localStorage`` as it opens is given, on a busy machine, an empty one of its own by Chromium 156:
    6 of 100 times, with six at work on two cores, and without any script of ours. What it writes there is lost.
    """
    for attempt in map(str, range(10)):
        page.evaluate("attempt => localStorage.setItem('attempt', attempt)", attempt)
        other = page.context.new_page()
        other.goto("file:///")  # all files share one storage
        found = other.evaluate("localStorage.getItem('attempt')")
        other.close()
        if found == attempt:
            break
        address = page.url
        page.goto("about:blank")  # not a reload, which would scroll to where the page was left
        page.goto(address)
    page.evaluate("localStorage.removeItem('attempt')")
    return page


# The tests of a page are run together and by one worker, so that ``chapter`` opens it once at each address.
every_page = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in PAGES], scope="module"
)


@pytest.fixture(scope="session")
def chapter(windows, origins):
    """Show a page of the book, its formulas drawn: ``chapter(name, where, address="#figure?state", width=…, theme=…)``.

    A window that shows the page already is left as it is, unless it is wanted anew; one that shows another page, or
    this one at another address, opens it, which takes half the time of opening a fresh window.
    """
    shown: dict[Visit, tuple[str, str]] = {}

    def show(name: str, where: str = "disk", *, address: str = "", anew: bool = False, **options) -> Visit:
        visit = windows(origins[where], **options)
        before = shown.pop(visit, ("", ""))
        if anew or before != (name, address):
            visit.page.goto("about:blank")  # so that the address of a state is opened, not only gone to
            if before[0] != name:
                visit.abroad.clear()
                visit.complaints.clear()
            visit.page.goto(f"{origins[where]}/{name}{address}")
            assert visit.page.evaluate(UNDRAWN) == 0
        shown[visit] = (name, address)
        return visit

    return show
