"""Every state of an explorer, computed and packed: a field is stored along only those controls that it depends on."""

import base64
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attention.explorer.controls import Control
from attention.explorer.panels import KINDS, Panel

MOST_STATES = 10_000
MOST_BYTES = 300_000


def compute(function: Callable, controls: Sequence[Control]) -> list[list[Panel]]:
    """The panels of every state of the controls, of which the last one changes fastest.

    Raises:
        ValueError: too many states, with the control to coarsen; panels that change their kind, number or shape from
            state to state; labels that repeat on an axis which panels share.
    """
    states = math.prod(len(control.values) for control in controls)
    if states > MOST_STATES:
        sizes = " × ".join(f"{control.name} ({len(control.values)})" for control in controls)
        raise ValueError(
            f"{sizes} make {states:,} states, more than {MOST_STATES:,}: coarsen {_largest(controls).name}"
        )
    names = [control.name for control in controls]
    combinations = itertools.product(*(control.values for control in controls))
    found: list[list[Panel]] = []
    for values, state in zip(combinations, itertools.product(*(control.states for control in controls)), strict=True):
        where = ", ".join(f"{name}={at}" for name, at in zip(names, state, strict=True))
        try:
            found.append(as_panels(function(**dict(zip(names, values, strict=True)))))
            check_links(found[-1])
        except Exception as error:
            error.add_note(f"in the explorer's state {where}")
            raise
        _check_alike(found[0], found[-1], where)
    return found


def pack(states: list[list[Panel]], controls: Sequence[Control]) -> list[dict[str, Any]]:
    """The panels of every state as the front end reads them; raise for too much data."""
    columns = [[panels[index] for panels in states] for index in range(len(states[0]))]
    packed = [_pack_panel(panels, _sharing(panels, columns), controls) for panels in columns]
    _check_size(packed, controls)
    return packed


def as_panels(returned: Any) -> list[Panel]:
    """The panels that a function returned: one, or a list, in which a list is a group of small multiples."""
    panels: list[Panel] = []
    for group, part in enumerate(returned if isinstance(returned, (list, tuple)) else [returned]):
        multiples = isinstance(part, (list, tuple))
        for panel in part if multiples else [part]:
            if not isinstance(panel, Panel):
                kinds, found = ", ".join(KINDS), type(panel).__name__
                raise TypeError(f"the function must return a panel, or a list of them ({kinds}), found {found}")
            panels.append(replace(panel, group=group) if multiples else panel)
    return panels


def check_links(panels: list[Panel]) -> None:
    """Raise where panels share an axis on which a label stands twice: nobody could tell what lights what."""
    axes = [(axis, labels) for panel in panels for axis, labels in panel.axes() if axis]
    shared = Counter(axis for axis, _ in axes)
    for axis, labels in axes:
        for label, count in Counter(labels).items():
            if shared[axis] > 1 and count > 1:
                raise ValueError(f"panels share the axis {axis!r}, so its labels must differ; {label!r} repeats")


def _check_alike(first: list[Panel], panels: list[Panel], where: str) -> None:
    """Raise where a state's panels are not of the first state's kinds and shapes."""
    if [(panel.kind, panel.group) for panel in panels] != [(panel.kind, panel.group) for panel in first]:
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


def _sharing(panels: list[Panel], columns: list[list[Panel]]) -> list[Panel]:
    """All panels, of every state, that have one scale with these: they alone, or their group's of the same kind."""
    first = panels[0]
    if first.group is None:
        return panels
    alike = (column for column in columns if (column[0].kind, column[0].group) == (first.kind, first.group))
    return [panel for column in alike for panel in column]


def _pack_panel(panels: list[Panel], sharing: list[Panel], controls: Sequence[Control]) -> dict[str, Any]:
    first, shared = panels[0], panels[0].scales(sharing)
    fields = {name: _pack_numbers([panel.numbers[name] for panel in panels], controls) for name in first.numbers}
    words = [shared | {name: word for name, word in panel.words.items() if word is not None} for panel in panels]
    for name in dict.fromkeys(name for word in words for name in word):
        values = [word.get(name) for word in words]
        over, kept = _reduce(values, [json.dumps(value) for value in values], controls)
        fields[name] = {"over": over, "items": kept}
    group = {} if first.group is None else {"group": first.group}
    return {"kind": first.kind, "fields": fields, **group}


def _pack_numbers(arrays: list[np.ndarray], controls: Sequence[Control]) -> dict[str, Any]:
    over, kept = _reduce(arrays, [array.tobytes() for array in arrays], controls)
    return {"over": over, "shape": list(arrays[0].shape), "numbers": encode(np.stack(kept))}


def _reduce(items: list, keys: list, controls: Sequence[Control]) -> tuple[list[int], list]:
    """Drop each control along which nothing changes: the controls that stay, and the items along them."""
    known: dict[Any, int] = {}
    ids = np.array([known.setdefault(key, len(known)) for key in keys])
    ids = ids.reshape([len(control.values) for control in controls])
    where = np.arange(len(items)).reshape(ids.shape)
    over = []
    for axis in range(ids.ndim):
        first = ids.take([0], axis)
        if (ids == first).all():
            ids, where = first, where.take([0], axis)
        else:
            over.append(axis)
    return over, [items[index] for index in where.ravel()]


@np.errstate(over="ignore", under="ignore")
def encode(array: np.ndarray) -> str:
    """The name of its type and base64: ``f8`` where float32 loses a magnitude."""
    is_kept = np.isclose(array.astype("f4").astype("f8"), array, rtol=1e-6, atol=0, equal_nan=True).all()
    name = "u1" if array.dtype == bool else "f4" if is_kept else "f8"
    return f"{name}:{base64.b64encode(array.astype(f'<{name}').tobytes()).decode()}"


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
