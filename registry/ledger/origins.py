"""Answers that were not asked for here: whole audits of bundles, and answers that stand in place of calls. One transaction each."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from registry.audits.plan import AuditPlan, Request, Response, content_hash
from registry.ledger import rows
from registry.ledger.connection import LedgerConnection
from registry.ledger.opening import LedgerError
from registry.ledger.tables import audits, facts, messages, origins, requests, responses
from registry.ledger.values import Audit, Origin
from registry.releases import ModelRelease

IMPORTED, REUSED = "imported", "reused"
MARK = "reused"
"""Key in `extra` of an answer that stands in place of a call: which bundle or audit it is from."""

AT_ONCE, LOOKED_UP_AT_ONCE = 500, 500
_FIELDS = tuple(field.name for field in dataclasses.fields(Origin))


class Origins(LedgerConnection):
    """Reads and writes of answers that come from elsewhere, and of where that is."""

    def origins(self, audit_id: int) -> tuple[Origin, ...]:
        """Where answers of an audit came from, oldest first; none when all were asked for."""
        return tuple(self.all_origins([audit_id]).get(audit_id, ()))

    def all_origins(self, wanted: Collection[int] | None = None) -> dict[int, list[Origin]]:
        """The same of several audits, or of all, by audit; those without are left out."""
        query = sa.select(origins).order_by(origins.c.id)
        if wanted is not None:
            query = query.where(origins.c.audit_id.in_(list(wanted)))
        found: dict[int, list[Origin]] = {}
        for row in self._all(query):
            found.setdefault(row["audit_id"], []).append(Origin(**{name: row[name] for name in _FIELDS}))
        return found

    def restored(
        self,
        release: ModelRelease,
        plan: AuditPlan,
        *,
        sent: Iterable[tuple[str, Any]],
        asked: Iterable[tuple[Request, str | None]],
        answers: Iterable[Response],
        origin: Origin,
        content: str,
        differences: Mapping[str, Any],
    ) -> Audit:
        """Take in a whole audit that was made elsewhere; the one that is there when its content was taken in before.

        Parameters
        ----------
        sent : the different messages, each with its hash; asked : requests, each with the hash of its messages
        answers : in the order of the requests; content : what makes it the same audit
        """
        with self._writing() as connection:
            audit_id, fresh = new_audit(connection, self.clock(), release, plan, IMPORTED, content)
            if fresh:
                for some in _batches(sent):
                    keep_messages(connection, _checked(some))
                for batch in _batches(asked):
                    connection.execute(requests.insert(), [_request_row(audit_id, *one) for one in batch])
                counted = Origin(kind=IMPORTED)
                for given in _batches(answers):
                    connection.execute(responses.insert(), [rows.response_row(audit_id, one) for one in given])
                    counted = _counting(counted, given)
                values = dataclasses.asdict(_with_counts(origin, counted)) | {
                    "audit_id": audit_id,
                    "made_at": self.clock(),
                }
                connection.execute(origins.insert().values(**values))
                changed = audits.update().where(audits.c.id == audit_id)
                connection.execute(changed.values(differences=dict(differences)))
            row = connection.execute(sa.select(audits).where(audits.c.id == audit_id)).mappings().one()
            return rows.audit_from_row(dict(row))

    def reused(self, audit_id: int, origin: Origin, answers: Iterable[Response]) -> Origin:
        """Store answers in place of calls, all of them or none; each says where it is from.

        A request that has got an answer meanwhile keeps it. Returns the origin with what was stored.
        """
        said = {"bundle": origin.address} if origin.address else {"audit": origin.from_audit}
        with self._writing() as connection:
            stored = Origin(kind=REUSED)
            for batch in _batches(answers):
                there = _answered(connection, audit_id, batch)
                new = [
                    dataclasses.replace(one, attempt=1, extra={**one.extra, MARK: said})
                    for one in batch
                    if (one.index, one.repeat) not in there
                ]
                if new:
                    connection.execute(responses.insert(), [rows.response_row(audit_id, one) for one in new])
                    stored = _counting(stored, new)
            origin = dataclasses.replace(_with_counts(origin, stored), made_at=self.clock())
            if origin.answers:
                connection.execute(origins.insert().values(**dataclasses.asdict(origin), audit_id=audit_id))
        return origin

    def told_origin(self, audit_id: int, origin: Origin) -> None:
        """Say where an imported audit came from, where nothing is said yet; its answers carry no tokens of their own."""
        with self._writing() as connection:
            # Takes the write lock before looking, so that of two the second sees the first.
            connection.execute(facts.update().where(facts.c.name == "identity").values(value=facts.c.value))
            if connection.execute(sa.select(origins.c.id).where(origins.c.audit_id == audit_id)).first() is None:
                values = dataclasses.asdict(origin) | {"audit_id": audit_id, "made_at": self.clock()}
                connection.execute(origins.insert().values(**values))

    def served_models(self, audit_id: int) -> set[str]:
        """The ids of the models that answered an audit, as the provider says; empty when it said none."""
        column = responses.c.served_model
        query = sa.select(column.label("id")).distinct().where(responses.c.audit_id == audit_id, column.is_not(None))
        return {row["id"] for row in self._all(query.where(responses.c.failure.is_(None)))}


def new_audit(
    connection: Connection, now: str, release: ModelRelease, plan: AuditPlan, source: str, content: str | None
) -> tuple[int, bool]:
    """Begin the next occasion of a release and plan; the audit with that content when it is there. Id, and whether it is new."""
    # Takes the write lock before looking, so that of two equal orders the second sees the first.
    connection.execute(facts.update().where(facts.c.name == "identity").values(value=facts.c.value))
    mine = (audits.c.family == release.family, audits.c.version == release.version)
    if content is not None:
        made = connection.execute(sa.select(audits.c.id).where(*mine, audits.c.content_hash == content)).first()
        if made is not None:
            return int(made[0]), False
    same = (*mine, audits.c.protocol == plan.protocol, audits.c.collection_key == plan.collection_key)
    last = connection.execute(sa.select(sa.func.max(audits.c.occasion)).where(*same)).scalar_one()
    values = {
        "family": release.family,
        "version": release.version,
        "release": release.as_json(),
        "protocol": plan.protocol,
        "collection_key": plan.collection_key,
        "occasion": (last or 0) + 1,
        "plan": plan.as_json(),
        "source": source,
        "content_hash": content,
        "state": "open",
        "ordered_at": now,
        "differences": {},
    }
    return int(connection.execute(audits.insert().values(**values).returning(audits.c.id)).scalar_one()), True


def keep_messages(connection: Connection, contents: Mapping[str, Any]) -> None:
    """Store the messages that no audit has asked yet, each under its hash."""
    hashes = sorted(contents)
    for start in range(0, len(hashes), LOOKED_UP_AT_ONCE):
        some = hashes[start : start + LOOKED_UP_AT_ONCE]
        there = set(connection.execute(sa.select(messages.c.hash).where(messages.c.hash.in_(some))).scalars())
        new = [{"hash": digest, "content": contents[digest]} for digest in some if digest not in there]
        if new:
            connection.execute(messages.insert(), new)


def _checked(sent: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found = {}
    for digest, content in sent:
        if content_hash(content) != digest:
            raise LedgerError(f"messages were to be stored under the hash {digest[:16]!r}, which is not theirs")
        found[digest] = content
    return found


def _request_row(audit_id: int, request: Request, digest: str | None) -> dict[str, Any]:
    same = {name: getattr(request, name) for name in ("index", "repeat", "seed", "expected")}
    return {**same, "audit_id": audit_id, "cell": dict(request.cell), "messages_hash": digest}


def _answered(connection: Connection, audit_id: int, batch: list[Response]) -> set[tuple[int, int]]:
    """Places of a batch, which is in order, that have an answer or a failure."""
    place = (responses.c.index, responses.c.repeat)
    among = responses.c.index.between(batch[0].index, batch[-1].index)
    query = sa.select(*place).where(responses.c.audit_id == audit_id, among)
    return {(index, repeat) for index, repeat in connection.execute(query)}


def _counting(origin: Origin, answers: Iterable[Response]) -> Origin:
    given = [one for one in answers if one.failure is None]
    counted = [
        (one.prompt_tokens, one.completion_tokens)
        for one in given
        if one.prompt_tokens is not None and one.completion_tokens is not None
    ]
    return dataclasses.replace(
        origin,
        answers=origin.answers + len(given),
        uncounted=origin.uncounted + len(given) - len(counted),
        prompt_tokens=origin.prompt_tokens + sum(prompt for prompt, _ in counted),
        completion_tokens=origin.completion_tokens + sum(completion for _, completion in counted),
    )


def _with_counts(origin: Origin, counted: Origin) -> Origin:
    names = ("answers", "uncounted", "prompt_tokens", "completion_tokens")
    return dataclasses.replace(origin, **{name: getattr(counted, name) for name in names})


def _batches(values: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(values)
    while batch := list(itertools.islice(left, AT_ONCE)):
        yield batch
