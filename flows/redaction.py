"""Keeping keys and passwords out of everything that is stored, shown or raised.

Two ways together: the key that is known, in every spelling that may come back; and what looks like a key of anybody. Both
leave everything else as it is, for an answer is evidence.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from registry.audits.plan import Response

REMOVED_KEY = "[api key removed]"
REMOVED_SECRET = "[secret removed]"  # noqa: S105 - a mark
# Placeholders for servers without keys ("none", "EMPTY") are shorter; replacing them would damage answers.
SHORTEST_KEY = 6
LONGEST_LINE = 400
_SAID = ("text", "refusal", "detail", "extra")  # what is said in an answer

_WORD = r"[A-Za-z0-9_-]"
# What has no digit in its first word is prose: sk-based-on-something-else. All repetition is bounded or ends what it reads,
# for the text may have been written to be slow.
_DIGIT_IN = rf"(?={_WORD}{{0,80}}\d)"


def _begins(start: str, rest: str) -> re.Pattern[str]:
    """A key that begins with a fixed text, not within a word; literal first, so that the search for it is fast."""
    return re.compile(rf"{start}(?<![A-Za-z0-9]{start}){rest}")


# Each with words one of which is in the text whenever the pattern matches: looking for a word costs a microsecond. What
# a pattern calls `kept` stays.
_NAMES = r"(?:api[-_]?key|[?&](?:key|token|sig|signature)|access[-_]?key|secret[-_]?key|client[-_]?secret|auth[-_]?token|session[-_]?token)"
_LOOKS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("sk-",), _begins("sk-", rf"{_DIGIT_IN}{_WORD}{{20,}}")),  # OpenAI, Anthropic (sk-ant-), OpenRouter and others
    (("sk_",), _begins("sk_", rf"(?:live|test)_{_DIGIT_IN}{_WORD}{{16,}}")),
    (("gsk_",), _begins("gsk_", rf"{_DIGIT_IN}{_WORD}{{20,}}")),
    (("xai-",), _begins("xai-", rf"{_DIGIT_IN}{_WORD}{{20,}}")),
    (("pplx-",), _begins("pplx-", rf"{_DIGIT_IN}{_WORD}{{20,}}")),
    (("nvapi-",), _begins("nvapi-", rf"{_DIGIT_IN}{_WORD}{{20,}}")),
    (("hf_",), _begins("hf_", rf"{_DIGIT_IN}[A-Za-z0-9]{{30,}}")),
    (("r8_",), _begins("r8_", rf"{_DIGIT_IN}[A-Za-z0-9]{{30,}}")),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(rf"(?<![A-Za-z0-9])gh[pousr]_{_DIGIT_IN}\w{{30,}}")),
    (("github_pat_",), _begins("github_pat_", rf"{_DIGIT_IN}\w{{22,}}")),
    (("glpat-",), _begins("glpat-", rf"{_DIGIT_IN}{_WORD}{{18,}}")),
    (("xox", "xapp-"), re.compile(rf"(?<![A-Za-z0-9])(?:xox[a-z]|xapp)-{_DIGIT_IN}{_WORD}{{10,}}")),
    (("hooks.slack",), re.compile(r"(?P<kept>hooks\.slack(?:-gov)?\.com/[a-z]+/)[\w/-]{20,}")),
    (("AIza",), _begins("AIza", rf"{_WORD}{{35}}")),
    (("AKIA", "ASIA"), re.compile(r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])")),
    (("eyJ",), _begins("eyJ", rf"{_WORD}{{10,}}(?:\.{_WORD}+){{2,4}}")),  # a JSON web token
    (
        ("PRIVATE KEY",),
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END)[A-Za-z0-9+/=\s\\:,-]){0,16384}"
            r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
        ),
    ),
    (  # the password of an address; its user stays, which says what was tried
        ("://",),
        re.compile(r"(?P<kept>://[^\s/:@\"'<>]{0,200}:)(?!\[secret)(?:[^\s/\"'<>\\]|\\(?![\"'])){1,500}(?=@)"),
    ),
    (
        ("earer ", "EARER ", "uthorization", "UTHORIZATION"),
        re.compile(
            r"(?i)(?P<kept>\b(?:bearer|authorization[\"']?\s?[:=]\s?[\"']?(?:basic|token))\s{1,3})"
            r"(?=[^\s\"',;]{0,80}\d)[A-Za-z0-9._~+/=-]{12,}"
        ),
    ),
    (  # name=value, as in query strings and the settings of a database
        ("assword=", "ASSWORD=", "passwd=", "PASSWD="),
        re.compile(r"(?i)(?P<kept>\b[a-z_]{0,40}(?:password|passwd)=)(?!\[secret)(?:[^\s&;\"'<>\\]|\\(?![\"'])){3,}"),
    ),
    (
        ("key", "Key", "KEY", "ecret", "ECRET", "oken", "OKEN", "?sig", "&sig"),
        re.compile(
            rf"(?i)(?P<kept>{_NAMES}(?:\\{{0,7}}[\"'])?\s?[:=]\s?(?:\\{{0,7}}[\"'])?)"
            r"(?=[^\s\"',;&]{0,80}\d)(?=[^\s\"',;&]{0,80}[a-z])[^\s\"',;&\\]{12,}"
        ),
    ),
)


def _put(match: re.Match[str]) -> str:
    kept = match.re.groupindex and match["kept"]
    return f"{kept or ''}{REMOVED_SECRET}"


def counted_without_secrets(text: str) -> tuple[str, int]:
    """The text without anything that looks like a key or password, and how many were removed."""
    count = 0
    for words, pattern in _LOOKS:
        if any(word in text for word in words):
            text, found = pattern.subn(_put, text)
            count += found
    return text, count


def without_secrets(text: str) -> str:
    """The text without anything that looks like somebody's key or password; everything else stays as it is.

    >>> without_secrets("postgresql://audit:hunter2@db/ledger refused the password")
    'postgresql://audit:[secret removed]@db/ledger refused the password'
    >>> without_secrets("a risk-averse desk-based clerk, sk-ilful and 31")
    'a risk-averse desk-based clerk, sk-ilful and 31'
    """
    return counted_without_secrets(text)[0]


def looks_like_key(text: str) -> bool:
    """Whether something that looks like a key or password is in the text.

    >>> looks_like_key("OPENAI_API_KEY"), looks_like_key("AKIA" + "ABCDEFGHIJKLMNOP")
    (False, True)
    """
    return counted_without_secrets(text)[1] > 0


def _spellings(letter: str) -> str:
    r"""Pattern for one character as it is, after backslashes, or as JSON, a URL or HTML spell it.

    >>> bool(re.fullmatch(_spellings("/"), "\\/")), bool(re.fullmatch(_spellings("k"), "\\u006b"))
    (True, True)
    """
    code = ord(letter)
    percent = "".join(f"%{byte:02x}" for byte in letter.encode("utf-8", "replace"))
    forms = [re.escape(letter), rf"u{code:04x}", rf"x{code:02x}"]
    return rf"(?:\\{{0,4}}(?:{'|'.join(forms)})|{re.escape(percent)}|&#{code};|&#x{code:x};)"


def without_secrets_in(answers: Sequence[Response]) -> list[Response]:
    """Answers that came from a file, without keys and passwords; each says how many were removed from it."""
    clean = []
    for answer in answers:
        said, removed = Redaction().counted({name: getattr(answer, name) for name in _SAID})
        if removed:
            said["extra"] = {**said["extra"], "redactions": removed}
        clean.append(dataclasses.replace(answer, **said) if removed else answer)
    return clean


class Redaction:
    r"""Removes one key, and what looks like any other, from values that came from outside.

    Answers are evidence and stay as they are, but for keys and for two kinds of characters that no database takes: lone
    surrogates have no UTF-8 form, and PostgreSQL refuses NUL. Both become U+FFFD.

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
    >>> redaction.counted("mine is sk-1234567, and AKIAABCDEFGHIJKLMNOP")
    ('mine is [api key removed], and [secret removed]', 2)
    """

    def __init__(self, key: str | None = None) -> None:
        self._spelled = None
        if key and len(key) >= SHORTEST_KEY:
            self._spelled = re.compile("".join(map(_spellings, key)), re.IGNORECASE)

    def __repr__(self) -> str:
        return "Redaction()"

    def of(self, value: Any) -> Any:
        """The value without keys; mappings and lists are gone through, their keys included."""
        return self.counted(value)[0]

    def counted(self, value: Any) -> tuple[Any, int]:
        """The value without keys, and how many were removed."""
        removed = [0]
        return self._cleaned(value, removed), removed[0]

    def _cleaned(self, value: Any, removed: list[int]) -> Any:
        if isinstance(value, str) and not isinstance(value, enum.Enum):
            if self._spelled is not None:
                value, found = self._spelled.subn(REMOVED_KEY, value)
                removed[0] += found
            value, found = counted_without_secrets(value)
            removed[0] += found
            if value.isascii() and "\x00" not in value:
                return value
            return re.sub("[\x00\ud800-\udfff]", "\ufffd", value)
        if isinstance(value, Mapping):
            return {self._cleaned(name, removed): self._cleaned(part, removed) for name, part in value.items()}
        if isinstance(value, (list, tuple)):
            return (
                type(value)(self._cleaned(part, removed) for part in value) if type(value) in (list, tuple) else value
            )
        return value

    def line(self, text: str) -> str:
        """One printable line of at most about 400 characters; cut last, so that no part of a key is left at its end."""
        words = " ".join(self.of(text).split())
        clean = "".join(letter for letter in words if letter.isprintable())
        return clean if len(clean) <= LONGEST_LINE else f"{clean[:LONGEST_LINE]} ..."
