"""Opening the ledger: engine, SQLite settings, migrations, and clear errors for what can go wrong."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, make_url

from metrics.errors import BadInputError
from registry.ledger.rows import as_json

MIGRATIONS = Path(__file__).with_name("migrations")
HEAD = "0008"


WRITING = {"spiritlevel_writing": True}
"""Execution options of a connection whose transaction writes: SQLite then takes its lock at once."""

_MIGRATION_LOCK = 0x5F1A17  # of PostgreSQL's advisory locks: any number that nobody else uses in this database

# Of a PostgreSQL connection, where the URL does not say otherwise: a server that vanished is noticed in a minute, not in
# the two hours of TCP.
_POSTGRES_ARGUMENTS = {
    "connect_timeout": "10",
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "40000",
    "application_name": "spiritlevel",
}


class LedgerError(BadInputError):
    """The ledger cannot be opened or written; the sentence names the place and the way out."""


class LedgerAwayError(LedgerError):
    """The database does not answer just now; what was tried can be tried again."""


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # Python's driver begins transactions too late: after what a write has read
    cursor = connection.cursor()
    # WAL lets readers look while an audit writes, and survives a killed process without loss.
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A write takes the lock first and reads then: nobody changes what it read before it writes.
    writing = connection.get_execution_options().get("spiritlevel_writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def engine_of(url: URL) -> Engine:
    """The engine of an address, with what each kind of database needs; nothing is opened yet."""
    if url.get_backend_name() == "sqlite":
        engine = sqlalchemy.create_engine(url, json_serializer=as_json)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    arguments = {name: value for name, value in _POSTGRES_ARGUMENTS.items() if name not in url.query}
    return sqlalchemy.create_engine(url, pool_pre_ping=True, connect_args=arguments, json_serializer=as_json)


def _place(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return url.database or "memory"
    return url.set(query={}).render_as_string(hide_password=True)  # the query may hold a password too


def read_only(path: Path) -> Engine:
    """The engine of a SQLite file that is only looked at: nothing is changed or made, not even how it keeps its journal."""
    in_use = any(path.with_name(f"{path.name}{end}").exists() for end in ("-wal", "-journal"))
    address = f"{path.resolve().as_uri()}?mode=ro{'' if in_use else '&immutable=1'}"

    def connected() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, timeout=5)

    return sqlalchemy.create_engine("sqlite://", creator=connected)


def migrated_version(connection: Connection) -> str | None:
    """The migration that a database is at; None for one that has no table of ours."""
    if not sqlalchemy.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sqlalchemy.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring the database to ``revision``; safe on an empty, an older and a current one."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", MIGRATIONS.as_posix().replace("%", "%%"))
    with engine.connect() as connection:
        connection.execution_options(**WRITING)
        with connection.begin():
            if engine.dialect.name == "postgresql":
                # Two processes may open an empty database at once: the second waits, and finds it migrated.
                connection.execute(sqlalchemy.select(sqlalchemy.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            config.attributes["connection"] = connection
            command.upgrade(config, revision)


def _make_whole(path: Path) -> None:
    """Make a new SQLite ledger whole or not at all: a process may be killed, or two may come first at once."""
    if (path.exists() and path.stat().st_size) or not path.parent.is_dir():
        return
    from filelock import FileLock

    with FileLock(f"{path}.lock"):
        if path.exists() and path.stat().st_size:
            return
        part = path.with_name(f".{path.name}.part")
        part.unlink(missing_ok=True)
        engine = sqlalchemy.create_engine(URL.create("sqlite", database=str(part)))
        migrate(engine)
        engine.dispose()
        part.replace(path)


def _bring_up_to_date(engine: Engine, place: str) -> None:
    with engine.connect() as connection:
        version = migrated_version(connection)
    if version is not None and version > HEAD:
        raise LedgerError(
            f"the ledger at {place} was written by a newer spiritlevel (its schema is {version}, this one "
            f"knows {HEAD}); use that version, or another home folder"
        )
    if version != HEAD:
        migrate(engine)


def open_engine(url: str | URL) -> Engine:
    """Engine of a ledger that exists and is migrated.

    Raises
    ------
    LedgerError
        When the file is no database, the folder cannot be written, or the server does not answer.
    """
    address = make_url(url)
    place = _place(address)
    try:
        if address.get_backend_name() == "sqlite" and address.database:
            _make_whole(Path(address.database))
        engine = engine_of(address)
        try:
            _bring_up_to_date(engine, place)
        except BaseException:
            engine.dispose()
            raise
        return engine
    except sqlalchemy.exc.DatabaseError as error:
        kind = LedgerAwayError if is_away(error) else LedgerError
        raise kind(explained(address, error)) from error
    except OSError as error:
        raise LedgerError(f"the ledger at {place} cannot be opened: {error.strerror or error}") from error


def is_away(error: sqlalchemy.exc.DatabaseError) -> bool:
    """Whether the database is not there just now, or too busy, so that the same transaction may succeed later."""
    if error.connection_invalidated:
        return True
    if type(error.orig).__module__.startswith("psycopg"):
        state = getattr(error.orig, "sqlstate", None)
        if state is None:  # no connection came about
            return isinstance(error, sqlalchemy.exc.OperationalError)
        # Connection lost, shut down or starting, too many connections, and two transactions in each other's way.
        return state[:2] in {"08", "57", "53"} or state in {"40001", "40P01"}
    return "database is locked" in str(error.orig)


#: What databases say, in small letters, when a disk or a limit on files is in the way.
NO_ROOM = ("disk i/o error", "disk is full", "no space left", "disk full")


def explained(url: URL, error: sqlalchemy.exc.DatabaseError) -> str:
    """One sentence for a database error: which place, what came, what to do."""
    place = _place(url)
    cause = str(error.orig)
    if "not a database" in cause or "malformed" in cause:
        return (
            f"the ledger at {place} is damaged or not a database ({cause}); nothing was changed. "
            f"Restore it from a backup, or move it away to start an empty one"
        )
    if "readonly" in cause or "unable to open" in cause or "read-only" in cause:
        return (
            f"the ledger at {place} cannot be written ({cause}); make its folder writable, or choose another "
            f"with --home or SPIRITLEVEL_HOME"
        )
    first = cause.splitlines()[0] if cause else type(error).__name__
    if any(words in cause.casefold() for words in NO_ROOM):
        return (
            f"the ledger at {place} could not write: {first}; check the free space of its disk and the limits on it (quota, "
            f"size of a file). What was stored stays"
        )
    what = "does not answer" if is_away(error) else "refused"
    return f"the ledger at {place} {what}: {first}"
