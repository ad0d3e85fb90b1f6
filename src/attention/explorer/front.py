"""The front end: some small JavaScript files and stylesheets, one a panel, joined in order."""

import re
from collections import Counter
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

NAMES = "abcdefghijklmnop"  # of the commonest lengths, in the stylesheet

# How a page says that it is dark: the book, JupyterLab, Colab.
DARK = ('[data-theme="dark"]', '[data-jp-theme-light="false"]', 'html[theme="dark"]')


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
    """The palette, and the styles of every explorer."""
    palette, *styles = ((FOLDER / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
    # Whatever is measured in rem grows with the figure alone, while it is presented.
    grown = re.sub(r"(?<![\w.])(-?[\d.]+)rem\b", r"calc(\1*var(--r))", "\n".join(styles)).replace(
        "calc(1*var(--r))", "var(--r)"
    )
    counted = Counter(re.findall(r"calc\([\d.]+\*var\(--r\)\)", grown))
    lengths = dict(zip(NAMES, (length for length, _ in counted.most_common(len(NAMES))), strict=False))
    for name, length in lengths.items():
        grown = grown.replace(length, f"var(--{name})")
    named = "".join(f"--{name}: {length};" for name, length in lengths.items())
    return "\n".join([palette, without_light_dark(palette), f":root, .attention-explorer {{{named}}}", grown])


def without_light_dark(palette: str) -> str:
    """The palette's light and its dark colours, for a browser that does not know ``light-dark()``.

    A page that does not say what it is is light there.
    """
    colors = re.findall(r"(--[\w-]+): light-dark\((.+?), (.+?)\);", palette)
    light = "".join(f"{name}: {color};" for name, color, _ in colors)
    dark = "".join(f"{name}: {color};" for name, _, color in colors)
    return (
        "@supports not (color: light-dark(#000, #fff)) {\n"
        f"{_within(':root')} {{{light}}}\n{_within(*DARK)} {{{dark}}}\n}}"
    )


def _within(*pages: str) -> str:
    return ", ".join(f"{page}, {page} .attention-explorer" for page in pages)
