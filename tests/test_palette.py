"""The palette: its colours can be told apart by everyone; what cannot read it from palette.css repeats it exactly."""

import itertools
import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from colours import EYES, ciede2000, seen

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "book" / "_static"
FRONT = ROOT / "src" / "attention" / "explorer" / "front" / "shared"
COLORS = {
    name: pair
    for name, *pair in re.findall(
        r"--al-(\w+): light-dark\((#\w{6}), (#\w{6})\)", (FRONT / "palette.css").read_text(encoding="utf-8")
    )
}
ROLES = ("query", "key", "value", "weights")
PAGES = sorted(path for path in (ROOT / "book").iterdir() if path.suffix in (".ipynb", ".md"))


def hexes(path: Path, pattern: str = "(#[0-9a-fA-F]{6})") -> set[str]:
    """The colours that the pattern finds in a file."""
    return {found.lower() for found in re.findall(pattern, path.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def palette():
    """Name → (light, dark)."""
    css = (FRONT / "palette.css").read_text(encoding="utf-8").lower()
    pairs = re.findall(r"--al-(query|key|value|weights): light-dark\((#\w{6}), (#\w{6})\)", css)
    assert len(pairs) == 4
    return {name: (light, dark) for name, light, dark in pairs}


def test_every_coloured_symbol_gets_its_variable(palette):
    css = (ROOT / "book" / "_front" / "text.css").read_text(encoding="utf-8").lower()
    rule = r'span\.(\w+),\s*\[stroke="(#\w{6})" i\] \{\s*--mine: var\(--al-(\w+)\)'
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


def test_the_palette_is_whole():
    assert {*ROLES, "ink", "muted", "paper", "raised", "line"} <= set(COLORS)


def linear(color):
    """The light of red, green and blue."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one, other):
    """The contrast of WCAG 2, from 1 to 21."""
    low, high = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(color))) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_wcag_s():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "raised"])
@pytest.mark.parametrize("role", [*ROLES, "ink", "muted"])
def test_every_colour_can_be_read(role, ground, mode):
    assert contrast(COLORS[role][mode], COLORS[ground][mode]) >= 4.5


# Sharma, Wu and Dalal (2005), table 1: pairs at which implementations go wrong.
PUBLISHED = [
    ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
    ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0000),
    ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
    ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0009), 7.1792),
    ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0011), 7.2195),
    ((50.0, -0.001, 2.49), (50.0, 0.0011, -2.49), 4.7461),
    ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
    ((50.0, 2.5, 0.0), (58.0, 24.0, 15.0), 19.4535),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ((90.8027, -2.0831, 1.4410), (91.1528, -1.6435, 0.0447), 1.4441),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
]


@pytest.mark.parametrize(("one", "other", "difference"), PUBLISHED)
def test_differences_are_those_published(one, other, difference):
    assert ciede2000(one, other) == pytest.approx(difference, abs=5e-5)
    assert ciede2000(other, one) == pytest.approx(difference, abs=5e-5)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", EYES)
def test_query_key_value_and_weights_are_told_apart(palette, eyes, mode):
    lab = {name: seen(pair[mode], eyes) for name, pair in palette.items()}
    apart = {pair: ciede2000(lab[pair[0]], lab[pair[1]]) for pair in itertools.combinations(lab, 2)}
    assert len(apart) == 6
    assert {pair: round(found, 1) for pair, found in apart.items() if found < 15} == {}


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("other", [*ROLES, "muted", "ink", "paper"])
def test_what_is_below_zero_has_a_colour_of_its_own(other, eyes, mode):
    assert ciede2000(seen(COLORS["negative"][mode], eyes), seen(COLORS[other][mode], eyes)) >= 15


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_a_bar_below_zero_stands_out_from_its_page(mode):
    assert contrast(COLORS["negative"][mode], COLORS["paper"][mode]) >= 3


def test_the_page_on_notation_says_how_far_they_are_apart(palette):
    found = [
        ciede2000(seen(one[mode], eyes), seen(other[mode], eyes))
        for mode, eyes, (one, other) in itertools.product((0, 1), EYES, itertools.combinations(palette.values(), 2))
    ]
    said = re.search(r"differ by at least ([\d.]+)", (ROOT / "book" / "notation.md").read_text(encoding="utf-8"))[1]
    assert round(min(found), 1) == float(said)


def test_light_and_dark_stand_in_the_palette_alone():
    """Where the fallback for browsers without light-dark() is made from."""
    styles = [*(ROOT / "src").rglob("*.css"), *(ROOT / "book" / "_front").glob("*.css")]
    assert [path.name for path in styles if "light-dark(" in path.read_text(encoding="utf-8")] == ["palette.css"]
