"""Scores of what a judge said about messages: emotion and rated formality of each group, and what speaks for the judge.

Columns of a message frame as in `metrics.message_scores`; the answers are given beside it, one a message.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from metrics.agreement import false_discovery_qvalues
from metrics.clustered import CellTable, cell_table, contrast, group_mean
from metrics.message_scores import Axis, basis_of_cells
from metrics.rater import GoldAnswers, Sizes, distrust, judge_agreement, judge_readable, judge_swap
from metrics.results import Score
from metrics.samples import Estimate, Samples, samples

SHARE, RATING, BY_THEME = "-share", "-rating", "-share-by-theme"
_VALUE = "rated"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A judge's answers under one rubric, one a message of the frame.

    Parameters
    ----------
    name : of the rubric; gold : what the judge said about its gold set
    given : the answer about each message, None where there is none
    missing : why nothing was asked, in words; empty when the judge was asked
    """

    name: str
    gold: GoldAnswers
    given: Sequence[str | None]
    missing: str = ""

    @property
    def metric(self) -> str:
        """``emotion-share`` for categories, ``formality-rating`` for a scale."""
        return f"{self.name}{RATING if self.gold.ordered else SHARE}"


def rating_scores(frame: pd.DataFrame, rated: Rated, axes: Sequence[Axis], modes: Sequence[str]) -> list[Score]:
    """Every score of one rubric.

    Returns
    -------
    How well the judge did (`metrics.rater`), then for each attribute and mode: of categories the share of messages with each
    answer, of a scale its mean, by group and as difference of groups, with the prompt cell as cluster. Of categories also
    the differences within each theme. p values of the differences of categories are adjusted by Benjamini and Hochberg over
    all answers (and themes) of one attribute. Where the gold set does not speak for the judge there is one row without a
    number, and the reason.
    """
    if rated.missing:
        return [Score(metric=rated.metric, dimension=rated.name, value=None, n=0, n_clusters=0, reason=rated.missing)]
    agreement = judge_agreement(rated.gold, rated.name)
    readable = sum(given is not None for given in rated.given)
    rows = [agreement, judge_readable(readable, len(rated.given), rated.name), *judge_swap(rated.gold, rated.name)]
    if reason := distrust(rated.gold, agreement):
        size = Sizes(n=readable, n_clusters=0, n_excluded=len(rated.given) - readable)
        return [*rows, Score(metric=rated.metric, dimension=rated.name, value=None, reason=reason, **size)]
    for axis in axes:
        for mode in modes:
            chosen = (frame["mode"] == mode).to_numpy()
            rows += _of_mode(frame, chosen, rated, axis, mode)
        if not rated.gold.ordered:
            rows += _by_theme(frame, rated, axis)
    return rows


def _values(rated: Rated, answer: str | None = None) -> np.ndarray:
    """1 and 0 for an answer and the others, or the step of a scale; nan where the judge gave no answer."""
    if answer is None:
        return np.array([np.nan if given is None else float(given) for given in rated.given], dtype=float)
    return np.array([np.nan if given is None else float(given == answer) for given in rated.given], dtype=float)


def _table(frame: pd.DataFrame, values: np.ndarray, axis: Axis) -> tuple[Samples, CellTable] | None:
    if not set(axis.groups) <= {str(label) for label in frame[axis.column].dropna().unique()}:
        return None
    found = samples(frame.assign(**{_VALUE: values}), _VALUE, group=axis.column, groups=axis.groups)
    return found, cell_table(found)


def _of_mode(frame: pd.DataFrame, chosen: np.ndarray, rated: Rated, axis: Axis, mode: str) -> Iterator[Score]:
    some = frame[chosen]
    answers: Sequence[str | None] = [None] if rated.gold.ordered else rated.gold.answers
    differences: list[tuple[str, Estimate]] = []
    for answer in answers:
        title = f"{axis.title} x {rated.name if answer is None else answer}, {mode}"
        made = _table(some, _values(rated, answer)[chosen], axis)
        if made is None:
            reason = "a group has no usable message"
            yield Score(metric=rated.metric, dimension=title, value=None, n=len(some), n_clusters=0, reason=reason)
            continue
        basis = basis_of_cells(made[0])
        for group in axis.groups:
            yield group_mean(made[1], group, basis=basis).as_score(title, metric=rated.metric)
        differences += [(title, contrast(made[1], *pair, basis=basis)) for pair in axis.pairs]
    yield from _adjusted(differences, rated.metric, "" if rated.gold.ordered else "answers")


def _by_theme(frame: pd.DataFrame, rated: Rated, axis: Axis) -> Iterator[Score]:
    """Each answer within each theme, as the paper compares emotions: themes differ in emotion more than audiences do."""
    if "theme" not in frame.columns:
        return
    found: list[tuple[str, Estimate]] = []
    for theme in sorted(frame["theme"].dropna().unique()):
        chosen = (frame["theme"] == theme).to_numpy()
        for answer in rated.gold.answers:
            made = _table(frame[chosen], _values(rated, answer)[chosen], axis)
            if made is not None:
                basis = basis_of_cells(made[0])
                title = f"{axis.title} x {answer}, theme {theme}"
                found += [(title, contrast(made[1], *pair, basis=basis)) for pair in axis.pairs]
    yield from _adjusted(found, f"{rated.name}{BY_THEME}", "answers and themes")


def _adjusted(found: Sequence[tuple[str, Estimate]], metric: str, over: str) -> Iterator[Score]:
    """Differences with p adjusted over their family; ``over`` : what the family runs over, none for a single one."""
    adjusted = false_discovery_qvalues([row.pvalue for _, row in found]) if len(found) > 1 else [None] * len(found)
    for (title, row), qvalue in zip(found, adjusted, strict=True):
        if qvalue is None:
            yield row.as_score(title, metric=metric)
            continue
        family = f"{len(found)} differences over pairs of groups{', ' + over if over else ''}"
        method = f"{row.method}; p adjusted over {family} (Benjamini and Hochberg)"
        yield dataclasses.replace(row, pvalue=qvalue, method=method).as_score(title, metric=metric)
