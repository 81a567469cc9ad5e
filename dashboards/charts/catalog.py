"""Every chart by name: what it shows in a line, and how it is made of a card and what stands behind it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence

from dashboards.card import OVERALL, HistoryPoint, ModelCard
from dashboards.charts import of_card
from dashboards.charts.chart import Chart, NoChart
from dashboards.charts.concentration import concentration_chart
from dashboards.charts.coverage import coverage_chart
from dashboards.charts.evolution import evolution_chart
from dashboards.charts.odds import odds_chart
from dashboards.charts.prompts import AGREEMENT, PROMPTS, agreement_chart, prompt_chart
from dashboards.charts.radar import radar_chart
from dashboards.charts.severities import severity_chart
from dashboards.charts.shares import share_chart
from dashboards.charts.significance import significance_chart
from dashboards.chosen import told_dimensions
from dashboards.cue_correlation_rows import Correlation
from dashboards.cue_rows import CueScores
from dashboards.phrases import visible
from dashboards.robustness import Robustness
from dashboards.shares import ShareTable

Correlated = tuple[CueScores, Sequence[tuple[str, list[Correlation]]]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What charts are made of.

    Parameters
    ----------
    card : of one release and protocol, with its history
    shares : the tables behind its dimensions; releases : correlations between the releases of its family, or why there are none
    robustness : of the releases of its family up to this one under every prompt, or why there is none
    dimension : the only one to draw where there is a chart for each; None for all
    """

    card: ModelCard
    shares: Callable[[], Sequence[ShareTable]]
    releases: Callable[[], Correlated | str]
    robustness: Callable[[], Robustness | str]
    dimension: str | None = None


Made = list[tuple[str, Chart | NoChart]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of chart.

    Parameters
    ----------
    says : what it shows, in a line
    make : gives each with the part of its file name that follows the kind's, empty for the only one
    applies : whether cards of this protocol can have it at all
    aside : whether it is drawn only when it is asked for by name, for it shows audits that are kept aside
    """

    says: str
    make: Callable[[Subject], Made]
    applies: Callable[[ModelCard], bool] = lambda card: True
    aside: bool = False


def _one(figure: Callable[[ModelCard], Chart | NoChart]) -> Callable[[Subject], Made]:
    return lambda subject: [("", figure(subject.card))]


def _over_releases(
    figure: Callable[[Sequence[HistoryPoint], Sequence[str]], Chart | NoChart],
) -> Callable[[Subject], Made]:
    return lambda subject: [("", figure(subject.card.history, subject.card.dimensions))]


def _evolutions(subject: Subject) -> Made:
    card = subject.card
    wanted = [subject.dimension] if subject.dimension is not None else [OVERALL, *told_dimensions(card)]
    charts = [evolution_chart(card.history, name) for name in wanted]
    return [*zip(_files(["" if name == OVERALL else name for name in wanted]), charts, strict=True)]


def _radar(subject: Subject) -> Made:
    """The newest audit of the first release, of the one before, and of the card's own."""
    newest = {point.release.version: point for point in subject.card.history}
    versions = sorted(newest)
    chosen = dict.fromkeys([versions[0], *versions[-2:]])
    return [("", radar_chart([newest[version] for version in chosen], subject.card.dimensions))]


def _coverage(subject: Subject) -> Made:
    card = subject.card
    sides = [(card.previous_title, card.previous_channels), (card.title, card.channels)]
    return [("", coverage_chart([(name, channels) for name, channels in sides if channels is not None]))]


def _shares(subject: Subject) -> Made:
    tables = [table for table in subject.shares() if subject.dimension in (None, table.dimension)]
    if not tables:
        card = subject.card
        title = f"Shares by group of {visible(card.family)}, {card.title}"
        why = (
            "records of this protocol fall into no categories"
            if not card.instrument.categories
            else "no table was kept"
        )
        return [("", NoChart(name="shares", title=title, why=why))]
    return [*zip(_files([table.dimension for table in tables]), map(share_chart, tables), strict=True)]


def _releases(subject: Subject) -> Made:
    found = subject.releases()
    name, title = "releases-correlations", "Every two releases, over everything and by task"
    if isinstance(found, str):
        return [("", NoChart(name=name, title=title, why=found))]
    pool, matrices = found
    return [("", of_card.correlations_figure(pool, matrices, title=title, what="releases"))]


def _prompts(subject: Subject) -> Made:
    found, release = subject.robustness(), subject.card.release
    if isinstance(found, str):
        return [("", NoChart(name=PROMPTS, title="Scores under each prompt", why=found))]
    return [("", prompt_chart(found, f"{release.family}/{release.version}"))]


def _agreement(subject: Subject) -> Made:
    found, title = subject.robustness(), "Agreement with the plain prompt"
    if isinstance(found, str):
        return [("", NoChart(name=AGREEMENT, title=title, why=found))]
    if not found.conditions:
        why = "no release was asked with a prompt variant that can be compared, and none twice"
        return [("", NoChart(name=AGREEMENT, title=title, why=why))]
    charts = [agreement_chart(found, condition) for condition in found.conditions]
    return [*zip(_files(found.conditions), charts, strict=True)]


def _of_categories(card: ModelCard) -> bool:
    return card.instrument.categories


def _of_messages(card: ModelCard) -> bool:
    return bool(card.instrument.measures)


def _of_cues(card: ModelCard) -> bool:
    return "cue-answers" in card.instrument.sections


def _files(names: Sequence[str]) -> list[str]:
    """Names as parts of file names: letters and digits alone, and no two alike.

    >>> _files(["gender x occupation", "", "../a", "a"])
    ['gender-x-occupation', '', 'a', 'a-2']
    """
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or ("" if not name else "unnamed")
        number = 1
        while (chosen := plain if number == 1 else f"{plain}-{number}") in found:
            number += 1
        found.append(chosen)
    return found


KINDS: Mapping[str, Kind] = {
    "scores": Kind(
        says="scores of all dimensions, of this release and the previous one", make=_one(of_card.scores_figure)
    ),
    "evolution": Kind(says="the mean, and each dimension, over the releases", make=_evolutions),
    "radar": Kind(says="all dimensions of the first, the previous and this release", make=_radar),
    "significance": Kind(says="every two releases compared, with adjusted p", make=_over_releases(significance_chart)),
    "severities": Kind(
        says="how many dimensions have which severity, over the releases", make=_over_releases(severity_chart)
    ),
    "coverage": Kind(says="what became of everything that was asked for", make=_coverage),
    "shares": Kind(
        says="share of each category in each group, for each dimension", make=_shares, applies=_of_categories
    ),
    "concentration": Kind(
        says="how narrow the categories of each group are", make=_one(concentration_chart), applies=_of_categories
    ),
    "prompts": Kind(
        says="scores of a release under each prompt variant (by name only)",
        make=_prompts,
        applies=_of_categories,
        aside=True,
    ),
    "agreement": Kind(
        says="how far each prompt variant agrees with the plain prompt (by name only)",
        make=_agreement,
        applies=_of_categories,
        aside=True,
    ),
    "gaps": Kind(
        says="persuasion: differences between groups, by mode", make=_one(of_card.gaps_figure), applies=_of_messages
    ),
    "weights": Kind(
        says="persuasion: gaps of the index under all weights", make=_one(of_card.weights_figure), applies=_of_messages
    ),
    "odds": Kind(
        says="messages: odds ratios of the words of each category", make=_one(odds_chart), applies=_of_messages
    ),
    "cue-means": Kind(
        says="persona cues: mean answers by persona and cue", make=_one(of_card.cue_means_figure), applies=_of_cues
    ),
    "cue-deviations": Kind(
        says="persona cues: how far answers lie from those without a persona",
        make=_one(of_card.cue_deviations_figure),
        applies=_of_cues,
    ),
    "cue-correlations": Kind(
        says="persona cues: how far every two cues agree", make=_one(of_card.cue_correlations_figure), applies=_of_cues
    ),
    "releases-correlations": Kind(
        says="persona cues: how far every two releases agree", make=_releases, applies=_of_cues
    ),
}
"""In the order of `spiritlevel chart --list`."""
