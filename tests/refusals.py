"""Wrong arguments: which error each of them meets, and that its message names the argument."""

import re

import pytest
import torch


def mistakes(*tables):
    """A case for each (error, what its message says, wrong arguments): the argument's name, or a sentence."""
    rows = [
        pytest.param(wrong, error, said, id=f"{said}-{n}")
        for table in tables
        for n, (error, said, wrong) in enumerate(table)
    ]
    return pytest.mark.parametrize(("wrong", "error", "said"), rows)


HERE = torch.empty(0).device  # where tensors are made that nobody has placed


def refusals(function, right, *tables):
    """A test that each wrong argument is refused where all others are right."""

    @mistakes(*tables)
    def test(wrong, error, said):
        refuses(function, right | wrong, error, said)

    return test


def refuses(function, arguments, error, said):
    said = re.escape(said.replace("cpu", str(HERE)))
    with pytest.raises(error, match=rf"(?<!\w){said}(?!\w)"):  # an argument's whole name
        function(**arguments)
