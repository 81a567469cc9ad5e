"""A gate for a release: judges stored evidence against thresholds and reference releases. Asks no model."""

from __future__ import annotations

import dataclasses
import difflib
import importlib.metadata
import math
from collections.abc import Callable, Mapping, Sequence

from dashboards.gate_report import (
    ANSWERS,
    COMPARISON,
    FAILED,
    LEFT_OUT,
    PASSED,
    THRESHOLD,
    UNDECIDED,
    GateCheck,
    GateResult,
    TierResult,
)
from dashboards.instruments import INSTRUMENTS, Instrument, instrument_of
from flows.blessing import blessing_named, newest_comparable
from flows.instrument import newest_checks
from flows.judging import judged
from flows.ordering import refuse_stranger
from flows.reference import reference_audit
from flows.scoring import Scored, finished, scored
from flows.settings import CONFIGURATION, GateSettings
from flows.soundness import uneven_dimensions, unsound
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.results import Score
from registry.audits.protocols import PROTOCOLS
from registry.ledger.blessings import BASELINE, PREVIOUS
from registry.ledger.values import Audit, StoredComparison
from registry.releases import ModelRelease

_OUTCOMES = {"regressed": FAILED, "improved": PASSED, "unchanged": PASSED}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What one gate or tier demands.

    Parameters
    ----------
    threshold : of every dimension that ``dimensions`` does not name
    against : references by name; None for the previous release, and the blessed baseline when there is one
    leave_out : dimensions that are shown and decide nothing
    """

    threshold: float
    dimensions: Mapping[str, float]
    against: tuple[str, ...] | None
    leave_out: tuple[str, ...]


def rules_of(settings: GateSettings, tier: str | None = None) -> Rules:
    """The rules of the gate, or of one of its tiers.

    A tier that names a threshold means it for every dimension but its own; the gate's single dimensions stay in force
    only where the tier names none.

    >>> gate = GateSettings.model_validate(
    ...     {"dimensions": {"a": 0.5}, "tiers": {"low": {}, "high": {"threshold": 0.4, "dimensions": {"b": 0.3}}}})
    >>> [rules_of(gate, tier).threshold for tier in (None, "low", "high")]
    [1.0, 1.0, 0.4]
    >>> dict(rules_of(gate, "low").dimensions), dict(rules_of(gate, "high").dimensions)
    ({'a': 0.5}, {'b': 0.3})
    """
    if tier is None:
        return Rules(
            threshold=settings.threshold,
            dimensions=settings.dimensions,
            against=settings.against,
            leave_out=settings.leave_out,
        )
    if tier not in settings.tiers:
        raise BadInputError(
            f"no tier is named {tier!r}{_nearest(tier, settings.tiers)} Known: "
            f"{', '.join(settings.tiers) or f'none; add [gate.tiers.NAME] to {CONFIGURATION}'}"
        )
    own = settings.tiers[tier]
    inherited = settings.dimensions if own.threshold is None else {}
    return Rules(
        threshold=settings.threshold if own.threshold is None else own.threshold,
        dimensions={**inherited, **own.dimensions},
        against=settings.against if own.against is None else own.against,
        leave_out=settings.leave_out if own.leave_out is None else own.leave_out,
    )


def _nearest(name: str, known: Sequence[str] | Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def refuse_unknown_dimensions(settings: GateSettings, titles_of: Callable[[], Sequence[str]]) -> None:
    """Refuse a configuration that names a dimension which no protocol has: it would silently decide nothing.

    ``titles_of`` gives the known ones; it plans every protocol, which takes seconds, so it is only asked when a dimension is named.
    """
    tables = _named_dimensions(settings)
    titles = titles_of() if any(tables.values()) else ()
    for table, named in tables.items():
        for title in named:
            if title not in titles and not any(known.could_measure(title) for known in INSTRUMENTS.values()):
                raise BadInputError(
                    f"{CONFIGURATION}: [{table}] names {title!r}, which is no dimension of an audit"
                    f"{_nearest(title, titles)} Known: {', '.join(titles)}"
                )


def _named_dimensions(settings: GateSettings) -> dict[str, tuple[str, ...]]:
    """The dimensions that the gate and each tier name, by table of the configuration."""
    tables = {"gate": settings} | {f"gate.tiers.{name}": tier for name, tier in settings.tiers.items()}
    return {table: (*rules.dimensions, *(rules.leave_out or ())) for table, rules in tables.items()}


def _titles(workspace: Workspace, protocol: str) -> list[str]:
    """The dimensions of a protocol first, then those of all others."""
    workspace.protocol(protocol)  # the protocols register themselves
    names = [protocol, *(name for name in PROTOCOLS if name != protocol)]
    return [d.title for name in names for d in getattr(PROTOCOLS[name](), "dimensions", tuple)()]


class _Evidence:
    """What is judged: one audit, its scores and its comparisons, each made once for all tiers."""

    def __init__(self, workspace: Workspace, audit: Audit) -> None:
        self.workspace, self.audit = workspace, audit
        self.policy = workspace.home.policy(audit.release.family)
        self.notes: list[str] = []
        self.references = workspace.ledger.baselines(audit.release.family)
        self._compared: dict[str, GateCheck | None] = {}

    def comparisons(self, against: tuple[str, ...] | None) -> list[GateCheck]:
        """One check for each reference that is demanded; two names of one audit are one check."""
        wanted = against if against is not None else (PREVIOUS, *([BASELINE] if BASELINE in self.references else []))
        checks: dict[int | str, GateCheck] = {}
        for name in wanted:
            if name not in self._compared:
                self._compared[name] = self._previous() if name == PREVIOUS else self._blessed(name)
            check = self._compared[name]
            if check is not None:
                same = check.against_audit or check.name
                checks[same] = check if same not in checks else _merged(checks[same], check)
        return list(checks.values())

    def _previous(self) -> GateCheck | None:
        release = self.audit.release
        other, reference, note = reference_audit(self.workspace, self.audit)
        if other is not None and reference is not None and other.uri == release.uri:
            self._note(
                f"{release.uri} is the first release of its family and was audited before: 'spiritlevel watch' judges "
                f"these audits together, for a comparison with its first one alone would be wrong in most years"
            )
            return None
        if other is not None and reference is not None:
            return self._judged(reference, "the previous release", note)
        previous = self.workspace.releases.previous(release)
        if previous is None:
            self._note(f"{release.uri} is the first release of its family: there is no previous one, thresholds decide")
            return None
        return _open_comparison(f"{previous.uri}, the previous release", note)

    def _blessed(self, name: str) -> GateCheck | None:
        release, blessing = self.audit.release, self.references.get(name)
        if blessing is None:
            return _open_comparison(
                f"blessed as {name}",
                f"no release of {release.family} is blessed as {name!r}; 'spiritlevel bless' makes one the baseline",
            )
        label = f"blessed as {name}"
        if blessing.version == release.version:
            self._note(f"{release.uri} is {label} itself, so it is not compared with that")
            return None
        other, reason = newest_comparable(self.workspace, blessing.version, self.audit)
        if other is None:
            return _open_comparison(f"{blessing.uri}, {label}", reason)
        return self._judged(other, label)

    def _judged(self, reference: Audit, label: str, reason: str = "") -> GateCheck:
        found: StoredComparison = judged(self.workspace, reference, self.audit, self.policy, reason or None)
        return GateCheck(
            kind=COMPARISON,
            name=f"{reference.release.uri}, {label}",
            outcome=_OUTCOMES.get(found.verdict, UNDECIDED),
            why=found.why,
            verdict=found.verdict,
            against=reference.release.uri,
            against_audit=reference.id,
            rows=found.rows,
        )

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def note_unasked(self, settings: GateSettings, told: Instrument, titles: Sequence[str]) -> None:
        """Say which dimensions of the configuration another design of this protocol has, and not this audit's."""
        named = dict.fromkeys(title for some in _named_dimensions(settings).values() for title in some)
        unasked = [title for title in named if title not in titles and told.could_measure(title)]
        if unasked:
            self._note(f"{CONFIGURATION} names what audit {self.audit.id} did not ask about: {', '.join(unasked)}")

    def measured(self) -> Scored:
        """The audit's scores; asked for after the comparisons, which may have frozen the names that are counted."""
        return scored(self.workspace, self.workspace.ledger.audit(self.audit.id))


def _merged(one: GateCheck, other: GateCheck) -> GateCheck:
    return dataclasses.replace(one, name=f"{one.name} and {other.name.rpartition(', ')[2]}")


def _open_comparison(name: str, why: str) -> GateCheck:
    return GateCheck(kind=COMPARISON, name=name, outcome=UNDECIDED, why=why, verdict="not measurable")


def threshold_check(score: Score, threshold: float, unsound_answers: str = "") -> GateCheck:
    """One headline score against its threshold: failed above, passed at or below, undecided when it straddles.

    >>> score = Score(metric="normalized-gap", dimension="a", value=0.6, low=0.5, high=0.7, n=900, n_clusters=45)
    >>> [threshold_check(score, at).outcome for at in (0.4, 0.65, 0.7)]
    ['failed', 'undecided', 'passed']
    """
    if unsound_answers or score.value is None or score.low is None or score.high is None:
        outcome, why = UNDECIDED, unsound_answers or f"not measurable: {score.reason or 'the score has no interval'}"
    elif score.low > threshold:
        outcome, why = FAILED, f"the 95 % interval lies above {threshold:g}"
    elif score.high <= threshold:
        outcome, why = PASSED, f"the 95 % interval lies at or below {threshold:g}"
    else:
        outcome, why = UNDECIDED, f"the 95 % interval straddles {threshold:g}: a larger audit would decide"
    return GateCheck(
        kind=THRESHOLD,
        name=score.dimension,
        outcome=outcome,
        why=why,
        value=score.value,
        low=score.low,
        high=score.high,
        threshold=threshold,
        n=score.n,
        n_clusters=score.n_clusters,
    )


def _threshold_checks(
    measured: Scored,
    told: Instrument,
    titles: Sequence[str],
    rules: Rules,
    unsound_answers: str,
    uneven: Mapping[str, str],
) -> list[GateCheck]:
    scores = {score.dimension: score for score in measured.scores if score.metric == told.headline}
    checks = []
    for title in titles:
        score = scores.get(title) or Score(
            metric=told.headline, dimension=title, value=None, n=0, n_clusters=0, reason="this audit has no such score"
        )
        doubt = unsound_answers or uneven.get(title, "")
        check = threshold_check(score, rules.dimensions.get(title, rules.threshold), doubt)
        if title in rules.leave_out:
            check = dataclasses.replace(check, outcome=LEFT_OUT, why="left out by configuration; decides nothing")
        checks.append(check)
    return checks


def _answers_check(evidence: _Evidence, measured: Scored, poor: str) -> GateCheck:
    """Whether the audit is whole, its answers can be used, and the instrument held still while it was made."""
    audit, channels = measured.audit, measured.reading.channels
    open_questions = [poor] if poor else []
    if audit.state == "incomplete":
        open_questions.append(
            f"some calls brought no answer; 'spiritlevel retry {audit.release.uri} --failed' asks them again"
        )
    open_questions += [check.why for check in newest_checks(evidence.workspace, audit) if check.state == "moved"]
    share = (
        "" if channels.coverage is None else f"usable records for {100 * channels.coverage:.1f} % of those asked for"
    )
    return GateCheck(
        kind=ANSWERS,
        name=f"answers of audit {audit.id}",
        outcome=UNDECIDED if open_questions else PASSED,
        why="; ".join(open_questions) or share,
        n=channels.usable,
        n_clusters=channels.call_outcomes.get("ok", 0),
    )


def gated(
    workspace: Workspace,
    release: ModelRelease,
    protocol: str,
    *,
    threshold: float | None = None,
    against: str | None = None,
    tier: str | None = None,
) -> GateResult:
    """Judge the newest finished audit of a release.

    Parameters
    ----------
    threshold : instead of the configured ones, for every dimension
    against : ``previous`` or the name of a blessing, instead of the configured references
    tier : judge by the rules of this tier instead of the gate's own

    Raises
    ------
    BadInputError
        No finished audit; a threshold that is no positive number; a tier, blessing or dimension that is not known.
    """
    settings = workspace.home.gate(release.family)
    refuse_unknown_dimensions(settings, lambda: _titles(workspace, protocol))
    rules = _overridden(workspace, release, rules_of(settings, tier), threshold, against, tier)
    every = [rules, *(rules_of(settings, name) for name in settings.tiers)]
    evidence = _evidence(workspace, release, protocol)
    compared = [evidence.comparisons(one.against) for one in every]
    measured = evidence.measured()
    poor = unsound(measured.reading.channels, evidence.policy)
    told = instrument_of(protocol)
    titles = [dimension.title for dimension in workspace.protocol(protocol).dimensions(evidence.audit.plan)]
    evidence.note_unasked(settings, told, titles)
    answers = _answers_check(evidence, measured, poor)
    # The reason is said once, by the first check, however many dimensions it leaves undecided.
    uneven = uneven_dimensions(measured, told, evidence.policy)
    refer = f"the {answers.name} allow no judgement" if poor else ""
    checks = [
        (answers, *comparisons, *_threshold_checks(measured, told, titles, one, refer, uneven))
        for one, comparisons in zip(every, compared, strict=True)
    ]
    tiers = [
        TierResult(name=name, stage=of_tier.stage, checks=found)
        for (name, of_tier), found in zip(settings.tiers.items(), checks[1:], strict=True)
    ]
    return _result(evidence, measured, release, checks[0], tier, tiers)


def _evidence(workspace: Workspace, release: ModelRelease, protocol: str) -> _Evidence:
    audits = workspace.ledger.audits(family=release.family, version=release.version, protocol=protocol)
    done = finished(workspace, family=release.family, version=release.version, protocol=protocol)
    if not done:
        raise BadInputError(
            f"{release.uri} has no finished {protocol} audit to judge; run 'spiritlevel audit {release.uri} "
            f"--protocol {protocol}'"
        )
    refuse_stranger(done[-1], release)
    evidence = _Evidence(workspace, done[-1])
    if done[-1].occasion > 1:
        evidence.notes.append(
            f"this is occasion {done[-1].occasion} of {release.uri}: a gate that judges every re-audit fails more often "
            f"by chance than one that judges a release once; 'spiritlevel watch' judges them together"
        )
    if audits[-1].id != done[-1].id:
        evidence.notes.append(f"audit {audits[-1].id} is not finished: this judges audit {done[-1].id}")
    return evidence


def _result(
    evidence: _Evidence,
    measured: Scored,
    release: ModelRelease,
    checks: tuple[GateCheck, ...],
    tier: str | None,
    tiers: Sequence[TierResult],
) -> GateResult:
    audit, channels = measured.audit, measured.reading.channels
    return GateResult(
        release=release.uri,
        model=release.model,
        protocol=audit.protocol,
        audit=audit.id,
        occasion=audit.occasion,
        audited_at=audit.finished_at or audit.ordered_at,
        scoring_version=audit.scoring_version or "",
        records=channels.usable,
        answers=channels.call_outcomes.get("ok", 0),
        checks=checks,
        tier=tier,
        tiers=tuple(tiers),
        notes=tuple(evidence.notes),
        instrument=instrument_of(audit.protocol),
        made_at=evidence.workspace.ledger.clock(),
        product_version=importlib.metadata.version("spiritlevel"),
    )


def _overridden(
    workspace: Workspace,
    release: ModelRelease,
    rules: Rules,
    threshold: float | None,
    against: str | None,
    tier: str | None,
) -> Rules:
    if tier is not None and (threshold is not None or against is not None):
        raise BadInputError(
            "a tier says its own threshold and references; leave out --threshold and --against, or --tier"
        )
    if threshold is not None:
        if not (math.isfinite(threshold) and threshold > 0):
            raise BadInputError(f"a threshold is a score above 0, got {threshold}")
        rules = dataclasses.replace(rules, threshold=threshold, dimensions={})
    if against is not None:
        if against != PREVIOUS:
            blessing_named(workspace, release.family, against)
        rules = dataclasses.replace(rules, against=(against,))
    return rules
