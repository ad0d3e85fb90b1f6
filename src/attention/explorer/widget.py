"""The live form of an explorer: one anywidget with the same front end as the page."""

import anywidget
import traitlets

from attention.explorer.front import script, stylesheet


class ExplorerWidget(anywidget.AnyWidget):
    """Shows a payload; ``state`` (control → value) is synced both ways, ``error`` is shown under the panels."""

    _esm = script() + "\nexport default attentionExplorer;\n"
    _css = stylesheet()

    payload = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)

    def __init__(self, check, **traits):
        self._check = check
        super().__init__(**traits)

    @traitlets.validate("state")
    def _known(self, proposal):
        return self.state | self._check(proposal["value"])
