"""Who is collecting answers, and which request is whose: several workers share one audit without paying twice.

A worker is one stretch of work of one process on one audit. It claims requests in blocks, and a claim counts for as long
as its worker is at work: what a dead one had claimed and not answered is free again. The answers are the truth, claims are
bookkeeping that is made to agree with them whenever the first worker of an audit begins.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from registry.audits.plan import Request
from registry.ledger.connection import LedgerConnection, patient
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner, why_gone
from registry.ledger.service_tables import workers
from registry.ledger.tables import audits, messages, requests, responses
from registry.ledger.values import OpenWork

_here: set[str] = set()  # workers of this process that are at work: any other of it ended while the database was away

EARLIER = "earlier"  # in place of a worker: answered before anybody looked


class AuditInProgressError(LedgerError):
    """Another live process is collecting answers for this audit."""


class TakenOverError(LedgerError):
    """A worker was silent for so long that others were given its requests."""

    @classmethod
    def of(cls, worker: Worker) -> TakenOverError:
        return cls(
            f"this process gave no sign of life for so long that its part of audit {worker.audit_id} was given to others; "
            f"run the command again, with --join while they are at work"
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One stretch of work of a process on an audit; ``why`` says how it ended."""

    id: str
    audit_id: int
    owner: Owner
    began_at: str
    heartbeat_at: str
    ended_at: str | None = None
    why: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Left:
    """What is left of an audit: whether anything is free, and the live workers that hold the rest."""

    free: bool
    held_by: tuple[Worker, ...]


class Claims(LedgerConnection):
    """Workers and their claims. Of two processes that do anything of this at once, one is first."""

    @patient
    def begin_work(self, audit_id: int, owner: Owner, *, join: bool = False, failed: bool = False) -> Worker:
        """Begin to collect for an audit; dead workers of it are ended, and what they had claimed is free.

        Parameters
        ----------
        join : share the audit with live workers instead of refusing
        failed : requests whose every attempt failed are open again

        Raises
        ------
        AuditInProgressError
            When another live worker collects for the audit and ``join`` is not set.
        """
        worker_id = uuid.uuid4().hex
        _here.add(worker_id)  # before anybody sees its row
        try:
            return self._begin_work(audit_id, owner, worker_id, join, failed)
        except BaseException:
            # It did not begin, or was not told that it did: then its row is of nobody, and the next try ends it.
            _here.discard(worker_id)
            raise

    def _begin_work(self, audit_id: int, owner: Owner, worker_id: str, join: bool, failed: bool) -> Worker:
        with self._writing() as connection:
            now = self._now(connection)
            # The lock that makes two beginners wait for each other; it does not hold up answers that are stored.
            known = sa.select(audits.c.id).where(audits.c.id == audit_id).with_for_update(key_share=True)
            if connection.execute(known).first() is None:
                raise LedgerError(f"the ledger has no audit {audit_id}")
            others = self._living(connection, audit_id, owner, now)
            worker = Worker(id=worker_id, audit_id=audit_id, owner=owner, began_at=now, heartbeat_at=now)
            if join or not others:
                if not others:
                    _settle(connection, audit_id)
                if failed:
                    _reopen_failures(connection, audit_id, {other.id for other in others})
                connection.execute(workers.insert().values(**_row(worker)))
        if others and not join:
            first = others[0]
            raise AuditInProgressError(
                f"audit {audit_id} is being collected by process {first.owner.pid} on {first.owner.name} (last sign of "
                f"life {first.heartbeat_at}); wait for it, stop it, or share the work with 'audit ... --join'"
            )
        return worker

    def beat(self, worker: Worker) -> bool:
        """Show that a worker lives; False when it was taken over and must claim nothing more."""
        with self._writing() as connection:
            mine = (workers.c.id == worker.id, workers.c.ended_at.is_(None))
            beaten = workers.update().where(*mine).values(heartbeat_at=self._now(connection))
            return connection.execute(beaten).rowcount == 1

    def end_work(self, worker: Worker, why: str) -> bool:
        """End a worker and free what it has not answered; False when somebody else ended it before."""
        _here.discard(worker.id)
        with self._writing() as connection:
            return _end(connection, worker, why, self._now(connection))

    @patient
    def claim(self, worker: Worker, n: int, *, between: tuple[int, int] | None = None) -> list[tuple[Request, int]]:
        """Claim the next ``n`` open requests, each with the number of its attempt; none when nothing is free.

        Parameters
        ----------
        between : first and last index of the requests that are meant; None means all

        Raises
        ------
        TakenOverError
            When this worker was ended by another process.
        """
        with self._writing() as connection:
            mine = sa.select(workers.c.ended_at).where(workers.c.id == worker.id).with_for_update(key_share=True)
            if connection.execute(mine).scalar_one() is not None:
                raise TakenOverError.of(worker)
            taken = self._take(connection, worker, n, between)
            if not taken:
                self._living(connection, worker.audit_id, worker.owner, self._now(connection), besides=worker.id)
                taken = self._take(connection, worker, n, between)
            return taken

    def _take(
        self, connection: Connection, worker: Worker, n: int, between: tuple[int, int] | None
    ) -> list[tuple[Request, int]]:
        free = [
            requests.c.audit_id == worker.audit_id,
            requests.c.worker_id.is_(None),
            # A worker that was given up may still bring its answer. Counted for each candidate: PostgreSQL would take
            # NOT EXISTS for a join with all answers.
            _good_answers().with_only_columns(sa.func.count()).scalar_subquery() == 0,
        ]
        if between is not None:
            free.append(requests.c.index.between(*between))
        order = (requests.c.index, requests.c.repeat)
        query = sa.select(requests).where(*free).order_by(*order).limit(n).with_for_update(skip_locked=True)
        found = [dict(row) for row in connection.execute(query).mappings()]
        if not found:
            return []
        chosen = sa.tuple_(*order).in_([(row["index"], row["repeat"]) for row in found])
        # The range tells the database which part of its index to read; the pairs say exactly which rows are meant.
        among = (
            requests.c.audit_id == worker.audit_id,
            requests.c.index.between(found[0]["index"], found[-1]["index"]),
        )
        connection.execute(requests.update().where(*among, chosen).values(worker_id=worker.id))
        tried = (
            sa.select(responses.c.index, responses.c.repeat, sa.func.max(responses.c.attempt))
            .where(
                responses.c.audit_id == worker.audit_id,
                sa.tuple_(responses.c.index, responses.c.repeat).in_([(row["index"], row["repeat"]) for row in found]),
            )
            .group_by(responses.c.index, responses.c.repeat)
        )
        attempts = {(index, repeat): attempt for index, repeat, attempt in connection.execute(tried)}
        contents = _contents(connection, {row["messages_hash"] for row in found if row["messages_hash"]})
        asked = request_values(found, contents)
        return [(request, attempts.get((request.index, request.repeat), 0) + 1) for request in asked]

    @patient
    def left(self, worker: Worker, between: tuple[int, int], *, failed: bool = False) -> Left:
        """What is left for a worker that found nothing more to claim; what dead ones and it itself left is free again.

        Parameters
        ----------
        failed : whether failures are asked again: a request that a live worker has taken then counts as held until it
            has a good answer or that worker ends
        """
        with self._writing() as connection:
            others = self._living(connection, worker.audit_id, worker.owner, self._now(connection), besides=worker.id)
            _free(connection, worker)
            here = (requests.c.audit_id == worker.audit_id, requests.c.index.between(*between))
            free = sa.select(requests.c.index).where(*here, requests.c.worker_id.is_(None), ~_good_answers().exists())
            if connection.execute(free.limit(1)).first() is not None:
                return Left(True, ())
            answered = _good_answers() if failed else _answers()
            taken = (requests.c.worker_id.in_([other.id for other in others]), ~answered.exists())
            held = set(connection.execute(sa.select(requests.c.worker_id).where(*here, *taken).distinct()).scalars())
            return Left(False, tuple(other for other in others if other.id in held))

    def open_work(self, audit_id: int, *, failed: bool = False, between: tuple[int, int] | None = None) -> OpenWork:
        """What of an audit waits for an answer, counted by the database.

        Parameters
        ----------
        failed : take what brought nothing but failures as open too; an audit that never got an answer is so as a whole
        between : first and last index of the requests that are meant; None means all
        """
        index = requests.c.index
        counted: dict[str, sa.ColumnElement[Any]] = {
            "size": sa.func.count(),
            "first": sa.func.min(index),
            "last": sa.func.max(index),
            "again": sa.func.max(sa.case((_answers().exists(), 1), else_=0)),
        }
        columns = [column.label(name) for name, column in counted.items()]
        query = sa.select(*columns).where(*self._open(audit_id, failed, between))
        (row,) = self._all(query)
        if not row["size"]:
            return OpenWork()
        return OpenWork(size=int(row["size"]), first=row["first"], last=row["last"], again=bool(row["again"]))

    def open_indexes(self, audit_id: int, *, failed: bool = False) -> list[int]:
        """Indexes of the requests that `open_work` counts, each once, in order."""
        index = requests.c.index.label("place")
        query = sa.select(index).where(*self._open(audit_id, failed, None)).distinct().order_by(index)
        return [int(row["place"]) for row in self._all(query)]

    def _open(self, audit_id: int, failed: bool, between: tuple[int, int] | None) -> list[sa.ColumnElement[bool]]:
        conditions = [requests.c.audit_id == audit_id]
        if between is not None:
            conditions.append(requests.c.index.between(*between))
        good = sa.select(responses.c.id).where(responses.c.audit_id == audit_id, responses.c.failure.is_(None))
        again = failed or not self._all(good.limit(1))
        return [*conditions, ~(_good_answers() if again else _answers()).exists()]

    def answers_stored(self, audit_id: int) -> int:
        """How many answers and failures of an audit are stored, every attempt counted."""
        counted = sa.select(sa.func.count().label("n")).select_from(responses).where(responses.c.audit_id == audit_id)
        return int(self._all(counted)[0]["n"])

    def at_work(self, audit_id: int, me: Owner | None = None) -> list[Worker]:
        """Live workers of an audit, oldest first."""
        return [worker for worker in self._begun(audit_id, me or Owner.this_process()) if not worker.why]

    def dead_work(self, me: Owner | None = None) -> list[Worker]:
        """Workers that ended without a word, as far as this process can tell, each with the reason in ``why``."""
        return [worker for worker in self._begun(None, me or Owner.this_process()) if worker.why]

    def _begun(self, audit_id: int | None, me: Owner) -> list[Worker]:
        """Workers that nobody has ended; ``why`` says what is known of their death."""
        now, query = self.moment(), sa.select(workers).where(workers.c.ended_at.is_(None))
        if audit_id is not None:
            query = query.where(workers.c.audit_id == audit_id)
        found = [_worker(row) for row in self._all(query.order_by(workers.c.began_at, workers.c.id))]
        return [dataclasses.replace(worker, why=_death(worker, me, now)) for worker in found]

    def workers(self, audit_id: int) -> list[Worker]:
        """Everybody who ever worked on an audit, in order."""
        query = sa.select(workers).where(workers.c.audit_id == audit_id).order_by(workers.c.began_at, workers.c.id)
        return [_worker(row) for row in self._all(query)]

    def _living(
        self, connection: Connection, audit_id: int, me: Owner, now: str, *, besides: str | None = None
    ) -> list[Worker]:
        """Workers of an audit that are at work; the dead ones are ended on the way."""
        query = sa.select(workers).where(workers.c.audit_id == audit_id, workers.c.ended_at.is_(None))
        living = []
        for row in connection.execute(query.order_by(workers.c.began_at)).mappings().all():
            other = _worker(dict(row))
            if other.id == besides:
                continue
            if why := _death(other, me, now):
                # Its heartbeat is part of the condition: one that beats just now is not dead.
                _end(connection, other, why, now, unless_it_beats=True)
            else:
                living.append(other)
        return living


def _death(worker: Worker, me: Owner, now: str) -> str:
    """Why a worker that nobody has ended is dead; empty when it lives."""
    if worker.owner == Owner.this_process() and worker.id not in _here:
        return "its process could not end it while the database was away"
    return why_gone(worker.owner, me, worker.heartbeat_at, now)


def request_values(found: Iterable[Mapping[str, Any]], contents: Mapping[str, Any]) -> list[Request]:
    """Requests from their rows, with the messages that the rows refer to by their hash."""
    return [
        Request(
            index=row["index"],
            repeat=row["repeat"],
            messages=tuple(contents.get(row["messages_hash"], ())),
            cell=row["cell"],
            seed=row["seed"],
            expected=row["expected"],
        )
        for row in found
    ]


def _contents(connection: Connection, hashes: Collection[str]) -> dict[str, Any]:
    if not hashes:
        return {}
    return {row.hash: row.content for row in connection.execute(sa.select(messages).where(messages.c.hash.in_(hashes)))}


def _answers() -> sa.Select[Any]:
    """Stored answers and failures of the request in the enclosing statement."""
    return (
        sa.select(responses.c.id)
        .where(
            responses.c.audit_id == requests.c.audit_id,
            responses.c.index == requests.c.index,
            responses.c.repeat == requests.c.repeat,
        )
        .correlate(requests)
    )


def _good_answers() -> sa.Select[Any]:
    return _answers().where(responses.c.failure.is_(None))


def _settle(connection: Connection, audit_id: int) -> None:
    """Take out of the free requests what is answered: by an earlier version, or left over from a retry that was killed."""
    free = (requests.c.audit_id == audit_id, requests.c.worker_id.is_(None))
    connection.execute(requests.update().where(*free, _answers().exists()).values(worker_id=EARLIER))


def _reopen_failures(connection: Connection, audit_id: int, living: Collection[str]) -> None:
    """Free the requests that brought nothing but failures; what a live worker has taken stays its own."""
    connection.execute(
        requests.update()
        .where(
            requests.c.audit_id == audit_id,
            requests.c.worker_id.not_in(living),
            _answers().exists(),
            ~_good_answers().exists(),
        )
        .values(worker_id=None)
    )


def _end(connection: Connection, worker: Worker, why: str, now: str, *, unless_it_beats: bool = False) -> bool:
    mine = [workers.c.id == worker.id, workers.c.ended_at.is_(None)]
    if unless_it_beats:
        mine.append(workers.c.heartbeat_at == worker.heartbeat_at)
    ended = connection.execute(workers.update().where(*mine).values(ended_at=now, why=why)).rowcount == 1
    if ended:
        _free(connection, worker)
    return ended


def _free(connection: Connection, worker: Worker) -> None:
    """Free what a worker has claimed and not answered."""
    claimed = (requests.c.audit_id == worker.audit_id, requests.c.worker_id == worker.id)
    connection.execute(requests.update().where(*claimed, ~_answers().exists()).values(worker_id=None))


def _row(worker: Worker) -> dict[str, Any]:
    return {
        "id": worker.id,
        "audit_id": worker.audit_id,
        **dataclasses.asdict(worker.owner),
        "began_at": worker.began_at,
        "heartbeat_at": worker.heartbeat_at,
        "why": worker.why,
    }


def _worker(row: Mapping[str, Any]) -> Worker:
    return Worker(
        id=row["id"],
        audit_id=row["audit_id"],
        owner=Owner(row["host"], row["pid"], row["started"]),
        began_at=row["began_at"],
        heartbeat_at=row["heartbeat_at"],
        ended_at=row["ended_at"],
        why=row["why"],
    )
