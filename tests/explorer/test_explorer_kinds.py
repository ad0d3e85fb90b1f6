"""Each kind of panel is one folder, and whole: its function, its script, its style."""

import json
import re

import pytest

from attention.explorer import explore, panels
from attention.explorer.front import collect
from panel_examples import FOLDERS, example


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_kind_of_panel_is_complete(folder):
    kind = folder.name
    for name in ("panel.py", "draw.js", "draw.css"):
        assert (folder / name).is_file(), f"panels/{kind}/ has no {name}"
    script = (folder / "draw.js").read_text(encoding="utf-8")
    assert f"panelKinds.{kind} = " in script, f"panels/{kind}/draw.js must end with `panelKinds.{kind} = {kind};`"
    assert {folder / "draw.js", folder / "draw.css"} < {*collect("js"), *collect("css")}
    assert kind in panels.__all__, f"panels/{kind}/panel.py must have a function {kind}, and list it in __all__"
    panel = example(kind)
    assert panel.kind == kind, f"panels/{kind}/panel.py must give its class `kind = {kind!r}`, found {panel.kind!r}"
    html = explore(lambda: panel)._repr_mimebundle_()["text/html"]
    payload, plain = re.search(r'json">(.*?)</script>(.*)</attention-explorer>', html, re.DOTALL).groups()
    scales = panel.scales([panel])
    assert {*panel.numbers, *scales} <= {*json.loads(payload)["panels"][0]["fields"]}
    labels = [label for _, labels in panel.axes() for label in labels]
    missing = [label for label in labels if label not in plain]
    assert plain.strip(), f"{type(panel).__name__}.plain() writes nothing"
    assert not missing, f"{type(panel).__name__}.plain() leaves out {missing}, which axes() names"
