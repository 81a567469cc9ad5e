"""Rebalancing the persona set of an audit: `spiritlevel rebalance`. It changes a set that somebody uses, never the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.persona_audits import PROTOCOL, personas_protocol
from flows.rebalancing_targets import SUFFIX, column_of, read_target
from flows.scoring import SCORING_SEED, Scored, finished, scored
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.audits.brainstorm import NAME
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from metrics.moves import BiasDimension
    from metrics.rebalancing import Margin, Raked
    from metrics.results import Score
    from registry.releases import ModelRelease

WEIGHTS, SUBSAMPLE = "weights", "subsample"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of a set.

    Parameters
    ----------
    axes, dimensions : attributes that are to be independent, every axis of every dimension; empty leaves them to the audit
    method : ``weights`` or ``subsample``; targets : files of wanted shares; none keeps the set's own
    protocol : the brainstorm whose personas they are; size : of the subset, None for the largest; seed : of its lot; leave_out : ``gender=non-binary``, categories to drop
    """

    axes: Sequence[str] = ()
    dimensions: Sequence[str] = ()
    method: str = WEIGHTS
    targets: Sequence[Path] = ()
    size: int | None = None
    seed: int = 0
    leave_out: Sequence[str] = ()
    protocol: str = PROTOCOL

    def __post_init__(self) -> None:
        if self.method not in {WEIGHTS, SUBSAMPLE}:
            raise BadInputError(f"--method should be weights or subsample, not {self.method!r}")
        if self.size is not None and self.method != SUBSAMPLE:
            raise BadInputError("--size is for --method subsample; weights keep every record")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The score of one dimension in the audit's set and in the new one.

    ``before`` is the audit's row. ``after`` is None with its reason; ``low`` and ``high`` are None with ``why_no_interval``.
    """

    dimension: str
    rebalanced: bool
    before: Score
    after: float | None
    low: float | None
    high: float | None
    n: int
    n_effective: float
    method: str
    reason: str = ""
    why_no_interval: str = ""

    @property
    def change(self) -> float | None:
        """From the old set to the new one; None when one is not measured."""
        return None if self.after is None or self.before.value is None else self.after - self.before.value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rebalanced:
    """A new persona set and what it came to.

    Parameters
    ----------
    records : ``row`` of the audit's record table (from 1), ``request``, ``index``, ``weight``, terms and categories
    usable : personas of the audit; uncategorised, left_out, not_drawn : of them, those that are not in the set, and why
    off : largest distance of a weighted share from the wanted one
    """

    audit: int
    family: str
    release: str
    method: str
    title: str
    records: pd.DataFrame
    scores: tuple[Beside, ...]
    usable: int
    uncategorised: int
    left_out: int
    not_drawn: int
    n_effective: float
    off: float
    heaviest: float

    @property
    def lost(self) -> float:
        """Share of the usable personas that are not in the set."""
        return 1 - len(self.records) / self.usable

    def risen(self, by: float) -> list[Beside]:
        """Dimensions that were not rebalanced and score higher by more than this."""
        return [one for one in self.scores if not one.rebalanced and one.change is not None and one.change > by]


def rebalanced(workspace: Workspace, release: ModelRelease, wanted: Wanted) -> Rebalanced:
    """Rebalance the personas of a release's newest finished audit.

    Raises
    ------
    BadInputError : there is no such audit, or the set cannot be as wanted; it says what is missing
    """
    import numpy as np

    from metrics.rebalancing import rake, subset

    found = _audit(workspace, release, wanted.protocol)
    protocol = personas_protocol(workspace, wanted.protocol)
    usable = found.reading.frame[found.reading.frame["outcome"] == "ok"]
    given = [read_target(path, protocol.asks.categorised) for path in wanted.targets]
    pairs = _pairs(found, protocol, wanted, given)
    columns = list(
        dict.fromkeys(
            [name for pair in pairs for name in (pair.row, pair.column)]
            + [name for one in given for name in one.columns]
        )
    )
    kept, left_out = _without(usable, wanted.leave_out, protocol.asks.categorised)
    frame = kept.dropna(subset=columns)
    if not len(frame):
        raise BadInputError(f"{release.uri}: no persona has a category in all of {', '.join(map(_plain, columns))}")
    raked = rake(frame, _margins(frame, pairs, given))
    weights, chosen = raked.weights, frame
    if wanted.method == SUBSAMPLE:
        drawn = subset(frame, raked, columns, seed=wanted.seed, size=wanted.size)
        chosen, weights = frame[drawn], np.ones(int(drawn.sum()))
    titles = {pair.title for pair in pairs} | _joint(protocol.dimensions(), given)
    score = _subsampled if wanted.method == SUBSAMPLE else _weighted
    return Rebalanced(
        audit=found.audit.id,
        family=release.family,
        release=release.uri,
        method=wanted.method,
        title=", ".join(sorted(titles)) or "margins of " + ", ".join(map(_plain, columns)),
        records=_records(chosen, weights, protocol.asks.attributes),
        scores=tuple(score(found, protocol.dimensions(), chosen, weights, titles)),
        usable=len(usable),
        uncategorised=len(kept) - len(frame),
        left_out=left_out,
        not_drawn=len(frame) - len(chosen),
        n_effective=_effective(weights),
        off=raked.off,
        heaviest=_heaviest(raked, wanted.method),
    )


def _audit(workspace: Workspace, release: ModelRelease, name: str) -> Scored:
    audits = finished(workspace, family=release.family, version=release.version, protocol=name)
    if not audits:
        ran = workspace.ledger.protocols(release.family, {release.version})
        others = f", only of {', '.join(ran)}" if ran else ""
        raise BadInputError(
            f"only sets of personas can be rebalanced, and {release.uri} has no finished {name} audit{others}: run "
            f"'spiritlevel audit {release.uri} --protocol {name}'"
        )
    return scored(workspace, audits[-1])


def _effective(weights: NDArray[Any]) -> float:
    from metrics.rebalancing import effective_records

    return effective_records(weights)


def _heaviest(raked: Raked, method: str) -> float:
    return 1.0 if method == SUBSAMPLE else float(raked.weights.max())


# ---------------------------------------------------------------- what is wanted


def _pairs(found: Scored, protocol: PersonaBrainstorm, wanted: Wanted, given: Sequence[Margin]) -> list[BiasDimension]:
    """The bias dimensions that are to be balanced; where the user leaves it open, the highest-scored one that can be.

    One cannot be when a group has no record of a category. Where that is so of all, it is the highest-scored one, and the error
    that follows says what is missing.
    """
    axes_known = [name for name in protocol.asks.axes if name != NAME]
    axes = {column_of(name, axes_known, "axis that can be balanced, which names cannot,") for name in wanted.axes}
    social = {column_of(name, protocol.asks.dimensions, "dimension") for name in wanted.dimensions}
    if given and not axes and not social:
        return []
    candidates = [
        one
        for one in protocol.dimensions()
        if not one.by_name and (not axes or one.row in axes) and (not social or one.column in social)
    ]
    before = _before(found)
    if axes and social:
        for one in candidates:
            if before[one.title].value is None:
                raise BadInputError(
                    f"{one.title} cannot be balanced, for it was not measured: {before[one.title].reason}"
                )
        return candidates
    measured = [(score.value, one) for one in candidates if (score := before[one.title]).value is not None]
    if not measured:
        raise BadInputError("no dimension was measured, so none can be balanced; ask for more personas")
    ranked = [one for _, one in sorted(measured, key=lambda item: -(item[0] or 0.0))]
    kept, _ = _without(found.reading.frame, wanted.leave_out, protocol.asks.categorised)
    return [next((one for one in ranked if _filled(kept, one)), ranked[0])]


def _filled(frame: pd.DataFrame, dimension: BiasDimension) -> bool:
    """Whether every group has a record of every category."""
    known = frame[[dimension.row, dimension.column]].dropna()
    return bool(known[dimension.row].nunique() * known[dimension.column].nunique() == len(known.drop_duplicates()))


def _before(found: Scored) -> dict[str, Score]:
    """The audit's headline score of each dimension."""
    return {score.dimension: score for score in found.scores if score.metric == PersonaBrainstorm.headline}


def _without(frame: pd.DataFrame, leave_out: Sequence[str], known: Sequence[str]) -> tuple[pd.DataFrame, int]:
    """The records without those of some categories, and how many these are."""
    keep = frame["outcome"] == "ok"
    for option in leave_out:
        name, equals, category = option.partition("=")
        column = column_of(name, known, "attribute")
        there = frame[column].dropna().unique()
        if not equals or category.strip() not in there:
            known = ", ".join(sorted(map(str, there)))
            raise BadInputError(
                f"--leave-out takes ATTRIBUTE=CATEGORY, such as gender=male; got {option!r}, and the set has {known}"
            )
        keep &= frame[column] != category.strip()
    return frame[keep], int((~keep).sum())


def _margins(frame: pd.DataFrame, pairs: Sequence[BiasDimension], given: Sequence[Margin]) -> list[Margin]:
    """The given margins, and for each pair that none of them holds the product of its two single ones."""
    from metrics.rebalancing import Margin, independent, observed

    def single(column: str) -> Margin:
        held = next((one for one in given if column in one.columns), None)
        return observed(frame, column) if held is None else Margin((column,), held.of((column,)))

    joint = [one for one in pairs if not any({one.row, one.column} <= set(margin.columns) for margin in given)]
    return [*given, *(independent(single(one.row), single(one.column)) for one in joint)]


def _joint(dimensions: Sequence[BiasDimension], given: Sequence[Margin]) -> set[str]:
    """Dimensions whose joint shares were given."""
    return {one.title for one in dimensions for margin in given if {one.row, one.column} <= set(margin.columns)}


# ---------------------------------------------------------------- what comes out


def _weighted(
    found: Scored, dimensions: Sequence[BiasDimension], frame: pd.DataFrame, weights: NDArray[Any], titles: set[str]
) -> list[Beside]:
    from metrics.rebalancing import NO_INTERVAL, WEIGHTED_METHOD, weighted_score

    rows = []
    for dimension in dimensions:
        before = _before(found)[dimension.title]
        after = weighted_score(frame, dimension, found.names, weights)
        reason = before.reason if before.value is None else after.reason
        rows.append(
            Beside(
                dimension=dimension.title,
                rebalanced=dimension.title in titles,
                before=before,
                after=None if reason and before.value is None else after.value,
                low=None,
                high=None,
                n=after.n,
                n_effective=after.n_effective,
                method=WEIGHTED_METHOD,
                reason=reason if after.value is None or before.value is None else "",
                why_no_interval=NO_INTERVAL,
            )
        )
    return rows


def _subsampled(
    found: Scored, dimensions: Sequence[BiasDimension], frame: pd.DataFrame, weights: NDArray[Any], titles: set[str]
) -> list[Beside]:
    from metrics.association import association_scores

    scores = association_scores(frame, dimensions, names=found.names, seed=SCORING_SEED)
    after = {score.dimension: score for score in scores if score.metric == PersonaBrainstorm.headline}
    rows = []
    for dimension in dimensions:
        before, now = _before(found)[dimension.title], after[dimension.title]
        unmapped = before.reason if before.value is None else ""
        chosen = dimension.title in titles
        rows.append(
            Beside(
                dimension=dimension.title,
                rebalanced=chosen,
                before=before,
                after=None if unmapped else now.value,
                low=None if unmapped or chosen else now.low,
                high=None if unmapped or chosen else now.high,
                n=now.n,
                n_effective=float(now.n),
                method=now.method,
                reason=unmapped or (now.reason if now.value is None else ""),
                why_no_interval="the records were chosen to bring this very score down" if chosen else now.reason,
            )
        )
    return rows


def _records(frame: pd.DataFrame, weights: NDArray[Any], attributes: Sequence[str]) -> pd.DataFrame:
    categories = [f"{name}{SUFFIX}" for name in attributes]
    return frame[["request", "index", *attributes, *categories]].assign(row=frame.index + 1, weight=weights)[
        ["row", "request", "index", "weight", *attributes, *categories]
    ]


def _plain(column: str) -> str:
    return column.removesuffix(SUFFIX).replace("_", " ")


def scores_table(rows: Sequence[Beside]) -> list[Mapping[str, Any]]:
    """One row a dimension, for a file or for machines."""
    return [
        {
            "dimension": one.dimension,
            "rebalanced": one.rebalanced,
            "metric": one.before.metric,
            "before": one.before.value,
            "before_low": one.before.low,
            "before_high": one.before.high,
            "before_n": one.before.n,
            "before_method": one.before.method,
            "after": one.after,
            "after_low": one.low,
            "after_high": one.high,
            "after_n": one.n,
            "after_n_effective": one.n_effective,
            "after_method": one.method,
            "change": one.change,
            "reason": one.reason,
            "why_no_interval": "" if one.low is not None else one.why_no_interval,
        }
        for one in rows
    ]


Writer = Callable[[Path, str], None]


def write_set(found: Rebalanced, path: Path, write: Writer) -> Path:
    """Write the set, and its scores beside it; returns where the scores are."""
    from flows.packs.tables import csv_text

    rows = scores_table(found.scores)
    beside = path.with_name(f"{path.stem}.scores.csv")
    write(path, found.records.to_csv(index=False, lineterminator="\n"))
    write(beside, csv_text(list(rows[0]), rows))
    return beside
