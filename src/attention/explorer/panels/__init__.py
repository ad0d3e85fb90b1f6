"""Panels: what an explorer's function returns. Each holds the numbers and the words of one picture."""

from attention.explorer.panels.bars import bars
from attention.explorer.panels.curves import curves
from attention.explorer.panels.diagram import Arrow, Box, diagram
from attention.explorer.panels.flow import Station, flow
from attention.explorer.panels.graph import graph
from attention.explorer.panels.heatmap import heatmap
from attention.explorer.panels.panel import Panel
from attention.explorer.panels.plane import plane
from attention.explorer.panels.tokens import tokens

__all__ = [
    "Arrow",
    "Box",
    "Panel",
    "Station",
    "bars",
    "curves",
    "diagram",
    "flow",
    "graph",
    "heatmap",
    "plane",
    "tokens",
]
