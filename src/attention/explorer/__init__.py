"""Interactive figures that survive in a static page: every state is computed in Python, JavaScript only draws."""

from attention.explorer.explorer import Explorer, explore
from attention.explorer.panels import *  # noqa: F403 - what any folder of panels brings; an editor reads these names:
from attention.explorer.panels.bars.panel import bars
from attention.explorer.panels.curves.panel import curves
from attention.explorer.panels.diagram.panel import Box, diagram
from attention.explorer.panels.flow.panel import Station, flow
from attention.explorer.panels.graph.panel import graph
from attention.explorer.panels.heatmap.panel import heatmap
from attention.explorer.panels.plane.panel import plane
from attention.explorer.panels.tokens.panel import tokens
from attention.explorer.predictions import choice, sketch

__all__ = [
    "Box",
    "Explorer",
    "Station",
    "bars",
    "choice",
    "curves",
    "diagram",
    "explore",
    "flow",
    "graph",
    "heatmap",
    "plane",
    "sketch",
    "tokens",
]
