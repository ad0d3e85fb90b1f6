"""The explorer's newer panels and ways to act, in Python: their numbers, their words, and what bad input is told."""

import base64
import json
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
    cell,
    choice,
    curves,
    diagram,
    explore,
    graph,
    heatmap,
    marker,
    plane,
    sketch,
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
    assert_array_equal(panel.numbers["values"], SQUARE)
    assert_array_equal(panel.numbers["mask"], causal_mask(3))
    assert panel.words["queries"] == panel.words["keys"] == WORDS
    assert (panel.words["rows"], panel.words["chosen"]) == (1, 1)


def test_other_keys_make_two_rows():
    assert tokens(torch.ones(3, 2), WORDS, ["I", "see"]).words["rows"] == 2


def test_words_that_others_ask_may_stand_in_one_row():
    asked = tokens(torch.ones(2, 3) / 3, ["when", "where"], WORDS, rows=1, chosen=1)
    assert (asked.words["look"], asked.words["chosen"], asked.words["keys"]) == ("chips", 1, WORDS)
    assert "look" not in tokens(SQUARE, WORDS).words


BAD_TOKENS = {
    "words that do not fit": (lambda: tokens(SQUARE, ["the"]), "queries must be 3 labels, found 1: the"),
    "a row too many": (lambda: tokens(SQUARE, WORDS, rows=3), "rows must be 1 or 2, found 3"),
    "a query that is not there": (lambda: tokens(SQUARE, WORDS, chosen=3), "chosen must lie between 0 and 2, found 3"),
    "a number": (lambda: tokens([1.0], WORDS), "weights must be a matrix, (rows, columns), found shape (1,)"),
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


def test_nodes_of_different_labels_are_called_by_them_and_all_attend_to_all():
    drawing = graph(WORDS, [[0, 0], [1, 0], [2, 0]], [(2, 0), (0, 1)], SQUARE).words["drawing"]
    assert drawing["names"] == WORDS
    assert drawing["queries"] == drawing["keys"] == [0, 1, 2]
    assert drawing["parts"] == [[0, 1, 2]]


def test_graphs_of_several_sizes_are_states_of_one_explorer():
    def draw(large):
        return molecules(SQUARE) if large else molecules(SQUARE, queries=[2], keys=[0, 1, 3])

    fields = explore(draw, large=False).widget.payload["panels"][0]["fields"]
    assert fields["values"]["shape"] == [3, 3]
    assert [len(drawing["queries"]) for drawing in fields["drawing"]["items"]] == [1, 2]


def test_many_weights_of_a_graph_are_kept_to_three_digits():
    nodes = range(24)
    weights = torch.linspace(0, 1, 24 * 24).reshape(24, 24)
    payload = explore(lambda: graph(nodes, [[n, 0] for n in nodes], [], weights)).widget.payload
    field = payload["panels"][0]["fields"]["values"]
    assert field["numbers"].startswith("f2:")
    found = np.frombuffer(base64.b64decode(field["numbers"].removeprefix("f2:")), "<f2").reshape(24, 24)
    assert_allclose(found, weights.cpu(), rtol=1e-3)


BAD_GRAPHS = {
    "a place too few": (lambda: molecules(places=PLACES[1:]), "places must be x and y of 4 nodes, (4, 2), found shape"),
    "three numbers": (lambda: molecules(places=[[0, 0, 0]] * 4), "(4, 2), found shape (4, 3)"),
    "an edge to nowhere": (lambda: molecules(edges=[(0, 4)]), "edges must be two different nodes between 0 and 3"),
    "an edge to itself": (lambda: molecules(edges=[(1, 1)]), "and 1 to 3 lines, found (1, 1)"),
    "an edge of four lines": (lambda: molecules(edges=[(0, 1, 4)]), "1 to 3 lines, found (0, 1, 4)"),
    "an edge of one node": (lambda: molecules(edges=[(0,)]), "found (0,)"),
    "a query that is no node": (lambda: molecules(queries=[4]), "queries must be nodes between 0 and 3, found 4"),
    "a key twice": (lambda: molecules(keys=[0, 0]), "keys must be different nodes, found 0 twice"),
    "too few weights": (lambda: molecules(SQUARE[:1]), "weights must be at least (2, 2), found shape (1, 3)"),
    "a choice that is not there": (lambda: molecules(chosen=2), "chosen must lie between 0 and 1, found 2"),
}


@pytest.mark.parametrize(("call", "message"), BAD_GRAPHS.values(), ids=BAD_GRAPHS)
def test_bad_graphs_are_told(call, message):
    bad(call, ValueError, message)


def test_weights_of_a_graph_must_be_numbers():
    bad(lambda: molecules([["a"]]), TypeError, "weights must be numbers, found list")


def test_without_scripts_a_graph_is_a_table_and_says_what_is_joined():
    html = explore(lambda: molecules(caption="layer 1"))._repr_mimebundle_()["text/html"]
    assert "<caption>layer 1; C 1=O 2, C 3–O 4</caption>" in html
    assert '<tr><td></td><th scope="col">C 1</th><th scope="col">O 2</th></tr>' in html
    assert '<th scope="row">O 4</th><td data-value="0.5">0.500</td><td data-value="0.5">0.500</td>' in html


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
    "one name twice": (lambda: plane({"v": [1, 2]}, points={"v": [1, 2]}), "'v' names two things of the plane"),
    "a handle that is not there": (
        lambda: plane({"v": [1, 2]}, handle=("w", "x")),
        "handle names 'w', which is not a vector, a point that is alone or an area; there are v",
    ),
    "a handle without controls": (
        lambda: plane({"v": [1, 2]}, handle=("v", [])),
        "handle 'v' must move one or two controls, found 0",
    ),
    "a handle of many points": (
        lambda: plane({}, points={"cloud": [[1, 2], [3, 4]]}, handle=("cloud", "x")),
        "handle names 'cloud', which is not a vector, a point that is alone or an area; there are none",
    ),
    "a line of three numbers": (lambda: plane({}, lines={"l": [[1, 2, 3]]}), "'l' must have two numbers"),
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


@pytest.mark.parametrize(("call", "message"), BAD_DIAGRAMS.values(), ids=BAD_DIAGRAMS)
def test_bad_diagrams_are_told(call, message):
    bad(call, ValueError, message)


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


def prediction(predict, **controls):
    return asked(predict, **controls).widget.payload["predict"]


def test_a_choice_is_answered_by_the_figure():
    found = prediction(choice("Who wins?", WORDS, largest, at={"temperature": 4.0}))
    assert (found["answer"], found["said"]) == ("cat", "The answer is “cat”.")
    assert (found["state"], found["rows"]) == ({"temperature": 4.0}, WORDS)
    assert prediction(choice("Who wins?", WORDS, largest, at={"temperature": 0.5}))["answer"] == "the"


def test_a_choice_knows_the_whole_state_that_it_starts_from():
    where = {"at": {"temperature": 4.0}, "before": {"temperature": 1.0}}
    assert prediction(choice("Who wins?", WORDS, largest, **where))["before"] == {"temperature": 1.0}
    assert "before" not in prediction(choice("Who wins?", WORDS, largest, at={"temperature": 4.0}))


def test_small_numbers_are_told_where_a_map_has_no_fixed_decimals():
    page = explore(lambda: heatmap([[4.5e-5, 0.25]], digits=None))._repr_mimebundle_()["text/html"]
    assert ">4.5e−05<" in page
    assert ">0.25<" in page


def test_ringed_cells_are_places():
    assert heatmap(SQUARE, ringed=[(0, 1), (2, 2)]).words["ringed"] == [[0, 1], [2, 2]]


def test_a_choice_about_words_names_no_rows():
    """In a panel of tokens, ``rows`` is how many there are."""

    def picture(late):
        return tokens(SQUARE if late else SQUARE.flip(0), WORDS)

    def first(panel):
        return "first" if panel.numbers["values"][0, 0] == 1 else "last"

    explorer = explore(picture, predict=choice("Which row?", ["first", "last"], first), late=True)
    assert explorer.widget.payload["predict"]["rows"] == []


def test_a_marker_is_answered_by_the_bar():
    found = prediction(marker("How much for the cat?", bar=1))
    expected = torch.tensor([2.0, 2.0, 0.0]).softmax(0)[1].item()
    assert found["answer"] == pytest.approx(expected, rel=1e-5)
    assert (found["said"], found["limits"], found["row"]) == (f"It is {expected:.2f}.", [0.0, 1.0], 1)


def test_a_cell_is_the_largest_that_the_mask_lets_through():
    def picture(late):
        values = torch.tensor([[0.1, 9.0], [0.7, 0.3] if late else [0.2, 0.8]])
        return heatmap(values, rows=["a", "b"], columns=["c", "d"], mask=causal_mask(2))

    found = explore(picture, predict=cell("Which is the largest?"), late=True).widget.payload["predict"]
    assert (found["answer"], found["said"]) == ([[1, 0]], "The largest is b → c: 0.70.")


def test_of_bars_that_show_the_same_number_each_is_right():
    found = prediction(cell("Who wins?", at={"temperature": 1.0}))
    assert (found["answer"], found["said"]) == ([[0, 0], [1, 0]], "The largest are the and cat: 0.47.")


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


def test_a_line_that_stands_still_may_be_drawn():
    x = torch.linspace(0, 1, 5)
    explorer = explore(rising(x), predict=sketch("Where is it?", "flat"), power=(1, 3))
    assert explorer.widget.payload["predict"]["answer"] == [0.0] * 5


@pytest.mark.parametrize(
    "about",
    [
        choice("Who?", WORDS, largest, because="So it is."),
        cell("Who?", because="So it is."),
        marker("How?", because="So it is."),
    ],
    ids=["choice", "cell", "marker"],
)
def test_each_kind_has_its_reason(about):
    assert prediction(about)["because"] == "So it is."


def test_without_scripts_question_answer_and_reason_are_plain_text():
    html = asked(choice("Who wins?", WORDS, largest))._repr_mimebundle_()["text/html"]
    assert "<p>Who wins? (the, cat, sat) The answer is “the”.</p>" in html
    html = asked(choice("Who wins?", WORDS, largest, because="2 < 3."))._repr_mimebundle_()["text/html"]
    assert "<p>Who wins? (the, cat, sat) The answer is “the”. 2 &lt; 3.</p>" in html


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
    "a sentence": (lambda: asked("Who?"), TypeError, "predict must be a choice, cell, marker or sketch, found str"),
    "half a reason": (
        lambda: cell("Which?", because="as it is the largest"),
        ValueError,
        "because must be a whole sentence, found 'as it is the largest'",
    ),
    "a sketch of bars": (
        lambda: asked(sketch("How?", "cat")),
        ValueError,
        "predict asks for a sketch: its panel must be curves, found bars",
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


# ------------------------------------------------------------------------------------------------ behind a plane


def test_a_plane_keeps_lines_areas_and_joins():
    panel = plane(
        {"q": [1, 0]},
        points={"cloud": [[0, 1], [2, 3]], "p": [2, 0]},
        lines={"one": [[0, 0], [9, 9]], "two": torch.zeros(2, 3, 2)},
        areas={"hull": [[0, 0], [1, 0], [0, 1]]},
        joins={("q", "cloud"): [0.25, 0.75], ("p", "q"): 1},
    )
    shapes = {name: array.shape for name, array in panel.numbers.items()}
    assert (shapes["lines_0"], shapes["lines_1"], shapes["areas_0"]) == ((1, 2, 2), (2, 3, 2), (3, 2))
    assert_array_equal(panel.numbers["joins_0"], [0.25, 0.75])
    assert_array_equal(panel.numbers["joins_1"], [1])


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


@pytest.mark.parametrize(("call", "message"), BAD_HANDLES.values(), ids=BAD_HANDLES)
def test_bad_handles_are_told(call, message):
    bad(call, ValueError, message)


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


@pytest.mark.parametrize(("call", "message"), BAD_LOGS.values(), ids=BAD_LOGS)
def test_what_has_no_place_on_a_log_axis_is_told(call, message):
    bad(call, ValueError, message)


def test_a_gap_has_no_place_and_needs_none():
    curves([1, 2], {"a": [1, float("nan")]}, y_scale="log")


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


def test_a_group_keeps_its_place_from_state_to_state():
    bad(
        lambda: explore(lambda t: [[bars([1])]] if t else [bars([1])], t=[True, False]),
        ValueError,
        "every state must have the same panels",
    )


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
