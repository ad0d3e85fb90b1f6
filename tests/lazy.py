"""Run at the start of a notebook's kernel: it has the pretended accelerator."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import accelerator  # noqa: F401
