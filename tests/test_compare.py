"""Which changes of an output count as the same, and which do not."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image, ImageDraw
from tools.compare import Output, same

from attention.explorer.states import encode


def packed(numbers):
    return json.dumps(encode(np.array(numbers)), separators=(",", ":"))


def png(draw=lambda pen: None, size=(40, 30), color="white"):
    """A small picture, as a notebook holds it: a vertical line, and what else is drawn."""
    picture = Image.new("RGBA", size, color)
    pen = ImageDraw.Draw(picture)
    pen.line([(20, 0), (20, 30)], "black")
    draw(pen)
    file = io.BytesIO()
    picture.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


SAME = {
    "the same text": ("value 8.0", "value 8.0"),
    "1e-7 of a number": ("loss 1.2345678", "loss 1.2345679"),
    "1e-7 of a large number": ("12345678.0", "12345679.0"),
    "1e-7 of a power of ten": ("1.2345678e-09", "1.2345679e-09"),
    "one in the fourth decimal": ("[0.0003 0.5]", "[0.0004 0.5]"),
    "one in the last of four, around zero": ("-0.0000", "0.0000"),
    "one in the fourth decimal of a power of ten": ("1.0003e-09", "1.0004e-09"),
    "one of many numbers": ("tensor([0.5, 0.25])", "tensor([0.5, 0.250001])"),
    "numbers in a tag": ('<td data-value="0.333333">0.33</td>', '<td data-value="0.333334">0.33</td>'),
    "packed numbers": (packed([0.1, 2.0]), packed([0.1000001, 2.0])),
    "packed float64": (packed([1e300, 1.0]), packed([1.0000001e300, 1.0])),
    "packed numbers far below the largest": (packed([1.0, 1e-9]), packed([1.0, 2e-9])),
    "a packed zero that is noise elsewhere": (packed([0.0] * 9 + [1.0]), packed([0.0] * 5 + [1e-9] * 4 + [1.0])),
    "packed zeros, none of them marked": (packed([0.0] * 3 + [1.0]), packed([1e-9] * 3 + [1.0])),
    "packed NaN and infinity": (packed([np.nan, np.inf, 1.0]), packed([np.nan, np.inf, 1.0000001])),
    "a picture": (png(), png()),
    "one pixel": (png(), png(lambda pen: pen.point((3, 3), "black"))),
    "a shade": (png(), png(color="#f8f8f8")),
}
OTHER = {
    "another word": ("value 8.0", "price 8.0"),
    "a letter's case": ("Value", "value"),
    "1 % of a number": ("loss 1.2345678", "loss 1.2469134"),
    "1 % of a power of ten": ("1.00e-09", "1.01e-09"),
    "an integer by one": ("1000000", "1000001"),
    "an index in a label": ("W_1 is 0.5", "W_2 is 0.5"),
    "two in the fourth decimal": ("[0.0003 0.5]", "[0.0005 0.5]"),
    "one in the third decimal": ("0.003", "0.004"),
    "a sign": ("-0.5", "0.5"),
    "one of many numbers": ("tensor([0.5, 0.25])", "tensor([0.5, 0.26])"),
    "a number more": ("0.5 0.5", "0.5 0.5 0.5"),
    "NaN for a number": ("tensor(nan)", "tensor(0.5)"),
    "infinity's sign": ("tensor(inf)", "tensor(-inf)"),
    "packed numbers": (packed([0.1, 2.0]), packed([0.101, 2.0])),
    "a packed zero elsewhere": (packed([0.0, 0.0, 1.0]), packed([0.0, 1.0, 0.0])),
    "a packed number for a zero": (packed([0.0, 0.0, 1.0]), packed([0.0, 0.001, 1.0])),
    "packed NaN": (packed([0.1, 2.0]), packed([np.nan, 2.0])),
    "the number of packed numbers": (packed([0.1, 2.0]), packed([0.1])),
    "a moved line": (
        png(),
        png(lambda pen: pen.line([(20, 0), (20, 30)], "white") or pen.line([(21, 0), (21, 30)], "black")),
    ),
    "a picture's size": (png(), png(size=(40, 31))),
    "a picture's colour": (png(), png(color="#0072b2")),
    "a picture's transparency": (png(), png(color="#ffffff00")),
    "a text for a picture": (png(), "a picture"),
}


@pytest.mark.parametrize(("reference", "output"), SAME.values(), ids=SAME)
def test_a_small_change_is_the_same(reference, output):
    assert same(reference, output)
    assert same(output, reference)


@pytest.mark.parametrize(("reference", "output"), OTHER.values(), ids=OTHER)
def test_a_larger_change_is_not(reference, output):
    assert not same(reference, output)
    assert not same(output, reference)


def test_an_output_equals_what_is_the_same():
    assert Output("0.33333") == "0.33334"
    assert "0.33333" == Output("0.33334")  # noqa: SIM300 — nbval has the two on either side
    assert not Output("0.33333") != "0.33334"  # noqa: SIM202


def test_an_output_differs_from_what_is_not():
    assert Output("0.33") != "0.34"
    assert not Output("0.33") == "0.34"  # noqa: SIM201
    assert Output("1") != 1


def test_an_output_is_found_in_a_set_as_its_text_is():
    assert hash(Output("0.5")) == hash("0.5")
    assert "0.5" in {Output("0.5")}
