"""Kinds of findings: what each is called, how severe it is, and those that are made outside an audit's conclusion."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metrics.errors import BadInputError

if TYPE_CHECKING:
    from registry.ledger.incidents import Incident

SEVERITIES = ("low", "medium", "high", "very high")

#: Kinds of findings with the severity that they have unless ``alerts.severities`` says otherwise.
KINDS: Mapping[str, str] = {
    "regression": "high",
    "drift": "high",
    "gate-failure": "high",
    "coverage-collapse": "medium",
    "identity-changed": "medium",
    "budget": "medium",
    "overdue": "medium",
    "no-verdict": "low",
    "instrument-moved": "low",
    "improvement": "low",
}
#: How an incident of a kind ends, to be read after "it is over when".
ENDS: Mapping[str, str] = {
    "regression": "a later audit of the family is no longer worse than the same reference",
    "drift": "a later audit of the release is no longer worse than its baseline",
    "gate-failure": "a later audit passes the gate",
    "coverage-collapse": "a later audit has enough usable answers",
    "budget": "calls are made again",
    "overdue": "an audit of the duty finishes, or it is not declared any more",
    "no-verdict": "an audit of the duty ends with a verdict",
    "instrument-moved": "the instrument is steady during a later audit",
}
REPLICATED = ("regression", "gate-failure")
ONCE = ("improvement", "identity-changed")
_LONGEST_KEY = 250


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that somebody should know of.

    Parameters
    ----------
    key : the same for the same finding, however often it is seen
    kind : one of ``KINDS``; severity : the default of the kind
    family, version, protocol : what it is about; empty or None where it is about no single one
    title, why : in words
    evidence : ``verdict``, ``previous``, ``dimensions``, ``moved``, ``sure``, ``cells``, ``details``, as plain values
    audit : that found it; reference_audit : what it was compared with
    live : whether the release can be asked again
    """

    key: str
    kind: str
    family: str
    title: str
    why: str
    version: int | None = None
    protocol: str = ""
    evidence: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    audit: int | None = None
    reference_audit: int | None = None
    live: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInputError(f"no kind of finding is named {self.kind!r}. Known: {', '.join(KINDS)}")

    @property
    def severity(self) -> str:
        return KINDS[self.kind]


def key_of(kind: str, *parts: object) -> str:
    """The key of a finding from what tells it apart; one that would be too long ends in a hash.

    >>> key_of("regression", "nova", "persona-brainstorm", "against models:/nova/2")
    'regression/nova/persona-brainstorm/against models:/nova/2'
    """
    key = "/".join([kind, *map(str, parts)])
    if len(key) <= _LONGEST_KEY:
        return key
    return f"{key[: _LONGEST_KEY - 17]} {hashlib.sha256(key.encode()).hexdigest()[:16]}"


def percent(share: float) -> str:
    """A share in words.

    >>> percent(0.05), percent(0.125)
    ('5 %', '12.5 %')
    """
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def probability(value: float | None) -> str:
    """A p or q value in words; no sign that chat services make markup of.

    >>> probability(0.0002), probability(0.012), probability(None)
    ('below .001', '.012', 'not known')
    """
    if value is None:
        return "not known"
    return "below .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def overdue(duty: str, *, family: str, protocol: str, why: str, version: int | None = None) -> Finding:
    """An audit that is due and was not made; ``duty`` is its name. Ends by `flows.alerts.cleared` with its key."""
    return Finding(
        key=key_of("overdue", duty),
        kind="overdue",
        family=family,
        version=version,
        protocol=protocol,
        title=f"the audit {duty} is overdue",
        why=why,
    )


def budget_reached(scope: str, *, family: str = "", protocol: str = "", why: str) -> Finding:
    """A budget that ended an audit or keeps one from starting; ``scope`` says which, such as ``2026-11 nova-chat``."""
    return Finding(
        key=key_of("budget", scope),
        kind="budget",
        family=family,
        protocol=protocol,
        title=f"the budget of {scope} is reached",
        why=why,
    )


def plain(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence as the ledger gives it back: lists for tuples, and no number that JSON does not have."""
    return dict(json.loads(json.dumps(dict(evidence), allow_nan=False)))


def is_worse(one: str, other: str) -> bool:
    """Whether a severity is at least another.

    >>> is_worse("high", "medium"), is_worse("low", "medium")
    (True, False)
    """
    return SEVERITIES.index(one) >= SEVERITIES.index(other)


def names_of(incident: Incident) -> set[str]:
    """Dimensions or failed checks that an incident is about."""
    return {*incident.evidence.get("dimensions", ()), *incident.evidence.get("checks", ())}
