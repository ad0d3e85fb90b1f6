"""The explorer's front end, on pages of its own: what each control and each panel does under the hand."""

import math

import pytest
import torch
from ipywidgets import Combobox, IntSlider

from attention import attention_weights, causal_mask
from attention.explorer import bars, curves, explore, heatmap

TOKENS = ["<BOS>", "我", "🍎", "</script><script>document.title='broken'</script>"]


def weights_of(temperature=1.0, causal=False):
    query, key = torch.arange(8.0).reshape(4, 2).sin(), torch.arange(8.0).reshape(4, 2).cos()
    weights = attention_weights(query / temperature, key, is_causal=causal)
    mask = causal_mask(4) if causal else torch.ones(4, 4, dtype=torch.bool)
    return heatmap(weights, rows=TOKENS, columns=TOKENS, mask=mask, caption="Weights")


def weights_page(show, **options):
    return show(explore(weights_of, temperature=(0.1, 4.0, 0.1), causal=False), **options)


def test_structure_is_native(show):
    page = weights_page(show)
    slider = page.locator("label input[type=range]")
    assert slider.get_attribute("aria-valuetext") == "1"
    assert page.locator("label:has(input[type=range]) output").inner_text() == "1"
    assert page.locator("label input[type=checkbox]").count() == 1
    assert page.locator("table caption").inner_text() == "Weights"
    assert page.locator("thead th[scope=col]").all_inner_texts() == TOKENS
    assert page.locator("tbody th[scope=row]").all_inner_texts() == TOKENS
    assert page.locator("td[data-value]").count() == 16
    assert page.title() == "intact"


def test_numbers_are_rounded_as_python_rounds(show):
    numbers = [0.125, 0.375, -0.125, -0.875, 2.5, 0.5, 1.005, 99.995, 0.0625, -0.001]
    page = show(explore(lambda: bars(numbers)))
    shown = page.locator("td .number").all_inner_texts()
    assert [text.replace("−", "-") for text in shown] == [
        f"{number:.2f}".replace("-0.00", "0.00") for number in numbers
    ]


def test_masked_is_drawn_unlike_a_zero(show):
    page = show(
        explore(
            lambda causal: heatmap(torch.zeros(2, 2), mask=causal_mask(2) if causal else torch.ones(2, 2).bool()),
            causal=True,
        )
    )
    cells = page.locator("td[data-value]")
    assert [cell.get_attribute("data-masked") is not None for cell in cells.all()] == [False, True, False, False]
    backgrounds = cells.evaluate_all("all => all.map(cell => getComputedStyle(cell).backgroundImage)")
    assert backgrounds[1] != backgrounds[0] == backgrounds[2]
    page.locator("input[type=checkbox]").uncheck()
    assert page.locator("td[data-masked]").count() == 0


def test_cell_reads_itself_out_and_dims_the_rest(show):
    page = weights_page(show)
    readout = page.locator(".readout")
    page.locator("tbody td").nth(6).hover()
    weight = float(page.locator("tbody td").nth(6).get_attribute("data-value"))
    assert readout.inner_text() == f"query 我 → key 🍎: {weight:.3g}"
    page.wait_for_function("getComputedStyle(document.querySelectorAll('tbody td')[0]).opacity < 0.5")
    opacities = page.locator("tbody td").evaluate_all("all => all.map(cell => Number(getComputedStyle(cell).opacity))")
    assert [opacity == 1 for opacity in opacities] == [i // 4 == 1 or i % 4 == 2 for i in range(16)]
    page.mouse.move(0, 0)
    assert readout.inner_text() == ""


def test_one_tab_stop_and_arrow_keys_reach_every_cell(show):
    page = weights_page(show)
    page.locator("input[type=checkbox]").focus()
    page.keyboard.press("Tab")
    readout = page.locator(".readout")
    assert readout.inner_text().startswith("query <BOS> → key <BOS>")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert readout.inner_text().startswith("query 我 → key 我")
    page.keyboard.press("Tab")
    assert page.locator("td:focus").count() == 0


def test_odd_numbers_are_drawn_and_named(show):
    page = show(explore(lambda shift: heatmap([[math.nan, math.inf, -math.inf, -0.001 * shift]]), shift=(0, 2)))
    cells = page.locator("td[data-value]")
    assert cells.all_inner_texts() == ["NaN", "∞", "−∞", "0.00"]
    assert cells.evaluate_all("all => all.map(cell => Number(cell.dataset.value))")[1:3] == [math.inf, -math.inf]
    assert cells.evaluate_all("all => all.map(cell => cell.hasAttribute('data-odd'))") == [True, True, True, False]
    for index, name in enumerate(["NaN", "∞", "−∞"]):
        cells.nth(index).hover()
        assert page.locator(".readout b").inner_text() == name


def test_curves_are_named_and_said(show):
    x = torch.linspace(0, 3, 31)
    page = show(
        explore(
            lambda slope: curves(
                x,
                {"line": slope * x, "gap": torch.where(x > 1, x, math.nan)},
                points={"dots": ([1.0], [2.0])},
                caption="Two lines",
                axes=("time", "height"),
            ),
            slope=(1, 3),
        )
    )
    svg = page.locator("svg[role=img]")
    assert svg.get_attribute("aria-label").startswith("Two lines: line goes from 0 at 0 to 6 at 3; gap goes from NaN")
    line = page.locator("path[data-name=line]").get_attribute("d")
    assert line.count("L") == 30
    assert page.locator("path[data-name=gap]").get_attribute("d").count("L") == 19
    page.locator("input[type=range]").press("ArrowRight")
    assert "to 9 at 3" in svg.get_attribute("aria-label")
    assert page.locator("path[data-name=line]").get_attribute("d") != line
    page.locator("input[type=range]").press("Tab")
    page.keyboard.press("Tab")  # over the slider's play button to the cursor
    page.keyboard.press("ArrowRight")
    assert page.locator(".readout").inner_text() == "time = 1.6: line 4.8, gap 1.6"


@pytest.mark.parametrize("reduced_motion", ["no-preference", "reduce"])
def test_slider_plays_to_its_end_and_stops(show, reduced_motion):
    page = show(explore(lambda step: bars([step]), step=IntSlider(1, 1, 3)), reduced_motion=reduced_motion)
    play = page.get_by_role("button", name="Play step")
    play.click()
    assert play.get_attribute("aria-pressed") == "true"
    page.wait_for_function("document.querySelector('output').textContent === '3'", timeout=5000)
    assert play.get_attribute("aria-pressed") == "false"
    play.click()
    assert page.locator("output").inner_text() == "1"


def test_offered_texts_can_be_chosen_in_a_page(show):
    page = show(explore(lambda word: bars([len(word)]), word=Combobox(value="cat", options=["sparrow", "cat", "ox"])))
    page.locator("select").select_option(label="sparrow")
    assert page.locator("td").get_attribute("data-value") == "7"
    assert page.locator("small").inner_text() == "any text in a running notebook"


def test_text_waits_for_a_notebook(show):
    page = show(explore(lambda text, size: bars([len(text) * size]), text="hello", size=(1, 3)))
    box = page.locator("label input[type=text]")
    assert box.input_value() == "hello"
    assert box.is_disabled()
    assert "running notebook" in page.locator(f"#{box.get_attribute('aria-describedby')}").inner_text()
    page.locator("input[type=range]").press("End")
    assert page.locator("td").get_attribute("data-value") == "15"
