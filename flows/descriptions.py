"""From a persona audit with descriptions to an audit of what these say of whom: `spiritlevel descriptions`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.concluding import Conclusion
from flows.importing import import_answers
from flows.persona_audits import persona_audit
from flows.rebalancing_targets import SUFFIX
from flows.workspace import Workspace
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from registry.releases import ModelRelease

ASKED, MEASURED = "persona-descriptions", "described-personas"
FEWEST = 20  # descriptions of a group: fewer say nothing about it


def described(
    workspace: Workspace, release: ModelRelease, axes: Sequence[str], *, tell: Callable[[str], None]
) -> tuple[Conclusion, bool]:
    """Measure the descriptions of a release's newest persona audit by the groups that the same answers say. Asks no model.

    Parameters
    ----------
    axes : whose groups, as somebody writes them; personas without a category in one of them are left out

    Returns
    -------
    What came of it, and whether the same descriptions were measured before.

    Raises
    ------
    BadInputError : there is no such audit, or fewer than two groups of an axis have enough descriptions
    """
    personas = persona_audit(workspace, release, ASKED)
    columns = {name.removesuffix(SUFFIX).replace("_", "-"): name for name in map(personas.axis, axes)}
    frame = personas.frame.dropna(subset=["description", *columns.values()])
    for name, column in columns.items():
        counts = frame[column].value_counts()
        rare = counts[counts < FEWEST]
        if len(rare):
            listed = ", ".join(f"{group} {n}" for group, n in rare.items())
            tell(f"{name}: groups with fewer than {FEWEST} descriptions are left out ({listed})")
            frame = frame[~frame[column].isin(rare.index)]
        if frame[column].nunique() < 2:
            raise BadInputError(
                f"{release.uri}: fewer than two groups of {name} have {FEWEST} descriptions; ask for more personas, or name another axis with --by"
            )
    left = len(personas.frame) - len(frame)
    if left:
        tell(f"{left:,} of {len(personas.frame):,} personas have no description or no group and are left out")
    rows = [
        {"text": text, "call": f"audit {personas.audit.id}, call {call}", **dict(zip(columns, groups, strict=True))}
        for text, call, *groups in frame[["description", "request", *columns.values()]].itertuples(index=False)
    ]
    return _measured(workspace, release, rows, list(columns), tell)


def _measured(
    workspace: Workspace,
    release: ModelRelease,
    rows: Sequence[dict[str, object]],
    names: Sequence[str],
    tell: Callable[[str], None],
) -> tuple[Conclusion, bool]:
    from registry.ledger.message_files import MessageColumns

    with tempfile.TemporaryDirectory(prefix="spiritlevel-descriptions-") as folder:
        file = Path(folder) / "descriptions.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        columns = MessageColumns(text="text", groups={name: name for name in names}, cell="call")
        return import_answers(workspace, release, str(file), MEASURED, columns=columns, tell=tell)
