"""An explorer as HTML: the element that the front end brings to life, around a plain table of the first state."""

import json
from html import escape
from typing import Any

from attention.explorer.panels import Panel


def page(payload: dict[str, Any], panels: list[Panel]) -> str:
    """The static form of an explorer: what the front end draws, and for a reader without scripts panels as tables."""
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    head = [f'<p class="head">{escape(payload["title"])}</p>'] if payload.get("title") else []
    plain = "\n".join([*head, *_question(payload), *(panel.plain() for panel in panels)])
    name = f' id="{escape(payload["name"])}"' if payload.get("name") else ""
    return (
        f'<attention-explorer class="attention-explorer"{name}>\n'
        f'<script type="application/json">{data}</script>\n'
        f"{plain}\n</attention-explorer>"
    )


def _question(payload: dict[str, Any]) -> list[str]:
    """A prediction in words: the question, what can be chosen, and the answer."""
    asked = payload.get("predict")
    if not asked:
        return []
    options = f" ({', '.join(asked['options'])})" if asked["kind"] == "option" else ""
    said = f"{asked['question']}{options} {asked['said']} {asked['because']}"
    return [f"<p>{escape(said.rstrip())}</p>"]
