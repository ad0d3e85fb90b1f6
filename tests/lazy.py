"""Run at the start of a notebook's kernel: it has the pretended accelerator, and trains nothing elsewhere."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import accelerator

accelerator.refuse_training_elsewhere()
