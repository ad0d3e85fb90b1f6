"""The explorer in Python: controls and states, the payload against a slow decoder, the static page, the live widget."""

import itertools
import json
import math

import ipywidgets
import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from ipywidgets import (
    Checkbox,
    Combobox,
    Dropdown,
    FloatLogSlider,
    FloatSlider,
    IntSlider,
    SelectionSlider,
    Text,
    ToggleButtons,
)
from numpy.testing import assert_array_equal

from attention.explorer import bars, explore, heatmap
from panel_examples import refused
from payloads import unpack

INF, NAN = math.inf, math.nan


def nothing(x):
    """A function of one control which draws always the same."""
    return bars([1.0])


def control(given):
    """The one control that ``given`` makes, as the front end reads it."""
    (found,) = explore(nothing, x=given).widget.payload["controls"]
    return found


def read(explorer, name, *state, panel=0):
    """A field of an explorer's panel in one state of its controls, given by their indices."""
    counts = [len(each["states"]) for each in explorer.widget.payload["controls"]]
    return unpack(explorer.widget.payload["panels"][panel]["fields"][name], counts, state)


# ------------------------------------------------------------------------------------------------ controls


@pytest.mark.parametrize(
    ("given", "kind", "states", "labels"),
    [
        ((1, 3), "range", [1, 2, 3], ["1", "2", "3"]),
        ((0, 10, 4), "range", [0, 4, 8], ["0", "4", "8"]),
        ((0.1, 0.4, 0.1), "range", [0.1, 0.2, 0.3, 0.4], ["0.1", "0.2", "0.3", "0.4"]),
        (False, "checkbox", [False, True], ["off", "on"]),
        ([1, 2.5, True, "x"], "select", [1, 2.5, True, "x"], ["1", "2.5", "True", "x"]),
        ({"one": 1, "two": 2}, "select", [1, 2], ["one", "two"]),
        ([("one", 1), ("two", 2)], "select", [1, 2], ["one", "two"]),
        ("a word", "text", ["a word"], ["a word"]),
        (FloatSlider(min=-0.5, max=0.5, step=0.5), "range", [-0.5, 0.0, 0.5], ["-0.5", "0", "0.5"]),
        (FloatLogSlider(value=1, base=2, min=0, max=2, step=1), "range", [1.0, 2.0, 4.0], ["1", "2", "4"]),
        (IntSlider(value=2, min=2, max=6, step=2), "range", [2, 4, 6], ["2", "4", "6"]),
        (SelectionSlider(options=[0.1, 3, 10]), "range", [0.1, 3, 10], ["0.1", "3", "10"]),
        (Dropdown(options={"low": 0.1, "high": 2}), "select", [0.1, 2], ["low", "high"]),
        (Checkbox(value=True), "checkbox", [False, True], ["off", "on"]),
        (Text(value="a word"), "text", ["a word"], ["a word"]),
    ],
    ids=lambda value: value.replace(" ", "") if isinstance(value, str) else None,
)
def test_a_control_has_these_states_and_labels(given, kind, states, labels):
    found = control(given)
    assert (found["kind"], found["states"], found["labels"]) == (kind, states, labels)
    assert list(map(type, found["states"])) == list(map(type, states))


def test_toggle_buttons_are_a_list_that_is_drawn_as_buttons():
    options = ["when", "where"]
    assert control(ToggleButtons(options=options)) == control(Dropdown(options=options)) | {"look": "buttons"}


@pytest.mark.parametrize(
    "given", [(1, 4), (0, 10, 5), (0.0, 1.0), (0.5, 2.0, 0.25), (-3, 2), True, ["a", "b"], {"a": 1}, 3]
)
def test_a_control_begins_where_interact_s_does(given):
    interact = ipywidgets.interactive(nothing, x=given).children[0]
    assert explore(nothing, x=given).state == {"x": interact.value}


@pytest.mark.parametrize(
    ("given", "default", "initial"),
    [
        ((0, 10, 4), 3, 4),  # the nearest
        ([1, 2, 3], 2, 2),
        (["a", "b"], "c", "a"),
        (False, True, False),  # a bool is a value, as interact has it
        (IntSlider(value=3, min=0, max=9), 7, 3),  # and so is a widget
    ],
)
def test_a_control_begins_at_the_function_s_default(given, default, initial):
    def function(x=default, shift=100):
        return bars([1.0])

    assert explore(function, x=given).state == {"x": initial}


def test_options_that_json_cannot_hold_go_by_their_labels():
    activations = {"relu": torch.relu, "tanh": torch.tanh}
    keys = {"ones": torch.ones(2), "twos": 2 * torch.ones(2)}
    explorer = explore(lambda f, key, size: bars(f(size * key)), f=activations, key=keys, size=[NAN, -INF, 1.0])
    assert explorer.state == {"f": "relu", "key": "ones", "size": "nan"}
    explorer.state = {"f": "tanh", "key": "twos", "size": 1.0}
    assert_array_equal(read(explorer, "values", 1, 1, 2), np.tanh([2.0, 2.0]).astype("float32"))


SAME = "ValueError: x has options that cannot be told apart"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((2, 1), "ValueError: x=(2, 1) makes no control: value must be between min and max…"),
        ((0, INF), "ValueError: x must be finite, found 0.0 to inf in steps of 0.1"),
        ((1,), "TypeError: x=(1,) makes no control; use (min, max[, step]), a list or dict of options, …"),
        (Dropdown(), "ValueError: x has no options"),
        ([1, 1.0], f"{SAME}: 1, 1.0"),
        (FloatSlider(step=None), "ValueError: x needs a step above 0, found None"),
        ((0, 1_000_000), "ValueError: x has 1,000,001 values: coarsen it"),
        (ipywidgets.IntRangeSlider(), "TypeError: x=IntRangeSlider() makes no control; use …"),
    ],
    ids=str,
)
def test_what_makes_no_control_is_refused(given, said):
    refused(lambda: explore(nothing, x=given), said)


# ------------------------------------------------------------------------------------------------ state


@pytest.fixture
def explorer():
    return explore(
        lambda temperature, causal, norm: bars([temperature, causal, len(norm)]),
        temperature=(0.1, 0.5, 0.1),
        causal=False,
        norm=["none", "l2"],
    )


def test_state_is_set_whole_or_in_part_and_is_the_widget_s_too(explorer):
    explorer.state = {"temperature": 0.1, "causal": True, "norm": "l2"}
    explorer.state = {"causal": False}
    assert explorer.state == {"temperature": 0.1, "causal": False, "norm": "l2"}
    explorer.widget.state = {"norm": "none"}
    assert explorer.state == {"temperature": 0.1, "causal": False, "norm": "none"}
    assert "state" in explorer.widget.keys, "it is synced"


@pytest.mark.parametrize(("given", "own"), [(0.1 + 0.2, 0.3), (0.1 + 0.2 - 0.3, 0.0), (-0.1 * 3, -0.3)])
def test_a_rounding_away_is_the_slider_s_own_number(given, own):
    explorer = explore(nothing, x=(-0.3, 0.3, 0.1))
    explorer.state = {"x": given}
    assert given != own == explorer.state["x"]


def test_observers_hear_of_every_change_and_of_nothing_else(explorer):
    heard = []
    explorer.observe(lambda change: heard.append(change.new))
    explorer.state = {"causal": True}
    explorer.state = {"causal": True}
    explorer.widget.set_state({"state": {"temperature": 0.5, "causal": True, "norm": "l2"}})  # as the page would
    assert heard == [
        {"temperature": 0.3, "causal": True, "norm": "none"},
        {"temperature": 0.5, "causal": True, "norm": "l2"},
    ]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"dropout": 0.1}, "ValueError: there is no control 'dropout'; there is temperature, causal, norm"),
        ({"temperature": 0.15}, "ValueError: temperature has no state 0.15; it has 0.1, 0.2, 0.3, 0.4, 0.5"),
        ({"temperature": "0.1"}, "ValueError: temperature has no state '0.1'; it has …"),
        ({"temperature": NAN}, "ValueError: temperature has no state nan; it has …"),
        ({"causal": 1}, "ValueError: causal has no state 1; it has off, on"),
    ],
)
def test_a_state_that_does_not_exist_is_refused_and_changes_nothing(explorer, state, said):
    before = explorer.state
    refused(lambda: setattr(explorer, "state", {"norm": "l2", **state}), said)
    assert explorer.state == before


# ------------------------------------------------------------------------------------------------ payload


@st.composite
def worlds(draw):
    """Up to three controls, and panels' numbers and masks that depend on some of them."""
    counts = draw(st.lists(st.integers(1, 3), max_size=3))
    axes = [axis for axis in range(len(counts)) if draw(st.booleans())]
    shape = (*(counts[axis] for axis in axes), draw(st.integers(0, 3)), draw(st.integers(0, 5)))
    number = st.floats(width=32) | st.just(0.0)
    return counts, axes, draw(arrays(np.float32, shape, elements=number)), draw(arrays(bool, shape))


@settings(max_examples=60)
@given(worlds())
def test_every_state_decodes_to_exactly_what_the_function_returned(world):
    counts, axes, values, mask = world

    def panel(**state):
        place = tuple(state[f"c{axis}"] for axis in axes)
        return heatmap(values[place], mask=mask[place])

    explorer = explore(panel, **{f"c{axis}": list(range(count)) for axis, count in enumerate(counts)})
    for state in itertools.product(*map(range, counts)):
        place = tuple(state[axis] for axis in axes)
        assert_array_equal(read(explorer, "values", *state), values[place])
        assert_array_equal(read(explorer, "mask", *state), mask[place])
    for field in explorer.widget.payload["panels"][0]["fields"].values():
        assert set(field["over"]) <= set(axes)


def test_independent_controls_add_and_do_not_multiply():
    def size(panel):
        return len(json.dumps(panel))

    slider = (0, 9)
    together = explore(lambda a, b, c: [bars([x, x + 1, 1]) for x in (a, b, c)], a=slider, b=slider, c=slider)
    (one,) = explore(lambda x: bars([x, x + 1, 1]), x=slider).widget.payload["panels"]
    assert [size(panel) for panel in together.widget.payload["panels"]] == [size(one)] * 3


@pytest.mark.parametrize(("value", "kind"), [(0.1, "f4"), (NAN, "f4"), (-INF, "f4"), (1e300, "f8"), (1e-44, "f8")])
def test_float64_is_kept_only_where_float32_would_lose_a_magnitude(value, kind):
    explorer = explore(lambda: bars([value, 1.0]))
    assert explorer.widget.payload["panels"][0]["fields"]["values"]["numbers"].startswith(f"{kind}:")
    assert_array_equal(read(explorer, "values"), np.array([value, 1.0], dtype=kind))
    json.dumps(explorer.widget.payload, allow_nan=False)  # a browser reads no other


NUMBERS = [[1.0, 0.5], [0.25, 0.0]]


@pytest.mark.parametrize(
    "given",
    [
        NUMBERS,
        np.array(NUMBERS),
        torch.tensor(NUMBERS, dtype=torch.bfloat16),
        torch.tensor(NUMBERS, requires_grad=True),
        list(torch.tensor(NUMBERS, requires_grad=True)),
        [list(row) for row in torch.tensor(NUMBERS, dtype=torch.float16)],
    ],
)
def test_panels_take_numbers_in_every_form(given):
    assert_array_equal(heatmap(given).numbers["values"], NUMBERS)


def test_truths_are_numbers_and_a_mask_broadcasts_to_the_values():
    shown = heatmap(torch.ones(2, 3).bool(), mask=torch.tensor([[True], [False]]))
    assert_array_equal(shown.numbers["values"], np.ones((2, 3)))
    assert_array_equal(shown.numbers["mask"], [[True] * 3, [False] * 3])


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([[0.0], [0.01]], [0, 1]),
        ([[0.5], [3.0]], [0, 3]),
        ([[0.5], [-0.2]], [-0.5, 0.5]),
        ([[0.5], [NAN]], [0, 1]),
        ([[-INF], [2.0]], [0, 2]),
    ],
)
def test_heatmaps_and_bars_share_one_scale_over_all_states(values, limits):
    explorer = explore(lambda x: [bars(values[x]), heatmap([values[x]])], x=[0, 1])
    assert [read(explorer, "limits", 0, panel=panel) for panel in (0, 1)] == [limits, limits]


def either(late):
    return heatmap([[1]]) if late else bars([1])


BAD_EXPLORERS = [
    (
        lambda: explore(lambda a, b, c: bars([a]), a=(1, 40), b=(1, 300), c=False),
        "ValueError: a (40) × b (300) × c (2) make 24,000 states, more than 10,000: coarsen b",
    ),
    (
        lambda: explore(lambda a, b: heatmap(a * torch.rand(20, 20)), a=(1, 200), b=False),
        "ValueError: the explorer needs 856 kB, more than 300 kB: coarsen a",
    ),
    (
        lambda: explore(lambda n: bars(torch.ones(n)), n=(2, 5)),
        "ValueError: panel 1 (bars) must keep its shape: values is (2,) at first and (3,) at n=3; draw the largest and "
        "mask what is not there…",
    ),
    (
        lambda: explore(either, late=False),
        "ValueError: every state must have the same panels, found bars at first and heatmap at late=True…",
    ),
    (
        lambda: explore(lambda x: None, x=(1, 2)),
        "TypeError: the function must return a panel, or a list of them (bars, …), found NoneType\nin the explorer's "
        "state x=1",
    ),
    (lambda: explore(nothing, x=(1, 2), name="a_b"), "ValueError: name must be lower-case letters, … found 'a_b'"),
]


@pytest.mark.parametrize(("make", "said"), BAD_EXPLORERS)
def test_a_bad_explorer_hears_exactly_what_is_wrong(make, said):
    refused(make, said)


# ------------------------------------------------------------------------------------------------ the static page


def page_of(explorer):
    """The static page, and the data in it."""
    page = BeautifulSoup(explorer._repr_mimebundle_()["text/html"], "html.parser")
    return page, json.loads(page.script.extract().string)


def texts(page, selector):
    return [part.get_text() for part in page.select(selector)]


def values(page):
    return [cell["data-value"] for cell in page.select("[data-value]")]


def test_an_output_has_the_widget_the_page_and_a_line_of_text(explorer):
    bundle = explorer._repr_mimebundle_(include=None, exclude=None)
    view = bundle.pop("application/vnd.jupyter.widget-view+json")
    assert view == {"version_major": 2, "version_minor": 0, "model_id": explorer.widget.model_id}
    assert bundle.pop("text/html").startswith("<attention-explorer")
    assert bundle.pop("text/plain") == "Explorer(temperature=0.3 of 5, causal=off of 2, norm=none of 2)"
    assert not bundle
    assert page_of(explorer)[1] == json.loads(json.dumps(explorer.widget.payload))


@pytest.mark.parametrize(
    "label", ["</script><b>alert(1)</b>", "<!--", "]]>", "\"a\" & 'b'", "&lt;", "注意力", "שלום", ""]
)
def test_labels_of_every_kind_are_shown_as_they_are(label):
    def picture(x):
        return [bars([1], [label], caption=label), heatmap([[1]], rows=[label], columns=[label])]

    page, data = page_of(explore(picture, x=[label, "other"]))
    assert {part.name for part in page.find_all()} == {"attention-explorer", "table", "caption", "tr", "th", "td"}
    assert data["controls"][0]["labels"] == [label, "other"]
    assert texts(page, "caption") == [label, ""]
    assert texts(page, "th[scope=row]") == [label, label]
    assert texts(page, "th[scope=col]") == [label]


def test_without_scripts_a_heatmap_is_a_table_of_the_first_state():
    numbers = torch.tensor([[0.123456, 2.0, 0.0], [-1.5, NAN, INF]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    explorer = explore(lambda x: heatmap(x * numbers, rows="ab", columns="uvw", mask=mask, digits=1), x=(1, 3, 2))
    page, _ = page_of(explorer)
    assert (texts(page, "th[scope=row]"), texts(page, "th[scope=col]")) == (["a", "b"], ["u", "v", "w"])
    assert values(page) == ["0.123456", "2", "0", "-1.5", "NaN", "Infinity"]
    assert texts(page, "[data-value]") == ["0.1", "2.0", "", "−1.5", "NaN", "∞"]
    assert ["data-masked" in cell.attrs for cell in page.select("[data-value]")] == [False, False, True, *[False] * 3]


def test_the_page_opens_in_the_present_state(explorer):
    explorer.state = {"temperature": 0.5, "causal": True, "norm": "l2"}
    page, data = page_of(explorer)
    assert [found["initial"] for found in data["controls"]] == [4, 1, 1]
    assert values(page) == ["0.5", "1", "2"]


# ------------------------------------------------------------------------------------------------ live


@pytest.fixture
def inverse():
    """An explorer of a number that is typed, and of a slider."""
    return explore(lambda n, factor: bars([factor / int(n)]), n=Text(value="2"), factor=(1, 3))


def test_moving_a_slider_computes_nothing():
    calls = []
    explorer = explore(lambda x: calls.append(x) or bars([x]), x=(1, 5))
    explorer.state = {"x": 4}
    assert calls == [1, 2, 3, 4, 5]


def test_a_text_computes_every_state_anew_and_the_page_opens_with_it(inverse):
    inverse.state = {"n": "4", "factor": 3}
    assert [read(inverse, "values", 0, state) for state in range(3)] == [0.25, 0.5, 0.75]
    page, data = page_of(inverse)
    assert [found["states"][found["initial"]] for found in data["controls"]] == ["4", 3]
    assert values(page) == ["0.75"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("0", "ZeroDivisionError: division by zero"),
        ("abc", "ValueError: invalid literal for int() with base 10: 'abc'"),
    ],
)
def test_what_goes_wrong_is_shown_and_the_old_figure_stays_until_it_is_mended(inverse, typed, message):
    before = inverse.widget.payload
    inverse.state = {"n": typed}
    assert (inverse.widget.error, inverse.widget.payload) == (message, before)
    assert values(page_of(inverse)[0]) == ["1"]  # 2 / 2, as it was
    inverse.state = {"n": "4"}
    assert inverse.widget.error == ""
    assert read(inverse, "values", 0, 0) == 0.25


def test_a_combo_box_offers_texts_that_are_computed_beforehand_and_others_come_and_go():
    explorer = explore(lambda word: bars([len(word)]), word=Combobox(value="cat", options=["sparrow", "cat", "ox"]))
    offered = explorer.widget.payload
    (found,) = offered["controls"]
    assert (found["kind"], found["states"], found["initial"]) == ("text", ["sparrow", "cat", "ox"], 1)
    assert [read(explorer, "values", state) for state in range(3)] == [7, 3, 2]
    explorer.state = {"word": "elephant"}
    assert explorer.widget.payload["controls"][0]["states"] == ["elephant"]
    explorer.state = {"word": "ox"}
    assert explorer.widget.payload == offered


# ------------------------------------------------------------------------------------------------ what paper shows


def picture(temperature=1.0, late=False):
    return bars([temperature, float(late)])


CONTROLS = {"temperature": [0.5, 1.0, 4.0], "late": False}


@pytest.mark.parametrize(
    ("given", "states"),
    [
        ({"temperature": 4}, [{"temperature": 4.0, "late": False}]),
        ([{"late": True}, {}], [{"temperature": 1.0, "late": True}, {"temperature": 1.0, "late": False}]),
    ],
)
def test_states_for_paper_are_whole(given, states):
    """The controls that a state does not name stand where they begin, wherever the reader has moved them."""
    shown = explore(picture, print=given, **CONTROLS)
    shown.state = {"temperature": 0.5}
    assert page_of(shown)[1]["print"] == states
