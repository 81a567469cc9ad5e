"""The one family of errors that says: the input, not the program, is wrong."""

from __future__ import annotations


class BadInputError(ValueError):
    """What was expected, what came, and what to do, in one sentence. The command line answers it with exit code 2."""
