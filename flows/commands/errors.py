"""Which errors are the input's fault: they become one sentence and exit code 2."""

from __future__ import annotations

from flows.local_model import EmbeddedModelError
from metrics.errors import BadInputError

# By module and name, for importing these libraries would cost every command seconds.
_STORE_ERRORS = {"sqlalchemy.exc": "a database", "mlflow.exceptions": "MLflow"}

USER_ERRORS: tuple[type[Exception], ...] = (
    BadInputError,
    EmbeddedModelError,
)


def store_trouble(error: Exception) -> str | None:
    """One sentence when a database or MLflow refused, whose message is for people; None for everything else."""
    kind = _STORE_ERRORS.get(type(error).__module__)
    if kind is None:
        return None
    first = str(getattr(error, "orig", None) or error).splitlines()[0]
    return f"{kind} refused: {first}. Nothing that was stored is lost; check the home folder and run the command again"
