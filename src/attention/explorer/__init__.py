"""Interactive figures that survive in a static page: every state is computed in Python, JavaScript only draws."""

from attention.explorer import panels
from attention.explorer.explorer import Explorer, explore
from attention.explorer.panels import *  # noqa: F403 - what any folder of panels brings; an editor reads these names:
from attention.explorer.panels.bars.panel import bars as bars
from attention.explorer.panels.curves.panel import curves as curves
from attention.explorer.panels.diagram.panel import Box as Box
from attention.explorer.panels.diagram.panel import diagram as diagram
from attention.explorer.panels.flow.panel import Station as Station
from attention.explorer.panels.flow.panel import flow as flow
from attention.explorer.panels.graph.panel import graph as graph
from attention.explorer.panels.heatmap.panel import heatmap as heatmap
from attention.explorer.panels.plane.panel import plane as plane
from attention.explorer.panels.tokens.panel import tokens as tokens
from attention.explorer.predictions import choice, sketch

__all__ = ["Explorer", "choice", "explore", "sketch", *panels.__all__]
