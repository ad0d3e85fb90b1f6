"""Masks against a slow specification: may query i attend to key j? Asked once for every cell."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attention import (
    AdditiveAttention,
    DotProductAttention,
    LastState,
    NadarayaWatson,
    attention_weights,
    causal_mask,
    masked_softmax,
    nadaraya_watson,
    padding_mask,
    scaled_dot_product_attention,
    window_mask,
)
from refusals import refuses

COUNT = st.integers(0, 8)


def grid(rows, columns, may_attend):
    cells = [may_attend(i, j) for i in range(rows) for j in range(columns)]
    return torch.tensor(cells, dtype=torch.bool).reshape(rows, columns)


@given(L=COUNT, S=COUNT, offset=st.integers(-9, 9))
def test_an_offset_is_the_number_of_keys_before_the_first_query_s_own(L, S, offset):
    assert_close(causal_mask(L, S, offset=offset), grid(L, S, lambda i, j: j <= i + offset))
    assert_close(causal_mask(L), causal_mask(L, L, offset=0))


@given(L=COUNT, window=st.integers(1, 10), S=COUNT, offset=st.integers(-3, 9))
def test_a_window_shows_exactly_window_keys_and_fewer_only_at_the_ends(L, window, S, offset):
    mask = window_mask(L, window, S, offset=offset)
    assert_close(mask, grid(L, S, lambda i, j: 0 <= i + offset - j < window))
    assert_close(window_mask(L, window), window_mask(L, window, L, offset=0))


@given(data=st.data(), B=COUNT, L=COUNT, S=COUNT, dtype=st.sampled_from([torch.int64, torch.int32, torch.uint8]))
def test_padding_mask_of_one_length_a_query_or_a_sequence(data, B, L, S, dtype):
    lengths = data.draw(st.lists(st.integers(0, S), min_size=B * L, max_size=B * L))
    expected, lengths = grid(B * L, S, lambda row, j: j < lengths[row]), torch.tensor(lengths, dtype=dtype)
    assert_close(padding_mask(lengths.reshape(B, L), S), expected.reshape(B, L, S))
    assert_close(padding_mask(lengths, S), expected.unsqueeze(1))


# A mask of a batch must not meet the heads

B, H, L, S, D = 2, 2, 3, 5, 4
QUERY, KEY, VALUE = torch.randn(B, H, L, D), torch.randn(B, H, S, D), torch.randn(B, H, S, D)
MASKED = {
    "masked_softmax": ("mask", lambda mask: masked_softmax(QUERY @ KEY.mT, mask)),
    "attention_weights": ("attn_mask", lambda mask: attention_weights(QUERY, KEY, mask)),
    "scaled_dot_product_attention": ("attn_mask", lambda mask: scaled_dot_product_attention(QUERY, KEY, VALUE, mask)),
    "nadaraya_watson": ("attn_mask", lambda mask: nadaraya_watson(QUERY, KEY, VALUE, attn_mask=mask)),
    "NadarayaWatson": ("attn_mask", lambda mask: NadarayaWatson(KEY, VALUE)(QUERY, mask)),
    "AdditiveAttention": ("attn_mask", lambda mask: AdditiveAttention(D, D, D).eval()(QUERY, KEY, VALUE, mask)[0]),
    "DotProductAttention": ("attn_mask", lambda mask: DotProductAttention()(QUERY, KEY, VALUE, mask)[0]),
    "LastState": ("attn_mask", lambda mask: LastState()(QUERY, KEY, VALUE, mask)[0]),
}
each_masked = pytest.mark.parametrize(("name", "attend"), MASKED.values(), ids=MASKED)


@each_masked
@pytest.mark.parametrize("shape", [(B, 1, S), (H, L, S), (B, L, S), (3, 1, S), (0, 1, S), (H, 1, 1)])
def test_a_mask_says_which_leading_dimension_it_has(name, attend, shape):
    refuses(attend, {"mask": torch.ones(shape, dtype=torch.bool)}, ValueError, f"{name} of shape {shape}")
    refuses(attend, {"mask": torch.ones(shape, dtype=torch.bool)}, ValueError, f"pass {name}.unsqueeze(1)")


@each_masked
@pytest.mark.parametrize("shape", [(B, 1, 1, S), (1, H, L, S), (1, L, S), (1, 1, S), (L, S), (S,), ()])
def test_a_mask_that_says_it_means_what_it_says(name, attend, shape):
    mask = torch.rand(shape) < 0.5
    torch.manual_seed(1)  # additive attention draws its weights
    actual = attend(mask)
    torch.manual_seed(1)
    assert_close(actual, attend(mask.expand(B, H, L, S)))


WRONG = [
    (causal_mask, ValueError, "length", {"length": -1}),
    (causal_mask, ValueError, "key_length", {"length": 3, "key_length": -2}),
    (causal_mask, TypeError, "length", {"length": 3.0}),
    (causal_mask, TypeError, "key_length", {"length": 3, "key_length": False}),
    (causal_mask, TypeError, "offset", {"length": 3, "offset": True}),
    (padding_mask, TypeError, "lengths must be a tensor of integers", {"lengths": torch.tensor([1.0]), "length": 3}),
    (padding_mask, TypeError, "lengths", {"lengths": torch.tensor([True]), "length": 3}),
    (padding_mask, TypeError, "lengths", {"lengths": [1, 2], "length": 3}),
    (padding_mask, ValueError, "lengths", {"lengths": torch.tensor(1), "length": 3}),
    (padding_mask, ValueError, "lengths", {"lengths": torch.ones(1, 2, 5).int(), "length": 3}),
    (padding_mask, ValueError, "found 1 to 4", {"lengths": torch.tensor([1, 4], device="cpu"), "length": 3}),
    (padding_mask, ValueError, "found -1 to 2", {"lengths": torch.tensor([[2], [-1]], device="cpu"), "length": 3}),
    (padding_mask, TypeError, "length", {"lengths": torch.tensor([1]), "length": 3.0}),
    (padding_mask, ValueError, "length", {"lengths": torch.tensor([1]), "length": -1}),
    (window_mask, ValueError, "window", {"length": 3, "window": 0}),
    (window_mask, TypeError, "window", {"length": 3, "window": 1.5}),
]


@pytest.mark.parametrize(("make", "error", "said", "wrong"), WRONG)
def test_a_mask_s_maker_says_what_is_wrong(make, error, said, wrong):
    refuses(make, wrong, error, said)
