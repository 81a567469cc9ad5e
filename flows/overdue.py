"""What nobody did: audits that are overdue, and audits that end without a verdict. Both are findings of their own."""

from __future__ import annotations

import datetime as dt

from flows.duties import Duty
from flows.duty_state import NO_VERDICT, overdue_since, why_overdue
from flows.finding_kinds import Finding, key_of, overdue
from flows.incidents import cleared, raised
from flows.workspace import Workspace
from registry.ledger.duties import NOTHING_YET
from registry.ledger.incidents import LIVE


def unmet(workspace: Workspace, now: dt.datetime) -> list[str]:
    """Tell of duties that are overdue or end without a verdict, and that they no longer are. Returns the overdue ones."""
    ledger = workspace.ledger
    histories = ledger.duty_histories()
    live = {incident.key for kind in ("overdue", "no-verdict") for incident in ledger.incidents(kind=kind, states=LIVE)}
    names, told = [], set[str]()
    for stored in ledger.duties():
        duty = Duty.from_json(stored.name, stored.family, stored.definition)
        history = histories.get(stored.name, NOTHING_YET)
        if (slot := overdue_since(duty, stored, history, now)) is not None:
            names.append(stored.name)
            why = why_overdue(duty, slot, history, now)
            finding = overdue(stored.name, family=stored.family, protocol=stored.protocol, why=why)
            told.add(finding.key)
            if finding.key not in live:
                raised(workspace, finding, now)
        if history.done is not None and history.done.verdict == NO_VERDICT:
            finding = Finding(
                key=key_of("no-verdict", "duty", stored.name),
                kind="no-verdict",
                family=stored.family,
                protocol=stored.protocol,
                title=f"no verdict from the audit {stored.name}",
                why=history.done.why,
                audit=history.done.audit_id,
            )
            told.add(finding.key)
            if finding.key not in live:
                raised(workspace, finding, now)
    ours = {key for key in live if key.startswith(("overdue/", "no-verdict/duty/"))}
    for key in sorted(ours - told):
        ended = (
            "an audit finished, or the duty ended" if key.startswith("overdue/") else "an audit ended with a verdict"
        )
        cleared(workspace, key, ended, now)
    return names
