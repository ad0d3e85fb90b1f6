"""Panels that show an answer at a glance: their handles, axes, names, signs and places."""

import itertools
import math
import re
from functools import cache

import pytest
import torch
from ipywidgets import SelectionSlider

from attention.explorer import bars, curves, diagram, explore, heatmap
from explorers import drag
from panel_examples import FOLDERS, example

STEPS = [1, 3, 10, 30, 100, 300, 1000]


def fade(step=10):
    """A line that falls by a power of ten for each one of its place, and three bars."""
    x = torch.logspace(0, 3, 31, dtype=torch.float64)
    lines = {"error": 1 / x, "bound": 2 / x**0.5}
    plot = {"axes": ("step", "loss"), "x_scale": "log", "y_scale": "log", "caption": "Loss"}
    return [
        curves(x, lines, moments={"now": step}, handle=("now", "step"), **plot),
        bars([1 / step], ["error"], limits=(0, 1)),
    ]


@cache
def fading():
    return explore(fade, name="fade", step=SelectionSlider(options=STEPS, value=10))


def ticks(page, axis):
    """Label → place, of the texts along an axis."""
    boxes = page.locator(".curves .frame text").evaluate_all(
        "all => all.map(t => [t.textContent, Number(t.getAttribute('x')), Number(t.getAttribute('y'))])"
    )
    number = re.compile(r"[\d.,]+$")
    side = [box for box in boxes if number.match(box[0]) and (box[1] < 46) == (axis == "y")]
    return {float(text): y if axis == "y" else x for text, x, y in side}


def test_each_kind_is_drawn_from_its_folder(show):
    kinds = [folder.name for folder in FOLDERS]
    page = show(*(explore(lambda kind=kind: example(kind)) for kind in kinds))
    for kind in kinds:
        shapes = page.locator(f".panel-{kind}").locator("td, path, circle, line, rect, .word").filter(visible=True)
        assert shapes.count(), f"panels/{kind}/draw.js draws nothing"


# ------------------------------------------------------------------------------------------------ handles


def test_a_moment_is_dragged_along_the_axis_to_the_nearest_state(show):
    page = show(fading())
    assert "now at 10" in page.locator(".curves svg.plot").get_attribute("aria-label")
    decade = ticks(page, "x")[100] - ticks(page, "x")[10]
    drag(page, page.locator(".grip"), lambda x, y: (x + 0.9 * decade, y + 30))
    assert page.locator("output").inner_text() == "100"
    assert float(page.locator(".bars td").get_attribute("data-value")) == pytest.approx(0.01)
    at = float(page.locator(".moment line").get_attribute("x1"))
    assert at == pytest.approx(ticks(page, "x")[100], abs=0.5), "let go, it stands at its state"
    page.locator("input[type=range]").press("Home")
    assert float(page.locator(".grip").get_attribute("cx")) == pytest.approx(ticks(page, "x")[1], abs=0.5)


# ------------------------------------------------------------------------------------------------ axes and names


def test_on_log_axes_powers_of_ten_are_equally_far(show):
    page = show(fading())
    for axis, most in (("x", 4), ("y", 4)):
        marks = ticks(page, axis)
        assert len(marks) >= most
        assert all(math.log10(mark) == round(math.log10(mark)) for mark in marks)
        gaps = [b[1] - a[1] for a, b in itertools.pairwise(sorted(marks.items()))]
        assert max(gaps) == pytest.approx(min(gaps), abs=0.1)


# ------------------------------------------------------------------------------------------------ signs


def test_what_lies_below_zero_has_a_hue_and_what_rounds_to_zero_has_none(show):
    page = show(explore(lambda: heatmap([[-3.0, 2.0, -0.004, 0.0]], color="ink", digits=2)))
    colors = page.locator("tbody td").evaluate_all("all => all.map(c => getComputedStyle(c).backgroundColor)")
    red, _, blue = map(int, re.findall(r"\d+", colors[0])[:3])
    assert red > 2 * blue
    assert colors[2] == colors[3]
    assert page.locator("td[data-negative]").count() == 1
    assert page.locator("tbody td").nth(2).inner_text() == "0.00"


# ------------------------------------------------------------------------------------------------ diagrams

STRUCK = """() => {
    const boxes = [...document.querySelectorAll('.diagram [data-box]')];
    const rect = (box) => box.querySelector('rect').getBBox();
    const found = [];
    for (const arrow of document.querySelectorAll('.diagram [data-arrow]')) {
        const path = arrow.querySelector('path');
        const ends = arrow.dataset.arrow.split(' ');
        for (let at = 0; at < path.getTotalLength(); at += 3) {
            const { x, y } = path.getPointAtLength(at);
            for (const box of boxes) {
                const r = rect(box);
                const inside = x > r.x && x < r.x + r.width && y > r.y && y < r.y + r.height;
                if (inside && !ends.includes(box.dataset.box)) found.push(ends + ' through ' + box.dataset.box);
            }
        }
    }
    return [...new Set(found)];
}"""


@pytest.mark.parametrize("width", [1280, 360])
def test_arrows_go_round_boxes(show, width):
    def chain():
        rows = [["X"], ["Q", "K", "V"], ["S"], ["A"], ["O"]]
        named = [("X", "Q", "W_q"), ("X", "K", "W_k"), ("X", "V", "W_v"), ("S", "A", "softmax"), ("X", "O", "residual")]
        return diagram(rows, [*named, ("Q", "S"), ("K", "S"), ("A", "O"), ("V", "O"), ("X", "A")])

    page = show(explore(chain), width=width)
    assert page.evaluate(STRUCK) == []
    assert page.locator(".operation text").first.text_content() == "Wq"
