"""Interactive figures that survive in a static page: every state is computed in Python, JavaScript only draws."""

from attention.explorer.explorer import Explorer, explore
from attention.explorer.panels import Arrow, Box, bars, curves, diagram, heatmap, plane, tokens
from attention.explorer.predictions import cell, choice, marker

__all__ = [
    "Arrow",
    "Box",
    "Explorer",
    "bars",
    "cell",
    "choice",
    "curves",
    "diagram",
    "explore",
    "heatmap",
    "marker",
    "plane",
    "tokens",
]
