"""The kinds of panels, a folder each; the example that each documents; and what bad input is told."""

import doctest
import re

import pytest

import attention.explorer
from attention.explorer.front import FOLDER

FOLDERS = sorted(folder for folder in (FOLDER / "panels").iterdir() if folder.is_dir() and folder.name != "__pycache__")


def example(kind):
    """The panel that the example in the docstring of a kind's function makes."""
    function = getattr(attention.explorer, kind)
    found = {**vars(attention.explorer)}
    for each in doctest.DocTestParser().get_examples(function.__doc__):
        exec(each.source, found)
        if "panel" in found:
            return found["panel"]
    pytest.fail(f"the docstring of {kind} has no example `>>> panel = {kind}(…)`")


def refused(make, said):
    """Raises an error whose type and words are these; … stands for any words."""
    with pytest.raises((TypeError, ValueError)) as found:
        make()
    words = "\n".join([f"{found.type.__name__}: {found.value}", *getattr(found.value, "__notes__", [])])
    assert re.fullmatch(re.escape(said).replace("…", ".*"), words, re.DOTALL), words
