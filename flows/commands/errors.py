"""Which errors are the input's fault: they become one sentence and exit code 2."""

from __future__ import annotations

from flows.local_model import EmbeddedModelError
from metrics.catalog import DuplicateEntryError, UnknownEntryError
from metrics.errors import BadInputError
from registry.releases import ReleaseExistsError, UnknownReleaseError

USER_ERRORS: tuple[type[Exception], ...] = (
    BadInputError,
    UnknownEntryError,
    DuplicateEntryError,
    EmbeddedModelError,
    ReleaseExistsError,
    UnknownReleaseError,
)
