"""The explorer's newer panels and ways to act, in Python: their numbers, their words, and what bad input is told."""

import base64
import re

import numpy as np
import pytest
import torch
from ipywidgets import Combobox
from numpy.testing import assert_allclose, assert_array_equal

from attention import causal_mask
from attention.explorer import (
    Box,
    bars,
    choice,
    curves,
    diagram,
    explore,
    graph,
    heatmap,
    plane,
    sketch,
    tokens,
)
from payloads import unpack

WORDS = ["the", "cat", "sat"]
SQUARE = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], device="cpu")


def bad(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


# ------------------------------------------------------------------------------------------------ tokens


@pytest.mark.usefixtures("on_the_cpu")
def test_tokens_keep_weights_and_words():
    panel = tokens(SQUARE, WORDS, mask=causal_mask(3), chosen=1)
    assert_array_equal(panel.numbers["values"], SQUARE)
    assert_array_equal(panel.numbers["mask"], causal_mask(3))
    assert panel.words["queries"] == panel.words["keys"] == WORDS
    assert (panel.words["rows"], panel.words["chosen"]) == (1, 1)


BAD_TOKENS = {
    "a row too many": (lambda: tokens(SQUARE, WORDS, rows=3), "rows must be 1 or 2, found 3"),
    "a query that is not there": (lambda: tokens(SQUARE, WORDS, chosen=3), "chosen must lie between 0 and 2, found 3"),
}


# ------------------------------------------------------------------------------------------------ graph

PLACES = [[0, 0], [1.5, 0.0], [0, 0], [1.504, 0]]
LETTERS = ["C", "O", "C", "O"]


def molecules(weights=SQUARE[:2, :2], **changed):
    given = {"places": PLACES, "edges": [(0, 1, 2), (2, 3)], "queries": [2, 3], "keys": [0, 1]} | changed
    return graph(LETTERS, given.pop("places"), given.pop("edges"), weights, **given)


def test_a_graph_keeps_its_nodes_edges_and_weights():
    panel = molecules(chosen=1, caption="carbon and oxygen")
    assert_array_equal(panel.numbers["values"], SQUARE[:2, :2].cpu())
    assert panel.words["drawing"] == {
        "labels": LETTERS,
        "names": ["C 1", "O 2", "C 3", "O 4"],
        "places": [[0, 0], [1.5, 0], [0, 0], [1.5, 0]],
        "edges": [[0, 1, 2], [2, 3, 1]],
        "parts": [[0, 1], [2, 3]],
        "queries": [2, 3],
        "keys": [0, 1],
    }
    assert panel.words["chosen"] == 1


BAD_GRAPHS = {
    "a place too few": (lambda: molecules(places=PLACES[1:]), "places must be x and y of 4 nodes, (4, 2), found shape"),
    "an edge to nowhere": (lambda: molecules(edges=[(0, 4)]), "edges must be two different nodes between 0 and 3"),
    "an edge to itself": (lambda: molecules(edges=[(1, 1)]), "and 1 to 3 lines, found (1, 1)"),
    "a query that is no node": (lambda: molecules(queries=[4]), "queries must be nodes between 0 and 3, found 4"),
    "a key twice": (lambda: molecules(keys=[0, 0]), "keys must be different nodes, found 0 twice"),
    "too few weights": (lambda: molecules(SQUARE[:1]), "weights must be at least (2, 2), found shape (1, 3)"),
}


# ------------------------------------------------------------------------------------------------ plane


def test_a_plane_s_limits_hold_every_state_and_the_origin():
    fields = explore(lambda x: plane({"v": [x, 2 * x]}), x=(1, 4)).widget.payload["panels"][0]["fields"]
    for name, most in (("x_limits", 4), ("limits", 8)):
        low, high = fields[name]["items"][0]
        assert low < 0 < most < high


BAD_PLANES = {
    "three numbers": (lambda: plane({"v": [1, 2, 3]}), "'v' must have two numbers, x and y, found shape (3,)"),
    "one name twice": (lambda: plane({"v": [1, 2]}, points={"v": [1, 2]}), "'v' names two things of the plane"),
    "a handle that is not there": (
        lambda: plane({"v": [1, 2]}, handle=("w", "x")),
        "handle names 'w', which is not a vector, a point that is alone or an area; there are v",
    ),
    "a handle without controls": (
        lambda: plane({"v": [1, 2]}, handle=("v", [])),
        "handle 'v' must move one or two controls, found 0",
    ),
    "a join from nowhere": (
        lambda: plane({"v": [1, 2]}, joins={("w", "v"): 1.0}),
        "joins must lead from a vector or a point that is alone, v, to one of v, found ('w', 'v')",
    ),
    "a join of too few weights": (
        lambda: plane({"v": [1, 2]}, points={"cloud": [[1, 2], [3, 4]]}, joins={("v", "cloud"): [0.5]}),
        "joins[('v', 'cloud')] must be 2 weights, from 0, found [0.5]",
    ),
    "a join below zero": (
        lambda: plane({"v": [1, 2]}, points={"p": [1, 2]}, joins={("v", "p"): -1}),
        "joins[('v', 'p')] must be 1 weights, from 0, found [-1.0]",
    ),
    "a handle of a control that is not there": (
        lambda: explore(lambda x: plane({"v": [x, 1]}, handle=("v", "angle")), x=(1, 3)),
        "the handle 'v' moves the control 'angle'; there is x",
    ),
}


# ------------------------------------------------------------------------------------------------ bars in parts


@pytest.mark.usefixtures("on_the_cpu")
def test_a_bar_in_parts_is_their_sum():
    weights, values = torch.tensor([0.6, 0.3, 0.1]), torch.tensor([10.0, 5.0, 2.0])
    panel = bars([weights * values], ["value"], parts=["apple", "banana", "chair"])
    assert_allclose(panel.numbers["values"], [weights @ values])
    assert_array_equal(panel.numbers["parts"][0], weights * values)


# ------------------------------------------------------------------------------------------------ diagram


def test_a_diagram_says_itself():
    panel = diagram(
        [["X"], ["Q", None, "V"]],
        [("X", "Q", "W_q"), ("X", "V")],
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
    "a colour": (lambda: diagram([["a"]], boxes={"a": Box("a", color="red")}), "the colour of box 'a' must be one of"),
}


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


# ------------------------------------------------------------------------------------------------ idle controls


def idle(explorer, *state):
    """Which controls are idle in a state, from the payload alone."""
    payload = explorer.widget.payload
    counts = [len(control["states"]) for control in payload["controls"]]
    return unpack(payload["idle"], counts, state).tolist()


def test_a_control_without_effect_is_known_in_each_state():
    explorer = explore(lambda on, size: bars([size if on else 0]), on=False, size=(1, 3))
    assert idle(explorer, 0, 1) == [False, True]
    assert idle(explorer, 1, 1) == [False, False]


# ------------------------------------------------------------------------------------------------ predictions


def largest(panel):
    return int(panel.numbers["values"].argmax())


def asked(predict, **controls):
    def picture(temperature=1.0):
        scores = torch.tensor([2.0, 1.0 + temperature, 0.0])
        return bars((scores / temperature).softmax(0), WORDS)

    return explore(picture, predict=predict, temperature=[0.5, 1.0, 4.0], **controls)


def prediction(predict, **controls):
    return asked(predict, **controls).widget.payload["predict"]


def test_a_choice_is_answered_by_the_figure():
    found = prediction(choice("Who wins?", WORDS, largest, at={"temperature": 4.0}))
    assert (found["answer"], found["said"]) == ("cat", "The answer is “cat”.")
    assert (found["state"], found["rows"]) == ({"temperature": 4.0}, WORDS)
    assert prediction(choice("Who wins?", WORDS, largest, at={"temperature": 0.5}))["answer"] == "the"


def test_small_numbers_are_told_where_a_map_has_no_fixed_decimals():
    page = explore(lambda: heatmap([[4.5e-5, 0.25]], digits=None))._repr_mimebundle_()["text/html"]
    assert ">4.5e−05<" in page
    assert ">0.25<" in page


def rising(x, **words):
    def picture(power=1):
        return curves(x, {"bent": x**power, "flat": torch.zeros(len(x))}, **words)

    return picture


def test_a_sketch_is_compared_at_each_x():
    x = torch.tensor([0.0, 0.5, 1.0])
    about = sketch("How does it bend?", "bent", at={"power": 2})
    found = explore(rising(x, axes=("t", "")), predict=about, power=(1, 3)).widget.payload["predict"]
    assert (found["x"], found["answer"]) == ([0.0, 0.5, 1.0], [0.0, 0.25, 1.0])
    assert found["limits"] == [-0.05, 1.05]
    assert found["said"] == "It goes from 0.00 at t = 0 to 1.00 at t = 1."


def test_of_a_long_line_a_sketch_keeps_some_places_and_both_ends():
    x = torch.linspace(0, 1, 500)
    explorer = explore(rising(x), predict=sketch("How does it bend?", "bent"), power=(1, 3))
    found = explorer.widget.payload["predict"]
    assert len(found["x"]) == len(found["answer"]) == 41
    assert (found["x"][0], found["x"][-1], found["axis"]) == (0.0, 1.0, "x")


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
    "a panel that is not there": (
        lambda: asked(choice("Who?", WORDS, largest, panel=1)),
        ValueError,
        "predict is about panel 1",
    ),
    "a state that is not there": (
        lambda: asked(choice("Who?", WORDS, largest, at={"temperature": 3.0})),
        ValueError,
        "temperature has no state 3.0; it has 0.5, 1.0, 4.0",
    ),
    "a sketch on a map": (
        lambda: explore(lambda x: heatmap(x * SQUARE), predict=sketch("How?", "bent"), x=(1, 3)),
        ValueError,
        "predict asks for a sketch: its panel must be curves, found heatmap",
    ),
    "a sentence": (lambda: asked("Who?"), TypeError, "predict must be a choice or a sketch, found str"),
    "half a reason": (
        lambda: choice("Who?", WORDS, largest, because="as it is the largest"),
        ValueError,
        "because must be a whole sentence, found 'as it is the largest'",
    ),
    "a line that is not there": (
        lambda: explore(rising(torch.arange(3.0)), predict=sketch("How?", "bend"), power=(1, 3)),
        ValueError,
        "predict is about the line 'bend'; there is bent, flat",
    ),
    "an x that goes back": (
        lambda: explore(rising(torch.tensor([0.0, 2.0, 1.0])), predict=sketch("How?", "bent"), power=(1, 3)),
        ValueError,
        "the x of its curves must be two or more, and rise",
    ),
    "a line without numbers": (
        lambda: explore(
            lambda late: curves([0.0, 1.0], {"none": [float("nan")] * 2}), predict=sketch("How?", "none"), late=True
        ),
        ValueError,
        "predict is about the line 'none', which has no finite number",
    ),
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


# ------------------------------------------------------------------------------------------------ behind a plane


def test_lines_may_lead_out_of_a_plane_and_areas_may_not():
    def limits(**drawn):
        return explore(lambda: plane({"v": [1, 1]}, **drawn)).widget.payload["panels"][0]["fields"]["limits"]["items"][
            0
        ]

    assert limits() == limits(lines={"far": [[0, 0], [9, 9]]})
    assert limits(areas={"far": [[0, 0], [1, 1], [9, 9]]})[1] > 9


# ------------------------------------------------------------------------------------------------ handles of all panels


def test_one_spelling_of_handles_for_all_panels():
    pair, pairs = ("a", "t"), [("a", "t"), ("b", ["t", "u"])]
    wanted = [{"name": "a", "controls": ["t"]}, {"name": "b", "controls": ["t", "u"]}]
    two = {"a": [1, 2], "b": [2, 1]}
    for draw in (
        lambda handle: bars([1, 2], ["a", "b"], handle=handle),
        lambda handle: curves([1, 2], {}, points={"a": (1, 2)}, moments={"b": 2}, handle=handle),
        lambda handle: plane(two, handle=handle),
        lambda handle: plane({}, points=two, handle=handle),
    ):
        assert draw(None).words["handles"] == []
        assert draw(pair).words["handles"] == wanted[:1]
        assert draw(pairs).words["handles"] == wanted


BAD_HANDLES = {
    "no such bar": (lambda: bars([1], ["a"], handle=("b", "t")), "handle names 'b', which is not a bar; there are a"),
    "no such point": (
        lambda: curves([1], {"a": [1]}, handle=("a", "t")),
        "handle names 'a', which is not a moment or a point that is alone; there are none",
    ),
    "no such control": (
        lambda: explore(lambda t: bars([t], ["a"], handle=("a", "u")), t=(1, 3)),
        "the handle 'a' moves the control 'u'; there is t",
    ),
    "rows without states": (
        lambda: explore(lambda t: heatmap(SQUARE, control="t"), t=(1, 2)),
        "choosing a row sets the control 't': it must have 3 states, one for each row, found 2",
    ),
    "columns without a control": (
        lambda: explore(lambda t: heatmap(SQUARE, control=("t", "u")), t=(1, 3)),
        "choosing a column sets the control 'u': it must have 3 states, one for each column, found no such control",
    ),
    "three axes": (lambda: heatmap(SQUARE, control=("a", "b", "c")), "control must name at most 2, one for each axis"),
    "no such ringed cell": (lambda: heatmap(SQUARE, ringed=[(0, 3)]), "ringed must lie between 0 and 2, found 3"),
    "no such column": (lambda: heatmap(SQUARE, column=3), "column must lie between 0 and 2, found 3"),
}


# ------------------------------------------------------------------------------------------------ log axes and names


def limits_of(panel, which):
    return explore(lambda: panel).widget.payload["panels"][0]["fields"][which]["items"][0]


def test_the_limits_of_a_log_axis_lie_as_far_out_in_powers_as_those_of_a_linear_one_in_numbers():
    x = [1.0, 10.0, 100.0]
    straight = curves([0, 1, 2], {"y": [0.0, 1.0, 2.0]})
    logs = curves(x, {"y": x}, x_scale="log", y_scale="log")
    for which in ("x_limits", "limits"):
        assert_allclose(np.log10(limits_of(logs, which)), limits_of(straight, which), atol=1e-12)


BAD_LOGS = {
    "a zero in x": (lambda: curves([0, 1], {"a": [1, 1]}, x_scale="log"), "x must be above 0 on a log axis, found 0"),
    "a line below": (
        lambda: curves([1, 2], {"a": [1, 1], "b": [3, -2]}, y_scale="log"),
        "lines['b'] must be above 0 on a log axis, found -2",
    ),
    "a point": (
        lambda: curves([1], {}, points={"p": ([1], [0])}, y_scale="log"),
        "points['p'] must be above 0 on a log axis, found 0",
    ),
    "a moment": (
        lambda: curves([1], {}, moments={"now": 0}, x_scale="log"),
        "moments must be above 0 on a log axis, found 0",
    ),
    "limits": (lambda: curves([1], {}, limits=(0, 1), y_scale="log"), "limits must be above 0 on a log axis, found 0"),
    "another scale": (lambda: curves([1], {}, y_scale="root"), "y_scale must be one of linear, log, found 'root'"),
}


@pytest.mark.parametrize(
    ("ends", "direct"), [((0.0, 0.5, 1.0), True), ((0.0, 0.501, 0.5), False), ((0.0, float("nan"), 1.0), False)]
)
def test_lines_are_named_at_their_ends_where_these_lie_apart(ends, direct):
    lines = {str(index): [0.0, end] for index, end in enumerate(ends)}
    fields = explore(lambda: curves([0, 1], lines)).widget.payload["panels"][0]["fields"]
    assert fields["direct"]["items"] == [direct]


# ------------------------------------------------------------------------------------------------ small multiples


def test_a_list_in_the_list_is_a_group_with_one_scale():
    def figure(t=1):
        small = [curves([0, 1], {"y": [0, most]}) for most in (1, 2 * t)]
        return [bars([1]), [*small, heatmap([[7.0]])], curves([0, 1], {"y": [0, 1]})]

    panels = explore(figure, t=(1, 4)).widget.payload["panels"]
    assert [panel.get("group") for panel in panels] == [None, 1, 1, 1, None]
    limits = [panel["fields"]["limits"]["items"] for panel in panels]
    assert limits[1] == limits[2] != limits[4]
    assert limits[1][0][1] > 8
    assert limits[3] == [[0, 7]]


# ------------------------------------------------------------------------------------------------ words


def test_powers_of_ten_in_a_caption_are_set():
    assert bars([1], caption="slope 2.5e-03, 1e+06 and pre-03").words["caption"] == "slope 2.5×10⁻³, 1×10⁶ and pre-03"


def test_without_scripts_marks_and_joins_stand_in_the_captions():
    explorer = explore(
        lambda: [
            curves([1, 2], {"y": [1, 2]}, points={"here": (1, 2)}, moments={"now": 2}, caption="Loss"),
            plane({"q": [1, 2]}, points={"k": [2, 0]}, joins={("q", "k"): 0.25}, caption="Plane"),
        ]
    )
    page = explorer._repr_mimebundle_()["text/html"]
    assert "<caption>Loss; now at 2, here at 1, 2</caption>" in page
    assert "<caption>Plane; joined: q to k 0.25</caption>" in page


BAD = BAD_TOKENS | BAD_GRAPHS | BAD_PLANES | BAD_DIAGRAMS | BAD_HANDLES | BAD_LOGS


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_panels_are_told(call, message):
    bad(call, ValueError, message)
