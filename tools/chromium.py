"""The browser in which the book is tested, printed and measured: what is there, or what can be had.

``python -m tools.chromium`` sees to it, and to fonts for paper, before anything that takes minutes.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, sync_playwright

# The first has no window to draw around a page, which makes each page opened much cheaper.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
START = "from tools.chromium import chromium\nwith chromium(): pass"
PLAYWRIGHT = [sys.executable, "-m", "playwright"]
# Systems for which Playwright has no list of packages.
OTHERS = {"dnf": "dnf install", "zypper": "zypper install", "pacman": "pacman -S", "apk": "apk add"}


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """The browser, open; ``options`` are those of its command line.

    It is the one that ``CHROMIUM`` names, or the first that starts of those on the path and Playwright's own.

    Raises:
        FileNotFoundError: there is none.
    """
    named = os.environ.get("CHROMIUM")
    paths = [path for name in ([named] if named else NAMES) if (path := shutil.which(name))]
    faults = []
    with sync_playwright() as playwright:
        for path in paths if named else [*paths, None]:  # None is Playwright's own
            try:
                browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *options])
            except Error as error:
                lines = error.message.splitlines()
                why = [line for line in lines if "error while loading" in line or "doesn't exist" in line]
                faults.append(f"\n  {path or 'of Playwright'}: {(why or lines)[0].strip()}")
            else:
                yield browser
                browser.close()
                return
    raise FileNotFoundError("This needs Chromium, and found none that starts" + "".join(faults or [f": {named}"]))


def main() -> None:
    """Get a browser and fonts, or end with the command that gets them here."""
    apt = _apt_get()
    install = [*apt, "install", "--yes", "--quiet", "--no-install-recommends"]
    playwright_s = [*PLAYWRIGHT, "install", "chromium", "--only-shell"]
    ways = [[playwright_s]]
    if apt:  # without libatomic1 Playwright itself does not start
        ways.append([[*apt, "update", "--quiet"], [*install, "libatomic1"], [*install, "chromium-headless-shell"]])
        ways += [[[*install, "chromium"]], [[*PLAYWRIGHT, "install-deps", "chromium"], playwright_s]]
    if os.environ.get("CHROMIUM"):
        ways = []
    while (fault := _fault()) and ways:
        for command in ways.pop(0):
            print("No Chromium starts here:", *command, flush=True)
            subprocess.run(command, check=False)  # what is there may do
    if fault:
        other = next((command for name, command in OTHERS.items() if shutil.which(name)), None)
        get = f"{other} chromium" if other else f"'{sys.executable}' -m playwright install --with-deps chromium"
        sys.exit(f"{fault}\nGet one with {get}; or name one: CHROMIUM=/path/to/chromium.")
    if sys.platform == "linux" and not has_chinese():
        if not apt or subprocess.run([*install, "fontconfig", "fonts-noto-cjk"], check=False).returncode:
            print("No font has Chinese characters: what is printed with them is not tested.", flush=True)


def _apt_get() -> list[str]:
    """The command, for who may install with it; else nothing."""
    if not shutil.which("apt-get"):
        return []
    sudo = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    if sudo and (not shutil.which("sudo") or subprocess.run([*sudo, "true"], capture_output=True).returncode):
        return []
    return [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]


def _fault() -> str:
    """Why no browser starts, or nothing; in a process of its own, since Playwright itself may end."""
    run = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=False)
    return run.stderr.strip().rpartition("\nFileNotFoundError: ")[2] if run.returncode else ""


def has_chinese() -> bool:
    """Whether a font has what the page of errata quotes."""
    return bool(shutil.which("fc-list") and subprocess.check_output(["fc-list", ":lang=zh"]))


if __name__ == "__main__":
    main()
