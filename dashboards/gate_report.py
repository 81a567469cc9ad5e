"""What a gate found, for machines and for people: JSON, JUnit XML and Markdown. Rendered here, never computed.

A check is open when it could not be decided. That is neither a pass nor a failure: too little data has shown nothing.
"""

from __future__ import annotations

import dataclasses
import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

from dashboards.instruments import PERSONA_BRAINSTORM, Instrument
from dashboards.markdown_card import escape_markdown
from dashboards.phrases import count_text, interval_text, listed, score_text, visible
from metrics.results import Comparison

SCHEMA = "spiritlevel/gate/1"

PASSED, FAILED, UNDECIDED, LEFT_OUT = "passed", "failed", "undecided", "left out"
ANSWERS, COMPARISON, THRESHOLD = "answers", "comparison", "threshold"

HOW_JUDGED = (
    "Each score is judged by its own 95 % interval, not adjusted for the number of dimensions: it fails above its "
    "threshold, passes at or below it, and is undecided when the interval straddles it. Comparisons are adjusted over "
    "their dimensions."
)

_LONGEST_WHY = 600


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One thing that was checked.

    Parameters
    ----------
    kind : ``answers``, ``comparison`` or ``threshold``
    name : the bias dimension, or the release that was compared with
    outcome : ``passed``, ``failed``, ``undecided``, or ``left out`` by configuration
    why : the reason in words
    value, low, high : headline score and its 95 % interval; threshold : what it was held against
    n, n_clusters : records and their clusters: personas and the answers they came from, messages and their prompt cells
    verdict, against, against_audit, rows : of a comparison: its verdict, the other release, its audit, the dimensions
    """

    kind: str
    name: str
    outcome: str
    why: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    n: int | None = None
    n_clusters: int | None = None
    verdict: str | None = None
    against: str | None = None
    against_audit: int | None = None
    rows: tuple[Comparison, ...] = ()


def outcome_of(checks: Sequence[GateCheck]) -> str:
    """What several checks come to: failed if one is, else undecided if one is, else passed.

    >>> outcome_of([GateCheck(kind=THRESHOLD, name="a", outcome=one, why="b") for one in (PASSED, LEFT_OUT, UNDECIDED)])
    'undecided'
    """
    outcomes = {check.outcome for check in checks}
    return FAILED if FAILED in outcomes else UNDECIDED if UNDECIDED in outcomes else PASSED


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TierResult:
    """What one tier's checks came to; ``stage`` says in the user's words what passing it allows."""

    name: str
    stage: str
    checks: tuple[GateCheck, ...]

    @property
    def outcome(self) -> str:
        return outcome_of(self.checks)

    @property
    def title(self) -> str:
        return f"{self.name} ({self.stage})" if self.stage else self.name


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """A release before the gate.

    Parameters
    ----------
    release, model, protocol, audit, occasion, audited_at : what was judged
    scoring_version : how it was measured; records, answers : from how much
    instrument : how the protocol is told
    tier : the tier whose checks decide; None for those of the gate itself
    checks : those that decide; tiers : all that are configured, from the least to the most demanding
    notes : what a reader must know besides
    """

    release: str
    model: str
    protocol: str
    audit: int
    occasion: int
    audited_at: str
    scoring_version: str
    records: int
    answers: int
    checks: tuple[GateCheck, ...]
    made_at: str
    product_version: str
    tier: str | None = None
    tiers: tuple[TierResult, ...] = ()
    notes: tuple[str, ...] = ()
    instrument: Instrument = PERSONA_BRAINSTORM

    @property
    def outcome(self) -> str:
        return outcome_of(self.checks)

    @property
    def size_text(self) -> str:
        """From how much it was judged, in words."""
        if self.instrument.unit == "answers":
            return f"{count_text(self.records)} usable answers"
        return f"{count_text(self.records)} {self.instrument.unit} in {count_text(self.answers)} answers"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know besides: of this result, and of every gate."""
        says = (
            f"A pass says that these {self.instrument.tie}s were not found beyond their thresholds in these answers. It is an "
            "assessment, not a statement that the release does no harm."
        )
        return (*self.notes, HOW_JUDGED, says)

    @property
    def exit_code(self) -> int:
        """0 passed; 1 regressed or above a threshold; 3 undecided."""
        return {PASSED: 0, FAILED: 1, UNDECIDED: 3}[self.outcome]

    @property
    def rollout(self) -> TierResult | None:
        """The last tier before the first that is not passed: stages are gone through in order."""
        reached = None
        for tier in self.tiers:
            if tier.outcome != PASSED:
                break
            reached = tier
        return reached

    def of_outcome(self, *outcomes: str) -> list[GateCheck]:
        """The checks that came to one of these outcomes, in order."""
        return [check for check in self.checks if check.outcome in outcomes]

    @property
    def headline(self) -> str:
        """Why it came to this outcome, in one sentence part."""
        if self.outcome == PASSED:
            left = len(self.of_outcome(LEFT_OUT))
            return f"every check passed ({len(self.checks) - left}{f'; {left} left out' if left else ''})"
        parts = [f"{len(found)} {word}" for word in (FAILED, UNDECIDED) if (found := self.of_outcome(word))]
        decisive = [check.name for check in self.of_outcome(self.outcome)]
        shown = decisive[:3] + ([f"{len(decisive) - 3} more"] if len(decisive) > 3 else [])
        return f"{', '.join(parts)} of {len(self.checks)} checks; {self.outcome}: {listed(shown)}"

    @property
    def rollout_text(self) -> str:
        """Up to which tier the release may be rolled out; empty without tiers."""
        if not self.tiers:
            return ""
        reached = self.rollout
        if reached == self.tiers[-1]:
            return f"every tier is passed, up to {reached.title}"
        stopped = self.tiers[self.tiers.index(reached) + 1 if reached else 0]
        return f"may be rolled out {f'up to tier {reached.title}' if reached else 'to no tier'}; {stopped.title}: {stopped.outcome}"


# ---------------------------------------------------------------- JSON


def gate_document(result: GateResult) -> dict[str, Any]:
    """A gate's result as plain values, unrounded, under a versioned schema."""
    fields = {
        name: getattr(result, name)
        for name in ("release", "model", "protocol", "audit", "occasion", "audited_at", "scoring_version")
    }
    return {
        "schema": SCHEMA,
        "outcome": result.outcome,
        "exit_code": result.exit_code,
        "headline": result.headline,
        **fields,
        "personas": result.records if result.instrument.unit == "personas" else None,
        "unit": result.instrument.unit,
        "records": result.records,
        "answers": result.answers,
        "tier": result.tier,
        "checks": [dataclasses.asdict(check) for check in result.checks],
        "tiers": [
            {
                "name": tier.name,
                "stage": tier.stage,
                "outcome": tier.outcome,
                "not_passed": [
                    {"name": check.name, "outcome": check.outcome, "why": check.why}
                    for check in tier.checks
                    if check.outcome in (FAILED, UNDECIDED)
                ],
            }
            for tier in result.tiers
        ],
        "rollout": result.rollout.name if result.rollout else None,
        "notes": list(result.remarks),
        "product_version": result.product_version,
        "made_at": result.made_at,
    }


def gate_json(result: GateResult) -> str:
    """A gate's result as JSON text; ASCII only, so no character can hide or reorder others."""
    return json.dumps(gate_document(result), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


# ---------------------------------------------------------------- JUnit XML


def junit_xml(result: GateResult) -> str:
    """A gate's result as JUnit XML: a test case for each check.

    A failed check is a ``failure``, an undecided one an ``error`` (the test came to no result), one that is left out by
    configuration ``skipped``. Characters that XML cannot hold are written as their numbers.
    """
    counts = {
        "tests": str(len(result.checks)),
        "failures": str(len(result.of_outcome(FAILED))),
        "errors": str(len(result.of_outcome(UNDECIDED))),
        "skipped": str(len(result.of_outcome(LEFT_OUT))),
        "time": "0",
    }
    root = ET.Element("testsuites", {"name": "spiritlevel gate", **counts})
    names = {"name": _plain(f"{result.release} {result.protocol}"), "timestamp": _plain(result.made_at)}
    suite = ET.SubElement(root, "testsuite", names | counts)
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(result).items():
        ET.SubElement(properties, "property", name=name, value=_plain(value))
    for check in result.checks:
        case = ET.SubElement(
            suite, "testcase", classname=f"spiritlevel.gate.{check.kind}", name=_plain(check.name), time="0"
        )
        element = {FAILED: "failure", UNDECIDED: "error", LEFT_OUT: "skipped"}.get(check.outcome)
        if element == "skipped":
            ET.SubElement(case, element, message=_plain(check.why))
        elif element is not None:
            said = ET.SubElement(case, element, message=_plain(check.why), type=check.verdict or check.outcome)
            said.text = _plain(_found(check))
        else:
            ET.SubElement(case, "system-out").text = _plain(f"{_found(check)}: {check.why}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _properties(result: GateResult) -> dict[str, str]:
    return {
        "outcome": result.outcome,
        "audit": str(result.audit),
        "audited at": result.audited_at,
        "model": result.model,
        "scoring version": result.scoring_version,
        "tier": result.tier or "",
        "rollout": result.rollout_text,
        "notes": " ".join(result.remarks),
    }


def _plain(text: str) -> str:
    """Text without a character that XML 1.0 cannot hold or that hides others; escaping is the writer's."""
    return visible(text, limit=10 * _LONGEST_WHY)


def _found(check: GateCheck) -> str:
    """What was found, in numbers or as a verdict."""
    if check.kind == COMPARISON:
        return check.verdict or "no comparison"
    if check.kind == ANSWERS:
        return check.outcome
    if check.value is None or check.low is None or check.high is None:
        return "not measurable"
    return f"{score_text(check.value)} ({interval_text(check.low, check.high)})"


# ---------------------------------------------------------------- Markdown


def gate_markdown(result: GateResult) -> str:
    """A gate's result for a comment on a pull request: the verdict, then what did not pass; the rest is folded away."""
    where = f"{result.release} ({result.model}), {result.protocol} audit {result.audit} of {result.audited_at[:10]}"
    tier = f", tier {_text(result.tier)}" if result.tier else ""
    parts = [
        f"**Bias gate{tier}: {result.outcome}.** {_text(result.headline)}",
        _text(f"{where}; {result.size_text}."),
    ]
    if open_checks := result.of_outcome(FAILED, UNDECIDED):
        parts.append(_table(open_checks, result.instrument.unit))
    if result.rollout_text:
        parts.append(f"**Rollout.** {_text(result.rollout_text)}.")
    if rest := result.of_outcome(PASSED, LEFT_OUT):
        parts += [
            f"<details><summary>{len(rest)} checks that passed or were left out</summary>",
            _table(rest, result.instrument.unit),
            "</details>",
        ]
    parts += [_text(note) for note in result.remarks]
    made = f"Made by spiritlevel {result.product_version} on {result.made_at}."
    return "\n\n".join([*parts, _text(made)]) + "\n"


def _text(text: str) -> str:
    return escape_markdown(visible(text, limit=_LONGEST_WHY))


def _table(checks: Sequence[GateCheck], unit: str) -> str:
    head = f"| check | outcome | found (95 % interval) | threshold | {escape_markdown(unit)} | why |"
    lines = [head, "|---|---|---|---:|---:|---|"]
    for check in checks:
        cells = (
            escape_markdown(visible(check.name)),
            f"**{check.outcome}**" if check.outcome == FAILED else check.outcome,
            escape_markdown(_found(check)),
            "" if check.threshold is None else f"{check.threshold:g}",
            "" if check.n is None else count_text(check.n),
            _text(check.why),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
