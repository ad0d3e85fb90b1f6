"""Panels: what an explorer's function returns. Each kind is a folder: its function, its script and its style."""

from importlib import import_module
from pkgutil import iter_modules

from attention.explorer.panels.base import Panel

__all__ = ["Panel"]

KINDS = [found.name for found in iter_modules(__path__) if found.ispkg]
for _name in KINDS:
    _kind = import_module(f"{__name__}.{_name}.panel")
    __all__.extend(_kind.__all__)
    globals().update({name: getattr(_kind, name) for name in _kind.__all__})
