"""Whether a requested model id names one fixed build, or whatever the provider serves under that name today.

Only the id is read; nobody is asked. An audit of a floating id still records which model the provider says
answered, so that a silent change is seen; a pinned id promises that there is none.
"""

from __future__ import annotations

import re
from typing import Literal

_START = r"(?:^|[-_.:/@])"
_END = r"(?=$|[-_.:/@])"
_YEAR, _MONTH, _DAY = r"20[1-4]\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_SHORT_YEAR = r"(?:2[2-9]|3\d)"  # 22-39: no provider dated ids before 2022, and -2048 is a context length

_PINNED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_START}{_YEAR}-?{_MONTH}-?{_DAY}{_END}",  # gpt-4o-2024-08-06, claude-3-5-sonnet-20241022
        rf"{_START}{_YEAR}-{_MONTH}{_END}",  # nova-2026-10
        rf"{_START}{_MONTH}-{_YEAR}{_END}",  # command-r-08-2024
        rf"{_START}preview-{_MONTH}-{_DAY}{_END}",  # gemini-2.5-flash-preview-04-17
        rf"[-_]{_SHORT_YEAR}{_MONTH}{_END}",  # mistral-small-2501
        rf"[-_]{_MONTH}{_DAY}{_END}",  # gpt-4-0613, deepseek-v3-0324
        r"[-@]0\d\d$",  # gemini-1.5-pro-002, mistral-small-2503@001
        r"-v\d+:\d+$",  # amazon.nova-pro-v1:0
        r"[@:](?:sha256:)?(?=[0-9a-f]*\d)[0-9a-f]{7,64}$",  # revisions and digests
        r"\.gguf$",  # a file
        r"[-_.:](?:i?q\d(?:_[0-9a-z]+)+|fp16|bf16|f16|f32)$",  # a build with its quantisation
        r"^embedded:",  # shipped with the installation
    )
)
_FLOATING = re.compile(rf"{_START}latest{_END}|[@:](?:main|master|default|stable)$", re.IGNORECASE)


def pinning(model: str, base_url: str | None = None) -> Literal["pinned", "floating"]:
    """Whether ``model`` is a fixed build: ``pinned`` or ``floating``.

    Dated ids, revisions and digests, numbered builds and quantised files are pinned, and so is everything behind
    an ``embedded:`` endpoint. ``latest``, branch names and bare names are floating: when in doubt, floating.

    Examples
    --------
    >>> pinning("gpt-4o-2024-08-06"), pinning("gpt-4o")
    ('pinned', 'floating')
    >>> pinning("mistral-small-2501"), pinning("mistral-small-latest")
    ('pinned', 'floating')
    """
    if base_url is not None and base_url.startswith("embedded:"):
        return "pinned"
    if _FLOATING.search(model):
        return "floating"
    return "pinned" if any(pattern.search(model) for pattern in _PINNED) else "floating"


def is_floating(model: str) -> bool:
    """Whether the provider may change what answers to ``model`` without a new id.

    >>> is_floating("claude-3-5-sonnet-20241022")
    False
    """
    return pinning(model) == "floating"
