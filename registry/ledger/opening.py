"""Opening the ledger: engine, SQLite settings, migrations, and clear errors for what can go wrong."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.engine import URL, Engine, make_url

from metrics.errors import BadInputError

MIGRATIONS = Path(__file__).with_name("migrations")
HEAD = "0002"


class LedgerError(BadInputError):
    """The ledger cannot be opened or written; the sentence names the place and the way out."""


def _set_sqlite_pragmas(connection: object, _record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    # WAL lets readers look while an audit writes, and survives a killed process without loss.
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _place(url: URL) -> str:
    return url.database or "memory" if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


def _migrated_version(engine: Engine) -> str | None:
    with engine.connect() as connection:
        if not sqlalchemy.inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(sqlalchemy.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring the database to ``revision``; safe on an empty, an older and a current one."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", MIGRATIONS.as_posix().replace("%", "%%"))
    with engine.begin() as connection:
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
        engine = sqlalchemy.create_engine(address)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _set_sqlite_pragmas)
        version = _migrated_version(engine)
        if version != HEAD:
            if version is not None and version > HEAD:
                raise LedgerError(
                    f"the ledger at {place} was written by a newer spiritlevel (its schema is {version}, this one "
                    f"knows {HEAD}); use that version, or another home folder"
                )
            migrate(engine)
        return engine
    except sqlalchemy.exc.DatabaseError as error:
        raise LedgerError(explained(address, error)) from error
    except OSError as error:
        raise LedgerError(f"the ledger at {place} cannot be opened: {error.strerror or error}") from error


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
    return f"the ledger at {place} does not answer: {cause.splitlines()[0] if cause else error}"
