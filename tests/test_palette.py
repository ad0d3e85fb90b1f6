"""The palette lives in explorer.css; what cannot read it from there (formulas, drawings) repeats it exactly."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "book" / "_static"
PAGES = sorted(path for path in (ROOT / "book").iterdir() if path.suffix in (".ipynb", ".md"))


def hexes(path: Path, pattern: str = "(#[0-9a-fA-F]{6})") -> set[str]:
    """The colours that the pattern finds in a file."""
    return {found.lower() for found in re.findall(pattern, path.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def palette():
    """Name → (light, dark)."""
    css = (ROOT / "src" / "attention" / "explorer" / "explorer.css").read_text(encoding="utf-8").lower()
    pairs = re.findall(r"--al-(query|key|value|weights): light-dark\((#\w{6}), (#\w{6})\)", css)
    assert len(pairs) == 4
    return {name: (light, dark) for name, light, dark in pairs}


def test_every_coloured_symbol_gets_its_variable(palette):
    css = (STATIC / "softlookup.css").read_text(encoding="utf-8").lower()
    rules = dict(re.findall(r'mjx-container \[stroke="(#\w{6})" i\] \{\s*fill: var\(--al-(\w+)\)', css))
    assert rules == {light: name for name, (light, _) in palette.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_formulas_use_the_palette(palette, page):
    assert hexes(page, r"textcolor\{(#\w+)\}") <= {light for light, _ in palette.values()}


def test_drawings_use_the_palette(palette):
    light, dark = ({pair[mode] for pair in palette.values()} for mode in (0, 1))
    assert hexes(STATIC / "logo.svg") == light
    assert hexes(STATIC / "logo-dark.svg") == dark
    assert hexes(STATIC / "favicon.svg") == light | dark
