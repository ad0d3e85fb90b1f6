"""The explorer in Python: controls and states, the payload against a slow decoder, the static page, the live widget."""

import itertools
import json
import math
import re
from html.parser import HTMLParser

import ipywidgets
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from ipywidgets import (
    Checkbox,
    Dropdown,
    FloatLogSlider,
    FloatSlider,
    FloatText,
    IntSlider,
    IntText,
    RadioButtons,
    SelectionSlider,
    Text,
    ToggleButtons,
    fixed,
)
from numpy.testing import assert_array_equal

from attention import attention_weights, causal_mask
from attention.explorer import bars, curves, explore, heatmap, tokens
from payloads import unpack

INF, NAN = math.inf, math.nan


def nothing(x):
    """A function of one control which draws always the same."""
    return bars([1.0])


def control(given, function=nothing):
    """The one control that ``given`` makes, as the front end reads it."""
    (found,) = explore(function, x=given).widget.payload["controls"]
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
        ((0, 1, 0.5), "range", [0.0, 0.5, 1.0], ["0", "0.5", "1"]),
        (False, "checkbox", [False, True], ["off", "on"]),
        (["sum", "mean"], "select", ["sum", "mean"], ["sum", "mean"]),
        ([1, 2.5, True, "x"], "select", [1, 2.5, True, "x"], ["1", "2.5", "True", "x"]),
        ({"one": 1, "two": 2}, "select", [1, 2], ["one", "two"]),
        ([("one", 1), ("two", 2)], "select", [1, 2], ["one", "two"]),
        (range(3), "select", [0, 1, 2], ["0", "1", "2"]),
        ("a word", "text", ["a word"], ["a word"]),
        (FloatSlider(min=-0.5, max=0.5, step=0.5), "range", [-0.5, 0.0, 0.5], ["-0.5", "0", "0.5"]),
        (FloatLogSlider(value=1, min=-1, max=1, step=1), "range", [0.1, 1.0, 10.0], ["0.1", "1", "10"]),
        (FloatLogSlider(value=1, base=2, min=0, max=2, step=1), "range", [1.0, 2.0, 4.0], ["1", "2", "4"]),
        (IntSlider(value=2, min=2, max=6, step=2), "range", [2, 4, 6], ["2", "4", "6"]),
        (SelectionSlider(options=[0.1, 3, 10]), "range", [0.1, 3, 10], ["0.1", "3", "10"]),
        (Dropdown(options={"low": 0.1, "high": 2}), "select", [0.1, 2], ["low", "high"]),
        (ToggleButtons(options=["a", "b"]), "select", ["a", "b"], ["a", "b"]),
        (RadioButtons(options=["a", "b"]), "select", ["a", "b"], ["a", "b"]),
        (Checkbox(value=True), "checkbox", [False, True], ["off", "on"]),
        (Text(value="a word"), "text", ["a word"], ["a word"]),
        (IntText(value=3), "text", [3], ["3"]),
        (FloatText(value=0.5), "text", [0.5], ["0.5"]),
    ],
    ids=lambda value: value.replace(" ", "") if isinstance(value, str) else None,
)
def test_a_control_has_these_states_and_labels(given, kind, states, labels):
    found = control(given)
    assert (found["kind"], found["states"]) == (kind, states)
    assert list(map(type, found["states"])) == list(map(type, states))
    assert found["labels"] == labels


@pytest.mark.parametrize(
    "given", [(1, 4), (0, 10, 5), (0.0, 1.0), (0.5, 2.0, 0.25), (-3, 2), True, ["a", "b"], {"a": 1}, 3]
)
def test_a_control_begins_where_interact_s_does(given):
    interact = ipywidgets.interactive(nothing, x=given).children[0]
    assert explore(nothing, x=given).state == {"x": interact.value}


@pytest.mark.parametrize(
    ("given", "default", "initial"),
    [
        ((1, 9), 7, 7),
        ((0, 10, 4), 3, 4),  # the nearest
        ((1, 9), 12, 9),
        ([1, 2, 3], 2, 2),
        ({"one": 1, "two": 2}, 2, 2),
        (["a", "b"], "c", "a"),
        (False, True, False),  # a bool is a value, as interact has it
        (IntSlider(value=3, min=0, max=9), 7, 3),  # and so is a widget
        (Dropdown(options=["a", "b"], value="b"), "a", "b"),
    ],
)
def test_a_control_begins_at_the_function_s_default(given, default, initial):
    def function(x=default):
        return bars([1.0])

    assert explore(function, x=given).state == {"x": initial}


def test_a_control_is_labelled_by_its_name_or_its_widget_s_description():
    explorer = explore(lambda **_: bars([1.0]), d_k=(1, 2), tau=FloatSlider(description="temperature"))
    assert [found["label"] for found in explorer.widget.payload["controls"]] == ["d k", "temperature"]


def test_options_that_json_cannot_hold_go_by_their_labels():
    activations = {"relu": torch.relu, "tanh": torch.tanh}
    keys = {"ones": torch.ones(2), "twos": 2 * torch.ones(2)}
    explorer = explore(lambda f, key, size: bars(f(size * key)), f=activations, key=keys, size=[NAN, -INF, 1.0])
    assert explorer.state == {"f": "relu", "key": "ones", "size": "nan"}
    explorer.state = {"f": "tanh", "key": "twos", "size": 1.0}
    assert_array_equal(read(explorer, "values", 1, 1, 2), np.tanh([2.0, 2.0]).astype("float32"))


def test_fixed_arguments_and_defaults_are_no_controls():
    explorer = explore(lambda x, scale, shift=100: bars([scale * x + shift]), x=[1, 2], scale=fixed(10))
    assert explorer.state == {"x": 1}
    assert read(explorer, "values", 1) == [120]


# ------------------------------------------------------------------------------------------------ state


@pytest.fixture
def explorer():
    return explore(
        lambda temperature, causal, norm: bars([temperature, causal, len(norm)]),
        temperature=(0.1, 0.5, 0.1),
        causal=False,
        norm=["none", "l2"],
    )


def test_state_is_set_whole_or_in_part(explorer):
    explorer.state = {"temperature": 0.1, "causal": True, "norm": "l2"}
    assert explorer.state == {"temperature": 0.1, "causal": True, "norm": "l2"}
    explorer.state = {"causal": False}
    assert explorer.state == {"temperature": 0.1, "causal": False, "norm": "l2"}


def test_state_is_the_widget_s_too(explorer):
    explorer.widget.state = {"norm": "l2"}
    assert explorer.state == {"temperature": 0.3, "causal": False, "norm": "l2"}
    assert "state" in explorer.widget.keys, "it is synced"


@pytest.mark.parametrize(("given", "own"), [(0.1 + 0.2, 0.3), (0.1 + 0.2 - 0.3, 0.0), (-0.1 * 3, -0.3)])
def test_a_rounding_away_is_the_slider_s_own_number(given, own):
    explorer = explore(nothing, x=(-0.3, 0.3, 0.1))
    explorer.state = {"x": given}
    assert given != own == explorer.state["x"]


@pytest.mark.parametrize("exponent", range(-15, -9))
def test_numbers_however_small_are_told_apart(exponent):
    explorer = explore(nothing, x=FloatLogSlider(value=1e-12, min=-15, max=-10, step=1))
    explorer.state = {"x": 10.0**exponent}
    assert explorer.state == {"x": 10.0**exponent}


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
    ("state", "message"),
    [
        ({"dropout": 0.1}, "there is no control 'dropout'; there is temperature, causal, norm"),
        ({"temperature": 0.15}, "temperature has no state 0.15; it has 0.1, 0.2, 0.3, 0.4, 0.5"),
        ({"temperature": "0.1"}, "temperature has no state '0.1'; it has 0.1, 0.2, 0.3, 0.4, 0.5"),
        ({"temperature": NAN}, "temperature has no state nan; it has 0.1, 0.2, 0.3, 0.4, 0.5"),
        ({"temperature": None}, "temperature has no state None; it has 0.1, 0.2, 0.3, 0.4, 0.5"),
        ({"causal": 1}, "causal has no state 1; it has off, on"),
        ({"norm": "l1"}, "norm has no state 'l1'; it has none, l2"),
    ],
)
def test_a_state_that_does_not_exist_is_refused_and_changes_nothing(explorer, state, message):
    before = explorer.state
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        explorer.state = {"norm": "l2", **state}
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


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (0.1, "f4"),
        (16777217.0, "f4"),
        (1e-30, "f4"),
        (NAN, "f4"),
        (-INF, "f4"),
        (1e300, "f8"),
        (1e-300, "f8"),
        (1e-44, "f8"),
    ],
)
def test_float64_is_kept_only_where_float32_would_lose_a_magnitude(value, kind):
    explorer = explore(lambda: bars([value, 1.0]))
    assert explorer.widget.payload["panels"][0]["fields"]["values"]["numbers"].startswith(f"{kind}:")
    expected = np.array([value, 1.0]) if kind == "f8" else np.array([value, 1.0], dtype=np.float32)
    assert_array_equal(read(explorer, "values"), expected)


@pytest.mark.parametrize(("scale", "kind"), [(1.0, "f2"), (1e-7, "f4")])
def test_of_very_many_numbers_three_digits_are_kept(scale, kind):
    values = scale * (1 + torch.rand(150, 150))
    field = explore(lambda: tokens(values, range(150))).widget.payload["panels"][0]["fields"]["values"]
    assert field["numbers"].startswith(kind)
    np.testing.assert_allclose(unpack(field, (), ()), values, rtol=1e-3)


@pytest.mark.parametrize("values", [[NAN, INF, -INF, 0.5], [1e300, -1e300], [NAN], []])
def test_the_payload_is_json_that_a_browser_reads(values):
    both = explore(lambda: [bars(values), curves(values, {"line": values})])
    json.dumps(both.widget.payload, allow_nan=False)


@pytest.mark.parametrize("tokens", [["the", "cat", "sat", "on"] * 4, ["注意力", "🍎", "…", "<b>"] * 4])
def test_eighty_states_of_a_16_by_16_heatmap_stay_small(tokens):
    query, key = torch.randn(2, 16, 8)

    def picture(temperature, causal):
        return heatmap(attention_weights(query / temperature, key, is_causal=causal), rows=tokens, columns=tokens)

    explorer = explore(picture, temperature=(0.1, 4.0, 0.1), causal=False)
    assert len(html(explorer).encode()) < 125_000


# The numbers of a panel: whatever the function has.

NUMBERS = [[1.0, 0.5], [0.25, 0.0]]


@pytest.mark.parametrize(
    "given",
    [
        NUMBERS,
        tuple(map(tuple, NUMBERS)),
        np.array(NUMBERS),
        np.array(NUMBERS, dtype=np.float32),
        torch.tensor(NUMBERS),
        torch.tensor(NUMBERS, dtype=torch.float64),
        torch.tensor(NUMBERS, dtype=torch.bfloat16),
        torch.tensor(NUMBERS, dtype=torch.float16),
        torch.tensor(NUMBERS, requires_grad=True),
        torch.tensor(NUMBERS).T.contiguous().T,
        list(torch.tensor(NUMBERS, requires_grad=True)),
        [list(row) for row in torch.tensor(NUMBERS, dtype=torch.bfloat16)],
    ],
    ids=lambda given: f"{type(given).__name__}-{getattr(given, 'dtype', type(given[0]).__name__)}",
)
def test_panels_take_numbers_in_every_form(given):
    assert_array_equal(heatmap(given).numbers["values"], NUMBERS)


@pytest.mark.parametrize("given", [torch.tensor([1, 0]), torch.tensor([True, False]), np.array([1, 0]), [True, False]])
def test_panels_take_whole_numbers_and_truths(given):
    assert_array_equal(bars(given).numbers["values"], [1.0, 0.0])


def test_a_mask_broadcasts_to_the_values():
    shown = heatmap(torch.ones(2, 3), mask=torch.tensor([[True], [False]]))
    assert_array_equal(shown.numbers["mask"], [[True] * 3, [False] * 3])


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([[0.2], [1.0]], [0, 1]),
        ([[0.0], [0.01]], [0, 1]),
        ([[0.5], [3.0]], [0, 3]),
        ([[0.5], [-0.2]], [-0.5, 0.5]),
        ([[-4.0], [1.0]], [-4, 4]),
        ([[0.5], [NAN]], [0, 1]),
        ([[INF], [2.0]], [0, 2]),
        ([[-INF], [2.0]], [0, 2]),
        ([[NAN], [NAN]], [0, 1]),
        ([[], []], [0, 1]),
    ],
)
def test_heatmaps_and_bars_share_one_scale_over_all_states(values, limits):
    explorer = explore(lambda x: [bars(values[x]), heatmap([values[x]])], x=[0, 1])
    assert [read(explorer, "limits", 0, panel=panel) for panel in (0, 1)] == [limits, limits]


@pytest.mark.parametrize(
    ("lines", "points", "x_limits", "limits"),
    [
        ({"a": [0.0, 10.0]}, {}, [1, 3], [-0.5, 10.5]),
        ({"a": [0.0, 4.0], "b": [6.0, 10.0]}, {}, [1, 3], [-0.5, 10.5]),
        ({"a": [0.0, 10.0]}, {"p": ([7.0], [20.0])}, [1, 7], [-1, 21]),
        ({"a": [NAN, INF]}, {"p": ([2.0, 2.0], [0.0, 10.0])}, [1, 3], [-0.5, 10.5]),
        ({"a": [2.0, 2.0]}, {}, [1, 3], [1.45, 2.55]),
        ({}, {}, [1, 3], [0, 1]),
    ],
)
def test_curves_leave_a_twentieth_above_and_below(lines, points, x_limits, limits):
    explorer = explore(lambda: curves([1.0, 3.0], lines, points=points))
    assert read(explorer, "x_limits") == x_limits
    assert read(explorer, "limits") == pytest.approx(limits)


def test_limits_of_one_s_own_are_kept():
    explorer = explore(lambda x: bars([x], limits=(-6, 6 * x)), x=[1, 2])
    assert [read(explorer, "limits", state) for state in (0, 1)] == [[-6, 6], [-6, 12]]


# ------------------------------------------------------------------------------------------------ bad input


A_TUPLE = "makes no control; a tuple is (min, max) or (min, max, step), of numbers"
USE = (
    "makes no control; use (min, max[, step]), a list or dict of options, a bool, a str, or an ipywidgets slider, "
    "dropdown, row of buttons, checkbox or text box"
)
NOT_TOLD_APART = "x has options that cannot be told apart"
BAD_CONTROLS = {
    "an empty range": ((2, 1), ValueError, "x=(2, 1) is an empty range: min must be below max"),
    "a range of one": ((1, 1), ValueError, "x=(1, 1) is an empty range: min must be below max"),
    "a range from NaN": ((NAN, 1), ValueError, "x=(nan, 1) must be finite"),
    "a range to infinity": ((0, INF), ValueError, "x=(0, inf) must be finite"),
    "a step of NaN": ((0, 1, NAN), ValueError, "x=(0, 1, nan) must be finite"),
    "a step of 0": ((0, 1, 0), ValueError, "x=(0, 1, 0) needs a step above 0, found 0"),
    "a step back": ((0, 1, -0.1), ValueError, "x=(0, 1, -0.1) needs a step above 0, found -0.1"),
    "one number": ((1,), TypeError, f"x=(1,) {A_TUPLE}"),
    "four numbers": ((1, 2, 3, 4), TypeError, f"x=(1, 2, 3, 4) {A_TUPLE}"),
    "words in a tuple": (("a", "b"), TypeError, f"x=('a', 'b') {A_TUPLE}"),
    "truths in a tuple": ((False, True), TypeError, f"x=(False, True) {A_TUPLE}"),
    "no options": ([], ValueError, "x has no options"),
    "no options in a dict": ({}, ValueError, "x has no options"),
    "no options in a widget": (Dropdown(), ValueError, "x has no options"),
    "the same option twice": ([1, 2, 1], ValueError, f"{NOT_TOLD_APART}: 1, 2, 1"),
    "one number in two forms": ([1, 1.0], ValueError, f"{NOT_TOLD_APART}: 1, 1.0"),
    "a label that is another's value": ({"a": "b", "b": torch.ones(2)}, ValueError, f"{NOT_TOLD_APART}: a, b"),
    "a slider's step of 0": (FloatSlider(step=0), ValueError, "x needs a step above 0, found 0.0"),
    "a slider without a step": (FloatSlider(step=None), ValueError, "x needs a step above 0, found None"),
    "a slider without an end": (FloatSlider(max=INF), ValueError, "x must be finite, found 0.0 to inf in steps of 0.1"),
    "a slider of too many numbers": ((0, 1_000_000), ValueError, "x has 1,000,001 values: coarsen it"),
    "nothing": (None, TypeError, f"x=None {USE}"),
    "a widget without a value": (ipywidgets.Button(), TypeError, f"x=Button() {USE}"),
    "a widget with two values": (ipywidgets.IntRangeSlider(), TypeError, f"x=IntRangeSlider() {USE}"),
}


@pytest.mark.parametrize(("given", "error", "message"), BAD_CONTROLS.values(), ids=BAD_CONTROLS)
def test_what_makes_no_control_is_refused(given, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        explore(nothing, x=given)


THREE = [1, 2, 3]
BAD_EXPLORERS = {
    "a control that is no argument": (
        lambda: explore(lambda x, y=1: bars([x]), x=(1, 2), z=(1, 2)),
        TypeError,
        "the function has no argument 'z'; it has x, y",
    ),
    "a control for a function without arguments": (
        lambda: explore(lambda: bars([1]), z=(1, 2)),
        TypeError,
        "the function has no argument 'z'; it has none",
    ),
    "a fixed value that is no argument": (
        lambda: explore(nothing, x=(1, 2), z=fixed(3)),
        TypeError,
        "the function has no argument 'z'; it has x",
    ),
    "an argument without a control": (
        lambda: explore(lambda x, y: bars([x]), x=(1, 2)),
        TypeError,
        "the function's argument 'y' needs a control or a default",
    ),
    "too many states": (
        lambda: explore(lambda a, b, c: bars([a]), a=(1, 40), b=(1, 300), c=False),
        ValueError,
        "a (40) × b (300) × c (2) make 24,000 states, more than 10,000: coarsen b",
    ),
    "too much data along a control": (
        lambda: explore(lambda a, b: heatmap(a * torch.rand(20, 20)), a=(1, 200), b=False),
        ValueError,
        "the explorer needs 856 kB, more than 300 kB: coarsen a",
    ),
    "too much data in one state": (
        lambda: explore(lambda: heatmap(torch.rand(300, 300))),
        ValueError,
        "the explorer needs 484 kB, more than 300 kB: draw fewer numbers",
    ),
    "a shape that changes": (
        lambda: explore(lambda n: bars(torch.ones(n)), n=(2, 5)),
        ValueError,
        "panel 1 (bars) must keep its shape: values is (2,) at first and (3,) at n=3; draw the largest and mask "
        "what is not there",
    ),
    "a mask that comes and goes": (
        lambda: explore(lambda masked: [bars([1]), heatmap([[1]], mask=[[True]] if masked else None)], masked=False),
        ValueError,
        "panel 2 (heatmap) must keep its shape: mask is none at first and (1, 1) at masked=True; draw the largest and "
        "mask what is not there",
    ),
    "a kind that changes": (
        lambda: explore(lambda kind: kind, kind={"bars": bars([1]), "heatmap": heatmap([[1]])}),
        ValueError,
        "every state must have the same panels, found bars at first and heatmap at kind=heatmap",
    ),
    "a function that returns nothing": (
        lambda: explore(lambda x: None, x=(1, 2)),
        TypeError,
        "the function must return a panel, or a list of them (bars, curves, diagram, flow, graph, heatmap, "
        "plane, tokens), found NoneType"
        "\nin the explorer's state x=1",
    ),
    "a matrix as bars": (
        lambda: bars(torch.ones(2, 3)),
        ValueError,
        "values must be a list of numbers, (N,), found shape (2, 3)",
    ),
    "a vector as a heatmap": (
        lambda: heatmap(torch.ones(3)),
        ValueError,
        "values must be a matrix, (rows, columns), found shape (3,)",
    ),
    "words as numbers": (
        lambda: bars(["one", "two"]),
        TypeError,
        "values must be numbers, found list: could not convert string to float: …",
    ),
    "a ragged matrix": (lambda: heatmap([[1, 2], [3]]), TypeError, "values must be numbers, found list: …"),
    "complex numbers": (lambda: bars(torch.ones(2) * 1j), TypeError, "values must be numbers, found Tensor: …"),
    "labels too few": (
        lambda: heatmap(torch.ones(2, 3), rows=["a", "b"], columns=["u", "v"]),
        ValueError,
        "columns must be 3 labels, found 2: u, v",
    ),
    "a mask of numbers": (
        lambda: bars([1, 2], mask=torch.tensor([1.0, 0.0])),
        TypeError,
        "mask must be boolean, True = may attend, found float32",
    ),
    "a mask of another shape": (
        lambda: heatmap(torch.ones(2, 3), mask=causal_mask(2)),
        ValueError,
        "mask of shape (2, 2) does not broadcast to the values' shape (2, 3)",
    ),
    "an unknown colour": (
        lambda: bars([1], color="red"),
        ValueError,
        "color must be one of weights, query, key, value, ink, found 'red'",
    ),
    "a colour for no line": (
        lambda: curves([0], {"a": [0]}, points={"p": ([0], [0])}, colors={"b": "query"}),
        ValueError,
        "colors names 'b', which is not drawn; there are a, p",
    ),
    "a line that is too short": (
        lambda: curves(THREE, {"a": THREE, "b": [1, 2]}),
        ValueError,
        "lines['b'] must have one number for each x, found 2 and 3",
    ),
    "lines without names": (
        lambda: curves(THREE, [THREE]),
        TypeError,
        "lines must map names to numbers, one for each x, found list",
    ),
    "points of unequal halves": (
        lambda: curves(THREE, {}, points={"p": ([1, 2], [1])}),
        ValueError,
        "points['p'] must have as many x as y, found 2 and 1",
    ),
    "limits the wrong way": (
        lambda: bars([1], limits=(1, 0)),
        ValueError,
        "limits must be finite, low below high, found (1.0, 0.0)",
    ),
}


@pytest.mark.parametrize(("make", "error", "message"), BAD_EXPLORERS.values(), ids=BAD_EXPLORERS)
def test_bad_input_hears_exactly_what_is_wrong(make, error, message):
    with pytest.raises(error, match=f"^{re.escape(message).replace('…', '.+')}$"):
        make()


# ------------------------------------------------------------------------------------------------ the static page


class Page(HTMLParser):
    """An explorer's HTML, taken apart: its data, and the caption and the cells of its tables."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.data, self.captions, self.cells = [], [], "", [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append(tag)
        if tag == "caption":
            self.captions.append("")
        if tag in ("th", "td"):
            self.cells.append((tag, dict(attributes), ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open[-1] == "script":
            self.data += text
        elif self.open[-1] == "caption":
            self.captions[-1] += text
        elif self.open[-1] in ("th", "td"):
            tag, attributes, before = self.cells.pop()
            self.cells.append((tag, attributes, before + text))
        else:
            assert text.isspace()

    def heads(self, scope):
        return [text for tag, attributes, text in self.cells if tag == "th" and attributes == {"scope": scope}]

    def values(self):
        return [attributes["data-value"] for _, attributes, _ in self.cells if "data-value" in attributes]


def html(explorer):
    return explorer._repr_mimebundle_()["text/html"]


def test_an_output_has_the_widget_the_page_and_a_line_of_text(explorer):
    bundle = explorer._repr_mimebundle_(include=None, exclude=None)
    view = bundle.pop("application/vnd.jupyter.widget-view+json")
    assert view == {"version_major": 2, "version_minor": 0, "model_id": explorer.widget.model_id}
    assert bundle.pop("text/html").startswith("<attention-explorer")
    assert bundle.pop("text/plain") == "Explorer(temperature=0.3 of 5, causal=off of 2, norm=none of 2)"
    assert not bundle


def test_the_page_holds_the_payload(explorer):
    page = Page(html(explorer))
    assert page.tags[:2] == ["attention-explorer", "script"]
    assert json.loads(page.data) == json.loads(json.dumps(explorer.widget.payload))


@pytest.mark.parametrize(
    "label",
    ["<script>alert(1)</script>", "</script><b>", "<!--", "]]>", "\"a\" & 'b'", "&lt;", "注意力", "🍎👩‍🚀", "שלום", ""],
)
def test_labels_of_every_kind_are_shown_as_they_are(label):
    explorer = explore(
        lambda x: [
            bars([1], [label], caption=label),
            heatmap([[1]], rows=[label], columns=[label]),
            curves([1], {label: [1]}),
        ],
        x=[label, "other"],
    )
    page = Page(html(explorer))
    assert set(page.tags) == {"attention-explorer", "script", "table", "caption", "tr", "th", "td"}
    assert page.tags.count("script") == 1
    assert json.loads(page.data)["controls"][0]["labels"] == [label, "other"]
    assert page.captions == [label, "", ""]
    assert page.heads("row") == [label, label, "1"]
    assert page.heads("col") == [label, "", label]


def test_without_scripts_a_heatmap_is_a_table_of_the_first_state():
    values = torch.tensor([[0.123456, 2.0, 0.0], [-1.5, NAN, INF]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    explorer = explore(lambda x: heatmap(x * values, rows="ab", columns="uvw", mask=mask, digits=1), x=(1, 3, 2))
    page = Page(html(explorer))
    assert (page.heads("row"), page.heads("col")) == (["a", "b"], ["u", "v", "w"])
    assert [cell for cell in page.cells if "data-value" in cell[1]] == [
        ("td", {"data-value": "0.123456"}, "0.1"),
        ("td", {"data-value": "2"}, "2.0"),
        ("td", {"data-value": "0", "data-masked": None}, ""),
        ("td", {"data-value": "-1.5"}, "−1.5"),
        ("td", {"data-value": "NaN"}, "NaN"),
        ("td", {"data-value": "Infinity"}, "∞"),
    ]


@pytest.mark.parametrize(
    ("count", "rows", "caption"),
    [(3, ["0", "1", "2"], "Squares"), (101, [str(10 * i) for i in range(11)], "Squares (11 of 101 places)")],
)
def test_without_scripts_curves_are_a_table_of_a_few_places(count, rows, caption):
    x = torch.arange(count).double()
    page = Page(html(explore(lambda: curves(x, {"x²": x**2, "2x": 2 * x}, caption="Squares", axes=("x", "y")))))
    assert page.captions == [caption]
    assert page.heads("col") == ["x", "x²", "2x"]
    assert page.heads("row") == rows
    cells = [text for tag, _, text in page.cells if tag == "td"]
    assert [float(cell) for cell in cells] == [number for row in map(int, rows) for number in (row**2, 2 * row)]


def test_the_page_opens_in_the_present_state(explorer):
    explorer.state = {"temperature": 0.5, "causal": True, "norm": "l2"}
    page = Page(html(explorer))
    assert [found["initial"] for found in json.loads(page.data)["controls"]] == [4, 1, 1]
    assert page.values() == ["0.5", "1", "2"]


# ------------------------------------------------------------------------------------------------ live


@pytest.fixture
def inverse():
    """An explorer of a number that is typed, and of a slider."""
    return explore(lambda n, factor: bars([factor / n]), n=IntText(value=2), factor=(1, 3))


def test_moving_a_slider_computes_nothing():
    calls = []
    explorer = explore(lambda x: calls.append(x) or bars([x]), x=(1, 5))
    assert calls == [1, 2, 3, 4, 5]
    explorer.state = {"x": 4}
    assert len(calls) == 5


def test_a_text_computes_every_state_anew():
    explorer = explore(lambda sentence, x: bars([x * len(sentence)], [sentence]), sentence="cat", x=[1, 10])
    explorer.state = {"sentence": "sparrow"}
    assert [read(explorer, "values", 0, state) for state in (0, 1)] == [7, 70]
    assert read(explorer, "labels", 0, 0) == ["sparrow"]


def test_a_page_opens_with_the_present_text(inverse):
    inverse.state = {"n": 4, "factor": 3}
    page = Page(html(inverse))
    assert [found["states"][found["initial"]] for found in json.loads(page.data)["controls"]] == [4, 3]
    assert page.values() == ["0.75"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("0", "ZeroDivisionError: division by zero"),
        ("abc", "ValueError: invalid literal for int() with base 10: 'abc'"),
        ("", "ValueError: invalid literal for int() with base 10: ''"),
    ],
)
def test_what_goes_wrong_is_shown_and_the_old_figure_stays(inverse, typed, message):
    before = inverse.widget.payload
    inverse.state = {"n": typed}
    assert inverse.widget.error == message
    assert inverse.widget.payload == before
    assert Page(html(inverse)).values() == ["1"]  # 2 / 2, as it was


@pytest.mark.parametrize("typed", ["4", "2"], ids=["another", "the old one"])
def test_an_error_goes_when_the_text_is_mended(inverse, typed):
    inverse.state = {"n": "abc"}
    inverse.state = {"n": typed}
    assert inverse.widget.error == ""
    assert read(inverse, "values", 0, 0) == 1 / int(typed)


# ------------------------------------------------------------------------------------------------ what paper shows


def picture(temperature=1.0, late=False):
    return bars([temperature, float(late)])


CONTROLS = {"temperature": [0.5, 1.0, 4.0], "late": False}


@pytest.mark.parametrize(
    ("given", "states"),
    [
        ({"temperature": 4.0}, [{"temperature": 4.0, "late": False}]),
        (
            [{"late": True}, {"temperature": 0.5, "late": True}],
            [{"temperature": 1.0, "late": True}, {"temperature": 0.5, "late": True}],
        ),
        ([{}], [{"temperature": 1.0, "late": False}]),
        ([{"temperature": 4}], [{"temperature": 4.0, "late": False}]),
    ],
)
def test_states_for_paper_are_whole(given, states):
    """The controls that a state does not name stand where they begin, wherever the reader has moved them."""
    shown = explore(picture, print=given, **CONTROLS)
    assert shown.widget.payload["print"] == states
    shown.state = {"temperature": 0.5}
    assert f'"print":{json.dumps(states, separators=(",", ":"))}' in shown._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"temperature": 3.0}, ValueError, "temperature has no state 3.0; it has 0.5, 1.0, 4.0"),
        ([{"heat": 1.0}], ValueError, "there is no control 'heat'; there is temperature, late"),
        (4.0, TypeError, "print must be a dict, control → value, or a list of them, found 4.0"),
        (["late"], TypeError, "found 'late'"),
    ],
)
def test_a_state_for_paper_that_there_is_not_is_refused(given, error, message):
    with pytest.raises(error, match=re.escape(message)):
        explore(picture, print=given, **CONTROLS)
