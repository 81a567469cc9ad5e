"""Answers that somebody has already, as a finished audit: personas, or messages of any table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.auditing import Tell
from flows.concluding import Conclusion, closed, concluded
from flows.ordering import refuse_stranger
from flows.redaction import without_secrets_in
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.audits.plan import AuditPlan, Request, Response, content_hash
from registry.ledger.bundles import answers_from, content_digest, work_for
from registry.ledger.values import Origin
from registry.releases import ModelRelease

if TYPE_CHECKING:
    from registry.ledger.message_files import MessageColumns


def import_answers(
    workspace: Workspace,
    release: ModelRelease,
    path: str,
    protocol_name: str,
    *,
    per_call: int | None = None,
    variant: str | None = None,
    prompt: str | None = None,
    columns: MessageColumns | None = None,
    origin: Origin | None = None,
    tell: Tell,
) -> tuple[Conclusion, bool]:
    """Import a file of raw answers as a finished audit; a file that was imported before is the same audit.

    ``per_call`` says how many personas a call was asked for, ``variant`` and ``prompt`` in which other words, as of an audit: such an import
    is kept aside. ``columns`` says which columns of a table of messages say what, ``origin`` where the answers came from, when it is known.
    """
    protocol = workspace.protocol(protocol_name)
    if protocol.unit == "messages":
        if per_call is not None:
            raise BadInputError("--per-call is for personas: each message is an answer of its own")
        if variant is not None or prompt is not None:
            raise BadInputError("--variant and --prompt are wordings of the persona prompt; messages have none")
        brought = _messages(protocol, Path(path), columns)
    elif not hasattr(protocol, "imported_plan"):
        raise BadInputError(
            f"answers of {protocol.name} cannot be imported: which question was asked for whom, under which cue, is not in them; "
            f"'spiritlevel audit' asks the release"
        )
    else:
        if columns is not None:
            raise BadInputError(
                f"--text, --group, --cell and --only are for tables of messages; {protocol.name} reads personas"
            )
        brought = _personas(protocol, Path(path), per_call, variant, prompt)
    known = workspace.ledger.audits(
        family=release.family,
        version=release.version,
        protocol=protocol.name,
        content=brought.digest,
        variants=True,
    )
    for audit in known:
        refuse_stranger(audit, release)
    finished = [audit for audit in known if audit.state != "open"]
    if finished:
        if origin is not None:  # measured by a version that did not say it
            workspace.ledger.told_origin(finished[-1].id, origin)
        return concluded(workspace, finished[-1], tell=tell, compare=False), True
    # An import that was killed half-way is taken up again: its answers are stored in one transaction.
    audit = (
        known[-1]
        if known
        else workspace.ledger.order(release, brought.plan, brought.work, source="imported", content=brought.digest)
    )
    if not workspace.ledger.progress(audit.id)[0]:
        workspace.ledger.record_all(audit.id, without_secrets_in(brought.answers))
    if origin is not None:
        workspace.ledger.told_origin(audit.id, origin)
    audit = closed(workspace, audit)
    return concluded(workspace, audit, tell=tell, compare=False), False


@dataclasses.dataclass(frozen=True, slots=True)
class _Brought:
    """What a file brings: the plan that it stands for, its requests and answers, and what makes it the same file."""

    plan: AuditPlan
    work: Sequence[Request]
    answers: Sequence[Response]
    digest: str


def _personas(protocol: Any, path: Path, per_call: int | None, variant: str | None, prompt: str | None) -> _Brought:
    answers = answers_from(path, protocol.asks.attributes if hasattr(protocol, "asks") else None)
    size = per_call * len(answers) if per_call else len(answers)
    plan = protocol.imported_plan(size=size, per_call=per_call, variant=variant, prompt=prompt)
    # The same file under another wording is another audit.
    wording = [plan.options["variant"], plan.prompts["user"]] if "variant" in plan.options else []
    digest = content_hash([content_digest(path), per_call, protocol.name, *wording])
    return _Brought(plan, work_for(answers, per_call), answers, digest)


def _messages(protocol: Any, path: Path, columns: MessageColumns | None) -> _Brought:
    from registry.ledger.message_files import MessageColumns, messages_from

    columns = columns or MessageColumns(groups={})
    found = messages_from(path, columns)
    digest = content_hash([content_digest(path), columns.as_json(), protocol.name])
    plan = protocol.imported_plan(size=len(found.requests), groups=found.groups, modes=found.modes)
    return _Brought(plan, found.requests, found.responses, digest)
