"""The course in one file computes what the package and PyTorch compute, and trains by itself."""

import re
import runpy
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from test_transformer import VOCABULARY, checkpoint, gpt2_weights, ids  # noqa: F401  (a fixture)
from torch.nn import functional as F
from torch.testing import assert_close

import attention
from attention.checkpoints import read_gpt2
from refusals import refuses

FILE = Path(__file__).parents[2] / "book" / "one_file.py"
B, H, L, E = 4, 4, 7, 16  # as many texts as heads: a mask of the one is not taken for the other's
one = runpy.run_path(str(FILE))


def rows(*shape):
    return torch.randn(*shape, dtype=torch.float64)


MASKS = {
    "none": None,
    "a window": attention.window_mask(L, 3),
    "a first token that sees nothing": attention.causal_mask(L, offset=-1),
    "padding": attention.padding_mask(torch.tensor([L, 4, 0, 5]), L),
    "texts": torch.rand(B, L, L) < 0.6,
    "heads": torch.rand(B, H, L, L) < 0.6,
}
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


def test_it_is_short_and_needs_torch_alone_and_every_part_names_its_chapter():
    text = FILE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 220
    assert set(re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)) == {"torch"}
    parts = re.findall(r"^(?:def|class) .*\n.*", text, re.MULTILINE)
    assert [part for part in parts if "# ch. " not in part] == []


@each_mask
def test_functions(mask):
    query, key, value = rows(B, H, L, 4).requires_grad_(), rows(B, H, L, 4), rows(B, H, L, 6)
    mask = mask.unsqueeze(1) if mask is not None and mask.dim() == 3 else mask
    weights = attention.attention_weights(query, key, mask)
    assert_close(one["attention_weights"](query, key, mask), weights)
    assert_close(one["softmax"](100 * (query @ key.mT), mask), attention.masked_softmax(100 * (query @ key.mT), mask))
    wanted = torch.autograd.grad((weights @ value).sum(), query)
    causal = attention.scaled_dot_product_attention(query, key, value, mask, is_causal=True)
    for name in ("attention", "fused"):
        with torch.autograd.set_detect_anomaly(True):
            found = one[name](query, key, value, *([] if mask is None else [mask]))
            gradient = torch.autograd.grad(found.sum(), query)
        assert_close(found, weights @ value)
        assert_close(gradient, wanted)
        assert_close(one[name](query, key, value, mask, is_causal=True), causal)


def test_a_mask_of_texts_is_not_taken_for_one_of_heads():
    x = rows(B, H, L, 4)
    mask = MASKS["texts"]
    for name in ("attention", "fused"):
        refuses(one[name], {"query": x, "key": x, "value": x, "mask": mask}, ValueError, "unsqueeze")


def test_what_float16_can_not_hold():
    query, key = torch.full((1, 4), 300.0).half(), torch.tensor([[300.0] * 4, [299.75] * 4]).half()
    assert_close(one["attention_weights"](query, key), attention.attention_weights(query, key))
    assert_close(one["softmax"](torch.zeros(70_000).half()).sum().item(), 1.0, atol=1e-2, rtol=0)
    assert_close(one["softmax"](torch.tensor([[1.0, 2.0]]).half()).sum().item(), 1.0, atol=1e-3, rtol=0)


def test_masks_and_positions():
    lengths = torch.tensor([0, 3, L])
    for found, wanted in (
        (one["causal_mask"](L, device=lengths.device), attention.causal_mask(L)),
        (one["causal_mask"](3, 0, device=lengths.device), attention.causal_mask(3, 0)),
        (one["causal_mask"](2, L, L - 2, lengths.device), attention.causal_mask(2, L, offset=L - 2)),
        (one["window_mask"](2, 3, L, L - 2, lengths.device), attention.window_mask(2, 3, L, offset=L - 2)),
        (one["padding_mask"](lengths, L), attention.padding_mask(lengths, L)),
        (one["sinusoidal_positions"](L, 6, lengths.device), attention.sinusoidal_positions(L, 6)),
    ):
        assert_close(found, wanted)
    for x in (rows(B, H, L, 4), torch.randn(L, 6, dtype=torch.bfloat16)):
        assert_close(one["rotate"](x, 5), attention.rotate(x, torch.arange(5, 5 + L)))
    for name, wrong in (("rotate", {"x": rows(L, 3)}), ("sinusoidal_positions", {"length": L, "embed_dim": 5})):
        refuses(one[name], wrong, ValueError, "even")
    refuses(one["MultiHeadAttention"], {"embed_dim": 8, "num_heads": 0}, ValueError, "num_heads=0")


@each_mask
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("lookup", ["fused", "attention"])
def test_the_layer_is_the_package_s_with_a_cache_and_without(mask, is_causal, rotary, groups, lookup):
    turn = attention.rotate_heads if rotary else None
    theirs = attention.MultiHeadAttention(E, H, num_key_value_heads=groups, process_heads=turn).double()
    mine, x = one["MultiHeadAttention"](E, H, groups, rotary).double(), rows(B, L, E)
    mine.load_state_dict(theirs.state_dict())
    mine.lookup = one[lookup]
    expected, _ = theirs(x, x, x, mask, is_causal=is_causal)
    assert_close(mine(x, x, x, mask, is_causal), expected)
    if not is_causal:  # a cache is for tokens that are read in their order
        return
    cache, found = one["Cache"](L), []
    for start, stop in ((0, 3), (3, 4), (4, L)):
        part = mask if mask is None or mask.size(-2) == 1 else mask[..., start:stop, :]
        part = None if part is None else part[..., :stop]
        with torch.no_grad():
            found.append(mine(*[x[:, start:stop]] * 3, part, True, cache))
    assert_close(torch.cat(found, 1), expected.detach())
    with torch.no_grad(), pytest.raises(ValueError, match="max_length=7, found 8"):
        cache.update(*rows(2, B, mine.groups, 1, mine.head_dim))
    cache.length = 3
    with torch.no_grad(), pytest.raises(ValueError, match="4 texts"):  # another batch is not spread over this one
        cache.update(*rows(2, 1, mine.groups, 1, mine.head_dim))


def test_the_layer_is_pytorch_s():
    theirs = torch.nn.MultiheadAttention(E, H, batch_first=True)
    mine, x = one["MultiHeadAttention"](E, H), torch.randn(B, L, E)
    mine.load_state_dict(attention.MultiHeadAttention.from_torch(theirs).state_dict())
    keep = torch.arange(L) < torch.tensor([[L], [4], [2], [5]])
    expected, _ = theirs(x, x, x, key_padding_mask=~keep, attn_mask=~attention.causal_mask(L))
    assert_close(mine(x, x, x, one["padding_mask"](keep.sum(-1), L), is_causal=True), expected)


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_model_and_what_it_writes(rotary, dtype):
    options = {"positions": "rotary"} if rotary else {}
    theirs = attention.Transformer(11, 2 * E, H, 2, 20, embed_std=1.0, tied=False, **options).to(dtype)
    mine, tokens = one["Transformer"](11, 2 * E, H, 2, 20, rotary=rotary).to(dtype), ids(B, L)
    mine.load_state_dict(theirs.state_dict())
    keys = torch.arange(L) < torch.tensor([[L], [4], [2], [5]])
    loose = {"atol": 0.1, "rtol": 0.1} if dtype.itemsize == 2 else {}
    assert_close(mine(tokens), theirs(tokens), **loose)
    assert_close(mine(tokens, keys.unsqueeze(1)), theirs(tokens, key_mask=keys), **loose)
    if not loose:
        for temperature in (0.0, 1e-40, 2.0):
            options = {"length": 14, "temperature": temperature}
            assert_close(*(torch.manual_seed(1) and each.generate(tokens, **options) for each in (mine, theirs)))
    refuses(mine.generate, {"tokens": tokens, "length": 15}, ValueError, "max_length")
    refuses(mine, {"tokens": ids(1, 21)}, ValueError, "max_length")


def test_a_model_of_shared_heads_is_trained_like_any():
    model, tokens = one["Transformer"](11, E, H, 1, 20, groups=1), ids(B, L)
    F.cross_entropy(model(tokens[:, :-1]).mT, tokens[:, 1:]).backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.usefixtures("on_the_cpu")
def test_a_published_gpt2_fits(checkpoint):  # noqa: F811
    path = checkpoint(gpt2_weights())
    _, state = read_gpt2(path)
    mine = one["Transformer"](VOCABULARY, 12, 3, 2, 16, activation=partial(F.gelu, approximate="tanh"))
    mine.load_state_dict(state)
    tokens = ids(B, 9)
    assert_close(mine(tokens), attention.Transformer.from_gpt2(path)(tokens))


def test_run_as_a_script_it_learns_to_copy():
    said = subprocess.run([sys.executable, FILE], capture_output=True, text=True, check=True).stdout
    assert float(re.findall(r"right (\d\.\d+)", said)[-1]) > 0.95
    written = [int(number) for number in re.findall(r"\d+", re.search(r"\[\[([^]]*)", said)[1])]
    assert written == [3, 1, 4, 15, 9, 2, 6, 5] * 4
