"""The front end: small scripts and stylesheets, joined. A kind of panel brings its own; none is listed here."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent


def script() -> str:
    """One classic script, which a page loads from disk too; it leaves one name, ``attentionExplorer``."""
    files = collect("js")
    files.sort(key=lambda file: file.stem == "homes")  # the last, as it begins to draw
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return '"use strict";\nconst attentionExplorer = (() => {\n' + text + "\nreturn { render };\n})();\n"


def stylesheet() -> str:
    """The palette, and the styles of every explorer."""
    files = {file.stem if file.stem != "draw" else file.parent.name: file for file in collect("css")}
    palette = files.pop("palette").read_text(encoding="utf-8")
    styles = "\n".join(file.read_text(encoding="utf-8") for file in files.values())
    # Whatever is measured in rem grows with the figure alone, while it is presented.
    return palette + re.sub(r"(?<![\w.])(-?[\d.]+)rem\b", r"calc(\1*var(--r))", styles)


def collect(suffix: str) -> list[Path]:
    """The files of a kind in their order: what panels stand on, the panels, and what stands around them."""
    folders = ("front/shared/*", "panels/*/draw", "front/*")
    return [file for folder in folders for file in sorted(FOLDER.glob(f"{folder}.{suffix}"))]
