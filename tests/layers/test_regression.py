"""Kernel regression against numbers by hand, a slow loop, dot-product attention, and its own limits."""

import itertools
import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from attention import NadarayaWatson, nadaraya_watson, scaled_dot_product_attention
from refusals import refusals, refuses

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
SIZES = st.lists(st.integers(1, 7), min_size=5, max_size=6, unique=True)
SEEDS = st.integers(0, 2**32 - 1)
LINE = torch.tensor([0.0, 1.0, 3.0])
VALUE = torch.tensor([2.0, 4.0, 12.0])
both_forms = pytest.mark.parametrize("per_key", [False, True])


def assert_near(actual, expected):
    tolerance = TOLERANCE[actual.dtype]
    assert_close(actual, expected, rtol=tolerance, atol=tolerance)


# Drawn problems: all dimensions differ, so that no two can be mistaken for each other.


class Problem(NamedTuple):
    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None


@st.composite
def problems(draw):
    *leading, L, S, D, Dv = draw(SIZES)
    torch.manual_seed(draw(SEEDS))
    shared = leading[draw(st.integers(0, len(leading))) :]  # keys may lack some of the query's dimensions
    shapes = (*leading, L, D), (*shared, S, D), (*shared, S, Dv)
    mask = torch.rand(*leading, L, S) < 0.6 if draw(st.booleans()) else None
    return Problem(*(torch.randn(shape, dtype=torch.float64) for shape in shapes), mask)


def slow_answer(query, key, value, w, attn_mask=None):
    """The formula, one number at a time, in Python's own floats; w has one number a key."""
    shape = *query.shape[:-1], key.size(-2)
    key, value = (tensor.expand(*shape[:-2], *tensor.shape[-2:]) for tensor in (key, value))
    mask = torch.ones(shape, dtype=torch.bool) if attn_mask is None else attn_mask.expand(shape)
    w = w.expand(*shape[:-2], shape[-1])
    output = torch.zeros(*query.shape[:-1], value.size(-1), dtype=query.dtype)
    for *leading, i in itertools.product(*map(range, shape[:-1])):
        scores = [
            -0.5 * sum(((a - b) * scale) ** 2 for a, b in zip(query[(*leading, i)].tolist(), point, strict=True))
            for point, scale in zip(key[tuple(leading)].tolist(), w[tuple(leading)].tolist(), strict=True)
        ]
        visible = [j for j, seen in enumerate(mask[(*leading, i)].tolist()) if seen]
        kernel = {j: math.exp(scores[j] - max(scores[j] for j in visible)) for j in visible}
        for j in visible:
            output[(*leading, i)] += kernel[j] / sum(kernel.values()) * value[(*leading, j)]
    return output


@given(problem=problems(), bandwidth=st.floats(0.2, 5.0))
def test_the_answer_is_its_formula_and_that_of_attention(problem, bandwidth):
    """Of queries and keys less half the key's squared length."""
    query, key, value, mask = problem
    actual = nadaraya_watson(query, key, value, bandwidth=bandwidth, attn_mask=mask)
    assert_near(actual, slow_answer(query, key, value, torch.ones(key.shape[:-1]).double() / bandwidth, mask))
    query, key = query / bandwidth, key / bandwidth
    query = torch.cat([query, torch.ones_like(query[..., :1])], dim=-1)
    key = torch.cat([key, -0.5 * key.square().sum(-1, keepdim=True)], dim=-1)
    assert_near(actual, scaled_dot_product_attention(query, key, value, mask, scale=1))


@both_forms
@given(problem=problems(), seed=SEEDS)
def test_the_module_s_answer_is_its_formula(per_key, problem, seed):
    query, key, value, mask = problem
    module = NadarayaWatson(key, value, per_key) if per_key else NadarayaWatson(key, value)
    assert torch.equal(module.w, torch.ones(key.shape[:-1] if per_key else (), dtype=key.dtype))
    torch.manual_seed(seed)
    torch.nn.init.normal_(module.w)
    assert_near(module(query, mask), slow_answer(query, key, value, module.w.expand(key.shape[:-1]), mask))


# By hand


def test_the_kernel_by_hand():
    """At 0 the squares are 0, 1 and 9: with σ² = 1 / (2 ln 2) the kernels are 1, ½ and 1/512."""
    sigma = math.sqrt(1 / (2 * math.log(2)))
    expected = (1 * 2 + 1 / 2 * 4 + 1 / 512 * 12) / (1 + 1 / 2 + 1 / 512)
    for bandwidth in (sigma, torch.tensor([sigma])):
        assert_close(nadaraya_watson(LINE[:1], LINE, VALUE, bandwidth=bandwidth), torch.tensor([expected]))


# Gradients, shapes, dtypes, devices


@both_forms
def test_gradients_are_those_of_finite_differences(per_key):
    query, key = torch.randn(3, 2).double().requires_grad_(), torch.randn(2, 5, 2).double().requires_grad_()
    value, w = torch.randn(2, 5, 4).double().requires_grad_(), torch.rand(2, 5).double().add(0.5).requires_grad_()
    w = w if per_key else w[0, 0].detach().requires_grad_()
    mask = torch.rand(3, 5) < 0.7

    def answer(query, key, value, w):
        module = NadarayaWatson(key, value, per_key)
        return torch.func.functional_call(module, {"w": w, "key": key, "value": value}, (query, mask))

    assert torch.autograd.gradcheck(answer, (query, key, value, w))
    assert torch.autograd.gradcheck(lambda q, k, v: nadaraya_watson(q, k, v, bandwidth=0.5), (query, key, value))


@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_the_answer_follows_the_dtype(dtype):
    query, key, value = (torch.randn(shape, dtype=torch.float64) for shape in ((5, 2), (7, 2), (7, 3)))
    actual = nadaraya_watson(query.to(dtype), key.to(dtype), value.to(dtype))
    assert actual.dtype == dtype
    assert_near(actual, nadaraya_watson(query, key, value).to(dtype))


def test_half_precision_scores_do_not_overflow():
    """0.125 / 10⁻⁶ is beyond float16's largest number."""
    points = torch.tensor([0.0, 0.5, 300.0], dtype=torch.float16)
    assert torch.equal(nadaraya_watson(points + 0.125, points, points, bandwidth=1e-6), points)


SHAPES = {  # of query, key and value, to the answer's
    "a line": ((5,), (7,), (7,), (5,)),
    "vectors on a line": ((5,), (7,), (7, 3), (5, 3)),
    "a plane": ((5, 2), (7, 2), (7,), (5,)),
    "a batch": ((4, 5, 2), (4, 7, 2), (4, 7, 3), (4, 5, 3)),
    "a batch of queries": ((4, 5, 1), (7,), (7,), (4, 5)),
    "no queries": ((0,), (7,), (7,), (0,)),
}


@pytest.mark.parametrize(("query", "key", "value", "answer"), SHAPES.values(), ids=SHAPES)
def test_shapes(query, key, value, answer):
    query, key, value = map(torch.randn, (query, key, value))
    mask = torch.ones(1, 7, dtype=torch.bool)
    for output in (nadaraya_watson(query, key, value), NadarayaWatson(key, value, per_key=True)(query, mask)):
        assert output.shape == answer


# Far from every key


@pytest.mark.parametrize("far", [1e2, 1e6, 1e20, -1e20])
@pytest.mark.parametrize("bandwidth", [1e-6, 1.0, 1e6])
def test_far_queries_are_finite_and_so_are_their_gradients(far, bandwidth):
    query = torch.tensor([far], requires_grad=True)
    answer = nadaraya_watson(query, LINE, VALUE, bandwidth=bandwidth)
    assert 2.0 <= answer <= 12.0
    assert torch.autograd.grad(answer, query)[0].isfinite()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_far_query_under_one_w_a_key_goes_to_the_widest_kernel(sign):
    module = NadarayaWatson(LINE, VALUE, per_key=True)
    module.w.data = sign * torch.tensor([3.0, 1.0, 2.0])
    assert_close(module(torch.tensor([1e20])), torch.tensor([4.0]))


def test_far_from_the_origin_nothing_is_lost():
    """An expanded square, ‖q‖² − 2 q·k + ‖k‖², would here be wrong by 64."""
    shift = 2.0**14
    assert_near(nadaraya_watson(LINE + shift, LINE + shift, VALUE), nadaraya_watson(LINE, LINE, VALUE, bandwidth=1.0))


@pytest.mark.parametrize(
    ("query", "bandwidth", "answer"),
    [
        (1e6, 1.0, 12.0),
        (-1e6, 1.0, 2.0),
        (0.4, 1e-30, 2.0),
        (1.9, 1e-30, 4.0),
        (1e6, 1e-39, 12.0),
        (7.0, math.inf, 6.0),
    ],
)
def test_far_away_or_with_no_width_the_nearest_takes_all_and_with_infinite_width_all_alike(query, bandwidth, answer):
    assert_close(nadaraya_watson(torch.tensor([query]), LINE, VALUE, bandwidth=bandwidth), torch.tensor([answer]))


# Bad input

INPUTS = {"query": torch.ones(5, 2), "key": torch.ones(7, 2), "value": torch.ones(7, 3)}
WRONG = [
    (TypeError, "query", {"query": [1.0, 2.0]}),
    (TypeError, "key", {"key": torch.ones(7, 2).long()}),
    (TypeError, "attn_mask", {"attn_mask": torch.ones(5, 7)}),
    (ValueError, "query", {"query": torch.tensor(1.0)}),
    (ValueError, "key", {"key": torch.ones(0, 2), "value": torch.ones(0, 3)}),
    (ValueError, "query", {"query": torch.ones(5)}),
    (ValueError, "value", {"value": torch.ones(6)}),
    (ValueError, "attn_mask", {"attn_mask": torch.ones(7, 5) > 0}),
    (ValueError, "query", {"query": torch.ones(2, 5, 2), "key": torch.ones(3, 7, 2)}),
]
WRONG_BANDWIDTHS = [
    *[(ValueError, "bandwidth must be positive", {"bandwidth": wrong}) for wrong in (0, -1.0, -math.inf, math.nan)],
    (ValueError, "found bandwidth (7,)", {"bandwidth": torch.ones(7)}),
]


test_a_module_says_what_is_wrong = refusals(
    lambda query, attn_mask=None, **points: NadarayaWatson(**points)(query, attn_mask), INPUTS, WRONG
)
test_what_is_wrong_is_said = refusals(nadaraya_watson, INPUTS, WRONG, WRONG_BANDWIDTHS)


def test_a_module_is_refused_as_soon_as_it_is_made():
    for key, value in ((torch.ones(0), torch.ones(0)), (torch.ones(7), torch.ones(6))):
        refuses(NadarayaWatson, {"key": key, "value": value}, ValueError, "key")
