"""Each chapter's last cell of code holds what it taught: it runs in an empty notebook, and agrees with the package."""

import ast

import nbformat
import pytest
import torch
from tools.lecture import CHAPTERS, seen
from torch.testing import assert_close

import attention

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

# ------------------------------------------------------------------------------------------------ chapter 6

# ------------------------------------------------------------------------------------------------ chapter 7

# ------------------------------------------------------------------------------------------------ chapter 8

# ------------------------------------------------------------------------------------------------ chapter 9


@chapter(9)
def kernel_regression(names):
    query, key, value = torch.randn(5, 3), torch.randn(7, 3), torch.randn(7)
    expected = attention.nadaraya_watson(query, key, value, bandwidth=0.7)
    assert_close(names["kernel_regression"](query, key, value, 0.7), expected)
    expected = attention.nadaraya_watson(query, key, value, bandwidth=3**0.25)
    assert_close(names["by_dot_product"](query, key, value), expected)


# ------------------------------------------------------------------------------------------------ chapter 10


@chapter(10)
def look_back(names):
    mine = names["LookBack"](11, 6)
    theirs = attention.Decoder(11, 6, attention.AdditiveAttention(6, 6, 6))
    learned = {
        name.removeprefix("attention.").replace("_l0", ""): weight for name, weight in theirs.state_dict().items()
    }
    mine.load_state_dict(learned)
    token, state, states = torch.tensor([1, 4, 7]), torch.randn(3, 6), torch.randn(3, 5, 6)
    logits, hidden, weights = theirs.step(token, state[None], states)
    found = mine(token, state, states)
    assert_close(found[0], logits)
    assert_close(found[1], hidden[0])
    assert_close(found[2][..., 0], weights)


# ------------------------------------------------------------------------------------------------ chapter 11
