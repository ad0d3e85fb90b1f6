"""Interactive figures that survive in a static page: every state is computed in Python, JavaScript only draws."""

from attention.explorer.explorer import Explorer, explore
from attention.explorer.panels import bars, curves, heatmap

__all__ = ["Explorer", "bars", "curves", "explore", "heatmap"]
