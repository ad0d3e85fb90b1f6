"""The live form of an explorer: one anywidget with the same front end as the page."""

from pathlib import Path

import anywidget
import traitlets

HERE = Path(__file__).parent


class ExplorerWidget(anywidget.AnyWidget):
    """Shows a payload; ``state`` (control → value) is synced both ways, ``error`` is shown under the panels."""

    _esm = (HERE / "explorer.js").read_text(encoding="utf-8") + "\nexport default attentionExplorer;\n"
    _css = (HERE / "explorer.css").read_text(encoding="utf-8")

    payload = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)

    def __init__(self, check, **traits):
        self._check = check
        super().__init__(**traits)

    @traitlets.validate("state")
    def _known(self, proposal):
        return self.state | self._check(proposal["value"])
