"""Each chapter's last cell of code holds what it taught: it runs in an empty notebook, and agrees with the package."""

import ast

import nbformat
import pytest
import torch
from tools.lecture import CHAPTERS, seen

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

# ------------------------------------------------------------------------------------------------ chapter 10

# ------------------------------------------------------------------------------------------------ chapter 11
