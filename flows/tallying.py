"""Reading an audit that is too large to hold in memory: answers in batches, once; everything after that works on sums."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from registry.audits.cue_reading import Calls, CueReading, Sums
from registry.ledger.readings import AnswerValue

if TYPE_CHECKING:
    from flows.workspace import Workspace
    from registry.audits.rating import Ratings
    from registry.ledger.values import Audit

_SILENT_S = 2.0
_TELL_EVERY_S = 10.0


def tallied_reading(
    workspace: Workspace, audit: Audit, protocol: Any, ratings: Mapping[str, Ratings] | None = None
) -> CueReading:
    """An audit's sums. Answers that this reader has not read are read now, a batch at a time, and their values kept."""
    ledger, reader = workspace.ledger, protocol.reader(audit.plan)
    cells, repeats = ledger.cells(audit.id)
    begun = told = time.monotonic()
    done = 0
    for batch in ledger.unread(audit.id, reader):
        found = protocol.values(audit.plan, cells, batch, ratings)
        ledger.store_readings(audit.id, reader, [_stored(one) for one in found])
        done += len(batch)
        now = time.monotonic()
        if now - begun > _SILENT_S and now - told > _TELL_EVERY_S:
            told = now
            workspace.tell(f"{audit.release.uri}: {done:,} answers read, {done / (now - begun):,.0f} a second")
    tally, facts = ledger.tally(audit.id, reader), ledger.call_facts(audit.id)
    sums = Sums(index=tally.index, outcome=tally.outcome, n=tally.n, total=tally.total, squares=tally.squares)
    calls = Calls(
        asked=facts.asked,
        put=facts.put,
        answered=facts.answered,
        repeats=repeats,
        served_models=facts.served_models,
        fingerprints=facts.fingerprints,
        prompt_tokens=facts.prompt_tokens,
        completion_tokens=facts.completion_tokens,
    )
    release = audit.release
    reading: CueReading = protocol.read_sums(
        audit.plan,
        cells,
        sums,
        calls,
        requested_model=release.model if audit.source == "live" else None,
        price_input=release.price_input,
        price_output=release.price_output,
        ratings=ratings,
    )
    return reading


def texts_to_rate(workspace: Workspace, audit: Audit, protocol: Any) -> list[str]:
    """The different texts of an audit that a judge is asked about."""
    cells, _ = workspace.ledger.cells(audit.id)
    texts: dict[str, None] = {}
    for batch in workspace.ledger.unread(audit.id, ""):  # no reader has this name: all answers, a batch at a time
        texts.update(dict.fromkeys(protocol.rated_texts(audit.plan, cells, batch)))
    return list(texts)


def _stored(one: Any) -> AnswerValue:
    return AnswerValue(
        index=one.index, repeat=one.repeat, attempt=one.attempt, value=one.value, outcome=str(one.outcome)
    )
