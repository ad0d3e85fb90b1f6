"""A Sphinx extension: the package's page, from its source text, so that no build imports the package or PyTorch.

Its directives are written as autodoc's: ``automodule``, ``autoclass`` and ``autofunction``, with ``:members:``. They
show what has a docstring, in the order of the source. ``autopanels`` shows what each kind of panel brings.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util.docutils import SphinxDirective

from tools.editions.edition import address

SOURCE = Path(__file__).parents[2] / "src"
STYLE = Config(napoleon_use_rtype=False)


def setup(app):
    """Register with Sphinx."""
    for name in ("automodule", "autoclass", "autofunction"):
        app.add_directive(name, Documented)
    app.add_directive("autopanels", Panels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


@cache
def package() -> griffe.Module:
    """What the source says of the package."""
    return griffe.load("attention", search_paths=[SOURCE], allow_inspection=False)


class Documented(SphinxDirective):
    """A module, a class or a function: its signature and docstring, and the same of its members."""

    required_arguments = 1
    option_spec = {"members": lambda names: re.findall(r"\w+", names or "")}  # noqa: RUF012

    def run(self):
        name = self.arguments[0].removesuffix("()")  # Explorer(): is not shown with what makes one
        is_module = self.name == "automodule"
        module = name if is_module else self.env.ref_context["py:module"]
        try:
            item = package()[(module if is_module else f"{module}.{name}").removeprefix("attention.")]
            if item.is_module and not is_module:
                item = item[name]  # a function in a file of its name, which the package takes from there
            members = documented(item, self.options["members"]) if "members" in self.options else []
        except KeyError as error:
            raise self.error(f"{self.name}: the source has no {error} in {module}") from None
        if is_module:
            lines = [f".. py:module:: {module}", "", *docstring(item)]
            for member in members:
                lines += description(member, signed(member), module, documented(member))
        else:
            lines = description(item, signed(item) if name == self.arguments[0] else f"{name}()", module, members)
        return self.parse_text_to_nodes("\n".join(lines))


class Panels(SphinxDirective):
    """What the kinds of panel bring to ``attention.explorer``: none is listed here, each is a folder."""

    def run(self):
        lines = []
        for file in sorted(SOURCE.glob("attention/explorer/panels/*/panel.py")):
            panel = griffe.load("panel", search_paths=[file.parent], allow_inspection=False)
            for name in panel.exports:
                lines += description(panel[name], signed(panel[name]), "attention.explorer", [])
        return self.parse_text_to_nodes("\n".join(lines))


def documented(item: griffe.Object, names: list[str] = ()) -> list[griffe.Object]:
    """The members that are named, or else all with a docstring and a public name, in the order of the source."""
    own = [each for name, each in item.members.items() if not (name.startswith("_") or each.is_alias)]
    members = [item[name] for name in names] or [each for each in own if each.docstring]
    return sorted(members, key=lambda member: member.lineno)


def description(item: griffe.Object, signature: str, module: str, members: list[griffe.Object]) -> Iterator[str]:
    """The lines of reStructuredText that describe a class, a function, a method or a property, and its members."""
    yield from ("", f".. py:{kind(item)}:: {signature}", f"   :module: {module}")
    if item.is_attribute and item.annotation:
        yield f"   :type: {item.annotation}"
    yield from (f"   :{label}:" for label in ("classmethod", "staticmethod") if label in item.labels)
    yield ""
    yield from (f"   {line}" for line in docstring(item))
    if not item.parent.is_class:
        path = item.filepath.relative_to(SOURCE.parent).as_posix()
        yield from (f"   `Source <{address()}/blob/main/{path}#L{item.lineno}>`__", "")
    for member in members:
        yield from (f"   {line}" for line in description(member, signed(member), module, []))


def kind(item: griffe.Object) -> str:
    """The name of the Python domain's directive."""
    if item.is_attribute:
        return "property" if "property" in item.labels else "attribute"
    return "class" if item.is_class else "method" if item.parent.is_class else "function"


def signed(item: griffe.Object) -> str:
    """The name and the signature as the source has it, without ``self``; for a class its constructor's."""
    if item.is_attribute:
        return item.name
    function = item.all_members.get("__init__") if item.is_class else item
    if function is None:
        return f"{item.name}()"
    signature = function.signature(name=item.name, return_type=not item.is_class)
    return re.sub(r"\((self|cls)(, )?", "(", signature, count=1)


def docstring(item: griffe.Object) -> list[str]:
    """The docstring, its sections of arguments, returns and errors in reStructuredText."""
    return [*str(GoogleDocstring(item.docstring.value, STYLE)).splitlines(), ""] if item.docstring else []
