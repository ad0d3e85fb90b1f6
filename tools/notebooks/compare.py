"""Whether an output is what it was, to who reads it: on another processor last digits differ, and nothing else may.

A printed number may differ by one in its last place, a whole one not at all. What a figure draws may differ by a small
share of its panel's scale, a plot by half a point and by a shade that no eye tells from the next. All else is compared
letter by letter.
"""

import base64
import json
import re
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from tools.notebooks.execute import SVG_METADATA

SHARE = 0.002  # of a panel's scale
POINTS = 0.5
SHADE = 4  # of 255 each of red, green and blue: a step of 256 from white to violet, of which 0.02 are five

NUMBER = re.compile(r"(?<![\w.])([-−]?\d+(?:\.\d*)?(?:e[+\-−]?\d+)?)(?!\w)")
EXPLORER = re.compile(r'<script type="application/json">(.*?)</script>(.*?)</attention-explorer>', re.DOTALL)
DRAWN = re.compile(r'( (?:d|points|[xy][12]?)="[^"]*"|(?:translate|rotate)\([^)]*\)|#[0-9a-f]{6}\b|>[^<]*<)')
HASHED = re.compile(r"\b[mpCh][0-9a-f]{10}\b")  # as matplotlib names markers, clips, collections and hatches


def differences(references: Iterable[dict], outputs: Iterable[dict], skip: Collection[str] = ()) -> list[str]:
    """What differs between a cell's committed outputs and its new ones, in lines; some kinds of output are skipped."""
    old, new = (
        [part for output in each for part in _parts(output) if part[0] not in skip] for each in (references, outputs)
    )
    kinds, found = ([kind for kind, _ in parts] for parts in (old, new))
    if kinds != found:
        return [f"the outputs were {', '.join(kinds) or 'none'} and are {', '.join(found) or 'none'}"]
    pairs = ((kind, difference(one, other)) for (kind, one), (_, other) in zip(old, new, strict=True))
    return [f"{kind}: {line}" for kind, line in pairs if line]


def _parts(output: dict) -> list[tuple[str, str]]:
    if output["output_type"] == "stream":
        return [(output["name"], output["text"])]
    if output["output_type"] == "error":
        return [(output["ename"], output["evalue"])]
    return sorted(output["data"].items())


def difference(reference: str, output: str) -> str:
    """The first thing in which a new output differs from the committed one, in a line; empty where there is none."""
    if reference == output:
        return ""
    if reference.startswith("<?xml") and output.startswith("<?xml"):
        return next(_plot(reference, output), "")
    references, outputs = EXPLORER.split(reference), EXPLORER.split(output)
    if len(references) != len(outputs):
        return f"{len(references) // 3} explorers were {len(outputs) // 3}"
    ways = (_text, _figure, partial(_text, share=SHARE))  # around explorers, their data, and their plain tables
    pairs = zip(references, outputs, strict=True)
    return next((found for part, (old, new) in enumerate(pairs) for found in ways[part % 3](old, new)), "")


def _text(reference: str, output: str, share: float = 0.0) -> Iterator[str]:
    """Words, and numbers to one in the last place, or to a share of their range."""
    old, new = NUMBER.split(reference), NUMBER.split(output)
    if len(old) != len(new):
        yield f"{reference[:200]!r} is now {output[:200]!r}"
        return
    numbers = [[Decimal(number.replace("−", "-")) for number in parts[1::2]] for parts in (old, new)]
    low, high = _ends([float(number) for number in numbers[0]])
    for part, (one, other) in enumerate(zip(old, new, strict=True)):
        if one != other and not (part % 2 and _are_near(*(each[part // 2] for each in numbers), share * (high - low))):
            yield f"{''.join(old[:part])[-40:]}{one!r} is now {other!r}"


def _are_near(one: Decimal, other: Decimal, most: float) -> bool:
    """Whether they differ by at most one in the last decimal, where both have any, or by ``most``."""
    places = [each.as_tuple().exponent for each in (one, other)]
    return abs(one - other) <= max(Decimal(1).scaleb(min(places)) if max(places) < 0 else 0, most)


def _figure(old_payload: str, new_payload: str) -> Iterator[str]:
    """An explorer's words, and the numbers of each panel in every state."""
    reference, output = json.loads(old_payload), json.loads(new_payload)
    counts = [len(control["states"]) for control in reference["controls"]]
    yield from _words(*({**payload, "panels": len(payload["panels"])} for payload in (reference, output)))
    for number, (old, new) in enumerate(zip(reference["panels"], output["panels"], strict=False), start=1):
        if [old["kind"], old.get("group"), *old["fields"]] != [new["kind"], new.get("group"), *new["fields"]]:
            yield f"panel {number} is of another kind"
            return
        for name, field in old["fields"].items():
            for found in _field(name, field, new["fields"][name], counts, old):
                yield f"panel {number} ({old['kind']}), {name}: {found}"


def _field(name: str, old: dict[str, Any], new: dict[str, Any], counts: list[int], panel: dict) -> Iterator[str]:
    """What a panel has under a name, in every state."""
    first, second = _unpacked(old, counts), _unpacked(new, counts)
    if old.get("shape") != new.get("shape") or first.dtype != second.dtype:
        yield "another shape"
    elif "items" in old:
        for one, other in {(json.dumps(one), json.dumps(other)) for one, other in np.broadcast(first, second)}:
            yield from _words([json.loads(one)], [json.loads(other)])
    elif first.dtype == bool:
        if (first != second).any():
            yield "another mask"
    else:
        yield from _apart(first, second, *_scale(name, panel, first))


def _words(old: Any, new: Any) -> Iterator[str]:
    """Words, and the numbers among them: those with a point to a share of their list's range, or of their own size."""
    if isinstance(old, str) and isinstance(new, str):
        yield from _text(old, new)
    elif isinstance(old, dict) and isinstance(new, dict) and [*old] == [*new]:
        yield from _words([*old.values()], [*new.values()])
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        if old and all(isinstance(each, float) for each in old + new):
            yield from _apart(np.array(old), np.array(new), *_ends(old))
            return
        for one, other in zip(old, new, strict=True):
            are_floats = isinstance(one, float) and isinstance(other, float)
            yield from _words([one], [other]) if are_floats else _words(one, other)
    elif old != new:
        yield f"{old!r} is now {new!r}"


def _apart(first: np.ndarray, second: np.ndarray, low: float, high: float, log: bool = False) -> Iterator[str]:
    """Where numbers are further apart than a share of a scale, or of the way to it from far off."""
    with np.errstate(all="ignore"):
        if log:
            first, second, low, high = np.log(first), np.log(second), np.log(low), np.log(high)
        off = np.nan_to_num(np.minimum(*(np.maximum(low - each, each - high) for each in (first, second))), posinf=0)
    near = np.isclose(first, second, rtol=0, atol=SHARE * np.maximum(high - low, off), equal_nan=True)
    if not near.all():
        one, other = (np.broadcast_to(each, near.shape)[~near][0] for each in (first, second))
        yield f"{one:.6g} is now {other:.6g} ({(~near).sum()} of {near.size} numbers)"


def _scale(name: str, panel: dict[str, Any], numbers: np.ndarray) -> tuple[float, float, bool]:
    """The ends of what a field is drawn on, and whether by logarithms; a flow's stations have each their own range."""
    words = {each: field["items"] for each, field in panel["fields"].items() if "items" in field}
    is_across = panel["kind"] == "curves" and name.startswith(("x", "points_x", "moments"))
    limits = numbers if panel["kind"] == "flow" else words["x_limits" if is_across else "limits"]
    return *_ends(limits), words.get("x_scale" if is_across else "y_scale", [""])[0] == "log"


def _ends(numbers: Any) -> tuple[float, float]:
    """The lowest and the highest of some numbers; of one number, nothing and its size."""
    finite = np.asarray(numbers)[np.isfinite(numbers)]
    if not finite.size or not np.ptp(finite):
        finite = np.array([0.0, *np.abs(finite.ravel())])
    return finite.min(), finite.max()


def _unpacked(field: dict[str, Any], counts: list[int]) -> np.ndarray:
    """A field along every control, with one place along those that it doesn't depend on."""
    states = [count if axis in field["over"] else 1 for axis, count in enumerate(counts)]
    if "items" in field:
        found = np.empty(len(field["items"]), dtype=object)
        found[:] = field["items"]
        return found.reshape(states)
    kind, _, packed = field["numbers"].partition(":")
    found = np.frombuffer(base64.b64decode(packed), f"<{kind}").reshape([*states, *field["shape"]])
    return found.astype(bool if kind == "u1" else float)


def _plot(reference: str, output: str) -> Iterator[str]:
    """A plot of matplotlib as SVG: places, colours and words; names that are hashes only by their order."""
    old, new = (DRAWN.split(_named_in_order(svg)) for svg in (reference, output))
    if len(old) != len(new):
        yield "another number of parts in a plot"
        return
    for part, (one, other) in enumerate(zip(old, new, strict=True)):
        if one == other:
            continue
        if part % 2 and one[0] == other[0] == ">":
            yield from _text(one, other)
        elif part % 2 and one[0] == other[0] == "#":
            shades = [np.frombuffer(bytes.fromhex(each[1:]), "u1").astype(int) for each in (one, other)]
            if np.abs(shades[0] - shades[1]).sum() > SHADE:
                yield f"the colour {one} is now {other}"
        else:
            places = [np.array(NUMBER.findall(each), dtype=float) for each in (one, other)]
            is_place = part % 2 and NUMBER.sub("", one) == NUMBER.sub("", other)
            if not is_place or np.abs(places[0] - places[1]).max() >= POINTS:
                yield f"in a plot, {one[:60]!r} is now {other[:60]!r}"


def _named_in_order(svg: str) -> str:
    names: dict[str, str] = {}
    return HASHED.sub(lambda found: names.setdefault(found[0], f"name-{len(names)}"), SVG_METADATA.sub("", svg))
