"""Making a bundle of one audit: `spiritlevel bundle export`."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flows.bundles.manifest import (
    FOLDER,
    LARGEST,
    LONGEST_PROVENANCE,
    NAME,
    SCHEMA,
    Asked,
    Counts,
    Manifest,
    Member,
    Occasion,
)
from flows.bundles.writing import placed, refuse_taken
from flows.energy import provider_of
from flows.packs.answers import write_answers, write_messages
from flows.redaction import without_secrets
from flows.scoring import finished
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.ledger.sealed import Sealed
from registry.ledger.values import Audit
from registry.releases import ModelRelease


def audit_to_share(workspace: Workspace, release: ModelRelease, protocol: str | None, audit_id: int | None) -> Audit:
    """The audit that is meant: the one of that number, else the newest finished one of the protocol.

    Raises
    ------
    BadInputError : there is none, it is of another release, it is open, or the protocol is not clear
    """
    if audit_id is not None:
        audit = workspace.ledger.audit(audit_id)
        if audit.release.uri != release.uri or protocol not in (None, audit.protocol):
            raise BadInputError(
                f"audit {audit_id} is a {audit.protocol} audit of {audit.release.uri}; name that release"
            )
        if audit.state == "open":
            raise BadInputError(f"audit {audit_id} is not finished; only answers that are all there are shared")
        return audit
    from flows.judging import chosen_protocol

    name = chosen_protocol(workspace, protocol, [release])
    found = finished(workspace, family=release.family, version=release.version, protocol=name)
    if not found:
        raise BadInputError(
            f"{release.uri} has no finished {name} audit to export; run 'spiritlevel audit {release.uri} --protocol {name}'"
        )
    return found[-1]


def provenance_of(text: str | None) -> str:
    """What is said of where answers come from: a text, or what a file of that name says.

    Raises
    ------
    BadInputError : the file cannot be read, or it is too long
    """
    if not text:
        return ""
    said = text
    try:
        if len(text) < 4_000 and "\n" not in text and Path(text).is_file():
            with Path(text).open(encoding="utf-8") as file:
                said = file.read(LONGEST_PROVENANCE + 1)
    except (OSError, ValueError) as error:
        raise BadInputError(f"--provenance {text[:200]} cannot be read as UTF-8 text: {error}") from error
    said = without_secrets(said.encode("utf-8", "replace").decode()).strip()
    if len(said) > LONGEST_PROVENANCE:
        raise BadInputError(
            f"--provenance takes at most {LONGEST_PROVENANCE:,} characters; keep to what others need to know"
        )
    return said


def make_bundle(
    workspace: Workspace, audit: Audit, place: Path, *, licence: str | None = None, provenance: str = ""
) -> Manifest:
    """Write what an audit asked and what came back to a new folder, or to a new file when its name ends in ``.zip``.

    The same audit with the same licence and provenance is always the same bundle. Answers are read one after the other.

    Raises
    ------
    BadInputError : the place cannot be written, or is taken
    """
    refuse_taken(place)
    ledger, tally = workspace.ledger, _Tally()
    with placed(place) as writer:
        write_messages(writer, FOLDER, tally.messages_of(ledger.sealed_messages(audit.id)))
        served = write_answers(writer, FOLDER, tally.requests_of(ledger.sealed(audit.id)), raw=True)
        files = [Member(**dataclasses.asdict(file)) for file in writer.files()]
        total = sum(file.bytes for file in files)
        if total > LARGEST:
            raise BadInputError(
                f"the answers of audit {audit.id} take {total:,} bytes, and a bundle at most {LARGEST:,}"
            )
        said = {"license": licence, "provenance": provenance, "files": files, "counts": tally.counts()}
        origins = [origin.as_json() for origin in ledger.origins(audit.id)]
        manifest = _manifest(audit, served=served.as_json(), origins=origins, **said)
        writer.content(NAME, manifest.text().encode("ascii"))
    return manifest


def _manifest(audit: Audit, **said: Any) -> Manifest:
    release = audit.release
    embedded = (release.base_url or "").startswith("embedded:")
    return Manifest(
        schema=SCHEMA,
        protocol=audit.protocol,
        release=Asked(
            family=release.family,
            version=release.version,
            model=release.model,
            provider=None if embedded else provider_of(release.base_url),
        ),
        plan=audit.plan.as_json(),
        collection_key=audit.plan.collection_key,
        audit=Occasion(
            source=audit.source,
            state=audit.state,
            ordered_at=audit.ordered_at,
            finished_at=audit.finished_at,
            differences=dict(audit.differences),
        ),
        product=f"spiritlevel {importlib.metadata.version('spiritlevel')}",
        **said,
    )


class _Tally:
    """Counts what passes by on its way into the files."""

    def __init__(self) -> None:
        self._n = dict.fromkeys(
            ("requests", "messages", "answers", "failures", "uncounted", "prompt_tokens", "completion_tokens"), 0
        )

    def messages_of(self, messages: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        for one in messages:
            self._n["messages"] += 1
            yield one

    def requests_of(self, sealed: Iterable[Sealed]) -> Iterator[Sealed]:
        for one in sealed:
            self._n["requests"] += 1
            if (response := one.response) is not None:
                failed = response.failure is not None
                self._n["failures" if failed else "answers"] += 1
                tokens = response.prompt_tokens, response.completion_tokens
                if not failed and None in tokens:
                    self._n["uncounted"] += 1
                self._n["prompt_tokens"] += tokens[0] or 0
                self._n["completion_tokens"] += tokens[1] or 0
            yield one

    def counts(self) -> Counts:
        return Counts(**self._n)
