"""The cells of each chapter that hold what it taught run in an empty notebook, and agree with the package."""

import itertools
import re

import nbformat
import pytest
import torch
from torch import nn
from torch.testing import assert_close

import attention
from attention import (
    AdditiveAttention,
    Block,
    MultiHeadAttention,
    attention_weights,
    masked_softmax,
    nadaraya_watson,
    padding_mask,
    rotate,
    scaled_dot_product_attention,
    sinusoidal_positions,
)
from attention.course.reaction import shares
from attention.efficient import merge, part
from tools.notebooks.execute import CHAPTERS


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_whole_runs_by_itself_and_agrees(path):
    cells = nbformat.read(path, as_version=4).cells
    source = "\n\n".join(cell.source for cell in cells if "whole" in cell.metadata.get("tags", ()))
    assert source, f"{path.stem} has no cell tagged whole"
    assert set(re.findall(r"^ *(?:import|from) (\w+)", source, re.MULTILINE)) <= {"torch", "math"}
    names: dict = {"__name__": "__main__"}
    torch.manual_seed(0)
    exec(compile(source, path.name, "exec"), names)
    torch.manual_seed(1)
    check = f"chapter_{int(path.name[:2])}"
    assert check in globals(), f"write {check}(names) here: what {path.stem} builds is what the package computes"
    globals()[check](names)


def chapter_1(names):
    query, key, value = torch.randn(7, 5), torch.randn(11, 5), torch.randn(11, 3)
    expected = scaled_dot_product_attention(query, key, value, scale=1.0)
    assert_close(names["attention"](query, key, value), expected)


def chapter_2(names):
    Q, K = torch.randn(2, 7, 5), torch.randn(2, 11, 5)
    weights = names["dot_product"](Q, K).softmax(-1)
    assert_close(weights, attention_weights(Q, K, scale=1.0))
    assert_close(names["cosine"](Q, K), torch.cosine_similarity(Q[:, :, None], K[:, None], dim=-1))
    assert_close(names["distance"](Q, K), -0.5 * (Q[:, :, None] - K[:, None]).square().sum(-1))


def chapter_3(names):
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 4)
    expected = scaled_dot_product_attention(query, key, value)
    assert_close(names["attention"](query, key, value), expected)


def chapter_4(names):
    far = torch.randn(3, 5, 7) + 1000 * torch.randn(3, 5, 1)
    assert_close(names["softmax"](far), masked_softmax(far))
    scores = torch.randn(7)
    expected = torch.autograd.functional.jacobian(lambda s: s.softmax(0), scores)
    assert_close(names["jacobian"](scores), expected)


def chapter_5(names):
    query, key, value = torch.randn(3, 7, 5), torch.randn(3, 7, 5), torch.randn(3, 7, 2)
    expected = scaled_dot_product_attention(query, key, value, is_causal=True)
    assert_close(names["causal_attention"](query, key, value), expected)


def chapter_6(names):
    layer = names["SelfAttention"](width=7, query_width=3, value_width=5)
    x = torch.randn(2, 11, 7)
    parts = [x @ linear.weight.T for linear in (layer.query, layer.key, layer.value)]
    assert_close(layer(x), scaled_dot_product_attention(*parts))


def chapter_7(names):
    layer, package = names["MultiHead"](12, 3), MultiHeadAttention(12, 3)
    package.load_state_dict(layer.state_dict())
    query, source, mask = torch.randn(2, 5, 12), torch.randn(2, 7, 12), torch.rand(2, 1, 5, 7) < 0.5
    mask[..., 0] = True  # a key for each query
    for own in (None, mask):
        assert_close(layer(query, source, source, own), package(query, source, source, own)[0])
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    nn.init.normal_(theirs.in_proj_bias)
    layer.load_state_dict(MultiHeadAttention.from_torch(theirs).state_dict())
    assert_close(layer(query, source, source), theirs(query, source, source)[0])


def chapter_8(names):
    x = torch.randn(2, 3, 7, 10)
    interleaved = names["sinusoidal_positions"](7, 10).unflatten(1, (2, 5)).mT.flatten(1)
    assert_close(interleaved, sinusoidal_positions(7, 10))
    assert_close(names["rotate"](x), rotate(x))
    far = x.bfloat16()  # which cannot tell these positions apart
    assert_close(names["rotate"](far, start=300), rotate(far, torch.arange(300, 307)))


def chapter_9(names):
    query, key, value = torch.randn(5, 3), torch.randn(7, 3), torch.randn(7)
    expected = nadaraya_watson(query, key, value, bandwidth=0.7)
    assert_close(names["kernel_regression"](query, key, value, 0.7), expected)


def chapter_10(names):
    layer, query, states = AdditiveAttention(6, 6, 4), torch.randn(3, 1, 6), torch.randn(3, 5, 6)
    learned = layer.W_q.weight, layer.W_k.weight, layer.w_v.weight[0]
    assert_close(names["look_back"](query, states, *learned), layer(query, states, states))


def test_chapter_10_writes_out_the_additive_attention_of_the_package():
    (path,) = (path for path in CHAPTERS if path.stem.startswith("10-"))
    (cell,) = (c for c in nbformat.read(path, as_version=4).cells if c.source.startswith("class AdditiveAttention"))
    names = {"nn": nn, "attention": attention}
    exec(compile(cell.source, path.name, "exec"), names)
    torch.manual_seed(0)
    mine = names["AdditiveAttention"](6, 4)
    torch.manual_seed(0)
    theirs = AdditiveAttention(6, 6, 4)  # the same random numbers, in the same order
    assert list(mine.state_dict()) == list(theirs.state_dict())
    state, states, mask = torch.randn(3, 1, 6), torch.randn(3, 5, 6), padding_mask(torch.tensor([5, 2, 1]), 5)
    assert_close(mine(state, states, states, mask), theirs(state, states, states, mask))


def chapter_11(names):
    ours, later = names["block"], names["later"]
    nn.init.normal_(ours.self_attn.in_proj_bias)
    block = Block(16, 4)
    block.self_attention = MultiHeadAttention.from_torch(ours.self_attn)
    block.before_self_attention, block.before_feed_forward = ours.norm1, ours.norm2
    block.feed_forward.up, block.feed_forward.down = ours.linear1, ours.linear2
    for L in (12, 5):
        x = torch.randn(3, L, 16)
        assert_close(ours(x, src_mask=later[:L, :L]), block(x, is_causal=True)[0])


def chapter_12(names):
    loop = torch.randperm(7).tolist() * 2
    for length in range(8, 14):
        text = " ".join(map(str, loop[:length]))
        assert names["go_on"](text) == str(loop[length])  # what followed it in the first round


def chapter_13(names):
    x, *matrices = torch.randn(7, 8), *torch.randn(3, 8, 4)
    keys, values, found = torch.empty(0, 4), torch.empty(0, 4), []
    for token in x.split(1):
        answer, keys, values = names["step"](token, *matrices, keys, values)
        found.append(answer)
    assert_close(torch.cat(found), scaled_dot_product_attention(*(x @ w for w in matrices), is_causal=True))


def chapter_14(names):
    scores, value = torch.randn(3, 5, 11), torch.randn(3, 11, 4)
    parts = [names["part"](scores[..., keys], value[:, keys]) for keys in (slice(4), slice(4, 5), slice(5, None))]
    ours = [part(scores[..., keys], value[:, keys]) for keys in (slice(4), slice(4, 5), slice(5, None))]
    largest, total, mixture = names["merge"](parts[2], names["merge"](parts[0], parts[1]))
    expected = merge(merge(ours[0], ours[1]), ours[2])
    assert_close(mixture / total, expected.answer())
    assert_close((largest + total.log()).squeeze(-1), expected.log_total())
    assert_close(mixture / total, masked_softmax(scores) @ value)


def chapter_15(names):
    weights, before, after = torch.rand(2, 3, 11, 11), [1, 2, 4, 7], [8, 9, 10]
    table = shares(weights, before, after)
    assert_close(names["atom_shares"](weights, before, after), table)
    elements, wanted = torch.tensor([0, 1, 0, 0]), [0, 1, 0]
    keeps, follows = names["rules"](table.argmax(dim=-1), elements, torch.tensor(wanted))
    for place in itertools.product(range(2), range(3)):
        best = [max(range(4), key=row.__getitem__) for row in table[place].tolist()]
        same = [elements[j].item() == wanted[i] for i, j in enumerate(best)]
        assert keeps[place].tolist() == same
        assert follows[place].tolist() == [same[i] and best.count(j) == 1 for i, j in enumerate(best)]
