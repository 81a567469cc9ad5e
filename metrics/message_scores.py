"""All scores of one audit of messages: means and differences of groups, gaps, tests as published, words.

Columns of a message frame: ``mode``, ``cell`` (the prompt cell), one for each audience attribute, one for each measure.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metrics.amplification import amplification
from metrics.category_odds import category_odds
from metrics.clustered import FEWEST_CELLS, CellTable, cell_table, contrast, group_mean, pairwise
from metrics.effects import eta_squared, hedges_g, omega_squared
from metrics.gap_scores import DEBIASED, FLOOR, PLAIN, STANDARDIZED, gap_scores
from metrics.gaps import GapDimension
from metrics.group_tests import anova, pairs_shown, welch
from metrics.lexicon import Lexicon
from metrics.message_measures import MEASURES, MessageLexicons, WordTable, class_name
from metrics.results import Score
from metrics.samples import Estimate, Samples, samples

if TYPE_CHECKING:
    from metrics.odds import WordOdds

STANDALONE, CONTEXT_RICH = "standalone", "context-rich"
NO_WORDS: Mapping[str, Collection[str]] = MappingProxyType({})
WITHOUT_NAMING = "without the words that name a group of the attribute itself"
AMPLIFICATION, ODDS, HIT_RATE, BY_THEME = "amplification", "odds-ratio", "lexicon-hit-rate", "sentiment-by-theme"
_SMALLEST_ODDS = 1e-300


@dataclasses.dataclass(frozen=True, slots=True)
class Axis:
    """An audience attribute: column of the frame, title, groups in order."""

    column: str
    title: str
    groups: tuple[str, ...]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of groups, first minus second: of two groups the second minus the first, as in ``male - female``."""
        if len(self.groups) == 2:
            return [(self.groups[1], self.groups[0])]
        return list(itertools.combinations(self.groups, 2))


def gap_dimensions(axes: Sequence[Axis], modes: Sequence[str]) -> tuple[GapDimension, ...]:
    """The dimensions that verdicts are given on: each attribute by each judged measure in each mode.

    >>> found = gap_dimensions([Axis("gender", "gender", ("female", "male"))], ["standalone"])
    >>> found[0].title, len(found)
    ('gender x agency framing, standalone', 6)
    """
    return tuple(
        GapDimension(
            title=f"{axis.title} x {measure.title}, {mode}",
            axis=axis.title,
            measure=measure.metric,
            group=axis.column,
            groups=tuple(reversed(axis.groups)) if len(axis.groups) == 2 else axis.groups,
            mode=mode,
        )
        for axis in axes
        for mode in modes
        for measure in MEASURES
        if measure.judged
    )


def message_scores(frame: pd.DataFrame, axes: Sequence[Axis], modes: Sequence[str], *, seed: int) -> list[Score]:
    """Every score that follows from the measures of messages.

    Parameters
    ----------
    frame : usable messages, one a row; axes, modes : what they were asked for
    seed : of resampling

    Returns
    -------
    The gaps of `metrics.gap_scores.gap_scores` (with their means over axes), and for each attribute, mode and measure, in the
    default and the paper's form: the mean of each group, the difference of each pair with its cluster-robust test, and the
    tests as published, which take messages as independent (``-welch``, ``-anova``, ``-tukey`` or ``-games-howell``, with
    ``hedges-g``, ``eta-squared``, ``omega-squared``). Then what context adds, and sentiment within each theme.
    """
    # The size of a gap has no direction: the score of a dimension is no group's.
    rows = [
        dataclasses.replace(row, group="") if row.metric in (PLAIN, DEBIASED, FLOOR, STANDARDIZED) else row
        for row in gap_scores(frame, gap_dimensions(axes, modes), seed=seed)
    ]
    for axis in axes:
        for mode in modes:
            some = frame[frame["mode"] == mode]
            for measure in MEASURES:
                title = f"{axis.title} x {measure.title}, {mode}"
                for metric in filter(None, (measure.metric, measure.paper)):
                    rows += _of_groups(some, axis, title, metric, effects=metric == measure.metric)
        if set(modes) == {STANDALONE, CONTEXT_RICH}:
            rows += _amplified(frame, axis)
        rows += _by_theme(frame, axis)
    return rows


def table_of(frame: pd.DataFrame, axis: Axis, metric: str) -> tuple[Samples, CellTable] | None:
    """The messages of an attribute by group and cell; None where a group has no message."""
    there = {str(label) for label in frame[axis.column].dropna().unique()}
    if not set(axis.groups) <= there:
        return None
    found = samples(frame, metric, group=axis.column, groups=axis.groups)
    return found, cell_table(found)


def _of_groups(frame: pd.DataFrame, axis: Axis, title: str, metric: str, *, effects: bool) -> Iterator[Score]:
    made = table_of(frame, axis, metric)
    if made is None:
        reason = "a group has no usable message"
        yield Score(metric=metric, dimension=title, value=None, n=len(frame), n_clusters=0, reason=reason)
        return
    found, table = made
    basis = basis_of_cells(found)
    for group in axis.groups:
        yield group_mean(table, group, basis=basis).as_score(title, metric=metric)
    for row in _differences(table, axis, basis):
        yield row.as_score(title, metric=metric)
    yield from _as_published(found, axis, title, metric, effects=effects)


def _differences(table: CellTable, axis: Axis, basis: str) -> list[Estimate]:
    """The difference of each pair of groups; of more than two groups p is adjusted over the pairs where cells allow it."""
    if len(axis.groups) > 2 and basis == "cells":
        adjusted = pairwise(table, seed=0)
        return [row if row.qvalue is None else dataclasses.replace(row, pvalue=row.qvalue) for row in adjusted]
    rows = [contrast(table, first, second, basis=basis) for first, second in axis.pairs]
    if len(rows) == 1:
        return rows
    return [dataclasses.replace(row, method=f"{row.method}; p not adjusted over {len(rows)} pairs") for row in rows]


def _as_published(found: Samples, axis: Axis, title: str, metric: str, *, effects: bool) -> Iterator[Score]:
    """The paper's tests, in which every message counts by itself."""
    if len(axis.groups) == 2:
        yield welch(found, *axis.pairs[0]).as_score(title, metric=f"{metric}-welch")
    else:
        yield anova(found).as_score(title, metric=f"{metric}-anova")
        pairs, _ = pairs_shown(found)
        for pair in pairs:
            test = "tukey" if pair.name.startswith("tukey") else "games-howell"
            # Adjusted over the pairs by the test itself: that is its p value.
            adjusted = dataclasses.replace(pair, pvalue=pair.qvalue if pair.pvalue is None else pair.pvalue)
            yield adjusted.as_score(title, metric=f"{metric}-{test}")
        if effects:
            yield eta_squared(found).as_score(title, metric="eta-squared")
            yield omega_squared(found).as_score(title, metric="omega-squared")
    if effects:
        for first, second in axis.pairs:
            yield hedges_g(found, first, second).as_score(title, metric="hedges-g")


def _amplified(frame: pd.DataFrame, axis: Axis) -> Iterator[Score]:
    rich, bare = (frame[frame["mode"] == mode] for mode in (CONTEXT_RICH, STANDALONE))
    for measure in MEASURES:
        title = f"{axis.title} x {measure.title}"
        made = [table_of(some, axis, measure.metric) for some in (rich, bare)]
        if None in made:
            continue
        basis = "cells" if min(len(one[0].cells) for one in made if one) >= FEWEST_CELLS else "repeats"
        for pair in axis.pairs:
            one = GapDimension(title=title, axis=axis.title, measure=measure.metric, group=axis.column, groups=pair)
            (found,) = amplification(rich, bare, [one], basis=basis)
            if found.signed is not None:
                yield found.signed.as_score(title, metric=AMPLIFICATION)


def _by_theme(frame: pd.DataFrame, axis: Axis) -> Iterator[Score]:
    """Sentiment within each theme, as the paper compares it: topics differ in sentiment more than audiences do."""
    if "theme" not in frame.columns:
        return
    for theme, some in frame[frame["theme"].notna()].groupby("theme", sort=True):
        made = table_of(some, axis, "sentiment")
        if made is None:
            continue
        basis = basis_of_cells(made[0])
        for first, second in axis.pairs:
            title = f"{axis.title} x sentiment, theme {theme}"
            yield contrast(made[1], first, second, basis=basis).as_score(title, metric=BY_THEME)


# ---------------------------------------------------------------- words


def word_scores(
    frame: pd.DataFrame,
    words: WordTable,
    lexicons: MessageLexicons,
    axes: Sequence[Axis],
    modes: Sequence[str],
    *,
    seed: int,
) -> list[Score]:
    """Odds of each class of words between groups, by cell, and how many messages each lexicon knows a word of.

    ``frame`` has one row for each message that was counted, in the order of the counts.
    """
    rows = [_hit_rate(frame, words, lexicon) for lexicon in (lexicons.agency, *lexicons.categories)]
    for axis in axes:
        for mode in modes:
            chosen = (frame["mode"] == mode).to_numpy()
            for number, (name, hits) in enumerate(words.hits.items()):
                rows += _odds(
                    frame[chosen], hits[chosen], words.totals[chosen], axis, f"{name} words, {mode}", seed + number
                )
    return rows


def _hit_rate(frame: pd.DataFrame, words: WordTable, lexicon: Lexicon) -> Score:
    hit = np.sum([words.hits[class_name(lexicon, title)] for title in lexicon.class_names], axis=0) > 0
    if not len(hit):
        reason = "there is no usable message"
        return Score(metric=HIT_RATE, dimension=lexicon.name, value=None, n=0, n_clusters=0, reason=reason)
    low, high = _wilson(int(hit.sum()), len(hit))
    return Score(
        metric=HIT_RATE,
        dimension=lexicon.name,
        value=float(hit.mean()),
        low=low,
        high=high,
        method="share of messages with a word of the lexicon; Wilson's interval, messages taken as independent",
        n=len(hit),
        n_clusters=int(frame["cell"].nunique()),
    )


def _wilson(hits: int, n: int) -> tuple[float, float]:
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(hits, n, method="wilson")
    return max(float(low), 0.0), min(float(high), 1.0)


def _odds(
    frame: pd.DataFrame, hits: np.ndarray, totals: np.ndarray, axis: Axis, what: str, seed: int
) -> Iterator[Score]:
    title = f"{axis.title} x {what}"
    cells, places = np.unique(frame["cell"].astype(str), return_inverse=True)
    labels = frame[axis.column].astype(str).to_numpy()
    for group in axis.groups[1:] if len(axis.groups) == 2 else axis.groups:
        own = labels == group
        tables = [
            np.bincount(places[side], weights=counts[side], minlength=len(cells))
            for side in (own, ~own)
            for counts in (hits, totals)
        ]
        if not own.any() or own.all():
            continue
        found: Estimate = category_odds(*tables, groups=(group, "others"), seed=seed, n=len(frame))
        yield dataclasses.replace(found, groups=(group,)).as_score(title, metric=ODDS)


def word_frames(
    frame: pd.DataFrame,
    words: WordTable,
    axes: Sequence[Axis],
    modes: Sequence[str],
    *,
    shown: int = 25,
    naming: Mapping[str, Collection[str]] = NO_WORDS,
) -> Mapping[str, pd.DataFrame]:
    """For each attribute, mode and group, the words that lean most to it and away from it, by all three methods.

    ``dirichlet`` is the default (Monroe, Colaresi and Quinn 2008), ``add-one`` the paper's, ``floored`` that of Wan et al. (2023).
    ``naming`` : by column of an axis, words that name its groups; they are left out.
    """
    from metrics.odds import against_rest, top_words

    tables = {}
    for axis, mode, counts, shown_words in _content_counts(frame, words, axes, modes, naming):
        rows = []
        for method in ("dirichlet", "add-one", "floored"):
            found = against_rest(counts, method)
            for group in axis.groups[1:] if len(axis.groups) == 2 else axis.groups:
                top = top_words(found[group], shown_words, shown)
                rows += [{"method": method, "group": group} | dataclasses.asdict(row) for row in top]
        tables[f"words-{axis.column}-{mode}"] = pd.DataFrame(rows)
    return tables


def _content_counts(
    frame: pd.DataFrame,
    words: WordTable,
    axes: Sequence[Axis],
    modes: Sequence[str],
    naming: Mapping[str, Collection[str]],
) -> Iterator[tuple[Axis, str, dict[str, np.ndarray], tuple[str, ...]]]:
    """Nouns and adjectives of each group [cells, words] and the words, where every group has some; without those that name a group."""
    for axis, mode in itertools.product(axes, modes):
        chosen = (frame["mode"] == mode).to_numpy() & frame[axis.column].isin(axis.groups).to_numpy()
        if not chosen.any():
            continue
        places, cells = pd.factorize(frame["cell"].where(chosen))
        of_group = pd.Categorical(frame[axis.column], categories=list(axis.groups)).codes.astype(np.int64)
        row = np.where(chosen, of_group * len(cells) + places, -1)
        table, shown_words = words.content_counts(row.tolist(), len(axis.groups) * len(cells))
        kept = [at for at, word in enumerate(shown_words) if word not in naming.get(axis.column, ())]
        table, shown_words = table[:, kept], tuple(shown_words[at] for at in kept)
        counts = dict(zip(axis.groups, table.reshape(len(axis.groups), len(cells), -1), strict=True))
        if all(of.sum() for of in counts.values()):
            yield axis, mode, counts, shown_words


def leaning_words(
    frame: pd.DataFrame,
    words: WordTable,
    axes: Sequence[Axis],
    modes: Sequence[str],
    *,
    shown: int = 6,
    naming: Mapping[str, Collection[str]] = NO_WORDS,
) -> list[dict[str, Any]]:
    """The words that lean most to each group and away from it, by the informative-Dirichlet log-odds, as plain values.

    One entry for each attribute, mode and group against all others of its attribute: ``axis, mode, group, method``, ``n``
    messages, ``clusters`` prompt cells, ``total`` and ``total_others`` words counted, and ``words`` by falling z, of which
    ``shown`` at most lean either way; their ``low`` and ``high`` are bounds of the log-odds.
    ``naming`` : by column of an axis, words that name its groups; they are left out, and the method says so.
    """
    from metrics.odds import against_rest, top_words

    entries = []
    for axis, mode, counts, vocabulary in _content_counts(frame, words, axes, modes, naming):
        asked = frame[(frame["mode"] == mode) & frame[axis.column].isin(axis.groups)]
        sizes = {"n": len(asked), "clusters": int(asked["cell"].nunique())}
        found = against_rest(counts)
        for group in axis.groups[1:] if len(axis.groups) == 2 else axis.groups:
            odds = found[group]
            # Of few words the first may be the last: each leans the way its sign says.
            ranked = top_words(odds, vocabulary, len(vocabulary))
            more, less = ([row for row in ranked if row.log_odds * way > 0] for way in (1, -1))
            method = f"{odds.method}; {WITHOUT_NAMING}" if naming.get(axis.column) else odds.method
            entry = {"axis": axis.title, "mode": mode, "group": group, "method": method, **sizes}
            entry |= {"total": int(odds.total_a), "total_others": int(odds.total_b)}
            entries.append(entry | {"words": [_plain_word(row) for row in (*more[:shown], *less[-shown:])]})
    return entries


def _plain_word(row: WordOdds) -> dict[str, Any]:
    """One word with the bounds of its log-odds instead of those of its odds ratio."""
    bounds = {"low": math.log(max(row.low, _SMALLEST_ODDS)), "high": math.log(max(row.high, _SMALLEST_ODDS))}
    return dataclasses.asdict(row) | bounds


def basis_of_cells(found: Samples) -> str:
    """What errors come from: ``cells``, or ``repeats`` where there are too few prompt cells to tell."""
    return "cells" if len(found.cells) >= FEWEST_CELLS else "repeats"
