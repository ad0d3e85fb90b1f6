"""The front end of the built pages: the explorers' from the package, the pages' own from ``book/_front``."""

import shutil
from pathlib import Path
from runpy import run_path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "book" / "_front"
EXPLORER = run_path(str(ROOT / "src/attention/explorer/front.py"))  # alone: the package around it imports PyTorch
STYLES = ("fonts", "theme", "text", "welcome", "code", "folds", "beside")
STYLES += ("api", "citations", "find", "around", "paper")
SCRIPTS = ("beside", "citations", "paper", "predicted", "stumbled")


def write(app) -> None:
    """Write the scripts, the stylesheets and the fonts of every page of the book, and the script of the search page."""
    files = {
        "explorer.css": EXPLORER["stylesheet"](),
        "explorer.js": EXPLORER["script"](),
        "softlookup.css": _joined(STYLES, "css"),
        "softlookup.js": _wrapped(SCRIPTS),
        "find.js": _wrapped(("find",)),
    }
    for name, text in files.items():
        Path(app.outdir, "_static", name).write_text(text, encoding="utf-8")
    shutil.copytree(FOLDER / "fonts", Path(app.outdir, "_static", "fonts"), dirs_exist_ok=True)


def _wrapped(names: tuple[str, ...]) -> str:
    return "(() => {\n" + _joined(names, "js") + "})();\n"


def _joined(names: tuple[str, ...], suffix: str) -> str:
    return "\n".join((FOLDER / f"{name}.{suffix}").read_text(encoding="utf-8") for name in names)
