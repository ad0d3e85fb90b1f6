"""The package's page is made from its source text, and says what Python itself says of the package."""

import ast
import importlib
import inspect
import re

import pytest

import attention
from tools.site import api_page

ALL = [name for name in attention.__all__ if callable(getattr(attention, name))]


def in_source(thing):
    return api_page.package()[f"{thing.__module__}.{thing.__qualname__}".removeprefix("attention.")]


def parameters(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]


def shown_parameters(item):
    signature = ast.parse(f"def {api_page.signed(item)}: pass").body[0].args
    kinds = [*signature.posonlyargs, *signature.args, signature.vararg, *signature.kwonlyargs, signature.kwarg]
    return [argument.arg for argument in kinds if argument]


@pytest.mark.parametrize("name", ALL)
def test_parameters_are_the_ones_that_python_has(name):
    thing = getattr(attention, name)
    is_bare = inspect.isclass(thing) and "__init__" not in vars(thing)  # PyTorch's *args, **kwargs
    assert shown_parameters(in_source(thing)) == ([] if is_bare else parameters(thing))
    text = inspect.getdoc(thing)
    missing = [each for each in parameters(thing) if not re.search(rf"(?m)^ +[*]*{each}: ", text)]
    assert is_bare or "Args:" not in text or not missing, f"the arguments of {name}'s docstring leave out {missing}"


@pytest.mark.parametrize("name", [name for name in ALL if inspect.isclass(getattr(attention, name))])
def test_a_class_is_shown_with_what_it_documents(name):
    thing = getattr(attention, name)
    members = [key for key, value in vars(thing).items() if key[0] != "_" and inspect.getdoc(value)]
    shown = api_page.documented(in_source(thing))
    assert [member.name for member in shown] == [key for key in members if vars(thing)[key].__doc__]
    for member in shown:
        if member.is_function:
            assert shown_parameters(member) == parameters(getattr(thing, member.name))


def test_a_module_is_in_the_order_of_its_source():
    for path in ("functional", "course.experiments.runs"):
        module = importlib.import_module(f"attention.{path}")
        public = [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__ and name[0] != "_" and value.__doc__
        ]
        assert [item.name for item in api_page.documented(api_page.package()[path])] == public
