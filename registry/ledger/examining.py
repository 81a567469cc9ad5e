"""Looking at a ledger without touching it: nothing is made, migrated or waited for."""

from __future__ import annotations

import dataclasses
import datetime as dt
from pathlib import Path

import sqlalchemy
from sqlalchemy.engine import make_url

from registry.ledger.opening import (
    HEAD,
    LedgerAwayError,
    LedgerError,
    engine_of,
    explained,
    is_away,
    migrated_version,
    read_only,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LedgerState:
    """What was found.

    Parameters
    ----------
    place : file, or address without its password; kind : ``sqlite`` or ``postgresql``; server : the database's version
    schema : migration that it is at, None for an empty database; head : the one that this program knows
    size_bytes : on disk; skew_s : seconds that the database's clock is ahead of this machine's, within half a second
    encrypted : whether the connection to a server is; None for a file
    """

    place: str
    kind: str
    server: str
    schema: str | None
    head: str
    size_bytes: int | None
    skew_s: float | None = None
    encrypted: bool | None = None

    @property
    def usable(self) -> bool:
        """Whether this program can read it as it is."""
        return self.schema == self.head


def examined(url: str, timeout_s: int = 5) -> LedgerState | None:
    """The state of the ledger at an address; None when there is no file yet.

    Raises
    ------
    LedgerError
        When it cannot be reached or is no database, in one sentence without a password.
    """
    address = make_url(url)
    if address.get_backend_name() == "sqlite":
        path = Path(address.database or "")
        if not path.exists() or not path.stat().st_size:
            return None
        engine = read_only(path)
    else:
        if "connect_timeout" not in address.query:
            address = address.update_query_dict({"connect_timeout": str(timeout_s)})
        engine = engine_of(address)
    try:
        with engine.connect() as connection:
            kind = connection.dialect.name
            found = LedgerState(
                place=address.set(query={}).render_as_string(hide_password=True),
                kind=kind,
                server=".".join(map(str, connection.dialect.server_version_info or ())),
                schema=migrated_version(connection),
                head=HEAD,
                size_bytes=Path(address.database or "").stat().st_size if kind == "sqlite" else None,
            )
            return _server(connection, found) if kind == "postgresql" else found
    except sqlalchemy.exc.DatabaseError as error:
        raise (LedgerAwayError if is_away(error) else LedgerError)(explained(address, error)) from error
    finally:
        engine.dispose()


def _server(connection: sqlalchemy.Connection, found: LedgerState) -> LedgerState:
    """The same with what only a server can say."""
    before = dt.datetime.now(dt.UTC)
    size, now, encrypted = connection.execute(
        sqlalchemy.text(
            "SELECT pg_database_size(current_database()), clock_timestamp(), "
            "(SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid())"
        )
    ).one()
    between = before + (dt.datetime.now(dt.UTC) - before) / 2
    return dataclasses.replace(
        found, size_bytes=int(size), skew_s=(now - between).total_seconds(), encrypted=bool(encrypted)
    )
