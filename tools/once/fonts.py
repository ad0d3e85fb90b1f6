"""Make the book's fonts, ``book/_front/fonts``, from their makers' files: only what the book writes, under 200 kB.

Once, by hand, with ``brotli`` installed (``npm pack source-serif@4.5.1 inter-ui@4.1.1`` fetches the packages)::

    python -m tools.once.fonts source-serif/VAR inter-ui/variable

The licence of Source Serif keeps its name for unchanged files, so what is made of it has another.
"""

import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

FOLDER = Path(__file__).parents[2] / "book" / "_front" / "fonts"
# Latin with the accents of Europe, Greek, super- and subscripts, punctuation, fractions, arrows, signs of mathematics.
SHOWN = [(0x20, 0x17F), (0x391, 0x3C9), (0x1D62, 0x1D6A), (0x2010, 0x2027), (0x2070, 0x209C), (0x2150, 0x215F)]
SHOWN += [(0x2190, 0x2195), (0x2202, 0x2265), (0x25A0, 0x25CF), (0x2713, 0x2717), (0x2C7C, 0x2C7C)]
FEATURES = ["kern", "liga", "calt", "ccmp", "locl", "mark", "mkmk", "tnum", "pnum", "lnum", "case"]


def make(source: Path, name: str, file: str, **axes: float | tuple[float, float]) -> None:
    """Write a font's subset: its axes held at a place or within two, under a name of its own."""
    font = TTFont(source)
    subsetter = Subsetter(Options(layout_features=FEATURES, name_IDs=[0, 1, 2, 4, 5, 6, 13, 14]))
    subsetter.populate(unicodes=[code for first, last in SHOWN for code in range(first, last + 1)])
    subsetter.subset(font)
    font = instantiateVariableFont(font, axes)
    for part, text in ((1, name), (4, name), (6, name.replace(" ", ""))):
        font["name"].setName(text, part, 3, 1, 0x409)
    font.flavor = "woff2"
    font.save(FOLDER / file)


if __name__ == "__main__":
    serif, sans = map(Path, sys.argv[1:])
    make(serif / "SourceSerif4Variable-Roman.ttf", "Soft Lookup Serif", "serif.woff2", opsz=16, wght=(400, 600))
    make(serif / "SourceSerif4Variable-Italic.ttf", "Soft Lookup Serif", "serif-italic.woff2", opsz=14, wght=400)
    make(sans / "InterVariable.woff2", "Soft Lookup Sans", "sans.woff2", opsz=14, wght=(400, 600))
