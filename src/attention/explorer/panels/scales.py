"""The scales that all states of a panel share, where it sets none."""

import numpy as np


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
