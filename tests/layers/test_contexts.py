"""The decoder's other ways to look: against the functions they stand on, and against a loop over rows."""

import functools
import itertools

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from attention import DotProductAttention, LastState
from refusals import mistakes, refuses

assert_equal = functools.partial(assert_close, rtol=0, atol=0)


def inputs():
    return [torch.randn(2, length, width, dtype=torch.float64) for length, width in ((3, 5), (7, 5), (7, 11))]


def test_dot_product_attention_is_pytorch_s_function_with_its_weights():
    query, key, value = inputs()
    mask = torch.rand(2, 3, 7) < 0.5
    mask[..., 0] = True
    output, weights = DotProductAttention()(query, key, value, mask)
    assert_close(output, functional.scaled_dot_product_attention(query, key, value, mask))
    assert_equal(weights @ value, output)


def test_dropout_acts_in_training_alone_and_the_weights_are_from_before():
    query, key, value = inputs()
    attend = DotProductAttention(dropout=0.5)
    torch.manual_seed(1)
    output, weights = attend(query, key, value)
    torch.manual_seed(1)
    assert_equal(output, torch.dropout(weights, 0.5, True) @ value)
    output, in_use = attend.eval()(query, key, value)
    assert_equal(in_use, weights)
    assert_equal(output, weights @ value)


@pytest.mark.parametrize("shape", [None, (2, 3, 7), (2, 1, 7), (3, 7), (7,)])
def test_the_last_state_is_found_by_a_loop(shape):
    query, key, value = inputs()
    mask = None if shape is None else torch.rand(shape) < 0.3
    seen = torch.ones(2, 3, 7).bool() if mask is None else mask.expand(2, 3, 7)
    expected = torch.zeros(2, 3, 7, dtype=torch.float64)
    for b, i in itertools.product(range(2), range(3)):
        for j in seen[b, i].nonzero().flatten()[-1:]:
            expected[b, i, j] = 1
    output, weights = LastState()(query, key, value, mask)
    assert_equal(weights, expected)
    assert_equal(output, expected @ value)


ones = torch.ones
INPUTS = {"query": ones(2, 3, 5), "key": ones(2, 7, 5), "value": ones(2, 7, 11)}
WRONG = [
    (TypeError, "query", {"query": [[1.0]]}),
    (TypeError, "attn_mask", {"attn_mask": ones(3, 7)}),
    (ValueError, "key", {"key": ones(2, 7, 4)}),
    (ValueError, "value", {"value": ones(2, 6, 11)}),
    (ValueError, "attn_mask", {"attn_mask": ones(7, 3).bool()}),
]


@pytest.mark.parametrize("layer", [DotProductAttention, LastState])
@mistakes(WRONG)
def test_both_say_what_is_wrong(wrong, error, said, layer):
    refuses(layer(), INPUTS | wrong, error, said)
    refuses(DotProductAttention, {"dropout": 1.5}, ValueError, "dropout")
