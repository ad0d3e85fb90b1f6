"""Matrices that are made from each other, and options as buttons, in Chromium."""

from functools import cache

import numpy as np
import pytest
import torch
from ipywidgets import SelectionSlider, ToggleButtons

from attention import causal_mask
from attention.course.one_pass import STEPS, one_pass
from attention.explorer import explore, tokens

WORDS = ["Ann", "met", "Bob", "he", "laughed"]
X = torch.tensor([[1.0, 0, -1], [0, 0, 0], [1, 0, 1], [0, 1, 1], [0, 0, 0]])
W_q = torch.tensor([[0.0, 0], [3, 0], [0, 2]])
W_k = torch.tensor([[1.0, 0], [0, 0], [0, 1]])
PARTS = (["name", "pronoun", "male"], ["name", "male"], ["a", "b", "c"])

MATRICES = """(element) => [...element.querySelectorAll('.station')].map((station) =>
    [...station.querySelectorAll('[data-value]')].map((cell) => Number(cell.dataset.value)))"""
SEEN = """(element) => [...element.querySelectorAll('.station')].map((station) =>
    [...station.querySelectorAll('td > span')].every((span) => getComputedStyle(span).visibility === 'visible'))"""


def walk(step="output", token="he", causal=False):
    mask = causal_mask(5) if causal else None
    names = {"parts": PARTS, "control": "step", "query_control": "token"}
    return one_pass(X, W_q, W_k, torch.eye(3), WORDS, step=step, query=token, mask=mask, **names)


@cache
def walking():
    step = SelectionSlider(options=STEPS, value="output")
    return explore(walk, name="walk", step=step, token=WORDS, causal=False)


def station(page, name):
    return page.locator(".station").nth(STEPS.index(name))


def test_each_matrix_is_a_table_with_its_numbers(show):
    page = show(walking())
    panel = walk()
    expected = [panel.numbers[f"{k}_values"].ravel() for k in range(len(STEPS))]
    for found, numbers in zip(page.locator("attention-explorer").evaluate(MATRICES), expected, strict=True):
        np.testing.assert_allclose(found, numbers, rtol=1e-6)
    assert page.locator(".station caption").all_text_contents()[4] == "scores = QKᵀ ÷ √2"
    weights = station(page, "weights")
    assert weights.locator("thead th[scope=col]").all_inner_texts() == WORDS
    assert weights.locator("tbody th[scope=row]").all_text_contents() == WORDS
    assert station(page, "Q").locator("sub").inner_text() == "q"


def test_a_step_fills_its_matrix_and_lights_what_it_is_made_of(show):
    page = show(walking())
    for number, name in enumerate(STEPS):
        page.locator("input[type=range]").evaluate(
            "(input, at) => (input.value = at, input.dispatchEvent(new Event('input')))", number
        )
        assert page.locator("attention-explorer").evaluate(SEEN) == [at <= number for at in range(len(STEPS))]
        assert station(page, name).get_attribute("data-when") == "now"
        if name == "scores":  # the query of he with every key
            assert station(page, "Q").locator(".used").count() == 2
            assert station(page, "K").locator(".used").count() == 10
            assert page.locator(".ways .on").count() == 2
    page.locator("input[type=checkbox]").check()
    assert station(page, "weights").locator("[data-masked]").count() == 10


def test_a_tap_leads_to_a_step_and_lets_another_word_ask(show):
    page = show(walking())
    slider, word = page.locator("input[type=range]"), page.locator("select")
    station(page, "scores").locator("tbody td").nth(2 * 5 + 1).click()
    assert (slider.get_attribute("aria-valuetext"), word.evaluate("(s) => s.selectedOptions[0].text")) == (
        "scores",
        "Bob",
    )
    station(page, "V").locator("tbody td").first.click()  # all values are taken: a row of them is no query
    assert (slider.get_attribute("aria-valuetext"), word.evaluate("(s) => s.selectedOptions[0].text")) == ("V", "Bob")


def test_pointing_lights_what_a_number_is_made_of(show):
    page = show(walking())
    station(page, "output").locator("tbody td").nth(3 * 3 + 1).hover()
    at = page.locator(".at").evaluate_all("all => all.map((cell) => Number(cell.dataset.value))")
    panel = walk()
    said = page.locator("figcaption").inner_text().removeprefix("output, he, b: ")
    products, total = said.split(" = ")
    summed = sum(float(one) * float(other) for one, other in (each.split(" · ") for each in products.split(" + ")))
    assert float(total) == pytest.approx(panel.numbers["6_values"][3, 1], abs=0.01) == pytest.approx(summed, abs=0.01)
    made = [panel.numbers["3_values"][:, 1], panel.numbers["5_values"][3], panel.numbers["6_values"][3, 1:2]]
    np.testing.assert_allclose(at, np.concatenate(made), rtol=1e-6)


@pytest.mark.parametrize("width", [360, 1280, 1920])
def test_the_picture_fits_and_can_be_read(show, width):
    page = show(walking(), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.locator(".station td > span").evaluate_all(
        "all => all.map((span) => parseFloat(getComputedStyle(span).fontSize))"
    )
    assert min(sizes) >= 12
    boxes = page.locator(".station table").evaluate_all(
        "all => all.map((table) => table.getBoundingClientRect().right)"
    )
    assert max(boxes) <= width
    lines = page.locator(".station").evaluate_all("all => new Set(all.map((station) => station.offsetTop)).size")
    assert lines == 2 if width > 700 else lines > 2


# ------------------------------------------------------------------------------------------------ words that are asked

QUESTIONS = ["when", "where", "who"]


def ask(question="when"):
    i = QUESTIONS.index(question)
    weights = (4 * torch.eye(3, 5)).softmax(dim=1)
    return tokens(weights, QUESTIONS, WORDS, rows=1, chosen=i, caption=f"{question}: {WORDS[i]}")


def asking():
    return explore(ask, question=ToggleButtons(options=QUESTIONS, description="Ask:"))


def test_buttons_set_the_list_that_stays_for_keys(show):
    page = show(asking())
    select, pills = page.locator("label select"), page.locator(".pills button")
    assert pills.all_inner_texts() == QUESTIONS
    pills.nth(2).click()
    assert select.evaluate("(list) => list.value") == "2"
    assert page.locator(".pills .on").inner_text() == "who"
    assert page.locator(".tokens figcaption").inner_text() == "who: Bob"
    select.focus()
    page.keyboard.press("ArrowUp")
    assert page.locator(".pills .on").inner_text() == "where"
