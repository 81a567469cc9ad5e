"""A real PostgreSQL for tests: the server of ``$SPIRITLEVEL_TEST_POSTGRES``, else a private cluster on loopback.

Each test session (each worker of pytest-xdist is one) starts one cluster when the first test asks for it, and every test
gets a database of its own, copied from a migrated one. Tests of faults stop and start a cluster of their own::

    with PostgresServer() as server:
        url = server.database()
        server.stop("immediate")
        server.start()
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest
from sqlalchemy.engine import URL, make_url

GIVEN = "SPIRITLEVEL_TEST_POSTGRES"
_SETTINGS = {
    "fsync": "off",  # a test does not outlive the machine; but what is committed outlives a killed server
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "100",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
    "timezone": "Asia/Kolkata",  # no test may depend on a server that thinks in UTC
}
# Outlives a test session that is killed, and ends the server that the session started: it waits until its input is closed.
_WATCH = 'read _; kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")"; rm -rf "$0"'
_STOP = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


def binaries() -> Path | None:
    """The folder of the newest PostgreSQL server here, or None."""
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    found = sorted(debian, key=lambda path: [int(part) for part in re.findall(r"\d+", path.parts[-3])])
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def _unprivileged() -> dict[str, Any]:
    """As whom to run the server: it refuses to run as root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    pytest.skip("no user to run PostgreSQL as: it refuses root")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Databases:
    """A server that answers, and fresh databases on it."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self._template: str | None = None
        self._made: list[str] = []

    def sql(self, statement: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """Run one statement as the server's superuser, outside a transaction."""
        url = self.url.set(drivername="postgresql", database=database or self.url.database)
        with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def database(self, *, migrated: bool = True) -> str:
        """URL of a new database: an empty ledger, or really empty."""
        if migrated and self._template is None:
            template = self._create(None)
            from registry.ledger.store import Ledger

            opened = Ledger(self._address(template))
            assert opened.identity
            # Each copy makes an identity of its own, as a new ledger does.
            with opened.engine.begin() as connection:
                connection.exec_driver_sql("DELETE FROM facts")
            opened.close()
            self._template = template
        return self._address(self._create(self._template if migrated else None))

    def drop(self, url: str) -> None:
        """Remove a database, with whoever is still connected."""
        name = str(make_url(url).database)
        self.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        self._made.remove(name)

    def drop_all(self) -> None:
        for name in list(self._made):
            self.drop(self._address(name))
        self._template = None

    def _create(self, template: str | None) -> str:
        name = f"spiritlevel_test_{secrets.token_hex(6)}"
        self.sql(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
        self._made.append(name)
        return name

    def _address(self, name: str) -> str:
        return self.url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)


class PostgresServer(Databases):
    """A private cluster that can be stopped and started; use it as a context manager. Skips where there is none."""

    def __init__(self) -> None:
        found = binaries()
        if found is None:
            pytest.skip(f"no PostgreSQL here: install Debian's package postgresql, or set {GIVEN} to a superuser's URL")
        self._bin, self._user = found, _unprivileged()
        self.folder = Path(tempfile.mkdtemp(prefix="spiritlevel-postgres-"))
        if self._user:
            os.chown(self.folder, self._user["user"], self._user["group"])
        self._process: subprocess.Popen[bytes] | None = None
        self._watch = subprocess.Popen(
            ["sh", "-c", _WATCH, self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        password = secrets.token_hex(12)
        super().__init__(URL.create("postgresql", "tester", password, "127.0.0.1", _free_port(), "postgres"))
        try:
            self._init(password)
            self.start()
        except BaseException:
            self.close()
            raise

    def _init(self, password: str) -> None:
        secret = self.folder / "password"
        secret.write_text(password)
        if self._user:
            os.chown(secret, self._user["user"], self._user["group"])
        arguments = ["--username=tester", f"--pwfile={secret}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
        made = subprocess.run(
            [self._bin / "initdb", f"--pgdata={self.folder / 'data'}", "--no-sync", *arguments],
            cwd=self.folder, capture_output=True, text=True, check=False, **self._user,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        settings = "\n".join(f"{name} = '{value}'" for name, value in _SETTINGS.items())
        with (self.folder / "data" / "postgresql.conf").open("a") as configuration:
            configuration.write(f"\n{settings}\n")

    def start(self) -> None:
        """Start the server on its port and wait until it answers."""
        assert self._process is None
        log = (self.folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.folder / "data", "-p", str(self.url.port)],
                cwd=self.folder, stdout=log, stderr=log, **self._user,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while True:
            try:
                self.sql("SELECT 1")
                return
            except psycopg.OperationalError:
                said = (self.folder / "log").read_text()[-2000:]
                assert self._process.poll() is None, f"PostgreSQL did not start: {said}"
                assert time.monotonic() < deadline, f"PostgreSQL does not answer: {said}"
                time.sleep(0.05)

    def stop(self, how: str) -> None:
        """Stop the server: ``fast`` ends its connections, ``immediate`` is like a crash."""
        if self._process is not None:
            self._process.send_signal(_STOP[how])
            self._process.wait(timeout=60)
            self._process = None

    def close(self) -> None:
        """End the server and remove its folder."""
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
        self._watch.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Databases]:
    """A PostgreSQL for this session; tests do not stop it."""
    given = os.environ.get(GIVEN)
    if given:
        databases = Databases(make_url(given))
        yield databases
        databases.drop_all()
        return
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Databases) -> Iterator[str]:
    """URL of an empty, migrated ledger of the test's own."""
    url = postgres_server.database()
    yield url
    postgres_server.drop(url)


@pytest.fixture
def empty_postgres_url(postgres_server: Databases) -> Iterator[str]:
    """URL of a database without a table."""
    url = postgres_server.database(migrated=False)
    yield url
    postgres_server.drop(url)
