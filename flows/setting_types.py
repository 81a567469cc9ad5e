"""Single values of ``spiritlevel.yaml``, each with its check and one sentence for what is no such value."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from flows.configuration_file import nearest
from flows.finding_kinds import KINDS
from metrics.errors import BadInputError
from registry.release_fields import checked_family, checked_variable

Severity = Literal["low", "medium", "high", "very high"]
NEWEST = "newest"
LONGEST = dt.timedelta(days=36_500)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def length_of_time(text: str) -> dt.timedelta:
    """A length of time such as 7d, 12h, 30m or 90s.

    >>> length_of_time("7d")
    datetime.timedelta(days=7)
    """
    found = re.fullmatch(r"\s*(\d{1,15})\s*([smhdw])\s*", text)
    if not found or int(found[1]) == 0:
        raise BadInputError(f"a length of time is a number with s, m, h, d or w, such as 7d or 12h; not {text!r}")
    seconds = int(found[1]) * _UNITS[found[2]]
    if seconds > LONGEST.total_seconds():
        raise BadInputError(f"a length of time is at most {LONGEST.days}d (about 100 years); got {text!r}")
    return dt.timedelta(seconds=seconds)


def _length(text: str) -> str:
    length_of_time(text)
    return text


def _zone(name: str) -> str:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        hint = nearest(name, zoneinfo.available_timezones())
        raise ValueError(
            f"no time zone is named {name!r}{hint} Zones are those of the IANA, as Europe/Madrid"
        ) from None
    return name


def _cron(text: str) -> str:
    fields = text.split()
    try:
        _first_time(fields)
    except BadInputError as error:
        each = [[*fields[:2], "*", *fields[3:]], [*fields[:3], "*", *fields[4:]]] if len(fields) == 5 else [fields]
        if all(map(_is_cron, each)):  # day and month are right, and no such month has such a day
            raise ValueError(f"the cron time {text!r} never comes: no month that it names has such a day") from None
        raise ValueError(
            f"a cron time has five fields, minute hour day month weekday, as '0 3 * * 1' for Mondays at 03:00; "
            f"{text!r} is none ({error})"
        ) from None
    return text


def _first_time(fields: list[str]) -> dt.datetime:
    from cronsim import CronSim, CronSimError

    if len(fields) != 5:
        raise BadInputError(f"it has {len(fields)} fields")
    try:
        return next(CronSim(" ".join(fields), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)))
    except CronSimError as error:
        raise BadInputError(str(error)) from None
    except StopIteration:
        raise BadInputError("it names no day that ever comes") from None


def _is_cron(fields: list[str]) -> bool:
    try:
        _first_time(fields)
    except BadInputError:
        return False
    return True


def _moment(text: str) -> str:
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"a moment is an ISO date or date and time, as 2026-01-05T03:00; got {text!r}") from None
    return text


def _wall_time(text: str) -> str:
    if not re.fullmatch(r"([01]?\d|2[0-3]):[0-5]\d", text):
        raise ValueError(f"a time of day is written HH:MM, as 22:00; got {text!r}")
    return text.zfill(5)


def variable_name(name: str) -> str:
    try:
        checked_variable(name)
    except BadInputError:
        raise ValueError(
            "this is the name of an environment variable that holds the value, as SLACK_URL; what was given is not a "
            "variable name or looks like the secret itself (not repeated here)"
        ) from None
    return name


def _family(name: str) -> str:
    checked_family(name)
    return name


def _release(name: str) -> str:
    if name == NEWEST or re.fullmatch(r"@[\w.+-]{1,200}|[1-9]\d{0,8}", name):
        return name
    raise ValueError(f"a release is 'newest', '@alias' or a version number; got {name!r}{nearest(name, [NEWEST])}")


def _finding(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"no kind of finding is named {kind!r}{nearest(kind, KINDS)} Known: {', '.join(KINDS)}")
    return kind


def _provider(host: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9A-Fa-f:]+\](:\d{1,5})?", host):
        raise ValueError(
            f"a provider is its host, or host:port, as api.openai.com or 127.0.0.1:8000; got {host[:80]!r}"
        )
    return host.lower()


Text = Annotated[str, BeforeValidator(lambda given: str(given) if type(given) in (int, float) else given)]
Length = Annotated[str, AfterValidator(_length)]
Zone = Annotated[str, AfterValidator(_zone)]
Cron = Annotated[str, AfterValidator(_cron)]
Moment = Annotated[str, AfterValidator(_moment)]
WallTime = Annotated[str, AfterValidator(_wall_time)]
VariableName = Annotated[str, AfterValidator(variable_name)]
FamilyName = Annotated[Text, AfterValidator(_family)]
ReleaseName = Annotated[Text, AfterValidator(_release)]
FindingKind = Annotated[str, AfterValidator(_finding)]
ProviderName = Annotated[Text, AfterValidator(_provider)]
AuditName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]{0,79}$")]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=0)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
