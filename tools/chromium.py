"""The browser in which the book is tested, printed and measured: what is there, or what can be had.

``python -m tools.chromium`` sees to it, and to fonts for paper, before anything that takes minutes.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserType, Error, sync_playwright

# The first has no window to draw around a page, which makes each page opened much cheaper.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FONTS = ("fontconfig", "fonts-noto-cjk")
PLAYWRIGHT = Path(sys.executable).with_name("playwright")


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """The browser, open; ``options`` are those of its command line.

    It is the one that ``CHROMIUM`` names, or the first that starts of those on the path and Playwright's own.

    Raises:
        FileNotFoundError: there is none.
    """
    with sync_playwright() as playwright:
        browser = _launch(playwright.chromium, ["--no-sandbox", *options])
        yield browser
        browser.close()


def _launch(chromium: BrowserType, options: list[str]) -> Browser:
    named = os.environ.get("CHROMIUM")
    paths = [path for name in ([named] if named else NAMES) if (path := shutil.which(name))]
    faults = []
    for path in paths if named else [*paths, None]:  # None is Playwright's own
        try:
            return chromium.launch(executable_path=path, args=options)
        except Error as error:
            lines = error.message.splitlines()
            why = next((line for line in lines if "error while loading" in line or "doesn't exist" in line), lines[0])
            faults.append(f"\n  {path or 'of Playwright'}: {why.strip()}")
    raise FileNotFoundError("This needs Chromium, and found none that starts" + "".join(faults or [f": {named}"]))


def main() -> None:
    """Get a browser and fonts, or end with the command that gets them here."""
    ways = [None, _playwright_s_own]
    if shutil.which("apt-get") and _as_root() is not None:
        ways += [_debian_s, _libraries_of_playwright_s]
    fault = ""
    for way in ways[:1] if os.environ.get("CHROMIUM") else ways:
        if way:
            way()
        try:
            with chromium():
                break
        except FileNotFoundError as error:
            fault = str(error)
    else:
        sys.exit(f"{fault}\n{_advice()}")
    if sys.platform == "linux" and not _has_chinese() and not (_as_root() is not None and _install(*FONTS)):
        print("No font has Chinese characters: what is printed with them is not tested.", flush=True)


def _playwright_s_own() -> None:
    print("No Chromium is here: Playwright gets one.", flush=True)
    for command in filter(None, (PLAYWRIGHT, shutil.which("playwright"))):
        if subprocess.run([command, "install", "chromium", "--only-shell"], check=False).returncode == 0:
            return


def _debian_s() -> None:
    _apt("update", "--quiet")  # without, what is there may do
    _install("chromium-headless-shell") or _install("chromium")


def _libraries_of_playwright_s() -> None:
    subprocess.run([PLAYWRIGHT, "install-deps", "chromium"], check=False)


def _as_root() -> list[str] | None:
    """What stands before a command that installs: nothing for root; None where one may not."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "--non-interactive"]
    may = shutil.which("sudo") and not subprocess.run([*sudo, "true"], capture_output=True, check=False).returncode
    return sudo if may else None


def _install(*packages: str) -> bool:
    return _apt("install", "--yes", "--quiet", "--no-install-recommends", *packages)


def _apt(*arguments: str) -> bool:
    command = [*(_as_root() or []), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *arguments]
    return bool(shutil.which("apt-get")) and subprocess.run(command, check=False).returncode == 0


def _has_chinese() -> bool:
    found = shutil.which("fc-list") and subprocess.check_output(["fc-list", ":lang=zh"])
    return bool(found)


def _advice() -> str:
    if os.environ.get("CHROMIUM"):
        return "CHROMIUM names it: name another, or none."
    get = f"'{PLAYWRIGHT}' install chromium --only-shell"
    if shutil.which("apt-get"):
        get = f"apt-get install chromium-headless-shell (Ubuntu: '{PLAYWRIGHT}' install --with-deps chromium), as root"
    return f"Install it: {get}; or name one: CHROMIUM=/path/to/chromium."


if __name__ == "__main__":
    main()
