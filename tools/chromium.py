"""The browser in which the book is tested, printed and measured: what is there, or what can be had.

``python -m tools.chromium`` sees to it, and to fonts for paper, before anything that takes minutes.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserType, Error, sync_playwright

# The first has no window to draw around a page, which makes each page opened much cheaper.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
COMMANDS = {
    "debian": "sudo apt-get install chromium-headless-shell libatomic1 fontconfig fonts-noto-cjk",
    "ubuntu": "sudo apt-get install libatomic1 && sudo '{playwright}' install-deps chromium, then make test again",
    "fedora": "sudo dnf install chromium",
    "arch": "sudo pacman -S chromium",
}
START = """import sys
from tools.chromium import chromium
try:
    with chromium():
        pass
except Exception as error:
    sys.exit(str(error))
"""
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
    ways = [lambda: None, _get_playwright_s]
    if _as_root() is not None:
        ways += [_get_the_distribution_s, _get_libraries_for_playwright_s]
    for way in ways[:1] if os.environ.get("CHROMIUM") else ways:
        way()
        fault = _fault()
        if not fault:
            break
    else:
        sys.exit(f"{fault}\n{_advice()}")
    if sys.platform == "linux" and not has_chinese() and (_as_root() is None or not _install(*FONTS)):
        print("No font has Chinese characters: what is printed with them is not tested.", flush=True)


def _fault() -> str:
    """Why no browser starts, or nothing; in a process of its own, since Playwright itself may end."""
    run = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=False)
    return run.stderr.strip() if run.returncode else ""


def _get_playwright_s() -> None:
    print("No Chromium starts here: Playwright gets one.", flush=True)
    for command in filter(None, (PLAYWRIGHT, shutil.which("playwright"))):
        if subprocess.run([command, "install", "chromium", "--only-shell"], check=False).returncode == 0:
            return


def _get_the_distribution_s() -> None:
    _apt("update", "--quiet")  # without, what is there may do
    _install("libatomic1")  # without which Playwright does not start
    _install("chromium-headless-shell") or _install("chromium")


def _get_libraries_for_playwright_s() -> None:
    subprocess.run([PLAYWRIGHT, "install-deps", "chromium"], check=False)
    _get_playwright_s()


def _as_root() -> list[str] | None:
    """What stands before a command that installs: nothing for root; None where one may not, or not with apt-get."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "--non-interactive"]
    may = shutil.which("sudo") and not subprocess.run([*sudo, "true"], capture_output=True, check=False).returncode
    return sudo if may else None


def _install(*packages: str) -> bool:
    return _apt("install", "--yes", "--quiet", "--no-install-recommends", *packages)


def _apt(*arguments: str) -> bool:
    command = [*_as_root(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *arguments]
    return subprocess.run(command, check=False).returncode == 0


def has_chinese() -> bool:
    """Whether a font has what the page of errata quotes."""
    return bool(shutil.which("fc-list") and subprocess.check_output(["fc-list", ":lang=zh"]))


def _advice() -> str:
    if os.environ.get("CHROMIUM"):
        return "CHROMIUM names it: name another, or none."
    own = f"'{PLAYWRIGHT}' install chromium --only-shell"
    if sys.platform == "linux":
        system = platform.freedesktop_os_release().get("ID")
        own = COMMANDS.get(system, own).format(playwright=PLAYWRIGHT)
    return f"Get one with {own}; or name one: CHROMIUM=/path/to/chromium."


if __name__ == "__main__":
    main()
