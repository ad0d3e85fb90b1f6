"""Flows of matrices, and one pass of attention as one: what Python makes of them."""

import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from attention import attention_weights, causal_mask
from attention.course.one_pass import STEPS, one_pass
from attention.explorer import Station, explore, flow
from panel_examples import refused

WORDS = ["Ann", "met", "Bob"]
X = torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 2.0]])
W = torch.tensor([[1.0, -1.0], [0.5, 1.0]])


def stations(**changed):
    query = Station("Q", X, color="query")
    key = Station("K", X @ W, "X W_k", color="key", step=0)
    scores = Station("scores", X @ (X @ W).T, **{"operation": "QKᵀ", "sources": {"Q": "i:", "K": "j:"}} | changed)
    return [[query, key], [scores]]


def moved(step=0, word=0):
    return flow(stations(), rows=WORDS, step=step, query=word, control="step", query_control="word")


# ------------------------------------------------------------------------------------------------ flow


def test_a_flow_keeps_its_matrices_and_who_is_made_of_what():
    panel = flow(stations(mask=causal_mask(3), columns=WORDS), rows=WORDS)
    assert_array_equal(panel.numbers["1_values"], X @ W)
    assert_array_equal(panel.numbers["2_mask"], causal_mask(3))
    query, key, scores = panel.words["stations"]
    assert scores["sources"] == [[0, "i:"], [1, "j:"]]
    assert [station["step"] for station in (query, key, scores)] == [0, 0, 1]
    assert [station["line"] for station in (query, key, scores)] == [0, 0, 1]
    assert [station["whole"] for station in (query, key, scores)] == [False, True, False]  # all keys meet one query
    assert (query["rows"], query["columns"], scores["columns"]) == (WORDS, ["", ""], WORDS)
    assert (panel.words["step"], panel.words["steps"], panel.words["queries"]) == (1, 2, 3)


def test_each_matrix_has_a_scale_of_its_own_for_all_states():
    limits = explore(moved, step=(0, 1), word=(0, 2)).widget.payload["panels"][0]["fields"]["limits"]["items"]
    numbers = [X, X @ W, X @ (X @ W).T]
    assert limits == [
        [[0.0 if matrix.min() >= 0 else -matrix.abs().max().item(), matrix.abs().max().item()] for matrix in numbers]
    ]


BAD_FLOWS = [
    (lambda: flow([]), "ValueError: lines must hold stations, each with a name of its own, found none"),
    (lambda: flow([[Station("x", X), Station("x", X)]]), "ValueError: lines must hold stations, … found x, x"),
    (
        lambda: flow(stations(sources={"V": "i:"})),
        "ValueError: scores is made from 'V', which does not stand before it",
    ),
    (lambda: flow(stations(sources={"Q": "i"})), "ValueError: the part of 'Q' that scores takes must be one of …"),
    (lambda: flow(stations(), rows=["Ann"]), "ValueError: rows of Q must be 3 labels, found 1: Ann"),
    (lambda: flow(stations(color="red")), "ValueError: the colour of station 'scores' must be one of …"),
    (
        lambda: explore(moved, step=(0, 1), word=(0, 1)),
        "ValueError: flow sets the control 'word', to one of 3 states, found 2",
    ),
]


@pytest.mark.parametrize(("make", "said"), BAD_FLOWS, ids=[said for _, said in BAD_FLOWS])
def test_a_bad_flow_is_told_what_was_found(make, said):
    refused(make, said)


# ------------------------------------------------------------------------------------------------ one pass


def numbers_of(panel):
    return {station["name"]: panel.numbers[f"{k}_values"] for k, station in enumerate(panel.words["stations"])}


@pytest.mark.usefixtures("on_the_cpu")
@pytest.mark.parametrize("mask", [None, causal_mask(3)])
def test_one_pass_has_the_numbers_of_attention(mask):
    torch.manual_seed(0)
    W_q, W_k, W_v = torch.randn(2, 5), torch.randn(2, 5), torch.randn(2, 4)
    found = numbers_of(one_pass(X, W_q, W_k, W_v, WORDS, mask=mask))
    assert list(found) == list(STEPS)
    weights = attention_weights(X @ W_q, X @ W_k, mask)
    assert_allclose(found["weights"], weights, rtol=1e-6)
    assert_allclose(found["output"], weights @ (X @ W_v), rtol=1e-6)
    assert_allclose(found["scores"], (X @ W_q) @ (X @ W_k).T / 5**0.5, rtol=1e-6)


def told(step, query, mask=None):
    return one_pass(X, W, W, X.T @ X, WORDS, step=step, query=query, mask=mask).words["caption"]


def test_one_pass_says_which_number_is_the_largest():
    weights = attention_weights(X @ W, X @ W)[2]
    assert told("weights", "Bob").endswith(f"the largest weight, {weights[2]:.2f}, belongs to Bob.")
    assert told("weights", "met").endswith("each weight is 0.33.")
    assert told("scores", "Ann", causal_mask(3)).endswith("the largest score, 1.41, belongs to Ann.")
    assert len({told(step, "Bob") for step in STEPS}) == len(STEPS)
    for step in ("scores", "weights"):
        assert told(step, "Ann", causal_mask(3, offset=-1)).endswith("as no token is seen.")
