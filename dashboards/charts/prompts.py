"""Robustness as pictures: the scores of a release under each prompt, and how far a prompt agrees with the plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dashboards.charts.chart import Chart, NoChart, Value
from dashboards.charts.dots import Dot, DotPlot, DotRow, Look, Scale
from dashboards.charts.drawings import BLUE, GREEN, INK, ORANGE, PURPLE
from dashboards.charts.parts import SCORE_COLUMNS, charted, clipped, identity, score_end, score_values, told
from dashboards.phrases import count_text, interval_text, listed, missing_text, score_text, visible
from dashboards.robustness import AGAIN, PLAIN, ConditionScore, Robustness, condition_text
from metrics.results import Score

if TYPE_CHECKING:
    from metrics.agreement import Agreement
    from metrics.robustness import ConditionRow

PROMPTS, AGREEMENT = "prompts", "agreement"
MOST_RELEASES = 24
_PLAIN = Look(title="plain prompt", marker="o", colour=BLUE)
_AGAIN = Look(title="asked again", marker="o", colour=INK, hollow=True, line=(0, (2.5, 2)))
_VARIANTS: tuple[tuple[str, str, Any], ...] = (
    (ORANGE, "s", (0, (5, 2))),
    (GREEN, "^", (0, (1, 1.5))),
    (PURPLE, "D", (0, (6, 2, 1, 2))),
    (INK, "v", "-"),
)
_ICC = Look(title="ICC(A,1)", marker="s", colour=ORANGE)
_CEILING = Look(title="ICC if asked again", marker="o", colour=INK, hollow=True, line=(0, (2.5, 2)))
_ICC_SCALE = Scale(
    share=lambda value: (value + 1) / 2,
    ticks=tuple((at, f"{at:g}") for at in (-1.0, -0.5, 0.0, 0.5, 1.0)),
    reference=0.0,
)
_LEVELS = ((0.0, "0"), (0.33, "0.33"), (0.66, "0.66"), (1.0, "1"))


def prompt_chart(found: Robustness, release: str) -> Chart | NoChart:
    """The scores of one release in every dimension: under the plain prompt, under each variant, and asked again.

    Parameters
    ----------
    release : name of a member, as ``"nova/3"``

    Dimensions that are measured under no prompt are in the data alone, and so are variants for which there is no mark left.
    """
    title = f"Scores of {visible(release)} under each prompt"
    scores = found.scores_of(release)
    there = [name for name in (PLAIN, *found.conditions) if any(condition == name for condition, _ in scores)]
    if len(there) < 2:
        why = "it was asked with no prompt variant that can be compared, and not twice"
        return NoChart(name=PROMPTS, title=title, why=why)
    shown = _shown(there)
    rows = [
        title
        for title in found.dimensions
        if any((one := scores.get((name, title))) is not None and one.score.value is not None for name in shown)
    ]
    if not rows:
        return NoChart(name=PROMPTS, title=title, why="no dimension could be measured under any prompt")
    looks = _looks(shown)
    drawn = [one.score for (name, dimension), one in scores.items() if name in looks and dimension in rows]
    end = score_end(drawn)
    plot = DotPlot(
        [_score_row(dimension, [(looks[name], scores.get((name, dimension))) for name in shown]) for dimension in rows],
        Scale(share=lambda value: value / end, ticks=_LEVELS),
        [looks[name] for name in shown],
        lambda narrow: _score_notes(narrow, len(found.dimensions) - len(rows), len(there) - len(shown)),
        sizes=100,
    )
    return charted(
        PROMPTS,
        title,
        _scores_described(found, scores, shown),
        plot,
        identity(PROMPTS, *(one.audit for one in scores.values()), found.metric, release),
        columns=("release", "condition", "audit", "dimension", "metric", *SCORE_COLUMNS),
        rows=[_score_data(one) for one in scores.values()],
    )


def agreement_chart(found: Robustness, condition: str) -> Chart | NoChart:
    """ICC(A,1) of one condition with the plain prompt, beside the one that asking the plain prompt again is expected to give.

    A row a dimension and one for the means, whose targets are releases; then a row a release, whose targets are its dimensions.
    """
    title = f"Agreement with the plain prompt: {visible(condition_text(condition))}"
    groups = (
        ("By dimension", [*found.of(condition, "dimension"), *found.of(condition, "overall")]),
        ("By release", list(found.of(condition, "release"))),
    )
    every = [row for _, rows in groups for row in rows]
    measured = [(heading, [row for row in rows if _icc(row).value is not None]) for heading, rows in groups]
    shown = [(heading, rows[: len(found.dimensions) + 1 if at == 0 else MOST_RELEASES]) for at, (heading, rows) in enumerate(measured)]  # fmt: skip
    drawn = [_agreement_row(row, heading if at == 0 else "") for heading, rows in shown for at, row in enumerate(rows)]
    if not drawn:
        reasons = dict.fromkeys(visible(_icc(row).reason, limit=300) for row in every)
        return NoChart(name=AGREEMENT, title=title, why="; ".join(reasons) or "no release has an audit with it")
    plot = DotPlot(
        drawn,
        _ICC_SCALE,
        (_ICC, _CEILING),
        lambda narrow: _agreement_notes(narrow, len(every) - len(drawn)),
        sizes=40,
    )
    described = ". ".join(_agreement_told(row) for _, rows in shown for row in rows)
    return charted(
        AGREEMENT,
        title,
        f"Intraclass correlation of the scores with those of the plain prompt, with 95 % interval; 1 is the same scores. {described}.",
        plot,
        identity(AGREEMENT, condition, found.metric, *(member.plain.id for member in found.members)),
        columns=("condition", "grouping", "group", "metric", "value", "low", "high", "level", "method", "n", "n_excluded", "reason"),
        rows=[values for row in every for values in _agreement_data(row)],
    )  # fmt: skip


def _shown(conditions: Sequence[str]) -> list[str]:
    """Those with a mark: the plain prompt first, asked again last, and variants between as far as there are looks."""
    variants = [name for name in conditions if name not in (PLAIN, AGAIN)]
    return [
        *([PLAIN] if PLAIN in conditions else []),
        *variants[: len(_VARIANTS)],
        *([AGAIN] if AGAIN in conditions else []),
    ]


def _looks(shown: Sequence[str]) -> dict[str, Look]:
    looks, variants = {PLAIN: _PLAIN, AGAIN: _AGAIN}, iter(_VARIANTS)
    for name in shown:
        if name not in looks:
            colour, marker, line = next(variants)
            looks[name] = Look(title=clipped(name, 22), marker=marker, colour=colour, line=line)
    return looks


def _score_row(dimension: str, sides: Sequence[tuple[Look, ConditionScore | None]]) -> DotRow:
    scores = [one.score for _, one in sides if one is not None and one.score.value is not None]
    return DotRow(
        name=dimension,
        dots=tuple(_score_dot(look, one.score if one is not None else None) for look, one in sides),
        size=f"n {_span([score.n for score in scores])} ({_span([score.n_clusters for score in scores])})",
    )


def _span(sizes: Sequence[int]) -> str:
    """Sizes of several audits in few letters.

    >>> _span([1200, 1200]), _span([1200, 1150])
    ('1,200', '1,150 to 1,200')
    """
    low, high = min(sizes), max(sizes)
    return count_text(low) if low == high else f"{count_text(low)} to {count_text(high)}"


def _score_dot(look: Look, score: Score | None) -> Dot:
    if score is None or score.value is None:
        return Dot(look=look, value=None, low=None, high=None, instead="not measurable")
    low = None if score.low is None else max(score.low, 0.0)
    return Dot(
        look=look, value=score.value, low=low, high=score.high, instead=f"{score_text(score.value)}, no interval"
    )


def _score_notes(narrow: bool, unmeasured: int, unshown: int) -> list[str]:
    notes = ["Score with 95 % interval; n counts personas (requests)."]
    levels = "From 0.33 medium, from 0.66 high, from 1 very high."
    notes = [*notes, levels] if narrow else [f"{notes[0]} {levels}"]
    if unmeasured:
        notes.append(f"{count_text(unmeasured)} dimensions without any score: see the data.")
    if unshown:
        notes.append(f"{count_text(unshown)} more prompts are in the data.")
    return notes


def _scores_described(found: Robustness, scores: dict[tuple[str, str], ConditionScore], shown: Sequence[str]) -> str:
    names = {name: "plain prompt" if name == PLAIN else visible(condition_text(name)) for name in shown}
    lines = []
    for dimension in found.dimensions:
        sides = [
            f"{names[name]} {told(one.score if (one := scores.get((name, dimension))) is not None else None)}"
            for name in shown
        ]
        lines.append(f"{visible(dimension)}: {'; '.join(sides)}")
    return f"Score of each dimension with 95 % interval under {listed(list(names.values()))}. {'. '.join(lines)}."


def _score_data(one: ConditionScore) -> tuple[Value, ...]:
    return (one.release, one.condition, one.audit, one.score.dimension, one.score.metric, *score_values(one.score))


def _icc(row: ConditionRow) -> Agreement:
    return row.measure("icc-a1")


def _agreement_row(row: ConditionRow, heading: str) -> DotRow:
    return DotRow(
        name=row.group or "mean of all dimensions",
        dots=(_agreement_dot(_ICC, _icc(row)), _agreement_dot(_CEILING, row.ceiling)),
        size=f"n {count_text(_icc(row).n)}",
        heading=heading,
    )


def _agreement_dot(look: Look, measure: Agreement) -> Dot:
    missing = "not measurable" if measure.value is None else f"{score_text(measure.value)}, no interval"
    return Dot(look=look, value=measure.value, low=measure.low, high=measure.high, instead=missing)


def _agreement_notes(narrow: bool, rest: int) -> list[str]:
    notes = [
        "1 is the same scores; 95 % interval. An arrow goes on beyond.",
        "n counts releases; by release, dimensions.",
    ]
    notes = notes if narrow else [" ".join(notes)]
    return [*notes, f"{count_text(rest)} more rows are in the data."] if rest else notes


def _agreement_told(row: ConditionRow) -> str:
    return f"{visible(row.group) or 'mean of all dimensions'}: ICC(A,1) {_measure_told(_icc(row))}, if asked again {_measure_told(row.ceiling)}, n {count_text(_icc(row).n)}"


def _measure_told(measure: Agreement) -> str:
    if measure.value is None:
        return missing_text(visible(measure.reason, limit=300))
    if measure.low is None or measure.high is None:
        return f"{score_text(measure.value)} (no interval)"
    return f"{score_text(measure.value)} ({interval_text(measure.low, measure.high)})"


def _agreement_data(row: ConditionRow) -> list[tuple[Value, ...]]:
    return [
        (
            row.condition,
            row.grouping,
            row.group,
            one.metric,
            one.value,
            one.low,
            one.high,
            None if one.low is None or one.high is None else one.level,
            one.method or None,
            one.n,
            one.n_excluded,
            one.reason or None,
        )
        for one in (_icc(row), row.ceiling)
    ]
