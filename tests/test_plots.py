"""Figures draw what they are given, and the palette can be read by everyone, on light and on dark paper."""

import itertools
import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb, to_rgba

from attention import plots
from attention.plots import PALETTE

CSS = (Path(plots.__file__).parent / "explorer" / "explorer.css").read_text(encoding="utf-8")
COLORS = {name: pair for name, *pair in re.findall(r"--al-(\w+): light-dark\((#\w{6}), (#\w{6})\)", CSS)}
ROLES = ("query", "key", "value", "weights")

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    yield
    plt.close("all")


# Heatmap.

WEIGHTS = torch.tensor([[0.75, 0.25, 0.0], [0.1, 0.2, 0.7]])
MASK = torch.tensor([[True, True, False], [True, True, True]])


@pytest.fixture
def heatmap():
    plots.heatmap(WEIGHTS.requires_grad_(), ["first", "second"], ["apple", "banana", "chair"], mask=MASK)
    return plt.gca()


def test_heatmap_colours_each_weight_from_0_to_1(heatmap):
    (image,) = heatmap.images
    np.testing.assert_array_equal(image.get_array().mask, ~MASK.cpu().numpy())
    np.testing.assert_array_equal(image.get_array().data, WEIGHTS.detach().cpu().numpy())
    assert image.get_clim() == (0, 1)
    assert image.cmap(0.0) == to_rgba("white")
    assert image.cmap(1.0) == pytest.approx(to_rgba(PALETTE["weights"]))


def test_heatmap_writes_each_weight_that_is_not_masked_in_its_cell(heatmap):
    written = {text.get_position(): text.get_text() for text in heatmap.texts}
    assert written == {(0, 0): "0.75", (1, 0): "0.25", (0, 1): "0.10", (1, 1): "0.20", (2, 1): "0.70"}


def test_heatmap_s_numbers_stand_out_from_their_cells(heatmap):
    (image,) = heatmap.images
    for text in heatmap.texts:
        cell = image.cmap(image.norm(float(text.get_text())))
        assert contrast(text.get_color(), cell[:3]) >= 4.5


def test_heatmap_hatches_what_is_masked(heatmap):
    (hatched,) = heatmap.patches
    assert hatched.get_hatch()
    assert hatched.get_bbox().bounds == (1.5, -0.5, 1, 1)  # around (2, 0)


def test_heatmap_names_rows_and_columns(heatmap):
    assert [label.get_text() for label in heatmap.get_yticklabels()] == ["first", "second"]
    assert [label.get_text() for label in heatmap.get_xticklabels()] == ["apple", "banana", "chair"]
    assert heatmap.yaxis_inverted(), "the first row is at the top"


# Hull.

VALUES = torch.tensor([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
OUTPUTS = torch.tensor([[2.0, 1.0], [1.0, 0.5]])


@pytest.fixture
def hull():
    plots.hull(VALUES, OUTPUTS.requires_grad_(), ["apple", "banana", "chair"], ("sweet", "heavy"))
    return plt.gca()


def test_hull_draws_values_and_outputs_where_they_are(hull):
    outputs, values = hull.collections
    np.testing.assert_array_equal(outputs.get_offsets(), OUTPUTS.detach().cpu())
    np.testing.assert_array_equal(values.get_offsets(), VALUES.cpu())
    assert tuple(outputs.get_facecolor()[0][:3]) == to_rgb(PALETTE["ink"])
    assert tuple(values.get_facecolor()[0][:3]) == to_rgb(PALETTE["value"])


def test_hull_spans_the_values(hull):
    (polygon,) = hull.patches
    np.testing.assert_array_equal(polygon.get_xy(), VALUES[[0, 1, 2, 0]].cpu())


def test_hull_labels_each_value_on_the_side_away_from_the_middle(hull):
    told = {text.get_text(): (text.xy, text.get_ha(), text.get_va()) for text in hull.texts}
    assert {name: tuple(xy) for name, (xy, *_) in told.items()} == {"apple": (0, 0), "banana": (4, 0), "chair": (2, 3)}
    assert {name: sides for name, (_, *sides) in told.items()} == {
        "apple": ["right", "top"],  # its text ends at the point, below it
        "banana": ["left", "top"],
        "chair": ["center", "bottom"],
    }


def test_hull_names_its_axes(hull):
    assert (hull.get_xlabel(), hull.get_ylabel()) == ("sweet", "heavy")


# Paper and palette.


@pytest.mark.parametrize("figure", ["heatmap", "hull"])
def test_a_figure_is_drawn_on_nothing(figure, request):
    axes = request.getfixturevalue(figure)
    assert to_rgba(axes.get_facecolor())[3] == to_rgba(axes.figure.get_facecolor())[3] == 0


def test_figures_have_the_light_page_s_colours():
    assert {name: light for name, (light, _) in COLORS.items()} == PALETTE
    assert {*ROLES, "ink", "muted", "paper", "raised", "line"} == set(PALETTE)


def linear(color):
    """The light of red, green and blue."""
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]


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


# What light becomes for those without red or without green cones: Machado et al. (2009), severity 1.
PROTANOPES = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
DEUTERANOPES = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]

# Ottosson's Oklab (2020), where distances are nearly those that the eye sees: 0.02 is just noticed.
TO_CONES = [
    [0.41222147, 0.53633254, 0.05144599],
    [0.21190350, 0.68069955, 0.10739696],
    [0.08830246, 0.28171884, 0.6299787],
]
TO_LAB = [
    [0.21045426, 0.79361779, -0.00407205],
    [1.9779985, -2.4285922, 0.45059371],
    [0.02590404, 0.78277177, -0.80867577],
]


def seen(color, eyes):
    return np.array(TO_LAB) @ np.cbrt(np.array(TO_CONES) @ np.clip(np.array(eyes) @ linear(color), 0, 1))


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    "eyes",
    [
        pytest.param(np.eye(3), id="most"),
        pytest.param(PROTANOPES, id="protanopes"),
        pytest.param(DEUTERANOPES, id="deuteranopes"),
    ],
)
def test_query_key_value_and_weights_are_told_apart(eyes, mode):
    found = {role: seen(COLORS[role][mode], eyes) for role in ROLES}
    close = [
        pair for pair in itertools.combinations(ROLES, 2) if np.linalg.norm(found[pair[0]] - found[pair[1]]) < 0.05
    ]
    assert close == []
