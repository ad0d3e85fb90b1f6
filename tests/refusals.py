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


def refuses(function, arguments, error, said):
    said = re.escape(said.replace("cpu", str(HERE)))
    with pytest.raises(error, match=rf"(?<!\w){said}(?!\w)"):  # an argument's whole name
        function(**arguments)
