"""Each chapter's last cell of code holds what it taught: it runs in an empty notebook, and agrees with the package."""

import ast

import nbformat
import pytest
import torch
from tools.lecture import CHAPTERS, seen

from attention import causal_mask, masked_softmax, padding_mask, scaled_dot_product_attention

COMPARISONS = {}


def chapter(number: int):
    """Register what compares a chapter's names with the package, or with PyTorch."""

    def register(compare):
        COMPARISONS[number] = compare
        return compare

    return register


def whole(path) -> str:
    cells = seen(nbformat.read(path, as_version=4))
    (cell,) = (cell for cell in cells if "whole" in cell.metadata.get("tags", ()))
    return cell.source


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_whole_runs_by_itself_and_agrees(path):
    source = whole(path)
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert imported <= {"torch", "math"}
    names: dict = {"__name__": "__main__"}
    torch.manual_seed(0)
    exec(compile(source, path.name, "exec"), names)
    torch.manual_seed(1)
    COMPARISONS[int(path.name[:2])](names)


# ------------------------------------------------------------------------------------------------ chapter 1

# ------------------------------------------------------------------------------------------------ chapter 2

# ------------------------------------------------------------------------------------------------ chapter 3

# ------------------------------------------------------------------------------------------------ chapter 4

# ------------------------------------------------------------------------------------------------ chapter 5


@chapter(5)
def masking(names):
    lengths = torch.tensor([7, 4, 1])
    query, key, value = torch.randn(3, 7, 5), torch.randn(3, 7, 5), torch.randn(3, 7, 2)
    layer = names["CausalAttention"](longest=11)
    visible = causal_mask(7) & padding_mask(lengths, 7)
    expected = scaled_dot_product_attention(query, key, value, visible)
    valid = torch.arange(7) < lengths[:, None]
    torch.testing.assert_close(layer(query, key, value, valid), expected)
    assert not list(layer.parameters())
    assert not layer.state_dict()
    scores = torch.randn(3, 7, 7)
    torch.testing.assert_close(names["masked_softmax"](scores, visible), masked_softmax(scores, visible))


# ------------------------------------------------------------------------------------------------ chapter 6


@chapter(6)
def self_attention(names):
    layer = names["SelfAttention"](width=7, query_width=3, value_width=5)
    x = torch.randn(2, 11, 7)
    parts = [x @ linear.weight.T for linear in (layer.query, layer.key, layer.value)]
    torch.testing.assert_close(layer(x), scaled_dot_product_attention(*parts))
    mask = causal_mask(11)
    torch.testing.assert_close(layer(x, mask), scaled_dot_product_attention(*parts, mask))


# ------------------------------------------------------------------------------------------------ chapter 7

# ------------------------------------------------------------------------------------------------ chapter 8

# ------------------------------------------------------------------------------------------------ chapter 9

# ------------------------------------------------------------------------------------------------ chapter 10

# ------------------------------------------------------------------------------------------------ chapter 11
