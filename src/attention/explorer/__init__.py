"""Interactive figures that survive in a static page: every state is computed in Python, JavaScript only draws."""

from attention.explorer.explorer import Explorer, explore
from attention.explorer.panels import Arrow, Box, Station, bars, curves, diagram, flow, graph, heatmap, plane, tokens
from attention.explorer.predictions import cell, choice, marker, sketch

__all__ = [
    "Arrow",
    "Box",
    "Explorer",
    "Station",
    "bars",
    "cell",
    "choice",
    "curves",
    "diagram",
    "explore",
    "flow",
    "graph",
    "heatmap",
    "marker",
    "plane",
    "sketch",
    "tokens",
]
