"""The browser in which the book is tested, printed and measured: ``python -m tools.chromium`` says which one."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

# Debian's names for it. The first has no window to draw around a page, which makes each page opened much cheaper.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def executable() -> str:
    """The path of the browser that ``CHROMIUM`` names, or of the first found of ``NAMES``.

    Raises:
        FileNotFoundError: there is none.
    """
    named = os.environ.get("CHROMIUM")
    found = next(filter(None, map(shutil.which, [named] if named else NAMES)), None)
    if not found:
        raise FileNotFoundError(
            f"This needs Chromium, and found no {named or NAMES[0]}: install it"
            " (on Debian: apt-get install chromium-headless-shell) or name one with CHROMIUM=/path/to/chromium."
        )
    return found


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """The browser, open; ``options`` are those of its command line.

    Raises:
        FileNotFoundError: there is none.
    """
    found = executable()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", *options])
        yield browser
        browser.close()


if __name__ == "__main__":
    try:
        print(executable())
    except FileNotFoundError as error:
        sys.exit(str(error))
