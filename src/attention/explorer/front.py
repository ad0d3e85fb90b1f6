"""The front end: some small JavaScript files and stylesheets, one a panel, joined in order."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "front"
FILES = (
    "numbers",
    "elements",
    "reading",
    "grab",
    "heatmap",
    "bars",
    "curves",
    "tokens",
    "plane",
    "diagram",
    "flow",
    "graph",
    "controls",
    "sketch",
    "guess",
    "prediction",
    "glide",
    "plate",
    "present",
    "frame",
    "sight",
    "homes",
)
STYLES = (
    "palette",
    "frame",
    "controls",
    "heatmap",
    "bars",
    "curves",
    "plane",
    "diagram",
    "flow",
    "tokens",
    "graph",
    "prediction",
    "guess",
    "sight",
    "homes",
    "present",
)


def script() -> str:
    """One classic script, which a page loads from disk too; it leaves one name, ``attentionExplorer``."""
    text = "\n".join((FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in FILES)
    return '"use strict";\nconst attentionExplorer = (() => {\n' + text + "\nreturn { render };\n})();\n"


def stylesheet() -> str:
    """The palette, and the styles of every explorer."""
    palette, *styles = ((FOLDER / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
    # Whatever is measured in rem grows with the figure alone, while it is presented.
    return palette + re.sub(r"(?<![\w.])(-?[\d.]+)rem\b", r"calc(\1*var(--r))", "\n".join(styles))
