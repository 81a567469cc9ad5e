"""What keeps people out of a page, as axe-core finds it."""

from __future__ import annotations

from typing import Any

SERIOUS = {"serious", "critical"}


def barriers(axe: Any, page: Any) -> list[tuple[str, str, str]]:
    """What axe-core calls a serious or critical violation, without a request of its own: the page's policy forbids them."""
    found = axe.run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    return [
        (rule["id"], str(node["target"]), node["failureSummary"])
        for rule in found
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]
