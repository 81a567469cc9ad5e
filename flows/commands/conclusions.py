"""A finished audit as it is printed: for people, and for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dashboards.instruments import Instrument, instrument_of
from flows.commands.cue_sizes import who_as_json, who_was_asked
from flows.commands.results import channels_as_json, comparison_table, noise_floors, row_as_json, score_table
from flows.commands.shared import number
from flows.commands.watching import confirmation_as_json, watch_as_json, watch_lines

if TYPE_CHECKING:
    from flows.concluding import Conclusion
    from metrics.results import Score

_TEST = ("statistic", "df", "df_error", "pvalue", "qvalue")
_SIZES = ("n_clusters", "n_excluded")
_AFTER_IMPORT = "the verdict against the previous release: 'spiritlevel compare RELEASE --against previous'"


def result_as_json(conclusion: Conclusion) -> dict[str, Any]:
    """A finished audit for machines."""
    from flows.usage import saved

    audit, comparison = conclusion.scored.audit, conclusion.comparison
    told = instrument_of(audit.protocol)
    return {
        "release": audit.release.uri,
        "protocol": audit.protocol,
        "unit": told.unit,
        "audit": audit.id,
        "occasion": audit.occasion,
        "state": audit.state,
        "source": audit.source,
        "origins": [origin.as_json() for origin in conclusion.origins],
        "saved": saved(audit.release, conclusion.origins),
        "collection_key": audit.plan.collection_key,
        "scoring_version": audit.scoring_version,
        "differences": dict(audit.differences),
        "personas": who_as_json(audit.plan),
        "channels": channels_as_json(conclusion.scored.reading.channels),
        "scores": [
            {
                name: getattr(score, name)
                for name in ("metric", "dimension", "group", "value", "low", "high", "level", "n", *_SIZES, *_TEST)
            }
            | told.parts(score.dimension, score.group)
            | {"severity": score.severity, "method": score.method, "reason": score.reason or None}
            for score in conclusion.scored.scores
        ],
        "previous": conclusion.previous.uri if conclusion.previous and comparison else None,
        "verdict": comparison.verdict if comparison else None,
        "why": comparison.why if comparison else conclusion.note,
        "comparisons": [row_as_json(row) for row in comparison.rows] if comparison else [],
        "with_baselines": [
            {"previous_audit": other.previous_audit, "verdict": other.verdict, "why": other.why}
            for other in conclusion.with_baselines
        ],
        "instrument": [{"kind": check.kind, "state": check.state, "why": check.why} for check in conclusion.checks],
        "alerts_held": conclusion.held,
        "answered_unevenly": dict(conclusion.uneven),
        "watch": watch_as_json(conclusion.watch) if conclusion.watch else None,
        "confirmation": confirmation_as_json(conclusion.confirmation) if conclusion.confirmation else None,
        "exit_code": conclusion.exit_code,
    }


def result_text(conclusion: Conclusion) -> str:
    """A finished audit for people: what was asked, what came back, how it scores, what changed."""
    from flows.usage import saved_text

    audit, channels = conclusion.scored.audit, conclusion.scored.reading.channels
    told = instrument_of(audit.protocol)
    lines = [f"{audit.release.uri}, {audit.protocol}, occasion {audit.occasion}: {audit.state}"]
    rates = ", ".join(
        f"{name} {share:.1%}" for name, share in sorted(channels.rates().items(), key=lambda item: -item[1])
    )
    asked = (
        f"{channels.expected:,} {told.unit} asked for"
        if channels.expected is not None
        else f"{channels.usable:,} {told.unit}"
    )
    lines.append(f"{channels.calls:,} calls, {asked}, {channels.usable:,} usable ({rates})")
    if audit.state == "incomplete":
        lines.append(
            f"incomplete: some calls brought no answer; 'spiritlevel retry {audit.release.uri} --failed' asks them again"
        )
    if channels.mixed_release:
        lines.append(
            f"mixed release, no verdict: answered by more than one model: {', '.join(sorted(channels.served_models))}"
        )
    if channels.repeated:
        lines.append(
            f"{channels.repeated:,} answers repeat an earlier one word for word (a cache, or a seed that is ignored?); "
            f"equal answers count as one request"
        )
    if channels.substitution and not channels.mixed_release:
        lines.append(channels.substitution)
    lines += [origin.in_words() for origin in conclusion.origins]
    lines += filter(None, [saved_text(audit.release, conclusion.origins)])
    if audit.differences:
        lines.append(f"sampling that the endpoint did not take as ordered: {dict(audit.differences)}")
    lines += who_was_asked(audit.plan)
    lines += _uneven(conclusion.uneven)
    scores = conclusion.scored.scores
    lines += _mean_lines(scores, told) + _names_lines(conclusion)
    if conclusion.comparison is None:
        lines += ["", score_table(scores, told), "", conclusion.note or _AFTER_IMPORT]
    else:
        previous = conclusion.previous.uri if conclusion.previous else ""
        lines += ["", f"compared with {previous}:", comparison_table(conclusion.comparison, noise_floors(scores))]
        lines += ["", f"verdict: {conclusion.comparison.verdict}. {conclusion.comparison.why}"]
        if conclusion.with_itself:
            lines.append(
                "that is a comparison with an earlier audit of the same release; by itself it would be wrong in most years, "
                "so the watch judges all of them together"
            )
    return "\n".join([*lines, *_beside(conclusion)])


def _uneven(found: Mapping[str, str]) -> list[str]:
    """The dimensions whose groups were answered unevenly, the same words once."""
    by_words: dict[str, list[str]] = {}
    for title, words in found.items():
        by_words.setdefault(words, []).append(title)
    return [f"answered unevenly in {'; '.join(titles)}: {words}" for words, titles in by_words.items()]


def _mean_lines(scores: Sequence[Score], told: Instrument) -> list[str]:
    """The mean over all dimensions with its interval and size, or why there is none; nothing where none was made."""
    mean = next((score for score in scores if score.metric == told.mean and score.dimension == "overall"), None)
    if mean is None:
        return []
    if mean.value is None:
        return [f"mean normalized score not measurable: {mean.reason}"]
    interval = f" [{mean.low:.3f}, {mean.high:.3f}]" if mean.low is not None and mean.high is not None else ""
    size = f"{mean.n:,} {told.unit} in {mean.n_clusters:,} {told.calls}"
    return [f"mean normalized score {number(mean.value)}{interval} from {size}"]


def _names_lines(conclusion: Conclusion) -> list[str]:
    """Which names are counted: an audit's scores change once, when its family's list is made."""
    names = conclusion.scored.names
    if not names:
        return []
    if conclusion.scored.frozen:
        return [f"names: the {len(names)} of the family's list, kept since its first comparison"]
    return [
        f"names: this audit's own {len(names)} most frequent; the family's first comparison makes one list for all, and scores names anew"
    ]


def _beside(conclusion: Conclusion) -> list[str]:
    """What a reader must know beside the verdict: baselines, the watch, the instrument."""
    audit = conclusion.scored.audit
    lines = [
        f"against the blessed baseline (audit {other.previous_audit}): {other.verdict}. {other.why}"
        for other in conclusion.with_baselines
    ]
    if conclusion.confirmation is not None:
        lines.append(f"full audit after an alarm: {conclusion.confirmation.verdict}. {conclusion.confirmation.why}")
    if conclusion.watch is not None:
        lines += watch_lines(conclusion.watch, audit.release.uri, audit.protocol, unsteady=bool(conclusion.held))
    for check in conclusion.checks:
        if check.state == "moved":
            lines.append(f"the instrument moved, alerts are held: {check.why}")
        elif check.state == "steady":
            lines.append(f"instrument ({check.kind}): steady; {check.why}")
    return ["", *lines] if lines else []
