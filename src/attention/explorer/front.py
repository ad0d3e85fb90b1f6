"""The front end: some small JavaScript files, joined in order into one script, and one stylesheet."""

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
    """One classic script, which a page loads from disk too; it leaves one name, ``attentionExplorer``."""
    parts = [(FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in FILES]
    return '"use strict";\nconst attentionExplorer = (() => {\n' + "\n".join(parts) + "\nreturn { render };\n})();\n"


def stylesheet() -> str:
    """The styles of every explorer, and the palette."""
    return (FOLDER.parent / "explorer.css").read_text(encoding="utf-8")
