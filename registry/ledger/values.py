"""What the ledger returns: frozen values, never rows bound to a session."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from metrics.results import Comparison
from registry.audits.plan import AuditPlan
from registry.releases import ModelRelease


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One ordered audit of a release: an occasion.

    Parameters
    ----------
    id : ledger id; occasion : 1, 2, ... within release, protocol and collection key
    release : the release as it was registered when the audit was ordered
    source : ``live`` or ``imported``
    state : ``open`` (requests are unanswered), ``complete``, or ``incomplete`` (given up with failures)
    differences : sampling parameters that the endpoint refused, and what was sent instead
    scoring_version : of the stored scores; None before the first scoring, empty when requests were asked again since
    run_id : MLflow run it was published to; None before that
    """

    id: int
    release: ModelRelease
    protocol: str
    occasion: int
    plan: AuditPlan
    source: str
    state: str
    ordered_at: str
    finished_at: str | None = None
    differences: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    scoring_version: str | None = None
    run_id: str | None = None

    @property
    def concluded(self) -> bool:
        """Whether its answers are in and were scored; else the process that made it was interrupted."""
        return self.state != "open" and self.scoring_version is not None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCounts:
    """Requests of an audit that were put, that is have an answer or a recorded failure, and those with an answer."""

    put: int
    given: int

    @property
    def failed(self) -> int:
        """Requests that brought nothing but failures."""
        return self.put - self.given


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OpenWork:
    """What of an audit waits for an answer: how many requests, from which index to which.

    ``again`` : whether some of them failed before; it is false where there are none.
    """

    size: int = 0
    first: int = 0
    last: int = -1
    again: bool = False

    def __len__(self) -> int:
        return self.size


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredComparison:
    """A comparison of two audits as judged under one policy, with its rows in order."""

    id: int
    family: str
    protocol: str
    previous_audit: int
    current_audit: int
    scoring_version: str
    policy: Mapping[str, Any]
    verdict: str
    why: str
    rows: tuple[Comparison, ...]
    made_at: str
    run_id: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NameList:
    """The frozen names of a family's name axis. Part of the scoring version, so that history never shifts."""

    family: str
    protocol: str
    version: int
    names: tuple[str, ...]
    audits: tuple[int, ...]
    reason: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Blessing:
    """A decision that a version of a family is its baseline of some name: by whom, why and when."""

    id: int
    family: str
    name: str
    version: int
    who: str
    why: str
    made_at: str

    @property
    def uri(self) -> str:
        return f"models:/{self.family}/{self.version}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One number or verdict of a card that is another now; ``now`` is None where the card has none any more."""

    where: str
    was: float | str | None
    now: float | str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """What was found wrong in a card after it was given out.

    Parameters
    ----------
    audit, version : whose card; digest : of the card as it was, empty when none was given out
    why, who : the reason in words, and who says so; empty when the program found it by itself
    changes : what was and what is; none when it was recorded by hand
    """

    id: int
    audit: int
    version: int
    digest: str
    why: str
    who: str
    changes: tuple[Change, ...]
    made_at: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GivenCard:
    """A card as it was given out: its digest, what it was made of, and its numbers by where they stand."""

    audit: int
    digest: str
    basis: Mapping[str, Any]
    numbers: Mapping[str, float | str | None]
    made_at: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where answers of an audit came from instead of calls of its own.

    Parameters
    ----------
    kind : ``imported``, all its answers, or ``reused``, some of them in place of calls
    address : content address of the bundle; else ``from_audit`` is the audit of this ledger
    release, provider, finished_at : who answered, the provider when a library of energy knows it, and when that audit ended
    license : an SPDX expression, None when none was stated; provenance : in words
    answers : how many; uncounted : how many of them state no tokens; prompt_tokens, completion_tokens : of those that do
    """

    kind: str
    address: str | None = None
    from_audit: int | None = None
    release: str = ""
    provider: str | None = None
    finished_at: str | None = None
    license: str | None = None
    provenance: str = ""
    answers: int = 0
    uncounted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    made_at: str = ""

    def in_words(self) -> str:
        """Where from, in a few words.

        >>> Origin(kind="imported", address="ab" * 32, license="CC0-1.0", answers=40).in_words()
        'imported: 40 answers of bundle abababababababab, licence CC0-1.0'
        >>> Origin(kind="reused", from_audit=3, release="models:/nova/1", answers=1).in_words()
        'reused: 1 answer of audit 3 of models:/nova/1'
        """
        n = f"{self.answers:,} answer{'s' if self.answers != 1 else ''}"
        if self.address is None:
            return f"{self.kind}: {n} of audit {self.from_audit} of {self.release}"
        return f"{self.kind}: {n} of bundle {self.address[:16]}, licence {self.license or 'not stated'}"

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HumanRecord:
    """What people said of two audits in a blind rating.

    Parameters
    ----------
    key, sheets : SHA-256 of the key that told the sides, and a hash of the answers of each sheet
    first_audit, second_audit : that were rated, of the releases ``first`` and ``second``
    result : numbers of pairs and raters, preference, severity and agreement with n, interval and method, the measured change,
        and the direction of one against the other with its reason
    """

    id: int
    key: str
    sheets: tuple[str, ...]
    first_audit: int
    second_audit: int
    first: str
    second: str
    result: Mapping[str, Any]
    made_at: str

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        told = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "result"}
        return told | {"sheets": list(self.sheets)} | dict(self.result)
