"""Bars: its function and class (panel.py), what draws it (draw.js), its style (draw.css)."""
