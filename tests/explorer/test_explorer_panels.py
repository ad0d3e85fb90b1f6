"""The kinds of panels in Python: their numbers, their words, their scales, and what bad input is told."""

import pytest
import torch
from numpy.testing import assert_array_equal

from attention import causal_mask
from attention.explorer import Box, bars, choice, curves, diagram, explore, graph, heatmap, plane, sketch, tokens
from panel_examples import refused

WORDS = ["the", "cat", "sat"]
SQUARE = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], device="cpu")


def field(make, name, **controls):
    """What a panel has of this name in its first state, once it is packed."""
    return explore(make, **controls).widget.payload["panels"][0]["fields"][name]["items"][0]


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
    assert molecules(names=["C1", "O2", "C4", "O5"]).axes() == [("query", ["C4", "O5"]), ("key", ["C1", "O2"])]


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


# ------------------------------------------------------------------------------------------------ scales and words


def test_a_plane_s_limits_hold_every_state_the_origin_and_areas_but_not_lines():
    def limits(name="limits", **drawn):
        return field(lambda x: plane({"v": [x, 2 * x]}, **drawn), name, x=(1, 4))

    for name, most in (("x_limits", 4), ("limits", 8)):
        low, high = limits(name)
        assert low < 0 < most < high
    assert limits() == limits(lines={"far": [[0, 0], [19, 19]]})
    assert limits(areas={"far": [[0, 0], [1, 1], [19, 19]]})[1] > 19


@pytest.mark.parametrize(
    ("ends", "direct"), [((0.0, 0.5, 1.0), True), ((0.0, 0.501, 0.5), False), ((0.0, float("nan"), 1.0), False)]
)
def test_lines_are_named_at_their_ends_where_these_lie_apart(ends, direct):
    lines = {str(index): [0.0, end] for index, end in enumerate(ends)}
    assert field(lambda: curves([0, 1], lines), "direct") == direct


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


def test_powers_of_ten_in_a_caption_are_set():
    assert bars([1], caption="slope 2.5e-03, 1e+06 and pre-03").words["caption"] == "slope 2.5×10⁻³, 1×10⁶ and pre-03"


# ------------------------------------------------------------------------------------------------ handles and links


def test_one_spelling_of_handles_for_all_panels():
    pair, pairs = ("a", "t"), [("a", "t"), ("b", ["t", "u"])]
    wanted = [{"name": "a", "controls": ["t"]}, {"name": "b", "controls": ["t", "u"]}]
    two = {"a": [1, 2], "b": [2, 1]}
    for draw in (
        lambda handle: curves([1, 2], {}, points={"a": (1, 2)}, moments={"b": 2}, handle=handle),
        lambda handle: plane(two, handle=handle),
        lambda handle: plane({}, points=two, handle=handle),
    ):
        assert draw(None).words["handles"] == []
        assert draw(pair).words["handles"] == wanted[:1]
        assert draw(pairs).words["handles"] == wanted


def test_labels_that_repeat_on_a_shared_axis_are_refused():
    twice = ["the", "the", "cat"]
    one = heatmap(SQUARE, rows=twice, columns=twice)  # alone they may
    for other in (bars([1, 2, 3], twice, axis="key"), bars(SQUARE, parts=twice, parts_axis="key")):
        said = "ValueError: panels share the axis 'key', so its labels must differ; 'the' repeats…"
        refused(lambda other=other: explore(lambda: [one, other]), said)


# ------------------------------------------------------------------------------------------------ predictions


def largest(panel):
    return int(panel.numbers["values"].argmax())


def asked(predict):
    def picture(temperature=1.0):
        scores = torch.tensor([2.0, 1.0 + temperature, 0.0])
        return bars((scores / temperature).softmax(0), WORDS)

    return explore(picture, predict=predict, temperature=[0.5, 1.0, 4.0]).widget.payload["predict"]


def test_a_choice_is_answered_by_the_figure():
    found = asked(choice("Who wins?", WORDS, largest, at={"temperature": 4.0}))
    assert (found["answer"], found["said"]) == ("cat", "The answer is “cat”.")
    assert found["state"] == {"temperature": 4.0}
    assert asked(choice("Who wins?", WORDS, largest, at={"temperature": 0.5}))["answer"] == "the"


def drawn(x, line="bent", **words):
    """The question how the line goes over x: bent, or flat."""

    def picture(power=1):
        return curves(x, {"bent": torch.tensor(x) ** power, "flat": torch.zeros(len(x))}, **words)

    about = sketch("How does it bend?", line, at={"power": 2})
    return explore(picture, predict=about, power=(1, 3)).widget.payload["predict"]


def test_a_sketch_is_compared_at_each_x():
    found = drawn([0.0, 0.5, 1.0], axes=("t", ""))
    assert (found["x"], found["answer"]) == ([0.0, 0.5, 1.0], [0.0, 0.25, 1.0])
    assert found["limits"] == [-0.05, 1.05]
    assert found["said"] == "It goes from 0.00 at t = 0 to 1.00 at t = 1."


# ------------------------------------------------------------------------------------------------ bad input

V = {"v": [1, 2]}
BAD = [
    # numbers, labels, masks, colours, limits
    (lambda: bars(torch.ones(2, 3)), "ValueError: values must be a list of numbers, (N,), found shape (2, 3)"),
    (lambda: bars(["one", "two"]), "TypeError: values must be numbers, found list: could not convert string to …"),
    (lambda: bars(torch.ones(2) * 1j), "TypeError: values must be numbers, found Tensor: …"),
    (lambda: heatmap(SQUARE, columns="uv"), "ValueError: columns must be 3 labels, found 2: u, v"),
    (lambda: heatmap(SQUARE, row=3), "ValueError: row must lie between 0 and 2, found 3"),
    (lambda: bars([1], mask=[1.0]), "TypeError: mask must be boolean, True = may attend, found float64"),
    (
        lambda: heatmap(SQUARE, mask=causal_mask(2)),
        "ValueError: mask of shape (2, 2) does not broadcast to the values' shape (3, 3)",
    ),
    (lambda: bars([1], color="red"), "ValueError: color must be one of weights, query, key, value, ink, found 'red'"),
    (lambda: bars([1], limits=(1, 0)), "ValueError: limits must be finite, low below high, found (1.0, 0.0)"),
    (lambda: tokens(SQUARE, WORDS, rows=3), "ValueError: rows must be one of 1, 2, found 3"),
    # curves
    (lambda: curves([0, 1], {"a": [0]}), "ValueError: lines['a'] must have one number for each x, found 1 and 2"),
    (lambda: curves([0], {}, points={"p": ([1, 2], [1])}), "ValueError: points['p'] must have as many x as y, …"),
    (lambda: curves([0], {"a": [0]}, colors={"b": "query"}), "ValueError: colors names 'b', which is not drawn; …"),
    (lambda: curves([0, 1], {}, x_scale="log"), "ValueError: x must be above 0 on a log axis, found 0"),
    (lambda: curves([1], {"b": [-2]}, y_scale="log"), "ValueError: lines['b'] must be above 0 on a log axis, found -2"),
    (lambda: curves([1], {}, y_scale="root"), "ValueError: y_scale must be one of linear, log, found 'root'"),
    # plane
    (lambda: plane({"v": [1, 2, 3]}), "ValueError: 'v' must have two numbers, x and y, found shape (3,)"),
    (lambda: plane(V, points=V), "ValueError: 'v' names two things of the plane"),
    # diagram, graph
    (lambda: diagram([["a"], ["a"]]), "ValueError: rows name the box 'a' twice"),
    (lambda: diagram([["a"]], [("a", "b")]), "ValueError: there is no box 'b' in rows; there are a"),
    (lambda: molecules(places=PLACES[1:]), "ValueError: places must be x and y of 4 nodes, (4, 2), found shape (3, 2)"),
    (lambda: molecules(edges=[(0, 4)]), "ValueError: a node of edges must lie between 0 and 3, found 4"),
    (lambda: molecules(SQUARE[:1]), "ValueError: weights must be at least (2, 2), found shape (1, 3)"),
    # handles and controls
    (lambda: plane(V, handle=("w", "t")), "ValueError: handle names 'w', which is not a vector, …; there are v"),
    (
        lambda: explore(lambda t: plane(V, handle=("v", "u")), t=(1, 3)),
        "ValueError: plane sets the control 'u', to one of 1 states, found none; there is t",
    ),
    # predictions
    (lambda: asked(choice("Who?", WORDS, lambda _: "cat")), "ValueError: predict has the answer 'cat' in every state…"),
    (lambda: choice("Who?", WORDS, "cat"), "TypeError: answer must be a function of the panel, found str"),
    (lambda: choice("Who?", ["cat"], largest), "ValueError: options must be two or more, all different, found cat"),
    (lambda: asked(choice("Who?", WORDS, largest, panel=1)), "ValueError: predict is about panel 1; there are 1, …"),
    (lambda: asked(sketch("How?", "bent")), "ValueError: predict asks for a sketch, which nobody can draw in bars"),
    (lambda: asked("Who?"), "TypeError: predict must be a choice or a sketch, found str"),
    (lambda: drawn([0.0, 1.0], "bend"), "ValueError: predict is about the line 'bend'; there is bent, flat"),
]


@pytest.mark.parametrize(("make", "said"), BAD, ids=[said for _, said in BAD])
def test_bad_input_hears_exactly_what_is_wrong(make, said):
    refused(make, said)
