"""Panels: what an explorer's function returns. Each kind is a folder: its function, its script and its style."""

from importlib import import_module
from pathlib import Path

from attention.explorer.panels.base import Panel as Panel

__all__: list[str] = []

KINDS = sorted(file.parent.name for file in Path(__file__).parent.glob("*/panel.py"))
for _name in KINDS:
    _kind = import_module(f"{__name__}.{_name}.panel")
    __all__.extend(_kind.__all__)
    globals().update({name: getattr(_kind, name) for name in _kind.__all__})
