"""The ledger's connection: one transaction a write, and clear errors for what a database can answer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection

from registry.ledger.opening import LedgerError, explained, open_engine


def utc_now() -> str:
    """The time now, ISO 8601 in UTC to the millisecond."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LedgerConnection:
    """An open ledger.

    Parameters
    ----------
    url : SQLAlchemy database URL (``sqlite:////home/ledger.db``, ``postgresql://...``)
    clock : gives the time as ISO text; passed in so that tests can set it
    """

    def __init__(self, url: str | URL, clock: Callable[[], str] = utc_now) -> None:
        self.engine = open_engine(url)
        self.clock = clock

    def close(self) -> None:
        """Close every connection; the ledger can be opened again."""
        self.engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self.engine.begin() as connection:
                yield connection
        except sa.exc.OperationalError as error:
            raise LedgerError(explained(self.engine.url, error)) from error

    def _all(self, query: sa.Select[Any]) -> list[dict[str, Any]]:
        try:
            with self.engine.connect() as connection:
                return [dict(row) for row in connection.execute(query).mappings()]
        except sa.exc.DatabaseError as error:
            raise LedgerError(explained(self.engine.url, error)) from error
