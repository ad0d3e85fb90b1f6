"""Every state of an explorer, computed and packed: a field is stored along only those controls that it depends on."""

import base64
import itertools
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attention.explorer.controls import Control
from attention.explorer.panels import Panel

MOST_STATES = 10_000
MOST_BYTES = 300_000


def tabulate(function: Callable, controls: Sequence[Control], texts: dict[str, Any]) -> list[dict[str, Any]]:
    """Call the function in every state of the controls and pack what it returns.

    Args:
        function: from the controls' values, by name, to a panel or a list of panels.
        controls: the controls that have a finite list of values.
        texts: the values of those that have not.

    Returns:
        the panels as the front end reads them.

    Raises:
        ValueError: too many states or too much data, with the control to coarsen; panels that change their kind,
            number or shape from state to state.
        TypeError: the function returns something else.
    """
    states = math.prod(len(control.values) for control in controls)
    if states > MOST_STATES:
        sizes = " × ".join(f"{control.name} ({len(control.values)})" for control in controls)
        raise ValueError(
            f"{sizes} make {states:,} states, more than {MOST_STATES:,}: coarsen {_largest(controls).name}"
        )
    names = [control.name for control in controls]
    combinations = list(itertools.product(*(control.values for control in controls)))
    found: list[list[Panel]] = []
    for values, state in zip(combinations, itertools.product(*(control.states for control in controls)), strict=True):
        where = ", ".join(f"{name}={at}" for name, at in zip(names, state, strict=True))
        try:
            found.append(as_panels(function(**dict(zip(names, values, strict=True)), **texts)))
        except Exception as error:
            error.add_note(f"in the explorer's state {where}")
            raise
        _check_alike(found[0], found[-1], where)
    packed = [_pack_panel([panels[index] for panels in found], controls) for index in range(len(found[0]))]
    _check_size(packed, controls)
    return packed


def as_panels(returned: Any) -> list[Panel]:
    """The panels that an explorer's function returned: one, or a list; raise a TypeError for anything else."""
    panels = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    for panel in panels:
        if not isinstance(panel, Panel):
            raise TypeError(
                f"the function must return a heatmap, bars or curves, or a list of them, found {type(panel).__name__}"
            )
    return panels


def _check_alike(first: list[Panel], panels: list[Panel], where: str) -> None:
    """Raise where a state's panels are not of the first state's kinds and shapes."""
    if [panel.kind for panel in panels] != [panel.kind for panel in first]:
        kinds = [", ".join(panel.kind for panel in some) or "nothing" for some in (first, panels)]
        raise ValueError(f"every state must have the same panels, found {kinds[0]} at first and {kinds[1]} at {where}")
    for number, (one, other) in enumerate(zip(first, panels, strict=True), start=1):
        shapes = [{name: array.shape for name, array in panel.numbers.items()} for panel in (one, other)]
        if shapes[0] != shapes[1]:
            changed = next(name for name in shapes[0] | shapes[1] if shapes[0].get(name) != shapes[1].get(name))
            shown = [shape.get(changed, "none") for shape in shapes]
            raise ValueError(
                f"panel {number} ({one.kind}) must keep its shape: {changed} is {shown[0]} at first and {shown[1]} at "
                f"{where}; draw the largest and mask what is not there"
            )


def _pack_panel(panels: list[Panel], controls: Sequence[Control]) -> dict[str, Any]:
    names, shared = panels[0].numbers, _scales(panels)
    fields = {name: _pack_numbers([panel.numbers[name] for panel in panels], controls) for name in names}
    words = [shared | {name: word for name, word in panel.words.items() if word is not None} for panel in panels]
    for name in words[0]:
        over, kept = _reduce([word[name] for word in words], [json.dumps(word[name]) for word in words], controls)
        fields[name] = {"over": over, "items": kept}
    return {"kind": panels[0].kind, "fields": fields}


def _scales(panels: list[Panel]) -> dict[str, list[float]]:
    """The scales that all states share, where the panels set none: of colours and bars, or of the two axes."""

    def values(*starts: str) -> np.ndarray:
        arrays = [array for panel in panels for name, array in panel.numbers.items() if name.startswith(starts)]
        return np.concatenate([array[np.isfinite(array)] for array in arrays] or [np.empty(0)])

    if panels[0].kind == "curves":
        return {
            "x_limits": _range(values("x", "points_x")),
            "limits": _range(values("y", "points_y"), margin=0.05),
        }
    return {"limits": _scale(values("values"))}


def _pack_numbers(arrays: list[np.ndarray], controls: Sequence[Control]) -> dict[str, Any]:
    over, kept = _reduce(arrays, [array.tobytes() for array in arrays], controls)
    return {"over": over, "shape": list(arrays[0].shape), **encode(np.stack(kept))}


def _reduce(items: list, keys: list, controls: Sequence[Control]) -> tuple[list[int], list]:
    """Drop each control along which nothing changes: the controls that stay, and the items along them."""
    numbers: dict[Any, int] = {}
    ids = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    ids = ids.reshape([len(control.values) for control in controls])
    where = np.arange(len(items)).reshape(ids.shape)
    over = []
    for axis in range(ids.ndim):
        first = [slice(None)] * ids.ndim
        first[axis] = slice(0, 1)
        if (ids == ids[tuple(first)]).all():
            ids, where = ids[tuple(first)], where[tuple(first)]
        else:
            over.append(axis)
    return over, [items[index] for index in where.ravel()]


def encode(array: np.ndarray) -> dict[str, str]:
    """Numbers as base64: float32 (``f4:``), or float64 (``f8:``) where float32 would lose a magnitude.

    A zero costs one bit, not a number: where there are many, as under a mask, they are marked in ``zeros``.
    """
    flat = array.ravel()
    if flat.dtype == bool:
        return {"bits": _base64(np.packbits(flat, bitorder="little"))}
    with np.errstate(over="ignore", under="ignore"):
        single = flat.astype("<f4")
    kept = np.isclose(single.astype(np.float64), flat, rtol=1e-6, atol=0, equal_nan=True).all()
    flat, name = (single, "f4") if kept else (flat.astype("<f8"), "f8")
    zero = flat == 0
    packed = {}
    if zero.sum() * flat.itemsize * 8 > len(flat):
        packed["zeros"] = _base64(np.packbits(zero, bitorder="little"))
        flat = flat[~zero]
    return {"numbers": f"{name}:{_base64(flat)}", **packed}


def _base64(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode()


def _scale(values: np.ndarray) -> list[float]:
    """The palest and the strongest number: 0 to 1, 0 to the largest, or symmetric about 0."""
    low, high = values.min(initial=0.0), values.max(initial=0.0)
    most = _short(max(-low, high))
    return [0.0, 1.0] if low == 0 and high <= 1 else [0.0 if low == 0 else -most, most]


def _range(values: np.ndarray, margin: float = 0.0) -> list[float]:
    """The lowest and the highest number, a part of their distance further out."""
    if not values.size:
        return [0.0, 1.0]
    low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    more = margin * (high - low)
    return [_short(low - more), _short(high + more)]


def _short(value: float) -> float:
    """Without the noise of the last digits, which differs between machines."""
    return float(f"{value:.12g}")


def _check_size(packed: list[dict[str, Any]], controls: Sequence[Control]) -> None:
    sizes = [(len(json.dumps(field)), field["over"]) for panel in packed for field in panel["fields"].values()]
    total = sum(size for size, _ in sizes) + sum(len(json.dumps(control.payload())) for control in controls)
    if total <= MOST_BYTES:
        return
    _, over = max(sizes, key=lambda size: size[0])
    advice = f"coarsen {_largest([controls[axis] for axis in over]).name}" if over else "draw fewer numbers"
    raise ValueError(f"the explorer needs {total / 1000:,.0f} kB, more than {MOST_BYTES / 1000:.0f} kB: {advice}")


def _largest(controls: Sequence[Control]) -> Control:
    return max(controls, key=lambda control: len(control.values))
