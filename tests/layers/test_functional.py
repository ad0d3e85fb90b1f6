"""The three functions against PyTorch's own, against slow specifications, and against numbers by hand."""

import functools
import itertools
import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from attention import attention_weights, causal_mask, masked_softmax, scaled_dot_product_attention
from refusals import HERE, refusals

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
DTYPES = list(TOLERANCE)
SEEDS = st.integers(0, 2**32 - 1)
INF, NAN = math.inf, math.nan

assert_equal = functools.partial(assert_close, rtol=0, atol=0)


def assert_near(actual, expected):
    tolerance = TOLERANCE[actual[0].dtype]  # of a tensor, or of a tuple of gradients
    assert_close(actual, expected, rtol=tolerance, atol=tolerance)


# Drawn problems: all dimensions differ, so that no two can be mistaken for each other.


class Problem(NamedTuple):
    query: Tensor
    key: Tensor
    value: Tensor
    options: dict

    def tensors(self, dtype):
        return [tensor.to(dtype).requires_grad_() for tensor in self[:3]]


@st.composite
def masks(draw, shape, empty_rows):
    """A random mask that broadcasts to ``shape``: any size may be 1, and first dimensions may be missing.

    Where some are, those that are left before the last two are 1.
    """
    missing = draw(st.integers(0, len(shape) - 1))
    sizes = [size if draw(st.booleans()) else 1 for size in shape[missing:]]
    if missing:
        sizes = [1] * len(sizes[:-2]) + sizes[-2:]
    mask = torch.rand(sizes) < 0.5
    if not empty_rows:
        mask[..., 0] = True  # a key that every query sees, also under is_causal
    return mask


@st.composite
def problems(draw, empty_rows=False):
    *leading, L, S, D, Dv = draw(st.lists(st.integers(1, 7), min_size=4, max_size=6, unique=True))
    torch.manual_seed(draw(SEEDS))
    shared = leading[draw(st.integers(0, len(leading))) :]  # keys may lack some of the query's dimensions
    shapes = (*leading, L, D), (*shared, S, D), (*shared, S, Dv)
    options = {
        "attn_mask": draw(st.none() | masks((*leading, L, S), empty_rows)),
        "is_causal": draw(st.booleans()),
        "scale": draw(st.none() | st.floats(0.1, 2.0)),
    }
    return Problem(*(torch.randn(shape, dtype=torch.float64) for shape in shapes), options)


# Slow specifications: the formulas, one number at a time, in Python's own floats.


def slow_softmax(scores, mask, dim):
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    scores, mask = scores.movedim(dim, -1), mask.movedim(dim, -1)
    weights = []
    for row, visible in zip(scores.flatten(0, -2).tolist(), mask.flatten(0, -2).tolist(), strict=True):
        top = max((score for score, seen in zip(row, visible, strict=True) if seen), default=0.0)
        parts = [math.exp(score - top) if seen else 0.0 for score, seen in zip(row, visible, strict=True)]
        weights += [part / (sum(parts) or 1.0) for part in parts]
    return torch.tensor(weights, dtype=torch.float64).reshape(scores.shape).movedim(-1, dim)


def slow_weights(query, key, attn_mask, is_causal, scale):
    shape = *query.shape[:-1], key.size(-2)
    scale = query.size(-1) ** -0.5 if scale is None else scale
    key = key.expand(*shape[:-2], *key.shape[-2:])
    mask = torch.ones(shape, dtype=torch.bool) if attn_mask is None else attn_mask.expand(shape).clone()
    scores = torch.empty(shape, dtype=torch.float64)
    for *leading, i, j in itertools.product(*map(range, shape)):
        q, k = query[(*leading, i)].tolist(), key[(*leading, j)].tolist()
        scores[(*leading, i, j)] = sum(a * b for a, b in zip(q, k, strict=True)) * scale
        mask[(*leading, i, j)] &= j <= i or not is_causal
    return slow_softmax(scores, mask, -1)


def pytorch(query, key, value, attn_mask, is_causal, scale):
    """PyTorch's function, given what it asks for: equal leading dimensions, and no mask beside is_causal."""
    key, value = (tensor.expand(*query.shape[:-2], *tensor.shape[-2:]) for tensor in (key, value))
    if attn_mask is not None:
        attn_mask = attn_mask.expand(*query.shape[:-1], key.size(-2))
        attn_mask, is_causal = attn_mask.tril() if is_causal else attn_mask, False
    return functional.scaled_dot_product_attention(query, key, value, attn_mask, is_causal=is_causal, scale=scale)


# Parity with PyTorch


@pytest.mark.parametrize("dtype", DTYPES)
@given(problem=problems())
def test_answers_and_gradients_are_pytorch_s(dtype, problem):
    tensors = problem.tensors(dtype)
    # what 16 bits hold, computed in 32: PyTorch 2.4 loses digits of a gradient in bfloat16
    wide = [tensor.detach().to(torch.promote_types(dtype, torch.float32)).requires_grad_() for tensor in tensors]
    actual = scaled_dot_product_attention(*tensors, **problem.options)
    expected = pytorch(*wide, **problem.options)
    assert_near(actual, expected.to(dtype))
    upstream = torch.randn_like(actual)
    gradients = torch.autograd.grad(expected, wide, upstream.to(expected.dtype))
    assert_near(torch.autograd.grad(actual, tensors, upstream), tuple(gradient.to(dtype) for gradient in gradients))


@st.composite
def biased_problems(draw):
    """A problem, and a bias that broadcasts to its weights: some numbers are −∞, but not those of the first key."""
    problem = draw(problems())
    shape = *problem.query.shape[:-1], problem.key.size(-2)
    sizes = [size if draw(st.booleans()) else 1 for size in shape[draw(st.integers(0, len(shape))) :]]
    bias = 2 * torch.randn(sizes, dtype=torch.float64)
    if sizes and sizes[-1] > 1 and draw(st.booleans()):
        bias[..., 1:][torch.rand(bias[..., 1:].shape) < 0.3] = -INF
    return problem, bias


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@given(biased=biased_problems())
def test_a_bias_is_pytorch_s_mask_of_numbers(dtype, biased):
    """Its gradients too, beside a mask and with is_causal, which PyTorch's function takes as −∞ in the same numbers."""
    problem, bias = biased
    query, key, _ = tensors = problem.tensors(dtype)
    mask, is_causal, scale = problem.options.values()
    hidden = torch.zeros(query.size(-2), key.size(-2), dtype=torch.bool)
    hidden = hidden if mask is None else hidden | ~mask
    hidden = hidden | ~causal_mask(query.size(-2), key.size(-2)) if is_causal else hidden
    ours, theirs = (bias.to(dtype).requires_grad_() for _ in range(2))
    actual = scaled_dot_product_attention(*tensors, **problem.options, attn_bias=ours)
    added = torch.where(hidden, -INF, theirs)
    expected = pytorch(*tensors, added, False, scale)
    assert_near(actual, expected)
    upstream = torch.randn_like(expected)
    found = torch.autograd.grad(actual, [*tensors, ours], upstream)
    assert_near(found, torch.autograd.grad(expected, [*tensors, theirs], upstream))
    weights = attention_weights(query, key, **problem.options, attn_bias=ours)
    assert not weights[added.expand_as(weights) == -INF].any()


@given(problem=problems(), dropout_p=st.sampled_from([0.0, 0.1, 0.5, 1.0]), seed=SEEDS)
def test_dropout_acts_on_the_weights(problem, dropout_p, seed):
    query, key, value, options = problem
    torch.manual_seed(seed)
    actual = scaled_dot_product_attention(query, key, value, dropout_p=dropout_p, **options)
    torch.manual_seed(seed)
    assert_near(actual, functional.dropout(slow_weights(query, key, **options), dropout_p) @ value)


# Parity with the slow specifications


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data(), seed=SEEDS, spread=st.sampled_from([1e-3, 1.0, 30.0]))
def test_masked_softmax_is_its_formula_along_any_dimension(dtype, data, seed, spread):
    """And its gradient the formula's, also of rows that see nothing."""
    torch.manual_seed(seed)
    shape = data.draw(st.lists(st.integers(1, 7), min_size=2, max_size=4, unique=True))
    mask = data.draw(st.none() | masks(shape, empty_rows=True))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    scores = (torch.randn(shape) * spread).to(dtype).requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        weights = masked_softmax(scores, mask, dim)
        upstream = torch.randn_like(weights)
        (gradient,) = torch.autograd.grad(weights, scores, upstream)
    expected = slow_softmax(scores, mask, dim)
    assert_near(weights, expected.to(dtype))
    upstream = upstream.double()
    wanted = expected * (upstream - (expected * upstream).sum(dim, keepdim=True))
    assert_near(gradient, wanted.to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=20)  # of each dtype: the formula is slow
@given(problem=problems(empty_rows=True))
def test_attention_is_its_formula_and_a_query_without_keys_gets_zeros_and_sends_zeros_back(dtype, problem):
    tensors, options = problem.tensors(dtype), problem.options
    weights = slow_weights(*problem[:2], **options)
    with torch.autograd.set_detect_anomaly(True):
        found = attention_weights(*tensors[:2], **options)
        output = scaled_dot_product_attention(*tensors, **options)
        of_query, *others = torch.autograd.grad(output, tensors, torch.randn_like(output))
    assert_near(found, weights.to(dtype))
    assert_near(output, (weights @ problem.value).to(dtype))
    is_blind = ~weights.any(-1, keepdim=True)
    assert not found[is_blind.expand_as(found)].any()
    assert not of_query[is_blind.expand_as(of_query)].any()
    assert all(gradient.isfinite().all() for gradient in others)


# By hand


def test_a_dictionary_lookup_by_hand():
    """Scores (ln 0.6, ln 0.4, −∞) are weights 0.6, 0.4, 0, and these make 8 of the values 10, 5, 2."""
    key = torch.tensor([[math.log(0.6)], [math.log(0.4)], [-INF]])
    assert_close(masked_softmax(key, dim=0), torch.tensor([[0.6], [0.4], [0.0]]))
    answer = scaled_dot_product_attention(torch.ones(1, 1), key, torch.tensor([[10.0], [5.0], [2.0]]), scale=1)
    assert_close(answer, torch.tensor([[8.0]]))
    weights = attention_weights(torch.zeros(1, 4), torch.randn(2, 4), attn_bias=torch.tensor([0.0, math.log(3)]))
    assert_close(weights, torch.tensor([[0.25, 0.75]]))
    assert attention_weights(torch.zeros(1, 4), torch.randn(2, 4), attn_bias=torch.tensor([NAN, 0.0])).isnan().all()


# What a mask promises


@pytest.mark.parametrize("poison", [NAN, INF, -INF])
def test_nothing_comes_through_a_mask(poison):
    mask = torch.rand(5, 7) < 0.5
    clean = torch.randn(5, 7, requires_grad=True)
    poisoned = clean.detach().masked_fill(~mask, poison).requires_grad_()
    upstream = torch.randn(5, 7)
    for scores in (clean, poisoned):
        masked_softmax(scores, mask).backward(upstream)
    assert_equal(masked_softmax(poisoned, mask), masked_softmax(clean, mask))
    assert_equal(poisoned.grad, clean.grad)
    query, key = torch.randn(5, 3), torch.randn(7, 3)
    first = attention_weights(query, key, is_causal=True)[:4]
    hidden = attention_weights(query, key, torch.arange(7) < 4)
    key[4:] = poison
    assert_equal(attention_weights(query[:4], key, is_causal=True), first)
    assert_equal(attention_weights(query[:4], key, causal_mask(4, 7)), first)
    assert_equal(attention_weights(query, key, torch.arange(7) < 4), hidden)


# Numbers at the ends of their range


@pytest.mark.parametrize(
    ("dtype", "scores", "mask", "weights"),
    [
        (torch.float16, [6e4, -6e4, 6e4], None, [0.5, 0.0, 0.5]),
        (torch.float16, [-65504.0, -65504.0, 6e4], [True, True, False], [0.5, 0.5, 0.0]),
        (torch.bfloat16, [3e38, -3e38, 3e38], None, [0.5, 0.0, 0.5]),
        (torch.bfloat16, [-3.389e38, -3.389e38, 3e38], [True, True, False], [0.5, 0.5, 0.0]),
        (torch.float32, [3e38, -3e38, 3e38], None, [0.5, 0.0, 0.5]),
        (torch.float32, [-3.4e38, -3.4e38, 3e38], [True, True, False], [0.5, 0.5, 0.0]),
        (torch.float64, [1e308, -1e308, 1e308], None, [0.5, 0.0, 0.5]),
        (torch.float64, [-1.7e308, -1.7e308, 1e308], [True, True, False], [0.5, 0.5, 0.0]),
    ],
)
def test_the_largest_and_the_smallest_scores(dtype, scores, mask, weights):
    scores = torch.tensor(scores, dtype=dtype, requires_grad=True)
    actual = masked_softmax(scores, None if mask is None else torch.tensor(mask))
    assert_equal(actual, torch.tensor(weights, dtype=dtype))
    actual[0].backward()
    assert_close(scores.grad[0], torch.tensor(0.25, dtype=dtype))  # w₀ (1 − w₀)
    none, most = torch.zeros(2, 1, dtype=dtype), torch.finfo(dtype).max
    bias = torch.tensor([[most / 8, most]], dtype=dtype)
    assert_equal(attention_weights(none[:1], none, attn_bias=bias), torch.tensor([[0.0, 1.0]], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_score_may_be_larger_than_its_vectors_dtype_holds(dtype):
    """300 · 300 · 64 / √64 = 720,000, and float16 ends at 65,504; nor does it hold 300 times the scale 300."""
    query, key = torch.full((1, 64), 300, dtype=dtype), torch.full((3, 64), 300, dtype=dtype)
    key[1] = -300
    for scale in (None, 300.0):
        assert_close(attention_weights(query, key, scale=scale), torch.tensor([[0.5, 0.0, 0.5]], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hidden", [None, NAN, INF, -INF, 0.0])
def test_a_visible_score_never_ties_with_a_hidden_one(dtype, hidden):
    lowest = torch.finfo(dtype).min
    hidden = lowest if hidden is None else hidden
    scores = torch.tensor([[lowest, hidden, hidden], [lowest, lowest, hidden], [0.0, lowest, hidden]], dtype=dtype)
    mask = torch.tensor([[True, False, False], [True, True, False], [True, True, False]])
    scores.requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        weights = masked_softmax(scores, mask)
        (weights * torch.tensor([4.0, 0.0, 2.0], dtype=dtype)).sum().backward()
    assert_equal(weights, torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], dtype=dtype))
    assert_equal(scores.grad, torch.tensor([[0.0, 0.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hidden", [NAN, INF, -INF, 3.0])
def test_where_every_visible_score_is_minus_infinity_there_is_nothing_to_attend_to(dtype, hidden):
    """As when the scores of the future were set to −∞, and a mask hides the padding before."""
    scores = torch.tensor([[-INF, -INF, hidden], [-INF, 2.0, hidden]], dtype=dtype, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        weights = masked_softmax(scores, torch.tensor([True, True, False]))
        (weights * torch.randn(3, dtype=dtype)).sum().backward()
    assert_equal(weights, torch.tensor([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=dtype))
    assert_equal(scores.grad, torch.zeros(2, 3, dtype=dtype))
    if hidden in (INF, NAN):  # what is visible and no number is not hidden
        assert masked_softmax(scores.detach(), torch.tensor(True))[1].isnan().any()


# Under autocast

AUTOCAST = [dtype for dtype in (torch.float16, torch.bfloat16) if torch.amp.is_autocast_available(HERE.type)]


@pytest.mark.parametrize("dtype", AUTOCAST)
@pytest.mark.parametrize("size", [1, 400])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("mask", [None, causal_mask(5, 7, offset=2)], ids=["plain", "masked"])
def test_large_inputs_under_autocast(dtype, size, is_causal, mask):
    """Scores reach 400² · 16 / √16 = 640,000, ten times what float16 holds; bfloat16 would round them to 4096."""
    query, key = size * torch.randn(2, 3, 5, 16), size * torch.randn(2, 3, 7, 16)
    value = torch.randn(2, 3, 7, 11)
    wide = [tensor.double() for tensor in (query, key, value)]
    weights = slow_weights(*wide[:2], mask, is_causal, None)
    expected = weights @ wide[2]
    with torch.autocast(HERE.type, dtype):
        found = attention_weights(query, key, mask, is_causal=is_causal)
        output = scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal)
        theirs = pytorch(query, key, value, mask, is_causal, None)
    assert found.dtype == torch.float32  # the query's
    assert_close(found.double(), weights, rtol=1e-4, atol=1e-4)
    assert output.dtype == theirs.dtype == dtype
    assert_near(output, expected.to(dtype))
    if size == 1:  # with larger inputs, what PyTorch rounds off the inputs can decide which key wins
        assert_near(theirs, expected.to(dtype))


@pytest.mark.parametrize("dtype", AUTOCAST)
def test_autocast_may_unite_dtypes_but_leaves_float64_alone(dtype):
    query, key, value = torch.randn(5, 16), torch.randn(7, 16), torch.randn(7, 11)
    expected = scaled_dot_product_attention(query, key, value)
    with torch.autocast(HERE.type, dtype):
        assert_near(scaled_dot_product_attention(query, key.to(dtype), value), expected.to(dtype))
        wide = [tensor.double() for tensor in (query, key, value)]
        assert_close(scaled_dot_product_attention(*wide), pytorch(*wide, None, False, None))
        with pytest.raises(RuntimeError, match="dtype"):
            scaled_dot_product_attention(query, key.double(), value.double())
        with pytest.raises(RuntimeError, match="dtype"):
            scaled_dot_product_attention(query, key, value.double())


# Inputs are never changed, and decide where and what the answer is


@given(problem=problems(empty_rows=True))
def test_inputs_are_never_changed(problem):
    query, key, value, options = problem
    scores, mask = query @ key.mT, options["attn_mask"]
    inputs = [query, key, value, scores] + ([] if mask is None else [mask])
    copies = [tensor.clone() for tensor in inputs]
    masked_softmax(scores, mask)
    scaled_dot_product_attention(query, key, value, **options)
    assert_equal(inputs, copies)


@pytest.mark.parametrize("device", ["meta", *(["cuda"] if torch.cuda.is_available() else [])])
@pytest.mark.parametrize("dtype", DTYPES)
def test_answers_follow_the_inputs_dtype_and_device(dtype, device):
    query, key, value = (torch.ones(2, n, d, dtype=dtype, device=device) for n, d in ((3, 5), (7, 5), (7, 11)))
    mask = causal_mask(3, 7, device=device)
    for answer, shape in (
        (masked_softmax(query, mask[:, :5]), (2, 3, 5)),
        (attention_weights(query, key, mask, is_causal=True), (2, 3, 7)),
        (scaled_dot_product_attention(query, key, value, mask, 0.5, is_causal=True), (2, 3, 11)),
    ):
        assert (answer.shape, answer.dtype, answer.device.type) == (shape, dtype, device)


# Bad input: the error, its message, and the argument that is wrong where all others are right
ones = torch.ones
SCORES = {"scores": ones(2, 3)}
QUERY_KEY = {"query": ones(2, 3, 5), "key": ones(2, 7, 5)}
VALUE = {"value": ones(2, 7, 11)}
WRONG_SCORES = [
    (TypeError, "scores", {"scores": [[1.0]]}),
    (TypeError, "scores", {"scores": ones(2, 3).int()}),
    (TypeError, "mask", {"mask": ones(2, 3)}),
    (ValueError, "mask", {"mask": ones(4).bool()}),
    (ValueError, "mask", {"mask": ones(5, 1, 1).bool()}),
]
WRONG_WEIGHTS = [
    *[(TypeError, "is_causal", {"is_causal": wrong}) for wrong in ("no", 0.1, 1, None)],
    (TypeError, "query", {"query": ones(2, 3, 5).long()}),
    (TypeError, "key", {"key": None}),
    (TypeError, "attn_mask", {"attn_mask": ones(3, 7)}),
    (TypeError, "attn_mask", {"attn_mask": [True]}),
    (ValueError, "query", {"query": ones(5)}),
    (ValueError, "key", {"key": ones(5)}),
    (ValueError, "key", {"key": ones(7, 4)}),
    (ValueError, "key", {"key": ones(3, 7, 5)}),
    (ValueError, "attn_mask", {"attn_mask": ones(7, 3).bool()}),
    (ValueError, "attn_mask", {"attn_mask": ones(2, 1, 3, 7).bool()}),
    (TypeError, "attn_bias", {"attn_bias": ones(3, 7, dtype=torch.bool)}),
    (ValueError, "attn_bias", {"attn_bias": ones(7, 3)}),
    (ValueError, "attn_bias", {"attn_bias": ones(1, 2, 3, 7)}),
]
WRONG_ANSWERS = [
    (TypeError, "value", {"value": ones(2, 7, 11).int()}),
    (ValueError, "value", {"value": ones(7)}),
    (ValueError, "value", {"value": ones(6, 11)}),
    (ValueError, "key", {"key": ones(7, 5), "value": ones(3, 7, 11)}),
    (ValueError, "dropout_p", {"dropout_p": 1.1}),
    (ValueError, "dropout_p", {"dropout_p": -0.1}),
    (ValueError, "dropout_p", {"dropout_p": NAN}),
    (TypeError, "dropout_p", {"dropout_p": False}),
]


test_masked_softmax_says_what_is_wrong = refusals(masked_softmax, SCORES, WRONG_SCORES)
test_attention_weights_says_what_is_wrong = refusals(attention_weights, QUERY_KEY, WRONG_WEIGHTS)
test_scaled_dot_product_attention_says_what_is_wrong = refusals(
    scaled_dot_product_attention, QUERY_KEY | VALUE, WRONG_WEIGHTS, WRONG_ANSWERS
)
