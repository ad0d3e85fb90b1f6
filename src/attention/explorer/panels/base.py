"""What every panel is, and the scales that all its states share where it sets none."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Panel(ABC):
    """One picture of one state: ``numbers`` keep their shape from state to state, ``words`` are plain JSON.

    Panels of one ``group`` are small multiples: they stand in one grid and share their scales.

    A kind of panel is a folder here, and its name that folder's: ``histogram/``. ``panel.py`` holds the function
    ``histogram``, whose docstring has an example that makes a ``panel``, and the subclass that it returns, of that
    ``kind``; its ``__all__`` lists what an author writes. ``draw.js`` registers what draws it, ``draw.css`` styles it.
    """

    kind: ClassVar[str]
    guesses: ClassVar[tuple[str, ...]] = ()  # the kinds of question that can be drawn in it, besides a choice

    numbers: dict[str, np.ndarray]
    words: dict[str, Any]
    group: int | None = None

    @abstractmethod
    def plain(self) -> str:
        """HTML for a reader without scripts: its numbers as a table."""

    def axes(self) -> list[tuple[str, list[str]]]:
        """Each axis that it names, and its labels there; panels that name the same one light each other."""
        return []

    @staticmethod
    def scales(panels: "Sequence[Panel]") -> dict[str, Any]:
        """What is said of the scales that these panels share, of all states and of a group, where they set none."""
        return {"limits": color_scale(finite(panels, "values"))} if "values" in panels[0].numbers else {}

    def sets(self) -> list[tuple[str, int]]:
        """The controls that a hand sets in it, and how many states each must have."""
        return [(name, 1) for handle in self.words.get("handles", []) for name in handle["controls"]]


def finite(panels: Sequence[Panel], *starts: str) -> np.ndarray:
    """All finite numbers of the fields whose names start so."""
    arrays = [array.ravel() for panel in panels for name, array in panel.numbers.items() if name.startswith(starts)]
    return np.concatenate([array[np.isfinite(array)] for array in arrays] or [np.empty(0)])


def color_scale(values: np.ndarray) -> list[float]:
    """The palest and the strongest number: 0 to 1, 0 to the largest, or symmetric about 0."""
    low, high = values.min(initial=0.0), values.max(initial=0.0)
    most = short(max(-low, high))
    return [0.0, 1.0] if low == 0 and high <= 1 else [0.0 if low == 0 else -most, most]


def axis_range(values: np.ndarray, margin: float = 0.0, scale: str = "linear") -> list[float]:
    """The lowest and the highest number, a part of their distance further out."""
    if not values.size:
        return [0.0, 1.0] if scale == "linear" else [1.0, 10.0]
    if scale == "log":
        return [short(float(end)) for end in np.exp(axis_range(np.log(values), margin))]
    low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    more = margin * (high - low)
    return [short(low - more), short(high + more)]


def short(value: float) -> float:
    """Without the noise of the last digits, which differs between machines."""
    return float(f"{value:.12g}")
