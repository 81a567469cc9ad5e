"""The page on robustness: scores under every prompt, agreement of every condition with the plain prompt, what a variant does to each score, and parts of an audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dashboards.blocks import Block, Bullets, Cell, Code, Paragraph, Picture, Section, Table
from dashboards.cells import change_cell, probability_cell, verdict_cell
from dashboards.charts.chart import Chart, NoChart
from dashboards.charts.prompts import agreement_chart, prompt_chart
from dashboards.html_card import page
from dashboards.phrases import (
    change_text,
    count_text,
    interval_text,
    listed,
    missing_text,
    percent_text,
    score_text,
    sentence_start,
    visible,
)
from dashboards.robustness import AGAIN, Robustness, VariantVerdict, condition_text
from dashboards.sections.contents import Fact
from metrics.results import VERDICTS

if TYPE_CHECKING:
    from metrics.agreement import Agreement, PairedTest
    from metrics.robustness import ConditionRow
    from metrics.stability import SizeRow

TITLES = (
    ("icc-c1", "ICC(C,1)"), ("icc-a1", "ICC(A,1)"), ("spearman", "Spearman"), ("kendall-tau-b", "Kendall's tau-b"),
    ("severity-difference", "Levels apart"), ("severity-changed", "At another level"),
)  # fmt: skip
MOST_RELEASES, MOST_PICTURES = 30, 6
_AGREEMENT = (
    "Agreement of the scores with those of the plain prompt: 1 is the same picture. ICC(C,1) and ICC(A,1) compare the scores, the second also their height; "
    "Spearman and Kendall only their order. Levels apart is the mean difference of severity levels, 0 to 3; beside it stands the share of targets at "
    "another level. In the rows of a dimension the targets are releases, in those of a release they are its dimensions, overall the mean scores of the releases. "
    "ICC if asked again is what the plain prompt alone is expected to give when it is asked twice: the share of the differences between targets that is not chance. Where "
    "it is near 0 the targets do not differ, and low agreement says nothing about the prompt."
)
_TEST = (
    "The paired t test takes the targets as the sample and ignores the error of each score. p is two-sided; p (lower) is one-sided for scores that fell, which is "
    "what the paper prints. Neither is adjusted: among 16 dimensions one below .05 is expected where nothing changed."
)
_VERDICTS = (
    "The verdict engine on each release, with the plain prompt in the place of the previous release and the variant in that of the current one: improved means that "
    "scores under the variant are lower beyond chance and by at least the policy's smallest change, adjusted over the dimensions of the release. Each release and "
    "variant is a family of its own; with many of them some find a change by chance. These verdicts are about a wording. None of them is stored, or alerts."
)
_SCORES = (
    "A row a dimension, a mark a prompt. Marks whose intervals reach into each other may differ by chance alone; the same prompt asked again, where a release was, shows how far "
    "chance carries a mark. Whether a change is one is judged by the verdicts, not by the eye."
)
_SIZES = (
    "Scores of a random part of each audit's requests against those of all its requests: the median over orders of the requests, with the range of the middle 95 %. The "
    "parts lie in the whole, so they agree more than two audits would; the same prompt asked again shows that, where a release was asked twice."
)
_INTERVALS = (
    "Intervals are 95 %. Those of the intraclass correlations are F-based and take the targets as a sample; all others draw requests anew within each audit and keep "
    "the targets. Draws carry chance once more than the scores do, so a correlation near 1 has an interval that lies mostly below it."
)
_LIMITS = (
    "Agreement says that a prompt leaves the picture as it was, not that the picture is right. High agreement under a debiasing prompt means that the prompt did little.",
    "Lower scores under a debiasing prompt are about this form of answer. They do not say that a model stereotypes less where it is used.",
    "A prompt that asks for diversity may change which categories appear; a score of other categories is on another scale, which df* of the table holds.",
    "Releases of one family are not independent, and few targets leave wide intervals: with six releases an ICC of .7 may be .1 or .9.",
)


def robustness_page(found: Robustness) -> str:
    """The page, self-contained and escaped as a card is."""
    pictures = _pictures(found)
    families = list(dict.fromkeys(visible(member.plain.release.family) for member in found.members))
    return page(
        title=f"Robustness of {listed(families)}",
        subtitle=f"{count_text(len(found.members))} releases, {found.metric}",
        headline=headline(found),
        verdict="",
        facts=(
            Fact("Releases", count_text(len(found.members))),
            Fact(
                "Conditions",
                listed([visible(condition_text(one)) for one in found.conditions]) if found.conditions else "none",
            ),
            Fact("Not there", count_text(len(found.lacking))),
        ),
        warning=found.instrument.content_warning,
        sections=sections(found, pictures),
        charts={name: _drawn(chart) for name, chart in pictures.items() if isinstance(chart, Chart)},
        sheets=("robustness.css",),
        made=f"Made by spiritlevel {visible(found.product_version)} on {visible(found.made_at)}.",
    )


def headline(found: Robustness) -> str:
    """What the conditions come to, in words."""
    parts = [said for name in found.conditions if (said := _said(found, name))]
    return " ".join(parts) or (
        "No other condition can be compared yet: no release was asked with a prompt variant, and none twice. The commands that make such audits are below."
    )


def _said(found: Robustness, condition: str) -> str:
    """One sentence on a condition."""
    of = [one for one in found.verdicts if one.variant == condition]
    whole = f"{sentence_start(visible(condition_text(condition)))}"
    rows = found.of(condition, "dimension")
    agreed = [value for row in rows if (value := row.measure("icc-a1").value) is not None]
    ceilings = sorted(row.ceiling.value for row in rows if row.ceiling.value is not None)
    expected = (
        f" (asked again, the plain prompt is expected to give {score_text(_middle(ceilings))})" if ceilings else ""
    )
    told = (
        f"ICC(A,1) {score_text(_middle(agreed))} in the median of {count_text(len(agreed))} dimensions{expected}"
        if agreed
        else ""
    )
    counts = {verdict: sum(one.count(verdict) for one in of) for verdict in VERDICTS}
    said = ", ".join(f"{verdict} {count_text(counts[verdict])}" for verdict in VERDICTS if counts[verdict])
    judged = f"scores by release and dimension: {said}" if said else ""
    return f"{whole}: {'; '.join(part for part in (told, judged) if part)}." if told or judged else ""


def _middle(values: Sequence[float]) -> float:
    import statistics

    return statistics.median(values)


def _pictures(found: Robustness) -> dict[str, Chart | NoChart]:
    """Every picture of the page by its name: the newest releases under each prompt, and the agreement of each condition."""
    if not found.conditions:
        return {}
    newest = found.members[-MOST_PICTURES:]
    scores = {f"prompts-{at}": prompt_chart(found, one.name) for at, one in enumerate(newest)}
    return scores | {f"agreement-{at}": agreement_chart(found, one) for at, one in enumerate(found.conditions)}


def _drawn(chart: Chart) -> Callable[..., str]:
    return lambda narrow: chart.narrow if narrow else chart.svg


def _picture(name: str, made: Chart | NoChart, caption: str) -> Block:
    """A picture, or in its place the reason why there is none."""
    if isinstance(made, Chart):
        return Picture(name, f"{made.title}. {caption}")
    return Paragraph(f"{made.title}: no picture, for {visible(made.why, limit=600)}.")


def sections(found: Robustness, pictures: Mapping[str, Chart | NoChart]) -> tuple[Section, ...]:
    """All sections, in order."""
    made = [_score_section(found, pictures)] if found.conditions else []
    made += [_verdict_section(found)] if found.verdicts else []
    made += [_condition_section(found, condition, pictures) for condition in found.conditions]
    if found.sizes:
        made.append(_size_section(found))
    if found.lacking:
        made.append(_lacking_section(found))
    made.append(_member_section(found))
    made.append(Section("robustness-limits", "What this does not show", (Bullets(_LIMITS),)))
    return tuple(made)


def measure_text(measure: Agreement) -> str:
    """A measure with its interval, or why there is none."""
    if measure.value is None:
        return missing_text(measure.reason)
    if measure.low is None or measure.high is None:
        return f"{score_text(measure.value)} (no interval)"
    return f"{score_text(measure.value)} ({interval_text(measure.low, measure.high)})"


def _measure_cell(measure: Agreement) -> Cell:
    return Cell(
        measure_text(measure), numeric=measure.value is not None, kind="" if measure.value is not None else "missing"
    )


def moved_text(test: PairedTest) -> str:
    """The mean change with its interval, or why there is none."""
    if test.value is None:
        return missing_text(test.reason)
    if test.low is None or test.high is None:
        return f"{change_text(test.value)} (no interval: {visible(test.reason)})"
    return f"{change_text(test.value)} ({interval_text(test.low, test.high)})"


def _score_section(found: Robustness, pictures: Mapping[str, Chart | NoChart]) -> Section:
    caption = "Marks differ in shape as well as in colour; the tables below and --json have the numbers."
    blocks: list[Block] = [Paragraph(_SCORES)]
    blocks += [_picture(name, made, caption) for name, made in pictures.items() if name.startswith("prompts-")]
    left = len(found.members) - MOST_PICTURES
    if left > 0:
        blocks.append(Paragraph(f"{count_text(left)} earlier releases are in the tables and in the JSON form."))
    return Section("prompt-scores", "The scores under each prompt", tuple(blocks))


def _condition_section(found: Robustness, condition: str, pictures: Mapping[str, Chart | NoChart]) -> Section:
    title = "The same prompt, asked again" if condition == AGAIN else f"Prompt variant {visible(condition)}"
    at = found.conditions.index(condition)
    name, picture = f"condition-{at}", f"agreement-{at}"
    caption = "Where a square lies left of its circle by more than the intervals, the scores agree less than those of the plain prompt asked twice would."
    blocks: list[Block] = [Paragraph(_AGREEMENT), _picture(picture, pictures[picture], caption)]
    prompt = next(
        (one.variants[condition].plan.prompts.get("user", "") for one in found.members if condition in one.variants), ""
    )
    if prompt:
        blocks.append(Code("What was asked", visible(prompt, limit=4000, lines=True)))
    for part, caption, every, notes in (
        ("dimensions", "by dimension, over the releases", [*found.of(condition, "dimension"), *found.of(condition, "overall")], (_TEST, _INTERVALS)),
        ("releases", "by release, over its dimensions", found.of(condition, "release"), ()),
    ):  # fmt: skip
        rows = [row for row in every if any(one.value is not None for one in row.measures)]
        lost = _lost([row for row in every if row not in rows])
        left = len(rows) - MOST_RELEASES
        more = (f"{count_text(left)} more are in the JSON form.",) if left > 0 else ()
        if rows:
            whole = f"{title}: {caption}"
            blocks.append(_condition_table(f"{name}-{part}", whole, rows[:MOST_RELEASES], (*notes, *lost, *more)))
        else:
            blocks += [Paragraph(f"{sentence_start(caption)}: {text}") for text in lost]
    return Section(name, title, tuple(blocks))


def _lost(rows: Sequence[ConditionRow]) -> tuple[str, ...]:
    """In words, what has no number, each reason once."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(row.measures[0].reason, []).append(visible(row.group) or "mean of all dimensions")
    return tuple(f"{missing_text(reason)}: {', '.join(names)}." for reason, names in reasons.items())


def _condition_table(name: str, caption: str, rows: Sequence[ConditionRow], notes: tuple[str, ...]) -> Table:
    titles = [title for _, title in TITLES]
    columns = ("", *titles[:2], "ICC if asked again", *titles[2:], "Mean change", "t", "p", "p (lower)", "n")
    made = tuple(
        (
            Cell(visible(row.group) or "mean of all dimensions"),
            *(_measure_cell(row.measure(metric)) for metric, _ in TITLES[:2]),
            _measure_cell(row.ceiling),
            *(_measure_cell(row.measure(metric)) for metric, _ in TITLES[2:]),
            Cell(moved_text(row.test), numeric=row.test.value is not None),
            Cell("no test", kind="missing")
            if row.test.statistic is None
            else Cell(score_text(row.test.statistic), numeric=True),
            probability_cell(row.test.pvalue),
            probability_cell(row.test.pvalue_down),
            Cell(sizes_text(row.measures[0].n, row.measures[0].n_excluded), numeric=True),
        )
        for row in rows
    )
    return Table(name, caption, columns, made, notes, look="condition-table")


def sizes_text(n: int, excluded: int) -> str:
    """How many targets entered, and how many were left out.

    >>> sizes_text(6, 0), sizes_text(5, 1)
    ('6', '5 (1 left out)')
    """
    return count_text(n) + (f" ({count_text(excluded)} left out)" if excluded else "")


def _verdict_section(found: Robustness) -> Section:
    blocks: list[Block] = [Paragraph(_VERDICTS), _verdict_counts(found.verdicts)]
    for at, one in enumerate(found.verdicts[:MOST_RELEASES]):
        caption = f"{visible(one.release)}, plain prompt against {visible(one.variant)}"
        rows = tuple(
            (
                Cell(visible(row.dimension)),
                verdict_cell(row),
                _course(row.previous, row.current),
                change_cell(row),
                probability_cell(row.qvalue),
                Cell(f"{count_text(row.n_previous)} and {count_text(row.n_current)}", numeric=True),
                Cell(visible(row.why, limit=300)),
            )
            for row in one.rows
        )
        columns = ("Dimension", "Verdict", "Plain, variant", "Change", "q", "n", "Why")
        blocks.append(Table(f"variant-{at}", caption, columns, rows, look="variant-table"))
    return Section("variant-verdicts", "Does a prompt variant change the scores?", tuple(blocks))


def _course(previous: float | None, current: float | None) -> Cell:
    if previous is None or current is None:
        return Cell("not measurable", kind="missing")
    return Cell(f"{score_text(previous)}, {score_text(current)}", numeric=True)


def _verdict_counts(verdicts: Sequence[VariantVerdict]) -> Table:
    columns = ("Release", "Variant", "Verdict", *(sentence_start(verdict) for verdict in VERDICTS), "Why")
    rows = tuple(
        (
            Cell(visible(one.release)),
            Cell(visible(one.variant)),
            Cell(one.verdict, kind=one.verdict),
            *(Cell(count_text(one.count(verdict)), numeric=True) for verdict in VERDICTS),
            Cell(visible(one.why, limit=500)),
        )
        for one in verdicts
    )
    caption = "Dimensions by verdict, the plain prompt against the variant"
    return Table("variant-counts-table", caption, columns, rows, look="variant-table")


def _size_section(found: Robustness) -> Section:
    blocks: list[Block] = [Paragraph(_SIZES)]
    for grouping, caption in (
        ("overall", "means of the releases"),
        ("release", "by release"),
        ("dimension", "by dimension"),
    ):
        of = [row for row in found.sizes if row.grouping == grouping]
        if of:
            blocks.append(_size_table(f"sizes-{grouping}", f"Parts of the requests against all of them: {caption}", of))
    return Section("sizes", "How large must an audit be?", tuple(blocks))


def _size_table(name: str, caption: str, rows: Sequence[SizeRow]) -> Table:
    columns = ("", "Part", "Requests", *(title for _, title in TITLES), "Mean change", "n")
    made = tuple(
        (
            Cell(visible(row.group) or "mean of all dimensions"),
            Cell(percent_text(row.share), numeric=True),
            Cell(requests_text(row), numeric=True),
            *(_measure_cell(row.measure(metric)) for metric, _ in TITLES),
            _measure_cell(row.change),
            Cell(sizes_text(row.measures[0].n, row.measures[0].n_excluded), numeric=True),
        )
        for row in rows
    )
    return Table(name, caption, columns, made, look="condition-table")


def requests_text(row: SizeRow) -> str:
    """How many requests the parts have."""
    few, many = row.requests
    return count_text(few) if few == many else f"{count_text(few)} to {count_text(many)}"


def _lacking_section(found: Robustness) -> Section:
    rows = tuple(
        (
            Cell(visible(one.release)),
            Cell(visible(one.condition)),
            Cell(visible(one.reason, limit=400)),
            Cell(visible(one.command, limit=None)),
        )
        for one in found.lacking
    )
    columns = ("Release", "Condition", "Why it is not here", "Command that makes it")
    table = Table("lacking-table", "Audits that are not there or allow no judgement", columns, rows)
    return Section("lacking", "What is not here", (table,))


def _member_section(found: Robustness) -> Section:
    rows = tuple(
        (
            Cell(visible(member.name)),
            Cell(visible(member.plain.release.model)),
            Cell(str(member.plain.id), numeric=True),
            Cell(", ".join(f"{visible(name)}: {audit.id}" for name, audit in member.variants.items()) or "none"),
            Cell(str(member.again.id) if member.again else "none"),
            Cell(count_text(member.plain.plan.size), numeric=True),
        )
        for member in found.members
    )
    columns = ("Release", "Model", "Audit with the plain prompt", "With variants", "Asked before", "Personas asked for")
    notes = (
        f"Requests were drawn anew {count_text(found.draws)} times, and ordered anew {count_text(found.orders)} times.",
    )
    return Section(
        "robustness-members",
        "What was compared",
        (Table("robustness-members-table", "Releases and audits", columns, rows, notes),),
    )
