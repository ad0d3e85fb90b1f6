"""Masks against a slow specification: may query i attend to key j? Asked once for every cell."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right
from torch.testing import assert_close

from attention import (
    AdditiveAttention,
    DotProductAttention,
    LastState,
    MultiHeadAttention,
    NadarayaWatson,
    attention_weights,
    causal_mask,
    masked_softmax,
    nadaraya_watson,
    padding_mask,
    scaled_dot_product_attention,
    window_mask,
)

COUNT = st.integers(0, 8)


def grid(rows, columns, may_attend):
    cells = [may_attend(i, j) for i in range(rows) for j in range(columns)]
    return torch.tensor(cells, dtype=torch.bool).reshape(rows, columns)


@given(L=COUNT, S=COUNT)
def test_causal_mask_shows_the_keys_up_to_the_query_s_own(L, S):
    assert_close(causal_mask(L, S), grid(L, S, lambda i, j: j <= i))


@given(L=COUNT)
def test_causal_mask_is_square_when_no_key_length_is_given(L):
    assert_close(causal_mask(L), causal_mask(L, L))


@given(L=st.integers(1, 8), S=st.integers(1, 8))
def test_causal_mask_is_the_one_that_pytorch_s_is_causal_applies(L, S):
    weights = functional.scaled_dot_product_attention(
        torch.zeros(L, 1), torch.zeros(S, 1), torch.eye(S), is_causal=True
    )
    assert_close(causal_mask(L, S), weights > 0)


@given(L=COUNT, S=COUNT, offset=st.integers(-9, 9))
def test_an_offset_is_the_number_of_keys_before_the_first_query_s_own(L, S, offset):
    assert_close(causal_mask(L, S, offset=offset), grid(L, S, lambda i, j: j <= i + offset))


@given(L=st.integers(1, 8), more=st.integers(0, 8))
def test_at_the_bottom_right_causal_mask_is_pytorch_s_causal_lower_right(L, more):
    S = L + more
    query, key, value = torch.zeros(1, 1, L, 1), torch.zeros(1, 1, S, 1), torch.eye(S)[None, None]
    weights = functional.scaled_dot_product_attention(query, key, value, causal_lower_right(L, S))
    assert_close(causal_mask(L, S, offset=S - L), weights[0, 0] > 0)


@given(L=st.integers(1, 4), kept=st.integers(0, 4))
def test_new_queries_on_kept_keys_answer_as_the_last_rows_of_the_full_pass(L, kept):
    tokens, mask = torch.randn(2, kept + L, 6, dtype=torch.float64), causal_mask(L, kept + L, offset=kept)
    new = tokens[:, kept:]
    expected = scaled_dot_product_attention(tokens, tokens, tokens, is_causal=True)[:, kept:]
    assert_close(scaled_dot_product_attention(new, tokens, tokens, mask), expected)
    attend = MultiHeadAttention(6, 2).double()
    expected, _ = attend(tokens, tokens, tokens, is_causal=True)
    assert_close(attend(new, tokens, tokens, mask)[0], expected[:, kept:])


@given(data=st.data(), B=COUNT, S=COUNT, dtype=st.sampled_from([torch.int64, torch.int32, torch.uint8]))
def test_padding_mask_of_one_length_a_sequence(data, B, S, dtype):
    lengths = data.draw(st.lists(st.integers(0, S), min_size=B, max_size=B))
    expected = grid(B, S, lambda b, j: j < lengths[b]).unsqueeze(1)
    assert_close(padding_mask(torch.tensor(lengths, dtype=dtype), S), expected)


@given(data=st.data(), B=COUNT, L=COUNT, S=COUNT)
def test_padding_mask_of_one_length_a_query(data, B, L, S):
    lengths = data.draw(st.lists(st.integers(0, S), min_size=B * L, max_size=B * L))
    expected = grid(B * L, S, lambda row, j: j < lengths[row]).reshape(B, L, S)
    assert_close(padding_mask(torch.tensor(lengths, dtype=torch.int64).reshape(B, L), S), expected)


@given(L=COUNT, window=st.integers(1, 10))
def test_window_mask_shows_exactly_window_keys_and_fewer_only_at_the_start(L, window):
    mask = window_mask(L, window)
    assert_close(mask, grid(L, L, lambda i, j: 0 <= i - j < window))
    assert mask.sum(-1).tolist() == [min(i + 1, window) for i in range(L)]


@given(data=st.data(), B=st.integers(1, 4), L=st.integers(1, 8), window=st.integers(1, 8))
def test_masks_combine(data, B, L, window):
    lengths = data.draw(st.lists(st.integers(0, L), min_size=B, max_size=B))
    mask = (causal_mask(L) & padding_mask(torch.tensor(lengths), L)) | ~window_mask(L, window)
    for b in range(B):
        assert_close(mask[b], grid(L, L, lambda i, j, b=b: (j <= i and j < lengths[b]) or not 0 <= i - j < window))


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
    message = (
        f"{name} of shape {shape} must have all dimensions of the weights' shape {(B, H, L, S)}, or at most two: "
        f"pass {name}.unsqueeze(1) for one mask per batch row, {name}.unsqueeze(0) for one per head"
    )
    refuses(attend, [torch.ones(shape, dtype=torch.bool)], ValueError, message)


@each_masked
@pytest.mark.parametrize("shape", [(B, 1, 1, S), (1, H, L, S), (1, L, S), (1, 1, S), (L, S), (S,), ()])
def test_a_mask_that_says_it_means_what_it_says(name, attend, shape):
    mask = torch.rand(shape) < 0.5
    torch.manual_seed(1)  # additive attention draws its weights
    actual = attend(mask)
    torch.manual_seed(1)
    assert_close(actual, attend(mask.expand(B, H, L, S)))


def test_a_batch_s_padding_weighs_nothing_in_any_head():
    lengths = torch.tensor([2, 4])
    weights = attention_weights(QUERY, KEY, padding_mask(lengths, S).unsqueeze(1))
    for row, length in enumerate(lengths):
        assert not weights[row, ..., length:].any()
        assert_close(weights[row, ..., :length], attention_weights(QUERY[row], KEY[row, :, :length]))


def test_lengths_may_be_numpy_s_integers():
    three, two = np.int64(3), np.int32(2)
    assert_close(causal_mask(three, two), causal_mask(3, 2))
    assert_close(window_mask(three, two), window_mask(3, 2))
    assert_close(padding_mask(torch.tensor([2]), three), padding_mask(torch.tensor([2]), 3))


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda device: causal_mask(5, 7, device=device), (5, 7)),
        (lambda device: window_mask(5, 2, device=device), (5, 5)),
        (lambda device: padding_mask(torch.ones(3, dtype=torch.int64, device=device), 7), (3, 1, 7)),
        (lambda device: padding_mask(torch.ones(3, 5, dtype=torch.int64, device=device), 7), (3, 5, 7)),
    ],
    ids=["causal", "window", "padding-(B,)", "padding-(B,L)"],
)
def test_a_mask_lives_where_it_is_asked_to(make, shape, device):
    mask = make(device)
    assert (mask.shape, mask.dtype, mask.device.type) == (shape, torch.bool, device)


def refuses(function, arguments, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        function(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-1,), ValueError, "length must be at least 0, found -1"),
        ((3, -2), ValueError, "key_length must be at least 0, found -2"),
        ((3.0,), TypeError, "length must be an integer, found 3.0"),
        ((True,), TypeError, "length must be an integer, found True"),
        ((3, "4"), TypeError, "key_length must be an integer, found '4'"),
        ((3, False), TypeError, "key_length must be an integer, found False"),
        ((3, 3, 1.0), TypeError, "offset must be an integer, found 1.0"),
        ((3, 3, True), TypeError, "offset must be an integer, found True"),
    ],
)
def test_causal_mask_says_what_is_wrong(arguments, error, message):
    def shifted(length, key_length=None, offset=0):
        return causal_mask(length, key_length, offset=offset)

    refuses(shifted, arguments, error, message)


@pytest.mark.parametrize(
    ("lengths", "length", "error", "message"),
    [
        (torch.tensor([1.0]), 3, TypeError, "lengths must be a tensor of integers, found torch.float32"),
        (torch.tensor([True]), 3, TypeError, "lengths must be a tensor of integers, found torch.bool"),
        ([1, 2], 3, TypeError, "lengths must be a tensor of integers, found list"),
        (torch.tensor(1), 3, ValueError, "lengths must have shape (B,) or (B, L), found ()"),
        (torch.ones(1, 2, 5).int(), 3, ValueError, "lengths must have shape (B,) or (B, L), found (1, 2, 5)"),
        (torch.tensor([1, 4], device="cpu"), 3, ValueError, "lengths must lie between 0 and length=3, found 1 to 4"),
        (
            torch.tensor([[2], [-1]], device="cpu"),
            3,
            ValueError,
            "lengths must lie between 0 and length=3, found -1 to 2",
        ),
        (torch.tensor([1]), 3.0, TypeError, "length must be an integer, found 3.0"),
        (torch.tensor([1]), True, TypeError, "length must be an integer, found True"),
        (torch.tensor([1]), -1, ValueError, "length must be at least 0, found -1"),
    ],
)
def test_padding_mask_says_what_is_wrong(lengths, length, error, message):
    refuses(padding_mask, (lengths, length), error, message)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, 0), ValueError, "window must be at least 1, found 0"),
        ((3, 1.5), TypeError, "window must be an integer, found 1.5"),
        ((3, True), TypeError, "window must be an integer, found True"),
        ((-1, 2), ValueError, "length must be at least 0, found -1"),
        ((3.0, 2), TypeError, "length must be an integer, found 3.0"),
        ((True, 2), TypeError, "length must be an integer, found True"),
    ],
)
def test_window_mask_says_what_is_wrong(arguments, error, message):
    refuses(window_mask, arguments, error, message)
