"""Each chapter's last cell of code holds what it taught: it runs in an empty notebook, and agrees with the package."""

import ast

import nbformat
import pytest
import torch
from tools.lecture import CHAPTERS, seen

from attention import masked_softmax, scaled_dot_product_attention
from attention.efficient import merge, partial

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


@chapter(3)
def scaled(names):
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 4)
    expected = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(names["attention"](query, key, value), expected)


# ------------------------------------------------------------------------------------------------ chapter 4


@chapter(4)
def softmax(names):
    far = torch.randn(3, 5, 7) + 1000 * torch.randn(3, 5, 1)
    torch.testing.assert_close(names["softmax"](far), masked_softmax(far))
    scores = torch.randn(7)
    expected = torch.autograd.functional.jacobian(lambda s: s.softmax(0), scores)
    torch.testing.assert_close(names["jacobian"](scores), expected)


# ------------------------------------------------------------------------------------------------ chapter 5

# ------------------------------------------------------------------------------------------------ chapter 6

# ------------------------------------------------------------------------------------------------ chapter 7

# ------------------------------------------------------------------------------------------------ chapter 8

# ------------------------------------------------------------------------------------------------ chapter 9

# ------------------------------------------------------------------------------------------------ chapter 10

# ------------------------------------------------------------------------------------------------ chapter 11

# ------------------------------------------------------------------------------------------------ chapter 12


@chapter(12)
def merged(names):
    scores, value = torch.randn(3, 5, 11), torch.randn(3, 11, 4)
    parts = [names["part"](scores[..., keys], value[:, keys]) for keys in (slice(4), slice(4, 5), slice(5, None))]
    ours = [partial(scores[..., keys], value[:, keys]) for keys in (slice(4), slice(4, 5), slice(5, None))]
    largest, total, mixture = names["merge"](parts[2], names["merge"](parts[0], parts[1]))
    expected = merge(merge(ours[0], ours[1]), ours[2])
    torch.testing.assert_close(mixture / total, expected.answer())
    torch.testing.assert_close((largest + total.log()).squeeze(-1), expected.log_total())
    torch.testing.assert_close(mixture / total, masked_softmax(scores) @ value)
