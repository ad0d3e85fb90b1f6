"""Wrong arguments, and the one sentence that each of them hears."""

import re

import pytest
import torch


def mistakes(*tables):
    """A case for each (error, message, wrong arguments); a table may also be {error: {message: wrong arguments}}."""
    rows = []
    for table in tables:
        if isinstance(table, dict):
            table = [(error, *row) for error, messages in table.items() for row in messages.items()]
        rows += [pytest.param(wrong, error, message, id=message) for error, message, wrong in table]
    return pytest.mark.parametrize(("wrong", "error", "message"), rows)


HERE = torch.empty(0).device  # where tensors are made that nobody has placed


def refuses(function, arguments, error, message):
    message = message.replace("cpu", str(HERE))
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        function(**arguments)
