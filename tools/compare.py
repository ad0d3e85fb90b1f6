"""Whether an output is still what it was: numbers to a tolerance, pictures by their pixels, all else exactly."""

import base64
import io
import math
import re

import numpy as np
from PIL import Image

RELATIVE = 1e-4
PIXEL_DIFFERENCE = 16
PIXELS = 10

PNG = base64.b64encode(b"\x89PNG\r\n").decode()[:6]
QUOTE = '(?:"|&quot;)'
PACKED = f"(?:f[248]|u1):[A-Za-z0-9+/=]*(?:{QUOTE},{QUOTE}zeros{QUOTE}:{QUOTE}[A-Za-z0-9+/=]+)?"
NUMBER = r"(?<![\w+/])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w+/])"
PIECES = re.compile(f"({PACKED}|{NUMBER})")


class Output(str):
    """An output that equals another where :func:`same` finds nothing different."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and same(str(self), str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other


def same(reference: str, output: str) -> bool:
    """Compare a committed output with a new one; base64 PNGs as pictures, anything else as text with numbers."""
    if reference == output:
        return True
    if reference.startswith(PNG) and output.startswith(PNG):
        return _same_picture(reference, output)
    references, outputs = PIECES.split(reference), PIECES.split(output)
    return len(references) == len(outputs) and all(map(_same_piece, references, outputs))


def _same_piece(reference: str, output: str) -> bool:
    if reference == output:
        return True
    if re.fullmatch(PACKED, reference) and re.fullmatch(PACKED, output):
        return _same_packed(reference, output)
    if re.fullmatch(NUMBER, reference) and re.fullmatch(NUMBER, output):
        return _same_number(reference, output)
    return False


def _same_number(reference: str, output: str) -> bool:
    """Whole numbers exactly; others to 1e-4 of their size, or to one in the last of four or more decimals."""
    if reference.lstrip("-").isdigit() and output.lstrip("-").isdigit():
        return False  # not the same text
    places = _last_place(reference), _last_place(output)
    last_place = 1.001 * max(places) if all(places) else 0.0
    return math.isclose(float(reference), float(output), rel_tol=RELATIVE, abs_tol=last_place)


def _last_place(number: str) -> float:
    """What one in a number's last decimal is worth; 0 when it has fewer than four."""
    digits, _, exponent = number.partition("e")
    decimals = len(digits.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals >= 4 else 0.0


def _same_packed(reference: str, output: str) -> bool:
    """Numbers as the explorer packs them, to 1e-4 of their own size or 1e-6 of the largest; coarse ones to a step."""
    kind = reference[:2]
    if output[:2] != kind:
        return False
    first, second = _unpack(reference), _unpack(output)
    if abs(len(first) - len(second)) >= 8:
        return False
    length = max(len(first), len(second))
    first, second = (np.pad(numbers, (0, length - len(numbers)), constant_values=0) for numbers in (first, second))
    if kind == "u1":
        return bool((np.abs(first - second) <= 1).all())
    relative = 1e-3 if kind == "f2" else RELATIVE
    largest = np.abs(first[np.isfinite(first)]).max(initial=0.0)
    return np.allclose(first, second, rtol=relative, atol=1e-6 * largest, equal_nan=True)


def _unpack(packed: str) -> np.ndarray:
    """The numbers, with the zeros that are marked in bits, whose last byte may mark some too many."""
    numbers, *zeros = re.split(f"{QUOTE},{QUOTE}zeros{QUOTE}:{QUOTE}", packed)
    found = np.frombuffer(base64.b64decode(numbers[3:]), f"<{numbers[:2]}").astype(float)
    if not zeros:
        return found
    zero = np.unpackbits(np.frombuffer(base64.b64decode(zeros[0]), "u1"), bitorder="little")
    places = np.flatnonzero(zero == 0)[: len(found)]
    whole = np.zeros(max(len(zero) - 7, int(places.max(initial=-1)) + 1))
    whole[places] = found
    return whole


def _same_picture(reference: str, output: str) -> bool:
    """Pictures of one size, all but a few pixels of which are of nearly one colour."""
    first, second = (
        np.asarray(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGBA"), dtype=int)
        for text in (reference, output)
    )
    if first.shape != second.shape:
        return False
    return bool((np.abs(first - second).max(axis=-1) > PIXEL_DIFFERENCE).sum() <= PIXELS)
