"""Secrets: configuration names the environment variable that holds one; its value is read when it is needed."""

from __future__ import annotations

import os
from pathlib import Path

from flows.redaction import looks_like_key
from metrics.errors import BadInputError
from registry.release_fields import checked_variable

FILE_SUFFIX = "_FILE"
_LARGEST = 64 * 1024  # bytes: a bundle of certificates fits, a wrong path to something large does not


def secret(name: str | None, what: str) -> str | None:
    """The value of a secret: of the variable, else of the file that the variable with ``_FILE`` after its name names.

    Docker and Kubernetes give secrets as files, which ``docker inspect`` and the process list do not show. Line breaks at
    the end of a file are left out. The value is for memory only.

    Parameters
    ----------
    name : the variable's name; None for no secret at all, which gives None
    what : what the secret is for, to begin a sentence with, such as "the channel 'pager'"

    Raises
    ------
    BadInputError
        When nothing is set, the file cannot be read or is empty, or ``name`` looks like the secret itself, which is not
        repeated.
    """
    if name is None:
        return None
    _refuse_value_as_name(name, what)
    if value := os.environ.get(name):
        return value
    path = os.environ.get(name + FILE_SUFFIX)
    if path:
        return _content(path, name + FILE_SUFFIX, what)
    raise BadInputError(
        f"{what} takes its secret from the environment variable {name}, which is not set; set it, or set "
        f"{name}{FILE_SUFFIX} to the path of a file that holds it"
    )


def secret_present(name: str | None) -> bool:
    """Whether a secret can be read now; never raises, and tells nothing else of it."""
    try:
        return secret(name, "it") is not None
    except BadInputError:
        return False


def take_credentials() -> None:
    """Put what files hold, as containers give it, where MLflow reads it: MLFLOW_TRACKING_PASSWORD_FILE and the like."""
    for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN"):
        if os.environ.get(name + FILE_SUFFIX) and (value := secret(name, "MLflow")):
            os.environ[name] = value


def _refuse_value_as_name(name: str, what: str) -> None:
    try:
        checked_variable(name)
    except BadInputError:
        wrong = True
    else:
        wrong = looks_like_key(name)
    if wrong:  # raised here, so that the chain of exceptions does not hold the value either
        raise BadInputError(
            f"{what} names the environment variable that holds its secret, such as OPENAI_API_KEY; what was given is "
            f"not a variable name or looks like the secret itself (not repeated here)"
        )


def _content(path: str, variable: str, what: str) -> str:
    # A secret that was put where its path belongs must not be shown either.
    shown = "the path in it (not repeated here)" if looks_like_key(path) or len(path) > 250 else repr(path)
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_LARGEST + 1)
        if len(raw) > _LARGEST:
            raise BadInputError(f"{what}: {variable} names {shown}, which is too large to be a secret (over 64 KiB)")
        value = raw.decode("utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        if isinstance(error, BadInputError):
            raise
        why = error.strerror if isinstance(error, OSError) else "it is no text file"
        raise BadInputError(f"{what} takes its secret from a file, but {variable} names {shown}: {why}") from None
    if not value:
        raise BadInputError(f"{what} takes its secret from a file, but {variable} names {shown}, which is empty")
    return value
