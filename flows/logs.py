"""Structured logs: one JSON object a line in the home's log file, without secrets, prompts or answers.

Everything below the loggers ``spiritlevel``, ``flows``, ``registry``, ``dashboards`` and ``metrics`` goes there; those of the
libraries do not. What a line is about (audit, release, duty, run) is said once, by `about`, and stands in every line
that is logged within.
"""

from __future__ import annotations

import contextvars
import datetime as dt
import json
import logging
import logging.handlers
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.redaction import Redaction, without_secrets

if TYPE_CHECKING:
    from flows.settings import Home

ROOTS = ("spiritlevel", "flows", "registry", "dashboards", "metrics")
FIELDS = ("audit", "release", "duty", "run", "family", "provider")
LARGEST_FILE = 10_000_000  # bytes; then it is renamed to .1, and so on
KEPT_FILES = 5
_LONGEST_EVENT = 2000
_LONGEST_TRACEBACK = 20_000

_about: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar("spiritlevel_about", default={})  # noqa: B039
_installed: dict[str, logging.Handler] = {}  # by what each writes to


@contextmanager
def about(**fields: Any) -> Iterator[None]:
    """Say what everything that is logged in the block is about: ``audit=3, release="models:/nova-chat/2"``."""
    unknown = sorted(fields.keys() - set(FIELDS))
    if unknown:
        raise ValueError(f"a log line is about {', '.join(FIELDS)}; not {', '.join(unknown)}")
    token = _about.set({**_about.get(), **fields})
    try:
        yield
    finally:
        _about.reset(token)


class WithoutSecrets(logging.Filter):
    """Takes keys and passwords out of a record before any handler writes it: message, arguments and traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "without_secrets", False):
            return True
        try:
            said = record.getMessage()
        except (TypeError, ValueError):  # arguments that do not fit must not stop what logs
            said = f"{record.msg} {record.args}"
        record.msg, record.args = Redaction().of(said), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = without_secrets(record.exc_text)
        record.without_secrets = True
        return True


class JsonLine(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": f"{dt.datetime.fromtimestamp(record.created, dt.UTC):%Y-%m-%dT%H:%M:%S}.{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage()[:_LONGEST_EVENT],
        }
        here = _about.get()
        for name in FIELDS:
            value = getattr(record, name, here.get(name))
            if value is not None:
                line[name] = value if isinstance(value, int) else without_secrets(str(value))[:300]
        line |= {"logger": record.name, "process": record.process}
        if record.exc_text:
            line["error"] = record.exc_text[-_LONGEST_TRACEBACK:]
        return json.dumps(line, ensure_ascii=False)


class SharedFile(logging.handlers.RotatingFileHandler):
    """A log file that several processes append to; whoever finds it full renames it, the others follow."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=LARGEST_FILE, backupCount=KEPT_FILES, encoding="utf-8", delay=True)

    def emit(self, record: logging.LogRecord) -> None:
        self._follow()
        super().emit(record)

    def _open(self) -> Any:
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        stream = super()._open()
        with suppress(OSError):
            Path(self.baseFilename).chmod(0o600)
        return stream

    def _follow(self) -> None:
        """Close a file that another process has renamed, so that the next line goes into the new one."""
        if self.stream is None:
            return
        try:
            there = Path(self.baseFilename).stat()
            here = os.fstat(self.stream.fileno())
            moved = (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)
        except OSError:
            moved = True
        if moved:
            self.stream.close()
            self.stream = None  # the handler opens it again by itself

    def doRollover(self) -> None:  # noqa: N802 - the library's name
        from filelock import FileLock, Timeout

        with suppress(Timeout, OSError), FileLock(f"{self.baseFilename}.lock", timeout=2):
            self._follow()
            if Path(self.baseFilename).exists() and Path(self.baseFilename).stat().st_size >= LARGEST_FILE // 2:
                super().doRollover()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """A full disk must stop neither an audit nor print a traceback of its own."""


def log_to(home: Home) -> None:
    """Log to the home's file from now on; with ``SPIRITLEVEL_LOG=json`` to standard error too, as containers want it.

    ``SPIRITLEVEL_LOG_LEVEL`` (``INFO``) says from which level on. Calling it again changes only what differs.
    """
    machine = os.environ.get("SPIRITLEVEL_LOG", "").casefold() == "json"
    wanted = {str(home.log_file)} | ({"json"} if machine else set())
    for name in _installed.keys() - wanted:
        handler = _installed.pop(name)
        for root in ROOTS:
            logging.getLogger(root).removeHandler(handler)
        handler.close()
    for name in wanted - _installed.keys():
        _installed[name] = handler = _handler(logging.StreamHandler() if name == "json" else SharedFile(Path(name)))
        for root in ROOTS:
            logging.getLogger(root).addHandler(handler)
    level = logging.getLevelNamesMapping().get(os.environ.get("SPIRITLEVEL_LOG_LEVEL", "").upper(), logging.INFO)
    for root in ROOTS:
        logging.getLogger(root).setLevel(level)
        # Prefect, once loaded, prints on the terminal whatever reaches the root logger; a command says there what it has to say.
        logging.getLogger(root).propagate = False
    redact_all()


def _handler(handler: logging.Handler) -> logging.Handler:
    handler.setFormatter(JsonLine())
    handler.addFilter(WithoutSecrets())
    return handler


def redact_all() -> None:
    """Let no handler of this process write a secret, Prefect's included; to be called again once Prefect is loaded."""
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    for logger in loggers:
        for handler in getattr(logger, "handlers", ()):
            if not any(isinstance(one, WithoutSecrets) for one in handler.filters):
                handler.addFilter(WithoutSecrets())


def remembered(home: Home, error: BaseException) -> bool:
    """Write an error with its traceback to the home's log file, never to the terminal; whether that was possible."""
    try:
        home.make()
        handler = _handler(SharedFile(home.log_file))
        record = logging.LogRecord(
            "spiritlevel.errors", logging.ERROR, "", 0, f"internal error: {type(error).__name__}", (),
            (type(error), error, error.__traceback__),
        )  # fmt: skip
        before = home.log_file.stat().st_size if home.log_file.exists() else -1
        handler.handle(record)
        handler.close()
        return home.log_file.stat().st_size != before
    except (OSError, ValueError):
        return False
