"""The front end: some small JavaScript files, joined in order into one script, and one stylesheet."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "front"
FILES = (
    "numbers",
    "elements",
    "reading",
    "heatmap",
    "bars",
    "curves",
    "tokens",
    "plane",
    "diagram",
    "controls",
    "prediction",
    "frame",
    "homes",
)


def script() -> str:
    """One classic script, which a page loads from disk too; it leaves one name, ``attentionExplorer``.

    Lines that are only comments, and the indentation, stay in the files.
    """
    text = "\n".join((FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in FILES)
    text = re.sub(r"^\s*/\*.*?\*/$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith("//")]
    return '"use strict";\nconst attentionExplorer = (() => {\n' + "\n".join(kept) + "\nreturn { render };\n})();\n"


def stylesheet() -> str:
    """The styles of every explorer, and the palette."""
    return (FOLDER.parent / "explorer.css").read_text(encoding="utf-8")
