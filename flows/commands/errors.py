"""Which errors are the input's fault: they become one sentence and exit code 2."""

from __future__ import annotations

from flows.local_model import EmbeddedModelError
from metrics.errors import BadInputError
from registry.stores import without_passwords

# By module and name, for importing these libraries would cost every command seconds.
_STORE_ERRORS = {"sqlalchemy.exc": "a database", "mlflow.exceptions": "MLflow"}

USER_ERRORS: tuple[type[Exception], ...] = (
    BadInputError,
    EmbeddedModelError,
)


def store_trouble(error: Exception) -> str | None:
    """One sentence when a database or MLflow refused, whose message is for people; None for everything else."""
    module = type(error).__module__
    if module == "mlflow.tracking.registry":
        return (
            f"MLflow does not know this kind of address ({without_passwords(str(error).splitlines()[0])}); check tracking_uri in "
            f"spiritlevel.toml or SPIRITLEVEL_TRACKING_URI, which are like sqlite:///FILE or http://HOST:5000"
        )
    if type(error).__name__ == "ArgumentError" and module == "sqlalchemy.exc":
        return (
            "the address of the ledger is no database URL; check ledger_url in spiritlevel.toml or SPIRITLEVEL_LEDGER_URL, "
            "which are like sqlite:///FILE or postgresql://USER@HOST/NAME"
        )
    kind = _STORE_ERRORS.get(module)
    if kind is None:
        return None
    first = without_passwords(str(getattr(error, "orig", None) or error).splitlines()[0])
    from registry.ledger.opening import NO_ROOM

    check = "check the home folder"
    if any(words in first.casefold() for words in NO_ROOM):
        check = "check the free space of its disk and the limits on it (quota, size of a file)"
    return f"{kind} refused: {first}. Nothing that was stored is lost; {check} and run the command again"
