"""The palette: its colours can be told apart by everyone; what cannot read it from palette.css repeats it exactly."""

import itertools
import re
from pathlib import Path

import matplotlib
import pytest
from coloraide import Color

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "book" / "_static"
FRONT = ROOT / "src" / "attention" / "explorer" / "front" / "shared"
COLORS = {
    name: pair
    for name, *pair in re.findall(
        r"--al-(\w+): light-dark\((#\w{6}), (#\w{6})\)", (FRONT / "palette.css").read_text(encoding="utf-8")
    )
}
EYES = ("most", "protan", "deutan", "tritan")
ROLES = ("query", "key", "value", "weights")
PAGES = sorted(path for path in (ROOT / "book").iterdir() if path.suffix in (".ipynb", ".md"))


def hexes(path: Path, pattern: str = "(#[0-9a-fA-F]{6})") -> set[str]:
    """The colours that the pattern finds in a file."""
    return {found.lower() for found in re.findall(pattern, path.read_text(encoding="utf-8"))}


@pytest.fixture
def palette():
    """Role → (light, dark)."""
    return {role: COLORS[role] for role in ROLES}


def test_every_coloured_symbol_gets_its_variable(palette):
    css = (ROOT / "book" / "_front" / "text.css").read_text(encoding="utf-8").lower()
    rule = r'span\.(\w+),\s*\[stroke="(#\w{6})" i\]\) \{\s*--mine: var\(--al-(\w+)\)'
    found = re.findall(rule, css)
    assert all(word == name for word, _, name in found)
    assert {light: name for _, light, name in found} == {light: name for name, (light, _) in palette.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_formulas_use_the_palette(palette, page):
    assert hexes(page, r"textcolor\{(#\w+)\}") <= {light for light, _ in palette.values()}


def test_drawings_use_the_palette(palette):
    light, dark = ({pair[mode] for pair in palette.values()} for mode in (0, 1))
    assert hexes(STATIC / "logo.svg") == light
    assert hexes(STATIC / "logo-dark.svg") == dark
    assert hexes(STATIC / "favicon.svg") == light | dark


def test_plots_use_the_palette():
    style = matplotlib.rc_params_from_file(ROOT / "src" / "attention" / "softlookup.mplstyle", fail_on_error=True)
    cycle = [color.lower() for color in style["axes.prop_cycle"].by_key()["color"]]
    assert cycle == [COLORS[role][0] for role in ("weights", "query", "key", "value", "muted")]


def contrast(one, other):
    """The contrast of WCAG 2, from 1 to 21."""
    return Color(one).contrast(other, method="wcag21")


def seen(color, eyes):
    """A colour as those eyes see it that lack a kind of cone (Machado et al., 2009)."""
    return Color(color) if eyes == "most" else Color(color).filter(eyes, method="machado").clip()


def difference(one, other, eyes):
    """CIEDE2000, as those eyes see both."""
    return seen(one, eyes).delta_e(seen(other, eyes), method="2000")


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("role", [*ROLES, "ink", "muted"])
def test_every_colour_can_be_read(role, mode):
    assert contrast(COLORS[role][mode], COLORS["paper"][mode]) >= 4.5


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", EYES)
def test_query_key_value_and_weights_are_told_apart(palette, eyes, mode):
    pairs = itertools.combinations(palette, 2)
    apart = {(a, b): difference(palette[a][mode], palette[b][mode], eyes) for a, b in pairs}
    assert {pair: round(found, 1) for pair, found in apart.items() if found < 15} == {}


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("other", [*ROLES, "muted", "ink", "paper"])
def test_what_is_below_zero_has_a_colour_of_its_own(other, eyes, mode):
    assert difference(COLORS["negative"][mode], COLORS[other][mode], eyes) >= 15


def test_the_page_on_notation_says_how_far_they_are_apart(palette):
    found = [
        difference(one[mode], other[mode], eyes)
        for mode, eyes, (one, other) in itertools.product((0, 1), EYES, itertools.combinations(palette.values(), 2))
    ]
    said = re.search(r"differ by at least ([\d.]+)", (ROOT / "book" / "notation.md").read_text(encoding="utf-8"))[1]
    assert round(min(found), 1) == float(said)
