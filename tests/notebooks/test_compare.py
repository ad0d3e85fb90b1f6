"""What has to be noticed in an output, each an exact edit, and what differs between processors and may."""

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

from attention.explorer import Station, bars, curves, explore, flow, graph, heatmap, plane, tokens
from tools.notebooks.compare import difference

X = np.linspace(0, 1, 11)


def page(panel, by=0.0):
    """An explorer of two states, in the second of which a panel's number is moved by so much."""
    return explore(lambda x: panel(by * x), x=(0, 1))._repr_mimebundle_()["text/html"]


def plot(by=0.0, shade=0.5, label="loss"):
    """A plot of a line and of a map of weights, with names that are made at random."""
    figure = Figure(figsize=(6, 3))
    line, weights = figure.subplots(1, 2)
    line.plot(X, X + by * (X == 0.5), marker="o", label=label)
    line.set(ylim=(0, 1), title=label)
    weights.pcolormesh([[shade, 1.0], [0.0, 1.0]], cmap="Purples", vmin=0, vmax=1)
    file = io.StringIO()
    figure.savefig(file, format="svg")
    return file.getvalue()


# A panel of each kind, a number of which is moved, and its scale.
PANELS = {
    "heatmap": (lambda by: heatmap([[0.5 + by, 0.5], [0.0, 1.0]]), 1.0),
    "bars": (lambda by: bars([1.0 + by, 4.0], limits=(0, 5)), 5.0),
    "curves": (lambda by: curves(X, {"loss": 3 * X + by * (X == 0.5)}, limits=(0, 3)), 3.0),
    "a point of curves": (lambda by: curves(X, {"loss": X}, points={"here": (0.5 + by, 0.5)}), 1.0),
    "logarithms": (lambda by: curves(X, {"loss": 10 ** (4 * X + by * (X == 0.5))}, y_scale="log"), 4.0),
    "many numbers of curves": (lambda by: curves(np.linspace(0, 1, 900), {"a": np.linspace(by, 1, 900)}), 1.0),
    "tokens": (lambda by: tokens([[0.5 + by, 0.5 - by]], ["a"], ["b", "c"], limits=(0, 1)), 1.0),
    "weights in steps": (lambda by: tokens(np.full((150, 150), 0.5 + by), range(150), limits=(0, 1)), 1.0),
    "plane": (lambda by: plane({"a": (1.0 + by, 0.0), "b": (2.0, 2.0)}, limits=(-2, 2), x_limits=(-2, 2)), 4.0),
    "flow": (lambda by: flow([[Station("A", [[1.0, 0.5 + by]], digits=3)]]), 1.0),
    "graph": (lambda by: graph("CC", [(0, 0), (1, 0)], [(0, 1)], [[0.5 + by, 0.2], [0.1, 1.0]]), 1.0),
}


@pytest.mark.parametrize(("panel", "scale"), PANELS.values(), ids=PANELS)
def test_a_hundredth_of_a_panels_scale_is_noticed_in_one_state_of_many_and_a_thousandth_not(panel, scale):
    for sign in (1, -1):
        assert difference(page(panel), page(panel, sign * 0.01 * scale)).startswith("panel 1 (")
        assert difference(page(panel), page(panel, sign * 0.001 * scale)) == ""


SAME = {
    "one in the last place": ("loss 0.123, 5.0000e-09", "loss 0.124, 5.0001e-09"),
    "across a power of ten": ("0.0999 9.9999e-10", "0.1000 1.0000e-09"),
    "a zero's sign": ("[-0.00]", "[0.00]"),
    "noise around zero in every panel": (
        page(lambda by: heatmap([[0.0, 1.0]])),
        page(lambda by: heatmap([[1e-9, 1.0]])),
    ),
    "a number that one processor does not make depend on a control": (
        page(lambda by: curves(X, {"a": X})),
        page(lambda by: curves(X, {"a": X + 1e-7 * by}), 1.0),
    ),
    "the ends of a scale": (page(lambda by: bars([3.0])), page(lambda by: bars([3.0000001]))),
    "off the picture": (
        page(lambda by: curves(X, {"a": 1e9 * X}, limits=(0, 1))),
        page(lambda by: curves(X, {"a": 1.001e9 * X}, limits=(0, 1))),
    ),
    "what is not a number": (page(lambda by: bars([np.nan, 1.0])), page(lambda by: bars([np.nan, 1.0 + 1e-7]))),
    "a plot again": (plot(), plot()),
    "a fifth of a point in a plot": (plot(), plot(0.001)),
    "one shade of many": (plot(), plot(shade=0.503)),
}
OTHER = {
    "a word": ("value 8.0", "price 8.0"),
    "two in the last place": ("loss 0.123", "loss 0.125"),
    "two in the last place before a power of ten": ("5.0000e-09", "5.0002e-09"),
    "a whole number by one": ("757 of 1000 right", "756 of 1000 right"),
    "a whole number by a tenth": ("tensor([3., 4.])", "tensor([3.1, 4.0])"),
    "an index in a label": ("W_1 is 0.5", "W_2 is 0.5"),
    "a sign": ("-0.5", "0.5"),
    "NaN for a number": ("tensor(nan)", "tensor(0.5)"),
    "infinity's sign": ("tensor(inf)", "tensor(-inf)"),
    "a figure's caption": (
        page(lambda by: bars([1], caption="sum 1.00")),
        page(lambda by: bars([1], caption="sum 1.02")),
    ),
    "a figure's mask": (
        page(lambda by: heatmap([[0.5, 0.5]], mask=[[True, True]])),
        page(lambda by: heatmap([[0.5, 0.5]], mask=[[True, False]])),
    ),
    "a figure's kind": (page(lambda by: bars([0.5])), page(lambda by: heatmap([[0.5]]))),
    "NaN in a figure": (page(lambda by: bars([np.nan, 1.0])), page(lambda by: bars([0.5, 1.0]))),
    "infinity in a figure": (page(lambda by: bars([np.inf, 1.0])), page(lambda by: bars([1e30, 1.0]))),
    "a scale's end": (page(lambda by: bars([1], limits=(0, 2))), page(lambda by: bars([1], limits=(0, 2.1)))),
    "how many states": (
        page(lambda by: bars([1])),
        explore(lambda x: bars([1]), x=(0, 2))._repr_mimebundle_()["text/html"],
    ),
    "the plain table alone": (page(lambda by: bars([0.5])), page(lambda by: bars([0.5])).replace(">0.50<", ">0.52<")),
    "no figure": (page(lambda by: bars([0.5])), "0.5"),
    "1 % of a plot's curve": (plot(), plot(0.01)),
    "0.02 of a plot's cell": (plot(), plot(shade=0.52)),
    "0.02 of a plot's pale cell": (plot(shade=0.03), plot(shade=0.05)),
    "a plot's word": (plot(), plot(label="lass")),
}


@pytest.mark.parametrize(("reference", "output"), SAME.values(), ids=SAME)
def test_a_processors_last_digits_are_the_same(reference, output):
    assert difference(reference, output) == difference(output, reference) == ""


@pytest.mark.parametrize(("reference", "output"), OTHER.values(), ids=OTHER)
def test_anything_else_is_noticed(reference, output):
    assert difference(reference, output)
    assert difference(output, reference)
