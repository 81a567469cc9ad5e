"""Keeping an API key out of everything that is stored, shown or raised."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Any

REMOVED_KEY = "[api key removed]"
# Placeholders for servers without keys ("none", "EMPTY") are shorter; replacing them would damage answers.
SHORTEST_KEY = 6
LONGEST_LINE = 400


def _spellings(letter: str) -> str:
    r"""Pattern for one character as it is, after backslashes, or as JSON, a URL or HTML spell it.

    >>> bool(re.fullmatch(_spellings("/"), "\\/")), bool(re.fullmatch(_spellings("k"), "\\u006b"))
    (True, True)
    """
    code = ord(letter)
    percent = "".join(f"%{byte:02x}" for byte in letter.encode("utf-8", "replace"))
    forms = [re.escape(letter), rf"u{code:04x}", rf"x{code:02x}"]
    return rf"(?:\\{{0,4}}(?:{'|'.join(forms)})|{re.escape(percent)}|&#{code};|&#x{code:x};)"


class Redaction:
    r"""Removes one key from values that came from outside.

    Answers are evidence and stay as they are, but for the key itself and for two kinds of characters that no
    database takes: lone surrogates have no UTF-8 form, and PostgreSQL refuses NUL. Both become U+FFFD.

    Parameters
    ----------
    key : the key; one of under 6 characters is a placeholder and is not searched for

    Examples
    --------
    >>> redaction = Redaction("sk-1234567")
    >>> redaction
    Redaction()
    >>> redaction.of({"headers": ["Bearer sk-1234567"], "n": 3})
    {'headers': ['Bearer [api key removed]'], 'n': 3}
    >>> redaction.line("refused:\n  key sk-1234567 is unknown")
    'refused: key [api key removed] is unknown'
    """

    def __init__(self, key: str | None) -> None:
        self._spelled = None
        if key and len(key) >= SHORTEST_KEY:
            self._spelled = re.compile("".join(map(_spellings, key)), re.IGNORECASE)

    def __repr__(self) -> str:
        return "Redaction()"

    def of(self, value: Any) -> Any:
        """The value without the key; mappings and lists are gone through, their keys included."""
        if isinstance(value, str) and not isinstance(value, enum.Enum):
            if self._spelled is not None:
                value = self._spelled.sub(REMOVED_KEY, value)
            if value.isascii() and "\x00" not in value:
                return value
            return re.sub("[\x00\ud800-\udfff]", "\ufffd", value)
        if isinstance(value, Mapping):
            return {self.of(name): self.of(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.of(part) for part in value]
        return value

    def line(self, text: str) -> str:
        """One printable line of at most about 400 characters; cut last, so that no part of a key is left at its end."""
        words = " ".join(self.of(text).split())
        clean = "".join(letter for letter in words if letter.isprintable())
        return clean if len(clean) <= LONGEST_LINE else f"{clean[:LONGEST_LINE]} ..."
