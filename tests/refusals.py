"""Wrong arguments, and the one sentence that each of them hears."""

import re

import pytest
import torch


def mistakes(*tables):
    rows = [
        pytest.param(wrong, error, message, id=message)
        for table in tables
        for error, messages in table.items()
        for message, wrong in messages.items()
    ]
    return pytest.mark.parametrize(("wrong", "error", "message"), rows)


HERE = torch.empty(0).device  # where tensors are made that nobody has placed


def refuses(function, arguments, error, message):
    message = message.replace("cpu", str(HERE))
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        function(**arguments)
