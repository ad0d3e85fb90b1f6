"""Attention in blocks, in parts and by regrouped sums, against the plain functions and PyTorch's."""

import functools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_functional import DTYPES, assert_near, biased_problems, problems
from test_modules import LargestTensor
from torch.nn import functional
from torch.testing import assert_close

from attention import padding_mask, scaled_dot_product_attention
from attention.efficient import Partial, linear_attention, merge, part, streaming_attention
from refusals import HERE, refusals

BLOCKS = st.integers(1, 9)


# Keys in a stream


@pytest.mark.parametrize("dtype", DTYPES)
@given(problem=problems(empty_rows=True), block_size=BLOCKS)
def test_blocks_answer_as_the_whole_does_forward_and_backward(dtype, problem, block_size):
    tensors = problem.tensors(dtype)
    wide = [tensor.detach().to(torch.promote_types(dtype, torch.float32)).requires_grad_() for tensor in tensors]
    actual = streaming_attention(*tensors, **problem.options, block_size=block_size)
    expected = scaled_dot_product_attention(*wide, **problem.options)
    assert_near(actual, expected.to(dtype))
    upstream = torch.randn_like(actual)
    gradients = torch.autograd.grad(expected, wide, upstream.to(expected.dtype))
    assert_near(torch.autograd.grad(actual, tensors, upstream), tuple(gradient.to(dtype) for gradient in gradients))


@given(biased=biased_problems(), block_size=BLOCKS)
def test_blocks_of_a_bias(biased, block_size):
    problem, bias = biased
    tensors, bias = problem.tensors(torch.float64), bias.requires_grad_()
    actual = streaming_attention(*tensors, **problem.options, attn_bias=bias, block_size=block_size)
    expected = scaled_dot_product_attention(*tensors, **problem.options, attn_bias=bias)
    assert_near(actual, expected)
    if tensors[0].dim() > 2:
        keys = torch.rand(len(tensors[0]), tensors[1].size(-2)) < 0.5
        found, wanted = (f(*tensors, key_mask=keys) for f in (streaming_attention, scaled_dot_product_attention))
        assert_near(found, wanted)
    inputs, upstream = [*tensors, bias], torch.randn_like(actual)
    first = [torch.autograd.grad(each, inputs, upstream, create_graph=True) for each in (actual, expected)]
    assert_near(*first)
    assert_near(*(torch.autograd.grad([each.square().sum() for each in found], inputs) for found in first))


def test_heads_of_a_group_share_their_keys_as_pytorch_s_do():
    """PyTorch repeats each head of the keys; here it is an axis of one, which broadcasts."""
    query, key, value = torch.randn(2, 6, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 4)
    theirs = functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    groups = query.unflatten(1, (3, 2))  # (B, heads of the keys, queries a group, L, D)
    ours = streaming_attention(groups, key.unsqueeze(2), value.unsqueeze(2), block_size=3)
    assert_near(ours.flatten(1, 2), theirs)
    lone = query[0, 0], key, value[0, 0]
    assert_near(streaming_attention(*lone), scaled_dot_product_attention(*lone))


@pytest.mark.parametrize("is_causal", [False, True])
def test_nothing_larger_than_a_block_s_scores_is_made_either_way(is_causal):
    tensors = [torch.randn(300, 8, requires_grad=True) for _ in range(3)]
    with LargestTensor() as most:
        streaming_attention(*tensors, is_causal=is_causal, block_size=16).sum().backward()
    assert most.elements == 300 * 16
    with LargestTensor() as most:
        scaled_dot_product_attention(*tensors, is_causal=is_causal).sum().backward()
    assert most.elements == 300 * 300


def test_a_poisoned_key_does_not_come_through_a_mask_or_a_bias():
    query, key, value = torch.randn(3, 7, 4)
    shown = torch.arange(7) != 4
    for hiding in ({"attn_mask": shown}, {"attn_bias": torch.zeros(7).masked_fill(~shown, -math.inf)}):
        expected = scaled_dot_product_attention(query, key, value, **hiding)
        spoilt = key.masked_fill(~shown[:, None], math.nan)
        assert_close(streaming_attention(query, spoilt, value, **hiding, block_size=2), expected)


# Parts that are merged


def parts(scores, value, cuts):
    """What each part of the keys answers."""
    sizes = torch.diff(torch.tensor([0, *sorted(cuts), scores.size(-1)])).tolist()
    return [part(*block) for block in zip(scores.split(sizes, -1), value.split(sizes, -2), strict=True)]


@given(seed=st.integers(0, 1000), cuts=st.sets(st.integers(1, 8)), data=st.data())
def test_parts_merge_in_any_order_and_grouping(seed, cuts, data):
    torch.manual_seed(seed)
    scores, value = 5 * torch.randn(2, 3, 9, dtype=torch.float64), torch.randn(2, 9, 4, dtype=torch.float64)
    scores = scores.masked_fill(torch.rand(scores.shape) < 0.4, -math.inf)
    scores[0, 0] = -math.inf  # this query sees nothing, and every query may be blind to some part
    expected = (scores.exp() / scores.exp().sum(-1, keepdim=True)).nan_to_num() @ value
    left = data.draw(st.permutations(parts(scores, value, cuts)))
    while len(left) > 1:  # any two of them at a time
        one, other = (left.pop(data.draw(st.integers(0, len(left) - 1))) for _ in range(2))
        left.append(merge(one, other))
    assert_close(left[0].answer(), expected)


def test_parts_for_other_queries_do_not_merge():
    one = Partial(torch.zeros(2), torch.ones(2), torch.ones(2, 3))
    other = Partial(torch.zeros(1), torch.ones(1), torch.ones(1, 3))
    with pytest.raises(ValueError, match=r"same queries, found one \(2, 3\), other \(1, 3\)"):
        merge(one, other)


# Sums that are regrouped


def elu_kernel(query, key):
    """φ(q) · φ(k) for each pair, one by one."""
    return torch.tensor([[float((functional.elu(q) + 1) @ (functional.elu(k) + 1)) for k in key] for q in query])


@pytest.mark.parametrize("block_size", [1, 3, 100])
@pytest.mark.parametrize("is_causal", [False, True])
def test_a_regrouped_sum_is_the_kernel_s_average(is_causal, block_size):
    query, key, value = torch.randn(5, 3), torch.randn(5, 3), torch.randn(5, 2)
    weights = elu_kernel(query, key)
    weights = weights.tril() if is_causal else weights
    expected = weights / weights.sum(-1, keepdim=True) @ value
    batch = [each.expand(4, -1, -1) for each in (query, key, value)]
    found = linear_attention(*batch, is_causal=is_causal, block_size=block_size)
    assert_close(found, expected.expand(4, -1, -1))


@pytest.mark.parametrize("mapped", [(0, None, None), (None, 1, None), (0, 2, 0), (None, None, 0)])
def test_blocks_map_over_anything(mapped):
    inputs = [torch.randn(n, 3, dtype=torch.float64) for n in (5, 7, 7)]
    pairs = list(zip(inputs, mapped, strict=True))
    given = [each if dim is None else torch.stack([each, 2 * each, -each], dim) for each, dim in pairs]
    bias, mask = torch.randn(1, 7, dtype=torch.float64), torch.rand(3, 5, 7) < 0.7

    def square(found):
        return torch.einsum("ld,ld->", found, found)  # of two dimensions, no more

    found, wanted = (
        torch.vmap(
            torch.func.grad(lambda q, k, v, m, f=f: square(f(q, k, v, m, attn_bias=bias)), (0, 1, 2)), (*mapped, 0)
        )(*given, mask)
        for f in (functools.partial(streaming_attention, block_size=2), scaled_dot_product_attention)
    )
    assert_close(found, wanted)
    found, wanted = (torch.func.jacrev(f)(*inputs) for f in (streaming_attention, scaled_dot_product_attention))
    assert_close(found, wanted)


def test_what_is_no_number_in_padding_changes_nothing():
    query, key, value = torch.randn(3, 2, 5, 4, dtype=torch.float64)
    keys = torch.arange(5) < torch.tensor([[5], [3]])
    spoilt = [each.masked_fill(~keys.unsqueeze(-1), math.nan).requires_grad_() for each in (key, value)]
    found = linear_attention(query, *spoilt, key_mask=keys)
    assert_close(found, linear_attention(query, key, value, key_mask=keys))
    assert all(each.isfinite().all() for each in torch.autograd.grad(found.sum(), spoilt))


@pytest.mark.skipif(not torch.amp.is_autocast_available(HERE.type), reason=f"PyTorch has no autocast on {HERE}")
@pytest.mark.parametrize("function", [streaming_attention, linear_attention])
@pytest.mark.parametrize("is_autocast", [False, True])
def test_half_precision_is_computed_in_float32(function, is_autocast):
    """Products that bfloat16 rounds, and sums that float16 does not hold."""
    query, key, value = torch.randn(3, 9, 8)
    if is_autocast:
        with torch.autocast(HERE.type, torch.bfloat16):
            found = function(query, key, value)
        assert_close(found, function(query, key, value))
    else:
        query, key, value = (each.half() for each in (200 * query, 200 * key, value))
        expected = function(query.double(), key.double(), value.double())
        assert_close(function(query, key, value), expected.half(), rtol=2e-3, atol=2e-3)


def test_padding_leaves_no_trace_in_the_state():
    query, key, value = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 6)
    seen = padding_mask(torch.tensor([3, 0]), 5).squeeze(1)
    found = linear_attention(query, key, value, key_mask=seen)
    assert_close(found[0], linear_attention(query[0], key[0, :, :3], value[0, :, :3]))
    assert not found[1].any()


V = torch.zeros(5, 2)
QKV = {"query": torch.zeros(3, 4), "key": torch.zeros(5, 4), "value": V}
SHARED = [
    (TypeError, "query", {"query": torch.zeros(3, 4).int()}),
    (ValueError, "query and key", {"key": torch.zeros(5, 3)}),
    (ValueError, "value must have one row for each key", {"value": V[:4]}),
    (TypeError, "is_causal", {"is_causal": "no"}),
    (ValueError, "block_size must be at least 1, found 0", {"block_size": 0}),
    (TypeError, "block_size", {"block_size": 2.0}),
    (ValueError, "key_mask", {"key_mask": torch.ones(1, 5, dtype=torch.bool)}),
]
STREAMING = [
    (TypeError, "attn_mask must be a boolean", {"attn_mask": torch.ones(3, 5)}),
    (ValueError, "attn_bias of shape (4, 5)", {"attn_bias": torch.zeros(4, 5)}),
]
LINEAR = [(ValueError, "causal queries and keys must be as many", {"is_causal": True})]


test_streaming_refuses = refusals(streaming_attention, QKV, SHARED, STREAMING)
test_linear_refuses = refusals(linear_attention, QKV, SHARED, LINEAR)
