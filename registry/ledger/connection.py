"""The ledger's connection: one transaction a write, patience with a database that restarts, clear errors."""

from __future__ import annotations

import datetime as dt
import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection

from registry.ledger.opening import WRITING, LedgerAwayError, LedgerError, explained, is_away, open_engine

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

PATIENCE_S = 120.0  # how long a database may be away before a running audit gives up

_T = TypeVar("_T")
_M = TypeVar("_M", bound=Callable[..., Any])
_log = logging.getLogger(__name__)


def moment_text(moment: dt.datetime) -> str:
    """A moment as the ledger keeps it: ISO 8601 in UTC to the millisecond.

    >>> moment_text(dt.datetime(2026, 10, 1, 14, tzinfo=dt.timezone(dt.timedelta(hours=2))))
    '2026-10-01T12:00:00.000Z'
    """
    return moment.astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc_now() -> str:
    """The time now, as the ledger keeps it."""
    return moment_text(dt.datetime.now(dt.UTC))


def insert_new(connection: Connection, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """An insert that says what to do when the row is there already; both databases write it the same way."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql  # takes time to load, which a file needs not

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def patient(method: _M) -> _M:
    """Let a method that is one transaction, and may be repeated, wait for a database that restarts.

    An answer that was paid for must not be lost because a server was restarted at that moment.
    """

    @functools.wraps(method)
    def repeated(self: LedgerConnection, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except LedgerAwayError as first:
            return self._again(functools.partial(method, self, *args, **kwargs), first)

    return cast("_M", repeated)


class LedgerConnection:
    """An open ledger.

    Parameters
    ----------
    url : SQLAlchemy database URL (``sqlite:////home/ledger.db``, ``postgresql://...``)
    clock : gives the time as ISO text; passed in so that tests can set it
    tell : takes the remark that the database is away and is waited for; it is logged too
    """

    tell: Callable[[str], None] | None = None
    patience_s = PATIENCE_S

    def __init__(
        self, url: str | URL, clock: Callable[[], str] = utc_now, tell: Callable[[str], None] | None = None
    ) -> None:
        self.engine = open_engine(url)
        self.clock = clock
        self.tell = tell

    def close(self) -> None:
        """Close every connection; the ledger can be opened again."""
        self.engine.dispose()

    def answers(self) -> None:
        """Read something small: a health check. It is not patient.

        Raises
        ------
        LedgerError
            When the database does not answer, is damaged or is not there any more.
        """
        place = self.engine.url.database
        if self.engine.dialect.name == "sqlite" and place and not Path(place).exists():
            # Who has the file open could still read it.
            raise LedgerError(f"the ledger at {place} is not there any more")
        with self._reading() as connection:
            connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one()

    def moment(self) -> str:
        """The time now by the clock that all processes of this ledger share: the database server's, when there is one.

        Leases of workers on several machines must not depend on how well their clocks agree.
        """
        if self.engine.dialect.name != "postgresql":
            return self.clock()
        with self._reading() as connection:
            return self._now(connection)

    def _now(self, connection: Connection) -> str:
        """The shared time, asked in a transaction that is open anyway."""
        if connection.dialect.name != "postgresql":
            return self.clock()
        now = connection.execute(sa.text("SELECT clock_timestamp() AT TIME ZONE 'UTC'")).scalar_one()
        return f"{now.isoformat(timespec='milliseconds')}Z"

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self.engine.connect() as connection:
                yield connection
        except sa.exc.DatabaseError as error:
            raise self._explained(error) from error

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One transaction that holds SQLite's write lock from its first statement on, so that what it reads stays true."""
        try:
            with self.engine.connect() as connection:
                connection.execution_options(**WRITING)
                with connection.begin():
                    yield connection
        except sa.exc.IntegrityError:
            raise  # not trouble with the database: it holds what is stored together
        except sa.exc.DatabaseError as error:
            raise self._explained(error) from error

    def _explained(self, error: sa.exc.DatabaseError) -> LedgerError:
        kind = LedgerAwayError if is_away(error) else LedgerError
        return kind(explained(self.engine.url, error))

    @patient
    def _all(self, query: sa.Select[Any]) -> list[dict[str, Any]]:
        with self._reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _again(self, attempt: Callable[[], _T], first: LedgerAwayError) -> _T:
        """Repeat a transaction until the database is back, for a bounded time."""
        import tenacity

        self._say(f"{first}; trying again for {self.patience_s:.0f} s")
        waiting = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(LedgerAwayError),
            stop=tenacity.stop_after_delay(self.patience_s),
            wait=tenacity.wait_exponential_jitter(multiplier=0.2, max=3.0, jitter=0.2),
            reraise=True,
        )
        try:
            result = waiting(attempt)
        except LedgerAwayError as last:
            # Not the same kind again, or whoever called this patiently would wait once more.
            raise LedgerError(
                f"{last}, and did not for {self.patience_s:.0f} s. What it had stored is safe; run the same command "
                f"again when it is back"
            ) from last
        self._say("the ledger is back")
        return result

    def _say(self, text: str) -> None:
        _log.info(text)
        if self.tell is not None:
            self.tell(text)
