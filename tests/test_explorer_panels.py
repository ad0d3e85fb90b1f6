"""The explorer's newer panels and ways to act, in Python: their numbers, their words, and what bad input is told."""

import base64
import json
import re

import numpy as np
import pytest
import torch
from ipywidgets import Combobox
from numpy.testing import assert_allclose, assert_array_equal

from attention import attention_weights, causal_mask
from attention.explorer import (
    Arrow,
    Box,
    bars,
    cell,
    choice,
    curves,
    diagram,
    explore,
    heatmap,
    marker,
    plane,
    tokens,
)

WORDS = ["the", "cat", "sat"]
SQUARE = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], device="cpu")


def bad(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


# ------------------------------------------------------------------------------------------------ tokens


@pytest.mark.usefixtures("on_the_cpu")
def test_tokens_keep_weights_and_words():
    panel = tokens(SQUARE, WORDS, mask=causal_mask(3), chosen=1)
    assert_array_equal(panel.numbers["values"][0], SQUARE)
    assert_array_equal(panel.numbers["mask"], causal_mask(3))
    assert panel.words["queries"] == panel.words["keys"] == WORDS
    assert (panel.words["rows"], panel.words["chosen"]) == (1, 1)


def test_other_keys_make_two_rows():
    panel = tokens(torch.ones(2, 3, 2), WORDS, ["I", "see"])
    assert panel.words["rows"] == 2
    assert panel.words["heads"] == ["head 1", "head 2"]


BAD_TOKENS = {
    "nine heads": (lambda: tokens(torch.ones(9, 3, 3), WORDS), "weights must be of one to eight heads, found 9"),
    "words that do not fit": (lambda: tokens(SQUARE, ["the"]), "queries must be 3 labels, found 1: the"),
    "a row too many": (lambda: tokens(SQUARE, WORDS, rows=3), "rows must be 1 or 2, found 3"),
    "one row of two lists": (lambda: tokens(SQUARE, WORDS, list("abc"), rows=1), "use rows=2"),
    "a query that is not there": (lambda: tokens(SQUARE, WORDS, chosen=3), "chosen must lie between 0 and 2, found 3"),
    "unknown lines": (lambda: tokens(SQUARE, WORDS, lines="some"), "lines must be one of chosen, all, found 'some'"),
    "a number": (lambda: tokens([1.0], WORDS), "weights must be a matrix, (rows, columns) or matrices, (heads"),
}


@pytest.mark.parametrize(("call", "message"), BAD_TOKENS.values(), ids=BAD_TOKENS)
def test_bad_tokens_are_told(call, message):
    bad(call, ValueError, message)


def test_a_control_that_queries_set_has_a_state_for_each():
    bad(
        lambda: explore(lambda query: tokens(SQUARE, WORDS, chosen=0, control="query"), query=[0, 1]),
        ValueError,
        "choosing a query sets the control 'query': it must have 3 states, one for each query, found 2",
    )


@pytest.mark.usefixtures("on_the_cpu")
def test_many_weights_are_kept_in_eight_bits():
    torch.manual_seed(0)
    query, key = torch.randn(2, 3, 8, 48, 16) / 4
    names = [str(word) for word in range(48)]

    def layer(number):
        return tokens(attention_weights(query[number], key[number]), names)

    payload = explore(layer, number=(0, 2)).widget.payload
    field = payload["panels"][0]["fields"]["values"]
    low, high = field["scale"]
    steps = np.frombuffer(base64.b64decode(field["numbers"].removeprefix("u1:")), "u1")
    found = low + steps.reshape(3, 8, 48, 48) / 254 * (high - low)
    assert_allclose(found, attention_weights(query, key), atol=0.51 / 254 * (high - low))


def test_twelve_layers_of_eight_heads_of_64_words_fit():
    torch.manual_seed(0)
    query, key = torch.randn(2, 12, 8, 64, 16)
    names = [f"word {number}" for number in range(64)]
    explorer = explore(lambda layer: tokens(attention_weights(query[layer], key[layer]), names, names), layer=(0, 11))
    assert explorer.widget.payload["panels"][0]["fields"]["values"]["shape"] == [8, 64, 64]


def test_peaked_weights_cost_a_bit_where_they_are_nothing():
    torch.manual_seed(0)
    weights = (8 * torch.randn(3, 8, 48, 48)).softmax(-1)
    names = [str(word) for word in range(48)]
    payload = explore(lambda layer: tokens(weights[layer], names), layer=(0, 2)).widget.payload
    assert len(json.dumps(payload)) < 0.6 * 3 * 8 * 48 * 48


# ------------------------------------------------------------------------------------------------ plane


def test_a_plane_keeps_tips_and_points():
    panel = plane({"query": torch.tensor([1.0, 2.0])}, points={"keys": [[0, 1], [2, 3]], "apple": (2, 0)})
    assert_array_equal(panel.numbers["vectors"], [[1, 2]])
    assert_array_equal(panel.numbers["points_0"], [[0, 1], [2, 3]])
    assert_array_equal(panel.numbers["points_1"], [[2, 0]])


def test_a_plane_s_limits_hold_every_state_and_the_origin():
    fields = explore(lambda x: plane({"v": [x, 2 * x]}), x=(1, 4)).widget.payload["panels"][0]["fields"]
    for name, most in (("x_limits", 4), ("limits", 8)):
        low, high = fields[name]["items"][0]
        assert low < 0 < most < high


BAD_PLANES = {
    "three numbers": (lambda: plane({"v": [1, 2, 3]}), "'v' must have two numbers, x and y, found shape (3,)"),
    "one name twice": (lambda: plane({"v": [1, 2]}, points={"v": [1, 2]}), "'v' names a vector and a point"),
    "a handle that is not there": (
        lambda: plane({"v": [1, 2]}, handle=("w", "x")),
        "handle names 'w', which is not a vector; there are v",
    ),
    "a handle without controls": (
        lambda: plane({"v": [1, 2]}, handle=("v", [])),
        "handle 'v' must move one or two controls, found 0",
    ),
    "a handle of a control that is not there": (
        lambda: explore(lambda x: plane({"v": [x, 1]}, handle=("v", "angle")), x=(1, 3)),
        "the handle 'v' moves the control 'angle'; there is x",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD_PLANES.values(), ids=BAD_PLANES)
def test_bad_planes_are_told(call, message):
    bad(call, ValueError, message)


# ------------------------------------------------------------------------------------------------ bars in parts


@pytest.mark.usefixtures("on_the_cpu")
def test_a_bar_in_parts_is_their_sum():
    weights, values = torch.tensor([0.6, 0.3, 0.1]), torch.tensor([10.0, 5.0, 2.0])
    panel = bars([weights * values], ["value"], parts=["apple", "banana", "chair"])
    assert_allclose(panel.numbers["values"], [weights @ values])
    assert_array_equal(panel.numbers["parts"][0], weights * values)


def test_parts_that_do_not_fit_are_told():
    bad(lambda: bars([[1.0, 2.0]], parts=["a"]), ValueError, "parts must be 2 labels, found 1: a")
    bad(lambda: bars([1.0, 2.0], parts=["a"]), ValueError, "values must be a matrix, (rows, columns), found shape (2,)")


# ------------------------------------------------------------------------------------------------ diagram


def test_a_diagram_says_itself():
    panel = diagram(
        [["X"], ["Q", None, "V"]],
        [("X", "Q", "W_q"), Arrow("X", "V")],
        boxes={"X": Box("tokens", ("B", 5, 9)), "Q": Box("Q", "(B, 5, 3)", "query")},
        lit=["Q", ("X", "Q")],
    )
    assert panel.words["alt"] == "tokens (B, 5, 9); Q (B, 5, 3); V. From tokens by W_q to Q; from tokens to V."
    assert [(box["name"], box["row"], box["column"], box["lit"]) for box in panel.words["boxes"]] == [
        ("X", 0, 1.0, False),
        ("Q", 1, 0.0, True),
        ("V", 1, 2.0, False),
    ]
    assert [arrow["lit"] for arrow in panel.words["arrows"]] == [True, False]


BAD_DIAGRAMS = {
    "a box twice": (lambda: diagram([["a"], ["a"]]), "rows name the box 'a' twice"),
    "a box that is missing": (lambda: diagram([["a"]], [("a", "b")]), "there is no box 'b' in rows; there are a"),
    "a look for no box": (lambda: diagram([["a"]], boxes={"b": Box("b")}), "there is no box 'b' in rows"),
    "light on nothing": (lambda: diagram([["a", "b"]], lit=[("a", "b")]), "lit names the arrow ('a', 'b'), which"),
    "a circle": (
        lambda: diagram([["a", "b", "c"]], [("a", "b"), ("b", "c"), ("c", "a")]),
        "arrows lead round in a circle: a → b → c → a",
    ),
    "a colour": (lambda: diagram([["a"]], boxes={"a": Box("a", color="red")}), "the colour of box 'a' must be one of"),
}


@pytest.mark.parametrize(("call", "message"), BAD_DIAGRAMS.values(), ids=BAD_DIAGRAMS)
def test_bad_diagrams_are_told(call, message):
    bad(call, ValueError, message)


def test_two_ways_to_one_box_are_not_a_circle():
    assert diagram([["a", "b"], ["c"]], [("a", "b"), ("a", "c"), ("b", "c")]).kind == "diagram"


# ------------------------------------------------------------------------------------------------ links


def test_labels_that_repeat_on_a_shared_axis_are_refused():
    twice = ["the", "the", "cat"]
    heatmap(SQUARE, rows=twice, columns=twice)  # alone they may
    bad(
        lambda: explore(lambda: [heatmap(SQUARE, columns=twice), bars([1, 2, 3], twice, axis="key")]),
        ValueError,
        "panels share the axis 'key', so its labels must differ; 'the' repeats",
    )
    bad(
        lambda: explore(lambda: [heatmap(SQUARE, columns=twice), bars(SQUARE, parts=twice, parts_axis="key")]),
        ValueError,
        "panels share the axis 'key', so its labels must differ; 'the' repeats",
    )


@pytest.mark.parametrize("name", ["Look up", "3d", "a_b", "é"])
def test_a_name_is_one_that_a_link_can_have(name):
    bad(lambda: explore(lambda: bars([1]), name=name), ValueError, f"a letter first, found {name!r}")


def test_a_name_stands_on_the_element():
    html = explore(lambda x: bars([x]), name="lookup", x=(1, 3))._repr_mimebundle_()["text/html"]
    assert '<attention-explorer class="attention-explorer" id="lookup">' in html


# ------------------------------------------------------------------------------------------------ idle controls


def idle(explorer, *state):
    """Which controls are idle in a state, from the payload alone."""
    payload = explorer.widget.payload
    counts = [len(control["states"]) for control in payload["controls"]]
    field = payload["idle"]
    place = 0
    for axis in field["over"]:
        place = place * counts[axis] + state[axis]
    bits = np.unpackbits(np.frombuffer(base64.b64decode(field["bits"]), "u1"), bitorder="little")
    return [bool(bits[place * len(counts) + axis]) for axis in range(len(counts))]


def test_a_control_without_effect_is_known_in_each_state():
    explorer = explore(lambda on, size: bars([size if on else 0]), on=False, size=(1, 3))
    assert idle(explorer, 0, 1) == [False, True]
    assert idle(explorer, 1, 1) == [False, False]


def test_where_every_control_acts_nothing_is_said():
    assert "idle" not in explore(lambda a, b: bars([a, b]), a=(1, 3), b=(1, 3)).widget.payload


# ------------------------------------------------------------------------------------------------ predictions


def largest(panel):
    return int(panel.numbers["values"].argmax())


def asked(predict, **controls):
    def picture(temperature=1.0):
        scores = torch.tensor([2.0, 1.0 + temperature, 0.0])
        return bars((scores / temperature).softmax(0), WORDS)

    return explore(picture, predict=predict, temperature=[0.5, 1.0, 4.0], **controls)


def test_a_choice_is_answered_by_the_figure():
    found = asked(choice("Who wins?", WORDS, largest, at={"temperature": 4.0})).widget.payload["predict"]
    assert (found["answer"], found["said"], found["state"]) == ("cat", "cat", {"temperature": 4.0})
    found = asked(choice("Who wins?", WORDS, largest, at={"temperature": 0.5})).widget.payload["predict"]
    assert found["answer"] == "the"


def test_a_marker_is_answered_by_the_bar():
    found = asked(marker("How much for the cat?", bar=1)).widget.payload["predict"]
    expected = torch.tensor([2.0, 2.0, 0.0]).softmax(0)[1].item()
    assert found["answer"] == pytest.approx(expected, rel=1e-5)
    assert (found["said"], found["limits"]) == (f"{expected:.2f}", [0.0, 1.0])


def test_a_cell_is_the_largest_that_the_mask_lets_through():
    def picture(late):
        values = torch.tensor([[0.1, 9.0], [0.7, 0.3] if late else [0.2, 0.8]])
        return heatmap(values, rows=["a", "b"], columns=["c", "d"], mask=causal_mask(2))

    found = explore(picture, predict=cell("Which is the largest?"), late=True).widget.payload["predict"]
    assert (found["answer"], found["said"]) == ([1, 0], "b → c")


def test_without_scripts_question_and_answer_are_plain_text():
    html = asked(choice("Who wins?", WORDS, largest))._repr_mimebundle_()["text/html"]
    assert "<p>Who wins? (the, cat, sat) Answer: the.</p>" in html


BAD_PREDICTIONS = {
    "an answer that depends on nothing": (
        lambda: asked(choice("Who?", WORDS, lambda panel: "cat")),
        ValueError,
        "predict has the answer 'cat' in every state: it must depend on a control",
    ),
    "an answer that is typed in": (
        lambda: choice("Who?", WORDS, "cat"),
        TypeError,
        "answer must be a function of the panel, found str",
    ),
    "an answer that is no option": (
        lambda: asked(choice("Who?", WORDS, lambda panel: "dog")),
        ValueError,
        "answer must be one of the, cat, sat, found 'dog'",
    ),
    "one option": (lambda: choice("Who?", ["cat"], largest), ValueError, "options must be two or more, all different"),
    "a panel that is not there": (lambda: asked(cell("Which?", panel=1)), ValueError, "predict is about panel 1"),
    "a state that is not there": (
        lambda: asked(cell("Which?", at={"temperature": 3.0})),
        ValueError,
        "temperature has no state 3.0; it has 0.5, 1.0, 4.0",
    ),
    "a bar that is not there": (lambda: asked(marker("How?", bar=3)), ValueError, "predict is about bar 3"),
    "a marker on a map": (
        lambda: explore(lambda x: heatmap(x * SQUARE), predict=marker("How?"), x=(1, 3)),
        ValueError,
        "predict asks for a marker: its panel must be bars, found heatmap",
    ),
    "a sentence": (lambda: asked("Who?"), TypeError, "predict must be a choice, a cell or a marker, found str"),
}


@pytest.mark.parametrize(("call", "error", "message"), BAD_PREDICTIONS.values(), ids=BAD_PREDICTIONS)
def test_bad_predictions_are_told(call, error, message):
    bad(call, error, message)


# ------------------------------------------------------------------------------------------------ offered texts


def test_a_combo_box_offers_texts_that_are_computed_beforehand():
    box = Combobox(value="cat", options=["sparrow", "cat", "ox"])
    explorer = explore(lambda word: bars([len(word)]), word=box)
    (control,) = explorer.widget.payload["controls"]
    assert (control["kind"], control["states"], control["initial"]) == ("text", ["sparrow", "cat", "ox"], 1)
    values = explorer.widget.payload["panels"][0]["fields"]["values"]
    assert_array_equal(np.frombuffer(base64.b64decode(values["numbers"][3:]), "<f4"), [7, 3, 2])


def test_a_text_that_was_not_offered_is_computed_and_the_offer_comes_back():
    explorer = explore(lambda word: bars([len(word)]), word=Combobox(value="cat", options=["cat", "ox"]))
    offered = explorer.widget.payload
    explorer.state = {"word": "elephant"}
    assert explorer.widget.payload["controls"][0]["states"] == ["elephant"]
    explorer.state = {"word": "ox"}
    assert explorer.widget.payload == offered


# ------------------------------------------------------------------------------------------------ storage


@pytest.mark.usefixtures("on_the_cpu")
def test_many_numbers_of_lines_are_kept_in_sixteen_bits_and_few_are_not():
    x = torch.linspace(0, 1, 101)
    many = explore(lambda f: curves(x, {"wave": torch.sin(f * x)}), f=(1, 20)).widget.payload
    few = explore(lambda f: curves(x, {"wave": torch.sin(f * x)}), f=(1, 3)).widget.payload
    field = many["panels"][0]["fields"]["line_0"]
    assert field["numbers"].startswith("f2:")
    assert few["panels"][0]["fields"]["line_0"]["numbers"].startswith("f4:")
    kept = np.frombuffer(base64.b64decode(field["numbers"][3:]), "<f2").astype(float)
    drawn = torch.stack([torch.sin(f * x) for f in range(1, 21)]).flatten()
    assert_allclose(kept, drawn[drawn != 0] if "zeros" in field else drawn, rtol=1e-3)


def test_a_line_that_stands_still_is_kept_once():
    x = torch.linspace(0, 1, 11)
    payload = explore(lambda f: curves(x, {"moves": f * x, "stands": x}), f=(1, 3)).widget.payload
    fields = payload["panels"][0]["fields"]
    assert (fields["line_0"]["over"], fields["line_1"]["over"]) == ([0], [])


def test_lines_that_half_precision_would_spoil_keep_their_own():
    x = torch.linspace(0, 1, 101)
    payload = explore(lambda f: curves(x, {"tiny": 1e-7 * (x + f)}), f=(1, 20)).widget.payload
    assert payload["panels"][0]["fields"]["line_0"]["numbers"].startswith("f4:")


def test_every_new_payload_is_json_that_a_browser_reads():
    figure = explore(lambda: [tokens(SQUARE, WORDS), plane({"v": [1, 2]}), diagram([["a"]])])
    json.dumps(figure.widget.payload, allow_nan=False)
    html = figure._repr_mimebundle_()["text/html"]
    assert '<table class="tokens plain">' in html
    assert '<table class="plane plain">' in html
    assert "<p>a.</p>" in html
