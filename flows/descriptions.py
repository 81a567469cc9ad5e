"""From a persona audit with descriptions to an audit of what these say of whom: `spiritlevel descriptions`."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flows.concluding import Conclusion
from flows.importing import import_answers
from flows.persona_audits import persona_audit
from flows.rebalancing_targets import SUFFIX
from flows.staging import temporary_folder
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.ledger.origins import IMPORTED
from registry.ledger.values import Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from registry.ledger.message_files import MessageColumns
    from registry.releases import ModelRelease

ASKED, MEASURED = "persona-descriptions", "described-personas"
FEWEST = 20  # descriptions of a group: fewer say nothing about it
FEWEST_WORDS = 5  # of a description: "n/a" is none


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
    from registry.ledger.message_files import MessageColumns

    personas = persona_audit(workspace, release, ASKED)
    columns = {name.removesuffix(SUFFIX).replace("_", "-"): name for name in map(personas.axis, axes)}
    said = personas.frame.dropna(subset=["description"])
    whole = said[said["description"].str.count(r"\S+") >= FEWEST_WORDS]
    kept, rare = enough(whole.dropna(subset=list(columns.values())), columns)
    for name, groups in rare.items():
        listed = ", ".join(f"{group} {n}" for group, n in groups.items())
        tell(f"{name}: groups with fewer than {FEWEST} descriptions are left out ({listed})")
    for name, column in columns.items():
        if kept[column].nunique() < 2:
            raise BadInputError(
                f"{release.uri}: fewer than two groups of {name} have {FEWEST} descriptions; ask for more personas, or name another axis with --by"
            )
    frame, every = kept, len(personas.frame)
    left_out = (
        f"{every - len(frame):,} of {every:,} personas are left out: {every - len(said):,} without a description, "
        f"{len(said) - len(whole):,} with fewer than {FEWEST_WORDS} words, {len(whole) - len(frame):,} without a group or of a rare one"
    )
    if len(frame) < every:
        tell(left_out)
    few = [f"{group} ({name}) {n}" for name, groups in rare.items() for group, n in groups.items()]
    listed = f"; groups with fewer than {FEWEST} descriptions: {', '.join(few)}" if few else ""
    origin = Origin(
        kind=IMPORTED,
        from_audit=personas.audit.id,
        release=release.uri,
        finished_at=personas.audit.finished_at,
        provenance=f"descriptions of its personas; {left_out}{listed}",
        answers=len(frame),
        uncounted=len(frame),
    )
    rows = [
        {"text": text, "call": f"audit {personas.audit.id}, call {call}", **dict(zip(columns, groups, strict=True))}
        for text, call, *groups in frame[["description", "request", *columns.values()]].itertuples(index=False)
    ]
    # A call that made one person has one group: calls are no cells then, in which groups could be compared.
    cell = None if frame["request"].is_unique else "call"
    return _measured(
        workspace,
        release,
        rows,
        MessageColumns(text="text", groups={name: name for name in columns}, cell=cell),
        origin,
        tell,
    )


def enough(frame: pd.DataFrame, columns: Mapping[str, str]) -> tuple[pd.DataFrame, dict[str, dict[str, int]]]:
    """The rows whose groups all have `FEWEST` of them, and the groups that do not, by axis: the same in any order of axes.

    Leaving out a rare group of one axis may make one of another axis rare, so it is repeated until nothing changes.
    """
    rare: dict[str, dict[str, int]] = {}
    while True:
        few = {
            name: counts[counts < FEWEST]
            for name, column in columns.items()
            if len(counts := frame[column].value_counts())
        }
        if not any(len(counts) for counts in few.values()):
            return frame, rare
        for name, counts in few.items():
            rare.setdefault(name, {}).update({str(group): int(n) for group, n in counts.items()})
        lost = {columns[name]: set(counts.index) for name, counts in few.items()}
        frame = frame[~functools.reduce(operator.or_, (frame[column].isin(groups) for column, groups in lost.items()))]


def _measured(
    workspace: Workspace,
    release: ModelRelease,
    rows: Sequence[dict[str, object]],
    columns: MessageColumns,
    origin: Origin,
    tell: Callable[[str], None],
) -> tuple[Conclusion, bool]:
    with temporary_folder("descriptions") as folder:
        file = folder / "descriptions.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return import_answers(workspace, release, str(file), MEASURED, columns=columns, origin=origin, tell=tell)
