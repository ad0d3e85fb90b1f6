"""Positions against the papers' formulas: one number at a time, complex numbers, published slopes."""

import cmath
import functools
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attention import (
    MultiHeadAttention,
    alibi_bias,
    alibi_slopes,
    attention_weights,
    rotate,
    rotate_heads,
    sinusoidal_positions,
)
from refusals import refusals

SEEDS = st.integers(0, 2**32 - 1)
LAYOUTS = ["halves", "interleaved"]
HALVES = [torch.float16, torch.bfloat16]

assert_equal = functools.partial(assert_close, rtol=0, atol=0)
both_layouts = pytest.mark.parametrize("layout", LAYOUTS)


# Sinusoids


@given(L=st.integers(0, 9), pairs=st.integers(0, 6), base=st.sampled_from([10000.0, 100.0, 5e5]))
def test_sinusoids_are_the_paper_s_formula(L, pairs, base):
    """PE(pos, 2i) = sin(pos / base^(2i/d)), PE(pos, 2i + 1) = cos(…)."""
    expected = torch.zeros(L, 2 * pairs, dtype=torch.float64)
    for pos, i in itertools.product(range(L), range(pairs)):
        angle = pos / base ** (2 * i / (2 * pairs))
        expected[pos, 2 * i], expected[pos, 2 * i + 1] = math.sin(angle), math.cos(angle)
    assert_close(sinusoidal_positions(L, 2 * pairs, base=base, dtype=torch.float64), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, *HALVES])
def test_sinusoids_are_rounded_once(dtype):
    far = sinusoidal_positions(70_000, 8, dtype=dtype)
    assert far.dtype == dtype
    assert_equal(far, sinusoidal_positions(70_000, 8, dtype=torch.float64).to(dtype))


# Rotary positions


def turned_by_complex_numbers(x, positions, base, layout):
    """Each pair as one complex number, times e^(iφ), in Python's own numbers."""
    D = x.size(-1)
    result = torch.empty_like(x)
    for place in itertools.product(*map(range, x.shape[:-1])):
        for i in range(D // 2):
            one, other = (i, i + D // 2) if layout == "halves" else (2 * i, 2 * i + 1)
            pair = complex(x[(*place, one)], x[(*place, other)])
            pair *= cmath.exp(1j * positions[place].item() * base ** (-2 * i / D))
            result[(*place, one)], result[(*place, other)] = pair.real, pair.imag
    return result


@both_layouts
@given(data=st.data(), base=st.sampled_from([10000.0, 10.0, 5e5]))
def test_rotary_is_a_product_of_complex_numbers(layout, data, base):
    *leading, L, pairs = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    torch.manual_seed(data.draw(SEEDS))
    x = torch.randn(*leading, L, 2 * pairs, dtype=torch.float64)
    sizes = [size if data.draw(st.booleans()) else 1 for size in (*leading, L)]
    positions = data.draw(st.sampled_from(["none", "one row", "all rows", "fractions"]))
    given_positions = {
        "none": None,
        "one row": torch.randint(0, 10**6, (L,)),
        "all rows": torch.randint(-50, 50, sizes),
        "fractions": 100 * torch.rand(sizes, dtype=torch.float64),
    }[positions]
    full = torch.arange(L) if given_positions is None else given_positions
    expected = turned_by_complex_numbers(x, full.expand(*leading, L), base, layout)
    assert_close(rotate(x, given_positions, base=base, layout=layout), expected, rtol=1e-8, atol=1e-8)
    assert_equal(rotate_heads(x, -x, base=base, layout=layout)[1], -rotate(x, base=base, layout=layout))


def test_gradients_of_rotary_and_of_fractions_of_positions():
    x, places = torch.randn(2, 5, 6).double().requires_grad_(), torch.rand(5).double().requires_grad_()
    assert torch.autograd.gradcheck(rotate, (x, places))


@pytest.mark.parametrize("dtype", HALVES)
@both_layouts
def test_half_precision_at_position_a_million(dtype, layout):
    """As float64 has it, rounded: the angles are not those of a position rounded to half precision."""
    x, far = torch.randn(4, 8).to(dtype), torch.arange(4) + 10**6
    expected = rotate(x.double(), far, layout=layout)
    assert_equal(rotate(x, far, layout=layout), expected.to(dtype))
    assert_equal(rotate_heads(x, x[:, :2], far, far)[1], rotate(x[:, :2], far))  # narrower, with angles of its own
    assert_close(rotate(x.double(), far, layout=layout), turned_by_complex_numbers(x.double(), far, 10000.0, layout))


# A bias that grows with the distance


@given(heads=st.integers(1, 70))
def test_slopes_of_any_number_of_heads_are_those_of_the_authors_code(heads):
    """As they published it: a geometric sequence for powers of two, and two of them interleaved for others."""

    def slopes(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        if math.log2(n).is_integer():
            return [start * start**i for i in range(n)]
        closest = 2 ** math.floor(math.log2(n))
        return slopes(closest) + slopes(2 * closest)[0::2][: n - closest]

    assert_close(alibi_slopes(np.int64(heads), dtype=torch.float64), torch.tensor(slopes(heads), dtype=torch.float64))


@given(H=st.integers(1, 9), L=st.integers(0, 6), S=st.integers(0, 6), offset=st.integers(-3, 9))
def test_the_bias_is_slope_times_distance(H, L, S, offset):
    slopes = alibi_slopes(H).tolist()
    expected = torch.zeros(H, L, S)
    for h, i, j in itertools.product(range(H), range(L), range(S)):
        expected[h, i, j] = -slopes[h] * abs(i + offset - j)
    assert_close(alibi_bias(H, L, S, offset=offset), expected)
    assert_close(alibi_bias(H, L).double(), alibi_bias(H, L, L, dtype=torch.float64))


@pytest.mark.parametrize("groups", [4, 2], ids=["of itself, at places", "of another, with shared keys"])
def test_rotary_in_the_layer_turns_queries_and_keys_of_each_head_and_not_values(groups):
    keys, other = torch.randn(2, 5, 16).double(), torch.randn(2, 2, 16).double()
    asking, places = (keys, torch.randint(0, 99, (2, 5))) if groups == 4 else (other, [None, None])
    options = {"base": 100.0, "layout": "interleaved"}
    turn, process = (functools.partial(function, **options) for function in (rotate, rotate_heads))
    layer = MultiHeadAttention(16, 4, num_key_value_heads=groups, process_heads=process).double()
    parts = zip((layer.q_proj, layer.k_proj, layer.v_proj), (asking, keys, keys), strict=True)
    q, k, v = (part(x).unflatten(-1, (-1, 4)).transpose(1, 2) for part, x in parts)  # (B, H or G, length, D)
    q, k = (torch.stack([turn(rows[b], places[b]) for b in range(2)]) for rows in (q, k))
    heads = [attention_weights(q[:, h], k[:, h * groups // 4]) @ v[:, h * groups // 4] for h in range(4)]
    expected = layer.out_proj(torch.cat(heads, dim=-1))
    options = {} if groups == 2 else {"query_positions": places, "key_positions": places}
    for need_weights in (False, True):
        assert_close(layer(asking, keys, keys, need_weights=need_weights, **options)[0], expected)


# Bad input

ones = torch.ones
WRONG_SINUSOIDS = [
    (TypeError, "length", {"length": 3.0}),
    (ValueError, "length", {"length": -1}),
    (ValueError, "dim", {"dim": 5}),
    (ValueError, "base", {"base": 0}),
    (TypeError, "dtype", {"dtype": torch.int64}),
]
WRONG_ROTATE = [
    (TypeError, "x", {"x": ones(5, 8).long()}),
    (ValueError, "x", {"x": ones(8)}),
    (ValueError, "x", {"x": ones(5, 7)}),
    (ValueError, "base", {"base": -1.0}),
    (ValueError, "layout", {"layout": "pairs"}),
    (TypeError, "positions", {"positions": 3}),
    (TypeError, "positions", {"positions": ones(5).bool()}),
    (ValueError, "positions", {"positions": ones(4)}),
    (ValueError, "positions", {"positions": ones(3, 5)}),
    (ValueError, "positions", {"positions": ones(3, 2, 5)}),
]
WRONG_BIAS = [
    (TypeError, "num_heads", {"num_heads": 2.0}),
    (ValueError, "num_heads", {"num_heads": 0}),
    (TypeError, "dtype", {"num_heads": 2, "dtype": torch.int64}),
    (ValueError, "length", {"length": -1}),
    (ValueError, "key_length", {"key_length": -2}),
    (TypeError, "offset", {"offset": 0.5}),
]


test_sinusoids_say_what_is_wrong = refusals(sinusoidal_positions, {"length": 3, "dim": 4}, WRONG_SINUSOIDS)
test_rotate_says_what_is_wrong = refusals(rotate, {"x": ones(2, 3, 5, 8)}, WRONG_ROTATE)
test_the_bias_says_what_is_wrong = refusals(alibi_bias, {"num_heads": 2, "length": 3}, WRONG_BIAS)
test_slopes_say_what_is_wrong = refusals(alibi_slopes, {}, WRONG_BIAS[:3])
