"""What the front end reads from an explorer's payload, number by number: the slow specification."""

import base64
import json
import math
import re
import struct
from urllib.parse import parse_qsl

import numpy as np

PAYLOAD = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)


def payloads(notebook) -> list[dict]:
    """The explorers of a notebook, as its committed outputs have them."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    return [json.loads(found) for page in pages for found in PAYLOAD.findall(page)]


def state_faults(explorers: list[dict], name: str, query: str) -> list[str]:
    """What is wrong with one link to a state of one of a page's explorers, a sentence each."""
    controls = {each["name"]: {c["name"]: c for c in each["controls"]} for each in explorers if "name" in each}
    if name not in controls:
        return [f"#{name}?{query} names no explorer; there are {', '.join(controls) or 'none'}"]
    found = []
    for control, label in parse_qsl(query, keep_blank_values=True):
        if control not in controls[name]:
            found.append(f"#{name}?{query} names no control {control!r}; there are {', '.join(controls[name])}")
        elif label not in [*controls[name][control]["labels"], *map(str, controls[name][control]["states"])]:
            labels = ", ".join(controls[name][control]["labels"])
            found.append(f"#{name}?{query}: {control} has no state {label!r}; there are {labels}")
    return found


def unpack(field, counts, state):
    """A field of a panel in one state; ``state`` has an index for each control, of which there are ``counts``."""
    place = 0
    for axis in field["over"]:
        place = place * counts[axis] + state[axis]
    if "items" in field:
        return field["items"][place]
    size = math.prod(field["shape"])
    return np.array(numbers(field)[place * size : (place + 1) * size]).reshape(field["shape"])


def numbers(field):
    kind, data = field["numbers"].split(":")
    data = base64.b64decode(data)
    letter, size = {"f4": ("f", 4), "f8": ("d", 8), "u1": ("?", 1)}[kind]
    return struct.unpack(f"<{len(data) // size}{letter}", data)
