"""The layers against PyTorch's module, against a slow loop, and each against itself by another road."""

import contextlib
import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from attention import (
    AdditiveAttention,
    Block,
    DecoderBlock,
    MultiHeadAttention,
    attention_weights,
    causal_mask,
    padding_mask,
    rotate_heads,
)
from refusals import HERE, mistakes, refusals, refuses

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-6, torch.float16: 1e-2, torch.bfloat16: 5e-2}
DEVICES = ["meta", *(["cuda"] if torch.cuda.is_available() else [])]
SIZES = st.lists(st.sampled_from([1, 2, 3, 5, 7, 11]), min_size=5, max_size=5, unique=True)
SEEDS = st.integers(0, 2**32 - 1)

assert_equal = functools.partial(assert_close, rtol=0, atol=0)
both_paths = pytest.mark.parametrize("need_weights", [False, True])


def assert_near(actual, expected):
    tolerance = TOLERANCE[actual[0].dtype]  # of a tensor, or of a list of gradients
    assert_close(actual, expected, rtol=tolerance, atol=tolerance)


# Drawn problems: all dimensions differ, so that no two can be mistaken for each other.


class Problem(NamedTuple):
    theirs: nn.MultiheadAttention
    inputs: list[Tensor]
    attn_mask: Tensor | None
    is_causal: bool

    def full_mask(self):
        """Which query of which head may attend to which key, (B, H, L, S)."""
        query, key, _ = self.inputs
        visible = causal_mask(query.size(1), key.size(1)) if self.is_causal else torch.tensor(True)
        if self.attn_mask is not None:
            visible = visible & (self.attn_mask.unsqueeze(1) if self.attn_mask.dim() == 3 else self.attn_mask)
        return visible.expand(len(query), self.theirs.num_heads, query.size(1), key.size(1))


def torch_module(embed_dim, num_heads, **options):
    module = nn.MultiheadAttention(embed_dim, num_heads, **({"batch_first": True} | options))
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, std=0.1)  # not zeros, among which a lost bias is not missed
    return module


@st.composite
def problems(draw, dtype=torch.float64, blind_rows=False):
    B, H, D, L, S = draw(SIZES)
    torch.manual_seed(draw(SEEDS))
    theirs = torch_module(H * D, H, bias=draw(st.booleans()), dtype=dtype)
    inputs = [torch.randn(B, n, H * D, dtype=dtype, requires_grad=True) for n in (L, S, S)]
    shapes = (L, S), (B, 1, S), (B, L, S), (B, 1, 1, S), (B, 1, L, S), (B, H, 1, S), (B, H, L, S)
    shape = draw(st.none() | st.sampled_from(shapes))
    mask = None if shape is None else torch.rand(shape) < 0.5
    if mask is not None and not blind_rows:
        mask[..., 0] = True  # a key that every query sees, also under is_causal
    return Problem(theirs, inputs, mask, draw(st.booleans()))


def gradients(output, inputs, module, upstream=None):
    loss = (output if upstream is None else output * upstream).mean()
    return torch.autograd.grad(loss, [*inputs, *module.parameters()])


# Parity with torch.nn.MultiheadAttention


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@both_paths
@given(data=st.data())
def test_answers_weights_and_gradients_are_pytorch_s(dtype, need_weights, data):
    problem = data.draw(problems(dtype))
    theirs, inputs, attn_mask, is_causal = problem
    ours = MultiHeadAttention.from_torch(theirs)
    hidden = ~problem.full_mask().flatten(0, 1)  # their True is our False, their heads are in the batch
    expected, their_weights = theirs(*inputs, attn_mask=hidden, average_attn_weights=False)
    actual, weights = ours(*inputs, attn_mask, is_causal=is_causal, need_weights=need_weights)
    assert_near(actual, expected)
    assert (weights is not None) == need_weights
    if need_weights:
        assert_near(weights, their_weights)
    upstream = torch.randn_like(actual)
    found, wanted = gradients(actual, inputs, ours, upstream), gradients(expected, inputs, theirs, upstream)
    assert_near(found[:3], wanted[:3])
    named = dict(zip(ours.state_dict(), found[3:], strict=True))
    for name, gradient in zip(theirs.state_dict(), wanted[3:], strict=True):
        kind = name.rpartition("_" if name.startswith("in") else ".")[2]
        parts = ["q_proj", "k_proj", "v_proj"] if name.startswith("in") else ["out_proj"]
        assert_near(torch.cat([named[f"{part}.{kind}"] for part in parts]), gradient)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@both_paths
@given(data=st.data())
def test_a_bias_is_pytorch_s_mask_of_numbers(dtype, need_weights, data):
    """With its gradients, beside any mask and with is_causal: PyTorch's module has −∞ in the same numbers."""
    problem = data.draw(problems(dtype))
    theirs, inputs, attn_mask, is_causal = problem
    shown = problem.full_mask()
    sizes = [size if data.draw(st.booleans()) else 1 for size in shown.shape[data.draw(st.integers(0, 3)) :]]
    bias = torch.randn(sizes, dtype=dtype)
    if sizes[-1] > 1:
        bias[..., -1] = data.draw(st.sampled_from([0.5, -math.inf]))
    bias.requires_grad_()
    expected, their_weights = theirs(
        *inputs, attn_mask=torch.where(shown, bias, -math.inf).flatten(0, 1), average_attn_weights=False
    )
    ours = MultiHeadAttention.from_torch(theirs)
    actual, weights = ours(*inputs, attn_mask, is_causal=is_causal, need_weights=need_weights, attn_bias=bias)
    assert_near(actual, expected)
    if need_weights:
        assert_near(weights, their_weights)
    upstream = torch.randn_like(actual)
    found, wanted = (
        gradients(output, [*inputs, bias], m, upstream) for output, m in ((actual, ours), (expected, theirs))
    )
    assert_near(found[:4], wanted[:4])


@both_paths
@pytest.mark.parametrize("is_causal", [False, True])
def test_where_bias_and_mask_hide_everything_the_answer_is_the_bias_of_out_proj(need_weights, is_causal):
    ours = MultiHeadAttention.from_torch(torch_module(15, 3, dtype=torch.float64))
    tokens = torch.randn(2, 3, 15, dtype=torch.float64)
    mask = torch.tensor([[True, True, True], [False, True, True], [True, True, True]])
    bias = torch.zeros(3, 3, 3, dtype=torch.float64)
    bias[:, 1, 1:] = -math.inf
    bias.requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        output, _ = ours(tokens, tokens, tokens, mask, is_causal=is_causal, need_weights=need_weights, attn_bias=bias)
        (gradient,) = torch.autograd.grad(output.square().sum(), bias)
    assert_equal(output[:, 1], ours.out_proj.bias.expand(2, -1))
    assert_equal(gradient[:, 1], torch.zeros(3, 3, dtype=torch.float64))
    assert gradient[:, 2].all()


@given(problem=problems(blind_rows=True))
def test_with_weights_or_without_all_is_the_same(problem):
    """Also where a query sees nothing: no weights, the bias of out_proj, and gradients that are numbers."""
    theirs, inputs, attn_mask, is_causal = problem
    ours = MultiHeadAttention.from_torch(theirs)
    with torch.autograd.set_detect_anomaly(True):
        fused, _ = ours(*inputs, attn_mask, is_causal=is_causal)
        plain, weights = ours(*inputs, attn_mask, is_causal=is_causal, need_weights=True)
        upstream = torch.randn_like(fused)
        assert_near(fused, plain)
        assert_near(*(gradients(output, inputs, ours, upstream) for output in (fused, plain)))
    visible = problem.full_mask()
    assert_equal(weights[~visible], torch.zeros_like(weights[~visible]))
    assert_near(weights.sum(-1), visible.any(-1).double())
    blind = fused[~visible.any(-1).any(1)]
    bias = torch.zeros_like(blind) if ours.out_proj.bias is None else ours.out_proj.bias.expand_as(blind)
    assert_equal(blind, bias)


@given(problem=problems(blind_rows=True))
def test_the_kernel_is_only_asked_for_queries_that_see_something(problem):
    """For others it answers zeros or NaN: that depends on PyTorch's version and on the device."""
    asked, fused = [], functional.scaled_dot_product_attention

    def kernel(query, key, value, attn_mask, *options):
        asked.append(True if attn_mask is None else bool(attn_mask.any(-1).all()))
        return fused(query, key, value, attn_mask, *options)

    theirs, inputs, attn_mask, is_causal = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functional, "scaled_dot_product_attention", kernel)
        MultiHeadAttention.from_torch(theirs)(*inputs, attn_mask, is_causal=is_causal)
    assert asked == [True]


# Loading PyTorch's weights


class Subclass(MultiHeadAttention):
    """With parameters of its own."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True):
        super().__init__(embed_dim, num_heads, dropout, bias)
        self.after = nn.LayerNorm(embed_dim)

    def forward(self, query, key, value):
        return self.after(query + super().forward(query, key, value)[0])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_pytorch_s_module_is_copied(bias, batch_first, dtype):
    """With what is frozen and its mode; nothing is shared, and nothing drawn that is missed later."""
    theirs = torch_module(15, 3, dropout=0.25, bias=bias, batch_first=batch_first, dtype=dtype).train(batch_first)
    theirs.in_proj_weight.requires_grad_(bias)
    theirs.out_proj.weight.requires_grad_(batch_first)
    before = torch.default_generator.get_state()
    ours = MultiHeadAttention.from_torch(theirs)
    if HERE.type == "cpu":
        assert_equal(torch.default_generator.get_state(), before)
    assert (ours.num_heads, ours.dropout, ours.training) == (3, 0.25, batch_first)
    projections = {name: getattr(ours, f"{name}_proj").weight for name in ("q", "k", "v", "out")}
    trained = {name for name, weight in projections.items() if weight.requires_grad}
    assert trained == {*("qkv" if bias else ""), *(["out"] if batch_first else [])}
    inputs = [torch.randn(2, n, 15, dtype=dtype) for n in (5, 7, 7)]
    expected, _ = theirs.eval()(*(each if batch_first else each.transpose(0, 1) for each in inputs))
    expected = expected if batch_first else expected.transpose(0, 1)
    assert_near(ours.eval()(*inputs)[0], expected)
    for parameter in theirs.parameters():
        parameter.data.zero_()
    assert_near(ours(*inputs)[0], expected)


def test_a_subclass_is_copied_with_what_it_adds():
    theirs, tokens = torch_module(15, 3, dtype=torch.float64), torch.randn(2, 7, 15, dtype=torch.float64)
    expected = functional.layer_norm(tokens + theirs(tokens, tokens, tokens)[0], (15,))
    assert_near(Subclass.from_torch(theirs)(tokens, tokens, tokens), expected)


def test_a_module_without_numbers_is_copied():
    with FakeTensorMode():
        ours = MultiHeadAttention.from_torch(torch_module(15, 3))
        assert ours(*[torch.randn(2, 5, 15)] * 3)[0].shape == (2, 5, 15)


# What it starts from


@pytest.mark.parametrize("bias", [True, False])
def test_the_parameters_have_their_names(bias):
    kinds = ["weight", "bias"] if bias else ["weight"]
    names = [f"{name}_proj.{kind}" for name, kind in itertools.product(["q", "k", "v", "out"], kinds)]
    assert list(MultiHeadAttention(15, 3, bias=bias).state_dict()) == names
    assert list(AdditiveAttention(3, 5, 7).state_dict()) == ["W_q.weight", "W_k.weight", "w_v.weight"]


@pytest.mark.parametrize("bias", [True, False])
def test_the_parameters_start_as_pytorch_s_do(bias):
    ours = MultiHeadAttention(202, 2, bias=bias)
    start = MultiHeadAttention.from_torch(nn.MultiheadAttention(202, 2, bias=bias))
    for (name, actual), expected in zip(ours.named_parameters(), start.parameters(), strict=True):
        if name.endswith("bias"):
            assert_equal(actual, torch.zeros_like(actual))
        else:  # 40,804 uniform numbers reach within 0.1 % of their bound
            assert_close(actual.abs().max(), expected.abs().max(), rtol=2e-3, atol=0)
            assert_close(actual.std(), expected.std(), rtol=2e-2, atol=0)


# What a mask promises


@both_paths
@pytest.mark.parametrize("B", [2, 3], ids=["B≠H", "B=H"])
@pytest.mark.parametrize("shape", ["LS", "1S", "B1S", "BLS", "1LS", "B11S", "B1LS", "BH1S", "BHLS", "1HLS", "11LS"])
def test_every_shape_of_a_mask(shape, B, need_weights):
    ours = MultiHeadAttention(15, 3, head_dim=4).double()
    inputs = [torch.randn(B, n, 15, dtype=torch.float64) for n in (5, 7, 7)]
    mask = torch.rand([{"1": 1, "B": B, "H": 3, "L": 5, "S": 7}[letter] for letter in shape]) < 0.5
    rows = mask.unsqueeze(1) if len(shape) == 3 else mask
    query, key, value = (
        layer(tensor).view(B, -1, 3, 4).transpose(1, 2) for layer, tensor in zip(ours.children(), inputs, strict=False)
    )
    weights = (query @ key.mT / math.sqrt(4)).masked_fill(~rows, -math.inf).softmax(-1).nan_to_num()
    expected = ours.out_proj((weights @ value).transpose(1, 2).reshape(B, 5, 12))
    actual = ours(*inputs, mask, need_weights=need_weights)
    assert_near(actual[0], expected)
    if need_weights:
        assert_near(actual[1], weights)


@both_paths
def test_without_keys_the_output_is_the_bias(need_weights):
    ours = MultiHeadAttention.from_torch(torch_module(15, 3))
    query, key = torch.randn(2, 5, 15), torch.randn(2, 0, 15)
    for mask in (None, torch.ones(5, 0, dtype=torch.bool)):
        output, _ = ours(query, key, key, mask, need_weights=need_weights)
        assert_equal(output, ours.out_proj.bias.expand(2, 5, 15))
    for B, L in ((0, 5), (2, 0)):
        output, _ = ours(torch.randn(B, L, 15), torch.randn(B, 7, 15), torch.randn(B, 7, 15), need_weights=need_weights)
        assert output.shape == (B, L, 15)


# Memory


class LargestTensor(TorchDispatchMode):
    """The most elements in any tensor that is made inside, in the backward pass too."""

    elements = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        made = function(*arguments, **(options or {}))
        for tensor in made if isinstance(made, tuple | list) else [made]:
            if isinstance(tensor, Tensor):
                self.elements = max(self.elements, tensor.untyped_storage().nbytes() // tensor.itemsize)
        return made


@pytest.mark.skipif(HERE.type not in ("cpu", "cuda"), reason=f"PyTorch has no fused attention on {HERE}")
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": "B1S"}], ids=["plain", "causal", "padding"])
def test_without_weights_no_matrix_of_all_pairs_is_formed(options):
    L, ours = 2053, MultiHeadAttention(8, 2)  # heads 4 wide: the least that PyTorch's kernels take on a new GPU
    tokens = torch.randn(1, L, 8, requires_grad=True)
    options = options | ({"attn_mask": padding_mask(torch.tensor([L - 3]), L)} if "attn_mask" in options else {})
    for need_weights in (False, True):
        with LargestTensor() as largest:
            ours(tokens, tokens, tokens, **options, need_weights=need_weights)[0].sum().backward()
        assert (largest.elements >= L * L) == need_weights
        assert need_weights or largest.elements <= 8 * L * 8


# Dropout


@both_paths
@pytest.mark.parametrize("mask", [None, torch.tensor([[True]])], ids=["plain", "masked"])
def test_dropout_drops_weights_in_training_alone(need_weights, mask):
    """With one key its weight is 1: a head finds nothing or, as half is dropped, twice the value."""
    ours = MultiHeadAttention(15, 3, dropout=0.5)
    nn.init.eye_(ours.out_proj.weight)
    query, key = torch.randn(2, 101, 15), torch.randn(2, 1, 15)
    value = ours.v_proj(key).unflatten(-1, (3, 5))
    output, weights = ours(query, key, key, mask, need_weights=need_weights)
    heads = output.unflatten(-1, (3, 5))
    dropped = (heads == 0).all(-1)
    assert_close(heads, torch.where(dropped[..., None], 0, 2 * value.expand_as(heads)))
    assert 0.4 < dropped.float().mean() < 0.6
    if need_weights:
        assert_equal(weights, torch.ones(2, 3, 101, 1))  # from before dropout
    ours.dropout = 1.0  # all of them, which a kernel answers with NaN where it scales by 1 / 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functional, "scaled_dot_product_attention", None)
        assert not ours(query, key, key, mask, need_weights=need_weights)[0].any()
    heads = ours.eval()(query, key, key, mask, need_weights=need_weights)[0].unflatten(-1, (3, 5))
    assert_close(heads, value.expand_as(heads))


# Additive attention


@st.composite
def additive_problems(draw):
    L, S, Dq, Dk, Dv, hidden, *leading = draw(
        st.lists(st.sampled_from([1, 2, 3, 5, 7, 11, 13, 17]), min_size=6, max_size=8, unique=True)
    )
    torch.manual_seed(draw(SEEDS))
    shared = leading[draw(st.integers(0, len(leading))) :]  # keys may lack some of the query's dimensions
    shapes = (*leading, L, Dq), (*shared, S, Dk), (*shared, S, Dv)
    shape = draw(st.sampled_from([(*leading, L, S), (L, S), (S,)]))
    mask = torch.rand([n if draw(st.booleans()) else 1 for n in shape]) < 0.5
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    return AdditiveAttention(Dq, Dk, hidden).double(), *inputs, draw(st.none() | st.just(mask))


def slow_additive(module, query, key, value, attn_mask):
    """The formula, for one query at a time."""
    W_q, W_k, (w_v,) = module.parameters()
    shape = *query.shape[:-1], key.size(-2)
    key, value = (tensor.expand(*shape[:-2], *tensor.shape[-2:]) for tensor in (key, value))
    mask = torch.ones(shape) if attn_mask is None else attn_mask.expand(shape)
    rows = []
    for index in itertools.product(*map(range, shape[:-1])):
        scores = torch.tanh(W_q @ query[index] + key[index[:-1]] @ W_k.T) @ w_v
        rows.append(scores.exp() * mask[index])
    weights = torch.stack(rows).view(shape)
    weights = weights / weights.sum(-1, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
    return weights @ value, weights


@given(problem=additive_problems())
def test_additive_attention_is_its_formula(problem):
    module, query, key, value, mask = problem
    expected = slow_additive(module, query, key, value, mask)
    wanted = gradients(expected[0].cos(), [query, key, value], module)
    found = module(query, key, value, mask)
    assert_near(found, expected)
    assert_near(gradients(found[0].cos(), [query, key, value], module), wanted)


def test_additive_dropout_drops_weights_in_training_alone():
    additive = AdditiveAttention(3, 5, 7, dropout=0.5)
    inputs = torch.randn(101, 3), torch.randn(1, 5), torch.ones(1, 1)
    output, weights = additive(*inputs)
    assert_equal(weights, torch.ones(101, 1))
    assert set(output.flatten().tolist()) == {0.0, 2.0}
    assert_equal(additive.eval()(*inputs)[0], weights)


# Numbers of every kind


@both_paths
def test_inputs_are_never_changed(need_weights):
    inputs = [*(torch.randn(2, n, 15) for n in (5, 7, 7)), torch.rand(2, 5, 7) < 0.3]
    copies = [tensor.clone() for tensor in inputs]
    MultiHeadAttention(15, 3)(*inputs, is_causal=True, need_weights=need_weights)
    AdditiveAttention(15, 15, 3)(*inputs)
    assert_equal(inputs, copies)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_answers_follow_the_parameters_dtype_and_device(dtype, device):
    query, key = (torch.ones(2, n, 15, dtype=dtype, device=device) for n in (5, 7))
    mask = causal_mask(5, 7, device=device)
    for layer in (MultiHeadAttention(15, 3, dropout=0.5), AdditiveAttention(15, 15, 3)):
        layer = layer.to(device, dtype)
        for options in ({}, {"is_causal": True, "need_weights": True} if hasattr(layer, "num_heads") else {}):
            for found in layer(query, key, key, mask, **options):
                assert found is None or (found.dtype, found.device.type) == (dtype, device)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("is_autocast", [False, True], ids=["half", "autocast"])
def test_half_precision_is_near_to_double(dtype, is_autocast):
    if is_autocast and not torch.amp.is_autocast_available(HERE.type):
        pytest.skip(f"PyTorch has no autocast on {HERE}")
    autocast = torch.autocast(HERE.type, dtype) if is_autocast else contextlib.nullcontext()
    inputs = [torch.randn(2, n, 15, dtype=dtype) for n in (5, 7, 7)]
    mask = torch.rand(2, 5, 7) < 0.5
    for module in (MultiHeadAttention(15, 3), AdditiveAttention(15, 15, 3)):
        expected = module.double()(*(tensor.double() for tensor in inputs), mask)[0]
        module.to(torch.float32 if is_autocast else dtype)
        with autocast:
            actual = module(*inputs, mask)[0]
        assert_near(actual, expected.to(dtype))
        if isinstance(module, MultiHeadAttention):
            with autocast:
                assert_near(module(*inputs, mask, need_weights=True)[0], expected.to(dtype))


@both_paths
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_a_bias_of_another_dtype_is_that_of_the_module_s(dtype, need_weights):
    module, tokens = MultiHeadAttention(6, 2).double(), torch.randn(1, 5, 6, dtype=torch.float64)
    bias = torch.randn(5, 5).to(dtype)
    bias[0, 2:], bias[1] = -math.inf, torch.finfo(dtype).min / 2
    found, expected = (
        module(tokens, tokens, tokens, need_weights=need_weights, attn_bias=each)[0] for each in (bias, bias.double())
    )
    assert_near(found, expected)


@pytest.mark.skipif(not torch.amp.is_autocast_available(HERE.type), reason=f"PyTorch has no autocast on {HERE}")
@both_paths
@pytest.mark.parametrize("of_bias", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_bias_too_low_for_autocast_s_dtype_hides_no_row(dtype, of_bias, need_weights):
    """One number added to all scores of a row changes no weight; where it takes all their digits, they are equal."""
    module, tokens = MultiHeadAttention(6, 2), torch.randn(1, 5, 6)
    bias = torch.zeros(5, 5, dtype=of_bias)
    bias[1], bias[2, 1:], bias[3, 1] = torch.finfo(of_bias).min, torch.finfo(of_bias).min, 1e5
    with torch.autocast(HERE.type, dtype):
        output, _ = module(tokens, tokens, tokens, need_weights=need_weights, attn_bias=bias)
        values = module.out_proj(module.v_proj(tokens))  # of a token that attends to one alone
        plain, _ = module(tokens, tokens, tokens)
    assert_close(output[0, 2:4], values[0, :2], atol=0.01, rtol=0.01)
    row, equal = output[0, 1], values[0].mean(dim=0)
    assert min((row - equal).abs().max(), (row - plain[0, 1]).abs().max()) < 0.01


@pytest.mark.skipif(not torch.amp.is_autocast_available(HERE.type), reason=f"PyTorch has no autocast on {HERE}")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [1, 400])
def test_large_inputs_under_autocast(dtype, size):
    """Against float64 from the projections on: these are autocast's, the scores are not."""
    theirs = torch_module(48, 3)
    ours = MultiHeadAttention.from_torch(theirs)
    tokens, mask = size * torch.randn(2, 7, 48), padding_mask(torch.tensor([4, 7]), 7)
    with torch.autocast(HERE.type, dtype):
        output, weights = ours(tokens, tokens, tokens, mask, need_weights=True)
        with sdpa_kernel([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION]):
            fused, _ = ours(tokens, tokens, tokens, mask)  # cuDNN's kernel fails at such scores
        expected, _ = theirs(tokens, tokens, tokens, key_padding_mask=~mask.squeeze(1), need_weights=False)
        query, key = (layer(tokens).unflatten(-1, (3, 16)).transpose(1, 2) for layer in (ours.q_proj, ours.k_proj))
    assert output.dtype == weights.dtype == fused.dtype == expected.dtype == dtype
    scores = query.double() @ key.double().mT / 4
    assert_near(weights, scores.masked_fill(~mask.unsqueeze(1), -math.inf).softmax(-1).to(dtype))
    assert_near(output / size, fused / size)
    assert_near(output / size, expected / size)


# Mapped over


@both_paths
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")  # of PyTorch's kernel
def test_the_layers_map_over_a_mask_alone(need_weights, is_causal):
    tokens, masks = torch.randn(2, 5, 15, dtype=torch.float64), torch.rand(4, 5, 5) < 0.5
    ours, additive = MultiHeadAttention(15, 3).double(), AdditiveAttention(15, 15, 3).double()
    mapped = torch.vmap(
        lambda mask: ours(tokens, tokens, tokens, mask, is_causal=is_causal, need_weights=need_weights)[0]
    )(masks)
    assert_near(mapped, torch.stack([ours(tokens, tokens, tokens, mask, is_causal=is_causal)[0] for mask in masks]))
    mapped = torch.vmap(lambda mask: additive(tokens, tokens, tokens, mask))(masks)
    for found, *expected in zip(mapped, *(additive(tokens, tokens, tokens, mask) for mask in masks), strict=True):
        assert_near(found, torch.stack(expected))


# Bad input: the error, whom its message names, and the argument that is wrong where all others are right

ones = torch.ones
INPUTS = {"query": ones(2, 5, 15), "key": ones(2, 7, 15), "value": ones(2, 7, 15)}
WRONG_INPUTS = [
    (TypeError, "query", {"query": [[1.0]]}),
    (TypeError, "key", {"key": ones(2, 7, 15).long()}),
    (TypeError, "value", {"value": ones(2, 7, 15).bool()}),
    (TypeError, "attn_mask", {"attn_mask": ones(5, 7)}),
    (TypeError, "attn_mask", {"attn_mask": [[True]]}),
    (ValueError, "query", {"query": ones(15)}),
    (ValueError, "query", {"query": ones(2, 5, 16)}),
    (ValueError, "key", {"key": ones(2, 7, 5)}),
    (ValueError, "value", {"value": ones(2, 6, 15)}),
    (ValueError, "key", {"key": ones(3, 7, 15), "value": ones(3, 7, 15)}),
]
WRONG_HEADS_INPUTS = [
    *[(TypeError, flag, {flag: wrong}) for flag in ("is_causal", "need_weights") for wrong in ("no", 0.1, 1, None)],
    (ValueError, "value", {"value": ones(2, 7, 3)}),
    (ValueError, "query", dict.fromkeys(("query", "key", "value"), ones(5, 15))),
    (ValueError, "key", {"key": ones(1, 2, 7, 15)}),
    (ValueError, "found query (1, 5, 15), key (2, 7, 15), value (2, 7, 15)", {"query": ones(1, 5, 15)}),
    (TypeError, "attn_bias", {"attn_bias": ones(5, 7).bool()}),
    (ValueError, "attn_bias", {"attn_bias": ones(2, 5, 7)}),
    (ValueError, "key_positions", {"key_positions": ones(5)}),
    (ValueError, "query_positions", {"query_positions": ones(3, 5)}),
    (TypeError, "query_positions", {"query_positions": [0, 1]}),
    *[
        (ValueError, "attn_mask", {"attn_mask": ones(shape).bool()})
        for shape in (
            *[(), (7,), (7, 5), (5, 1), (2, 7), (3, 5, 7), (6, 5, 7), (2, 5, 1), (2, 7, 7)],
            *[(3, 1, 5, 7), (2, 2, 5, 7), (2, 3, 7, 5), (2, 3, 4, 7), (1, 2, 3, 5, 7)],
        )
    ],
]
WRONG_ADDITIVE = [(ValueError, "attn_mask", {"attn_mask": ones(7, 5).bool()})]
WRONG_HEADS = [
    (TypeError, "embed_dim", {"embed_dim": 15.0}),
    (TypeError, "num_heads", {"num_heads": True}),
    (ValueError, "embed_dim", {"embed_dim": 0}),
    (ValueError, "num_heads", {"num_heads": 0}),
    (ValueError, "num_heads", {"num_heads": 4}),
    (ValueError, "head_dim", {"head_dim": 0}),
    (ValueError, "dropout", {"dropout": 1.5}),
    *[(TypeError, "dropout", {"dropout": wrong}) for wrong in (True, torch.ones(2))],
    *[(TypeError, "bias", {"bias": wrong}) for wrong in ("no", type("bool_", (), {})())],
    (TypeError, "process_heads", {"process_heads": True}),
    (TypeError, "attend", {"attend": "fused"}),
    (TypeError, "num_key_value_heads", {"num_key_value_heads": 1.0}),
    (ValueError, "num_key_value_heads", {"num_key_value_heads": 0}),
    (ValueError, "num_key_value_heads", {"num_key_value_heads": 2}),
]
WRONG_WIDTHS = [
    (TypeError, "query_dim", {"query_dim": 3.0}),
    *[(ValueError, name, {name: 0}) for name in ("query_dim", "key_dim", "hidden_dim")],
    (ValueError, "dropout", {"dropout": math.nan}),
]
WRONG_ORIGINALS = [
    (TypeError, "module", {"module": nn.Linear(15, 15)}),
    *[
        (ValueError, "module", {"module": torch_module(15, 3, **options)})
        for options in ({"kdim": 3}, {"vdim": 5}, {"add_bias_kv": True}, {"add_zero_attn": True})
    ],
]


@both_paths
@mistakes(WRONG_INPUTS, WRONG_HEADS_INPUTS)
def test_multi_head_attention_says_what_is_wrong(wrong, error, said, need_weights):
    layer = MultiHeadAttention(15, 3, process_heads=rotate_heads)
    refuses(layer, INPUTS | {"need_weights": need_weights} | wrong, error, said)


def test_positions_need_a_layer_that_turns():
    for name, count in (("query_positions", 5), ("key_positions", 7)):
        refuses(MultiHeadAttention(15, 3), INPUTS | {name: torch.arange(count)}, ValueError, name)


test_additive_attention_says_what_is_wrong = refusals(
    AdditiveAttention(15, 15, 3), INPUTS, WRONG_INPUTS, WRONG_ADDITIVE
)
test_making_multi_head_attention_says_what_is_wrong = refusals(
    MultiHeadAttention, {"embed_dim": 15, "num_heads": 3}, WRONG_HEADS
)
test_making_additive_attention_says_what_is_wrong = refusals(
    AdditiveAttention, {"query_dim": 3, "key_dim": 5, "hidden_dim": 7}, WRONG_WIDTHS
)
test_copying_says_what_can_not_be_copied = refusals(MultiHeadAttention.from_torch, {}, WRONG_ORIGINALS)


def test_what_comes_after_the_mask_is_named():
    """A dropout in the fifth place, where PyTorch's function has it, does not make anything causal."""
    x, layer = ones(2, 5, 15), MultiHeadAttention(15, 3)
    for call in (
        lambda: attention_weights(x, x, None, True),
        lambda: layer(x, x, x, None, 0.1),
        lambda: Block(15, 3)(x, None, True),
        lambda: DecoderBlock(15, 3)(x, x, None, None, True),
    ):
        with pytest.raises(TypeError, match="positional"):
            call()


@pytest.mark.parametrize(("layer", "inputs"), [(MultiHeadAttention, 3), (Block, 1), (DecoderBlock, 2)])
def test_nothing_is_hidden_and_no_weights_come_unless_asked_for(layer, inputs):
    layer, given = layer(15, 3).double(), [torch.randn(2, 5, 15).double()] * inputs
    output, weights = layer(*given)
    assert weights is None
    assert_near(output, layer(*given, is_causal=False)[0])


def test_numpy_s_flags_and_counts_are_flags_and_counts():
    x, layer = torch.randn(1, 3, 4), MultiHeadAttention(np.int64(4), np.int64(2), bias=np.True_)
    for need_weights in (np.False_, np.True_):
        found, _ = layer(x, x, x, is_causal=np.True_, need_weights=need_weights)
        assert_near(found, layer(x, x, x, is_causal=True)[0])


@both_paths
def test_three_dimensions_of_a_bias_that_may_be_texts_or_heads_are_refused(need_weights):
    layer, x, bias = MultiHeadAttention(15, 3).double(), torch.randn(3, 5, 15).double(), torch.randn(3, 5, 5).double()
    given = {"query": x, "key": x, "value": x, "need_weights": need_weights}
    for ask in (layer, torch.compile(layer, backend="eager")):
        refuses(ask, given | {"attn_bias": bias}, ValueError, "attn_bias.unsqueeze(1) or attn_bias.unsqueeze(0)")
    heads, _ = layer(x[:2], x[:2], x[:2], attn_bias=bias, need_weights=need_weights)
    assert_near(layer(**given, attn_bias=bias[None])[0][:2], heads)
    for row in range(3):
        alone, _ = layer(*[x[row : row + 1]] * 3, attn_bias=bias[row])
        assert_near(layer(**given, attn_bias=bias[:, None])[0][row : row + 1], alone)


@both_paths
def test_a_bias_of_infinity_takes_all_the_weight(need_weights):
    layer, x = MultiHeadAttention(6, 2).double(), torch.randn(1, 3, 6).double()
    bias = torch.zeros(3, 3).double()
    bias[0, 1] = bias[1, 1:] = math.inf
    output, _ = layer(x, x, x, attn_bias=bias, need_weights=need_weights)
    values = layer.v_proj(x)
    assert_near(output[0, :2], layer.out_proj(torch.stack([values[0, 1], values[0, 1:].mean(0)])))
