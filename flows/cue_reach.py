"""Which differences between personas a planned audit of persona cues shows: of every task, axis and cue, in the unit of its answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from registry.audits.tasks import TASKS

if TYPE_CHECKING:
    from flows.workspace import Workspace
    from metrics.cue_power import Components, CueSize
    from registry.audits.plan import AuditPlan
    from registry.ledger.values import Audit

Key = tuple[str, str, str]

ALPHA = 0.05
POINTS, DOLLARS = "percentage points", "US dollars"
ASSUMED_DEVIATION = {DOLLARS: 5000.0}  # of answers to one prompt; of other scales an eighth of their length
OTHER_QUESTIONS, OTHER_VARIANTS = (20, 40, 100), (5, 10, 20)

TOO_LITTLE = "nothing: answers cannot differ so much"
NO_PILOT = (
    "no audit of this family yet. ASSUMED: variances of this project's own simulated yes-or-no answers (benchmarks.calibration.cues, "
    "scenarios S3 and S4: variants that differ little, as names, or much, as conversations); of amounts the same shares, where answers to one "
    "prompt vary by 5,000 US dollars"
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CueReach:
    """What one task, axis and cue shows in the planned design under one assumption.

    Parameters
    ----------
    unit : of the differences; basis : what the variances are from
    shows : smallest difference of one persona from all others that its test shows with 80 % power; None with a reason
    shows_alone : the same where nothing else in the family of all tests differs; None where answers cannot differ so much
    """

    task: str
    axis: str
    cue: str
    unit: str
    personas: int
    questions: int
    variants: int
    basis: str
    shows: float | None
    shows_alone: float | None
    reason: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OtherSize:
    """The same with other numbers of questions and variants, for the task, axis and cue in the middle of those of its unit."""

    unit: str
    basis: str
    questions: int
    variants: int
    shows: float | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a plan shows: ``rows`` as planned, ``others`` in other sizes; ``pilot`` is the audit that ``source`` names, if any."""

    pilot: int | None
    source: str
    rows: tuple[CueReach, ...]
    others: tuple[OtherSize, ...]


@dataclasses.dataclass(slots=True)
class Asked:
    """What is asked of one task, axis and cue."""

    questions: set[str] = dataclasses.field(default_factory=set)
    variants: set[str] = dataclasses.field(default_factory=set)
    personas: set[str] = dataclasses.field(default_factory=set)

    def add(self, cell: Mapping[str, str]) -> None:
        """Take a prompt in."""
        self.questions.add(cell["question"])
        self.variants.add(cell["variant"])
        self.personas.add(cell["persona"])


def cue_reach(workspace: Workspace, family: str, plan: AuditPlan, asked: Mapping[Key, Asked]) -> Reach:
    """What a plan shows, by the newest finished audit of the family that tells variances; without one by assumption.

    Parameters
    ----------
    asked : of each task, axis and cue
    """
    from metrics.cue_power import CueSize

    pilot = _pilot(workspace, family, plan)
    known = _measured(workspace, pilot, asked) if pilot else {}
    sizes = {
        key: CueSize(
            personas=len(one.personas),
            questions=len(one.questions),
            variants=len(one.variants),
            samples=plan.sizes["samples"],
        )
        for key, one in asked.items()
    }
    bases = {key: _bases(key, known.get(key), pilot) for key in sizes}
    rows = [
        (_row(key, size, basis, of, len(sizes)), size, of)
        for key, size in sizes.items()
        for basis, of in bases[key].items()
    ]
    return Reach(
        pilot=pilot.id if pilot and known else None,
        source=_source(pilot, known, len(sizes)),
        rows=tuple(row for row, *_ in rows),
        others=tuple(_others(rows)),
    )


def _pilot(workspace: Workspace, family: str, plan: AuditPlan) -> Audit | None:
    """The newest finished audit of the family, one that asked the same before others."""
    from flows.scoring import finished

    audits = finished(workspace, family=family, protocol=plan.protocol)
    return max(audits, key=lambda one: (one.plan.collection_key == plan.collection_key, one.id), default=None)


def _measured(workspace: Workspace, pilot: Audit, asked: Iterable[Key]) -> dict[Key, Components]:
    from flows.scoring import read_answers
    from metrics.cue_power import measured
    from metrics.cue_table import cue_table

    reading: Any = read_answers(workspace, pilot)  # a CueReading
    table = cue_table(reading.frame)
    there = set(table.combinations)
    told = {key: measured(table.cells(*key)) for key in asked if key in there}
    return {key: one for key, one in told.items() if not isinstance(one, str)}


def _source(pilot: Audit | None, known: Mapping[Key, Any], wanted: int) -> str:
    if pilot is None or not known:
        return NO_PILOT if pilot is None else f"audit {pilot.id} tells no variances; {NO_PILOT.partition('. ')[2]}"
    words = f"audit {pilot.id} of {pilot.release.uri}: its own variances, by moments"
    if len(known) < wanted:
        words += f", for {len(known)} of {wanted} tests; for the others {NO_PILOT.partition('. ')[2]}"
    if not all(one.apart for one in known.values()):
        words += "; it asked a prompt once, so that samples cannot be told from variants, and more samples are taken to show nothing"
    return words


def _bases(key: Key, known: Components | None, pilot: Audit | None) -> dict[str, Components]:
    """Variances by what they are from."""
    from metrics.cue_power import WITHOUT_PILOT, assumed

    if known is not None and pilot is not None:
        return {f"audit {pilot.id}": known}
    metric = TASKS[key[0]].metric
    found = {one.words: assumed(one) for one in WITHOUT_PILOT}
    if metric.unit == "share":
        return found
    deviation = ASSUMED_DEVIATION.get(metric.unit, (metric.high - metric.low) / 8)
    return {words: of.scaled(deviation) for words, of in found.items()}


def unit_of(task: str) -> str:
    """The unit that differences of a task are told in.

    >>> [unit_of(task) for task in ("medical-advice", "salary", "issue-writing")]
    ['percentage points', 'US dollars', 'points']
    """
    unit = TASKS[task].metric.unit
    return POINTS if unit == "share" else unit


def _told(task: str, value: float | None) -> float | None:
    """A difference in the unit of the task; None where answers cannot differ so much."""
    metric = TASKS[task].metric
    if value is None or value > metric.high - metric.low:
        return None
    return 100 * value if unit_of(task) == POINTS else value


def _row(key: Key, size: CueSize, basis: str, of: Components, tests: int) -> CueReach:
    from metrics.cue_power import detectable, no_test

    task, axis, cue = key
    shows = _told(task, detectable(of, size, alpha=ALPHA))
    return CueReach(
        task=task,
        axis=axis,
        cue=cue,
        unit=unit_of(task),
        personas=size.personas,
        questions=size.questions,
        variants=size.variants,
        basis=basis,
        shows=shows,
        shows_alone=_told(task, detectable(of, size, alpha=ALPHA / tests)),
        reason=no_test(size) or (TOO_LITTLE if shows is None else ""),
    )


def _others(rows: Sequence[tuple[CueReach, CueSize, Components]]) -> Iterable[OtherSize]:
    """Other numbers of questions and variants, of the middle row of each unit and basis."""
    from metrics.cue_power import detectable

    groups: dict[tuple[str, str], list[tuple[CueReach, CueSize, Components]]] = {}
    for row in rows:
        if row[0].shows is not None:
            groups.setdefault((row[0].unit, row[0].basis), []).append(row)
    for (unit, basis), alike in groups.items():
        middle, size, of = sorted(alike, key=lambda one: one[0].shows or 0.0)[(len(alike) - 1) // 2]
        for questions in sorted({*OTHER_QUESTIONS, size.questions}):
            for variants in sorted({*OTHER_VARIANTS, size.variants}):
                other = dataclasses.replace(size, questions=questions, variants=variants)
                shows = _told(middle.task, detectable(of, other, alpha=ALPHA))
                yield OtherSize(unit=unit, basis=basis, questions=questions, variants=variants, shows=shows)
