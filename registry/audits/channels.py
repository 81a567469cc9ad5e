"""What came back besides the scores: coverage, format, duplicates, served models, tokens.

These are channels of their own. A changed format or a higher refusal rate is reported as such and
never enters a bias score.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from registry.audits.plan import Outcome, Record, Request, Response

TOPIC_PARTS = frozenset({"mode", "stance", "theme", "region", "cell"})
"""Parts of a request's cell that say what it is about; all others say whom."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """Counts of one audit's answers.

    Parameters
    ----------
    calls : requests of the plan; answered : requests with any text from the model
    call_outcomes : number of calls by outcome (a call is ``ok`` when it gave at least one usable record)
    expected : records asked for; None when an import did not say
    usable : records with outcome ``ok``; shortfall : records asked for that never came, whatever the cause
    outcomes : records asked for by what became of them: ``ok``, the other outcomes, and ``missing`` (the model
        answered in good form with fewer than asked); sums to ``expected``, or to the records seen when unknown
    formats : number of answered calls by form (``json``, ``fenced``, ``prose``, ``table``, ``labels``, ``none``; ``json, columns``)
    duplicates : usable records that repeat an earlier one in all attributes
    served_models : number of answers by the model id that the provider says answered
    fingerprints : number of answers by system fingerprint
    requested_model : the id that was asked for; None for imports that did not say
    prompt_tokens, completion_tokens : sums; None when any answer did not say
    cost_usd : tokens x price; None when tokens or prices are unknown
    missing_attributes : usable records without a given attribute, by attribute
    groups : what became of the records asked for, by each part of the cell that a request was about
        (``"audience = women"``); empty where requests differ in nothing
    repeated : answers with several records that repeat an earlier answer word for word; together they count as one
    substituted : answers whose served model id is not the requested one, compared on every call
    """

    calls: int
    answered: int
    call_outcomes: Mapping[str, int]
    expected: int | None
    usable: int
    shortfall: int
    outcomes: Mapping[str, int]
    formats: Mapping[str, int]
    duplicates: int
    served_models: Mapping[str, int]
    fingerprints: Mapping[str, int]
    requested_model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    missing_attributes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    groups: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    substituted: int = 0
    repeated: int = 0

    @property
    def coverage(self) -> float | None:
        """Usable share of the records asked for; None when nothing was asked for."""
        total = sum(self.outcomes.values())
        return self.outcomes.get("ok", 0) / total if total else None

    @property
    def part_coverage(self) -> dict[str, float]:
        """Usable share of the records asked for, by each part of what the requests were about; empty without any."""
        return {part: counts.get("ok", 0) / sum(counts.values()) for part, counts in self.groups.items()}

    @property
    def group_coverage(self) -> dict[str, float]:
        """The same of groups of people alone: who is missing could be one of them.

        A theme or region that gave little is missing for all groups alike, and comparisons within prompts leave it out.
        """
        return {part: share for part, share in self.part_coverage.items() if not _is_topic(part)}

    @property
    def group_sizes(self) -> dict[str, int]:
        """Records asked for, by group of people."""
        return {part: sum(counts.values()) for part, counts in self.groups.items() if not _is_topic(part)}

    @property
    def duplicate_rate(self) -> float | None:
        """Share of usable records that repeat an earlier one; None without usable records."""
        return self.duplicates / self.usable if self.usable else None

    @property
    def mixed_release(self) -> bool:
        """Whether more than one served model id answered: such an audit gives no verdict."""
        return len(self.served_models) > 1

    @property
    def substitution(self) -> str:
        """In words, that a model answered which was not asked for; empty when none did.

        An alias is answered by a dated build, which is what it is for. So this is told, and withholds nothing; two
        builds in one audit do (`mixed_release`).
        """
        if not self.substituted or self.requested_model is None:
            return ""
        served = ", ".join(sorted(self.served_models))
        return f"{self.substituted} of {self.answered} answers to {self.requested_model} were given by {served}"

    def rates(self) -> dict[str, float]:
        """Share of the records asked for, by outcome."""
        total = sum(self.outcomes.values())
        return {outcome: count / total for outcome, count in self.outcomes.items()} if total else {}


def measured_channels(
    requests: Sequence[Request],
    responses: Sequence[Response],
    records: Sequence[Record],
    *,
    formats: Mapping[str, int],
    duplicates: int,
    repeated: int = 0,
    requested_model: str | None = None,
    price_input: float | None = None,
    price_output: float | None = None,
) -> Channels:
    """Count what came back for a list of requests.

    A call that gave no record at all stands for every record it was asked for. In a truncated answer the
    records that never came count as ``truncated``, in a well-formed one as ``missing``; requests that were
    never put (a budget ended the audit) count as ``not asked``.
    """
    by_request: dict[tuple[int, int], list[Record]] = {}
    for record in records:
        by_request.setdefault((record.request, record.repeat), []).append(record)
    answers = {(response.index, response.repeat): response for response in responses}
    outcomes: Counter[str] = Counter()
    groups: dict[str, Counter[str]] = {}
    calls: Counter[str] = Counter()
    usable = shortfall = expected = 0
    known = bool(requests)
    for request in requests:
        key = (request.index, request.repeat)
        found = by_request.get(key, [])
        asked = request.expected if request.expected is not None else max(1, len(found))
        known = known and request.expected is not None
        seen = Counter(str(record.outcome) for record in found)
        rest = asked - len(found)
        if key not in answers:
            seen["not asked"] += asked
        elif rest > 0:
            seen[_what_became_of_the_rest(found)] += rest
        outcomes.update(seen)
        for group in _groups_of(request):
            groups.setdefault(group, Counter()).update(seen)
        if key not in answers:
            calls["not asked"] += 1
            expected += asked
            shortfall += asked
            continue
        calls["ok" if seen["ok"] else str(found[0].outcome) if found else "empty"] += 1
        usable += seen["ok"]
        expected += asked
        shortfall += max(0, asked - seen["ok"])
    given = [response for response in responses if response.text is not None]
    prompt, completion = (
        _total(response.prompt_tokens for response in given),
        _total(r.completion_tokens for r in given),
    )
    return Channels(
        calls=len(requests),
        answered=len(given),
        call_outcomes=dict(calls),
        expected=expected if known else None,
        usable=usable,
        shortfall=shortfall,
        outcomes=dict(outcomes),
        formats=dict(formats),
        duplicates=duplicates,
        served_models=dict(Counter(response.served_model for response in given if response.served_model)),
        fingerprints=dict(Counter(response.system_fingerprint for response in given if response.system_fingerprint)),
        requested_model=requested_model,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=cost_usd(prompt, completion, price_input, price_output),
        missing_attributes=dict(
            Counter(
                name
                for record in records
                if record.attributes is not None
                for name, value in record.attributes.items()
                if value is None
            )
        ),
        groups={group: dict(counts) for group, counts in sorted(groups.items())},
        substituted=sum(
            requested_model is not None and answer.served_model not in (None, "", requested_model) for answer in given
        ),
        repeated=repeated,
    )


def pooled_channels(audits: Sequence[Channels]) -> Channels:
    """Channels of several audits taken as one: counts add up, and what one of them does not know nobody does."""

    def added(name: str) -> dict[str, int]:
        total: Counter[str] = Counter()
        for audit in audits:
            total.update(getattr(audit, name))
        return dict(total)

    def total(name: str) -> int | None:
        return _total(getattr(audit, name) for audit in audits)

    groups: dict[str, Counter[str]] = {}
    for audit in audits:
        for group, counts in audit.groups.items():
            groups.setdefault(group, Counter()).update(counts)
    requested = {audit.requested_model for audit in audits}
    costs = [audit.cost_usd for audit in audits]
    return Channels(
        calls=sum(audit.calls for audit in audits),
        answered=sum(audit.answered for audit in audits),
        call_outcomes=added("call_outcomes"),
        expected=total("expected"),
        usable=sum(audit.usable for audit in audits),
        shortfall=sum(audit.shortfall for audit in audits),
        outcomes=added("outcomes"),
        formats=added("formats"),
        duplicates=sum(audit.duplicates for audit in audits),
        served_models=added("served_models"),
        fingerprints=added("fingerprints"),
        requested_model=requested.pop() if len(requested) == 1 else None,
        prompt_tokens=total("prompt_tokens"),
        completion_tokens=total("completion_tokens"),
        cost_usd=None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None),
        missing_attributes=added("missing_attributes"),
        groups={group: dict(counts) for group, counts in sorted(groups.items())},
        substituted=sum(audit.substituted for audit in audits),
        repeated=sum(audit.repeated for audit in audits),
    )


def _what_became_of_the_rest(found: Sequence[Record]) -> str:
    if len(found) == 1 and found[0].outcome != Outcome.OK:
        return str(found[0].outcome)
    return "truncated" if any(record.outcome == Outcome.TRUNCATED for record in found) else "missing"


def _is_topic(part: str) -> bool:
    return part.partition(" = ")[0] in TOPIC_PARTS


def _groups_of(request: Request) -> list[str]:
    return [f"{part} = {value}" for part, value in sorted(request.cell.items())]


def _total(counts: Iterable[int | None]) -> int | None:
    values = list(counts)
    known = [value for value in values if value is not None]
    return sum(known) if values and len(known) == len(values) else None


def cost_usd(
    prompt_tokens: int | None, completion_tokens: int | None, price_input: float | None, price_output: float | None
) -> float | None:
    """Tokens x price per million, in US dollars; None (unknown, never 0) when a part of it is unknown.

    >>> cost_usd(1_000_000, 500_000, 2.0, 8.0)
    6.0
    >>> cost_usd(1_000_000, 500_000, 2.0, None) is None
    True
    """
    if prompt_tokens is None or completion_tokens is None or price_input is None or price_output is None:
        return None
    return (prompt_tokens * price_input + completion_tokens * price_output) / 1e6
