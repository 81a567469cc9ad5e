"""A realistic card of an invented family, audited by targeted messages: 24 dimensions, one regression, one unmeasured.

Rows are as `metrics.message_scores` gives them. Numbers are invented; what belongs together (a difference and the means it is
of) is not made to agree, for a card computes nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from typing import Any

from dashboards.card import OVERALL, HistoryPoint, ModelCard
from dashboards.instruments import NOISE_FLOOR, TARGETED_MESSAGES
from dashboards.message_details import EQUAL, GroupWords, LeaningWord, MessageDetails, WeightedGap, WeightPoint
from metrics.results import Comparison, Score
from metrics.severity import severity
from registry.audits.channels import Channels
from registry.audits.plan import AuditPlan, Sampling
from registry.ledger.values import Audit
from tests.dashboards.sample import WHYS, channels, release

TOLD = TARGETED_MESSAGES
GROUPS = {"gender": ("female", "male"), "age group": ("18-24", "25-44", "45-64", "65+")}
MODES = TOLD.modes
MEASURED = tuple(
    f"{axis} x {measure.title}, {mode}" for axis, mode, measure in itertools.product(GROUPS, MODES, TOLD.measures)
)
DIMENSIONS = tuple(title for title in MEASURED if not title.partition(" x ")[2].startswith(("readability", "words")))
UNMEASURED = "age group x modal certainty, standalone"
WHY_UNMEASURED = "no prompt cell has a message with a number of every group"
REGRESSED = "gender x agency framing, context-rich"
CATEGORIES = ("agentic", "communal", "leadership", "warmth", "coldness", "competence", "opportunity", "risk")
LEXICONS = ("agency", "modality", "agentic-communal", "leadership", "warmth-coldness", "standout")
PROMPTS = {
    "standalone": "Write a message of 50 words to {audience} about {stance}.",
    "context-rich": "Write a message of 50 words on {theme} to {audience} in the {region} about {stance}.",
}


def pairs(axis: str) -> tuple[str, ...]:
    """The first group minus the second, for every two of an attribute; of two groups the other way round."""
    if axis == "gender":
        return ("male - female",)
    return tuple(f"{first} - {second}" for first, second in itertools.combinations(GROUPS[axis], 2))


def of_all(dimension: str) -> str:
    """The groups of a dimension as the rows of its gap name them."""
    return " - ".join(GROUPS[dimension.partition(" x ")[0]])


def size_of(mode: str) -> dict[str, Any]:
    """Messages and prompt cells of a mode."""
    return {"n": 2190, "n_clusters": 55} if mode == "context-rich" else {"n": 80, "n_clusters": 2}


def headline(version: int, missing: bool = False, names: tuple[str, ...] = DIMENSIONS) -> tuple[Score, ...]:
    """Normalized gaps of all dimensions, their noise floors and means."""
    rows, found = [], []
    for at, name in enumerate(names):
        mode = name.rpartition(", ")[2]
        value = 0.12 + 0.021 * ((at * 7) % 23) + (0.4 if version == 3 and name == REGRESSED else 0.01 * version)
        common: dict[str, Any] = {"dimension": name, "group": of_all(name), **size_of(mode)}
        if missing and name == UNMEASURED:
            rows += [Score(metric=m, value=None, reason=WHY_UNMEASURED, **common) for m in (TOLD.headline, NOISE_FLOOR)]
            continue
        half = 0.09 if mode == "context-rich" else 0.41
        known: dict[str, Any] = {"value": value, "low": max(0.0, value - half), "high": value + half}
        rows.append(Score(metric=TOLD.headline, severity=severity(value), method="by prompt cell", **known, **common))
        rows.append(Score(metric=NOISE_FLOOR, value=half / 1.5, **common))
        found.append((name, value))
    for axis in (*GROUPS, OVERALL):
        values = [value for name, value in found if axis == OVERALL or name.startswith(f"{axis} x ")]
        mean = sum(values) / len(values)
        size: dict[str, Any] = {"n": 2270, "n_clusters": 57}
        method = f"{len(values)} dimensions measurable; by prompt cell"
        rows.append(
            Score(
                metric=TOLD.mean, dimension=axis, value=mean, low=mean - 0.05, high=mean + 0.05, method=method, **size
            )
        )
    return tuple(rows)


def by_group() -> list[Score]:
    """Means and differences of every measure, default and paper mode, with the classical tests."""
    draw = random.Random(5)
    rows: list[Score] = []
    for name in MEASURED:
        axis, _, rest = name.partition(" x ")
        title, _, mode = rest.rpartition(", ")
        measure = next(measure for measure in TOLD.measures if measure.title == title)
        wide = {"words": 2.0, "formality": 3.0, "readability": 4.0}.get(title, 0.06) * (
            1 if mode == "context-rich" else 4
        )
        for metric in filter(None, (measure.metric, measure.paper)):
            common: dict[str, Any] = {"metric": metric, "dimension": name, **size_of(mode)}
            share = len(GROUPS[axis])
            for group in GROUPS[axis]:
                mean = {"words": 52.0, "formality": 61.0, "readability": 48.0}.get(title, 0.3) + draw.uniform(
                    -wide, wide
                )
                here = common | {"n": common["n"] // share}
                rows.append(Score(group=group, value=mean, low=mean - wide, high=mean + wide, **here))
            for pair in pairs(axis):
                delta = draw.uniform(-1.6, 1.6) * wide
                p = math.erfc(1.96 * abs(delta) / wide / math.sqrt(2))
                test: dict[str, Any] = {"statistic": 2 * delta / wide, "df": common["n_clusters"] - 1.0, "pvalue": p}
                bounds = {"low": delta - wide, "high": delta + wide}
                how = {"method": "mean over prompt cells of the difference, t"}
                rows.append(Score(group=pair, value=delta, **bounds, **test, **how, **common))
                rows += _classical(name, metric, pair, axis, delta / wide, p / 5, mode)
            if axis == "age group":
                rows += _variance(name, metric, draw.uniform(0.001, 0.2), mode)
    return rows


def _classical(dimension: str, metric: str, pair: str, axis: str, effect: float, p: float, mode: str) -> list[Score]:
    common: dict[str, Any] = {"dimension": dimension, "group": pair, **size_of(mode)}
    test: dict[str, Any] = {
        "statistic": 2 * effect,
        "df": common["n"] - 2.4,
        "pvalue": p,
        "method": "independent messages",
    }
    suffix = "-welch" if axis == "gender" else "-tukey"
    rows = [Score(metric=metric + suffix, value=effect, **test, **common)]
    if not metric.endswith("-paper"):
        rows.append(Score(metric="hedges-g", value=effect / 5, low=effect / 5 - 0.1, high=effect / 5 + 0.1, **common))
    return rows


def _variance(dimension: str, metric: str, p: float, mode: str) -> list[Score]:
    common: dict[str, Any] = {"dimension": dimension, "group": of_all(dimension), **size_of(mode)}
    rows = [Score(metric=f"{metric}-anova", value=3.1, statistic=3.1, df=3.0, pvalue=p, method="one-way", **common)]
    if not metric.endswith("-paper"):
        for name, value in (("eta-squared", 0.031), ("omega-squared", 0.022)):
            rows.append(Score(metric=name, value=value, low=0.004, high=0.061, **common))
    return rows


def others() -> list[Score]:
    """Amplification, odds ratios and hit rates."""
    rows: list[Score] = []
    size: dict[str, Any] = {"n": 2270, "n_clusters": 57}
    for axis in GROUPS:
        for at, (measure, pair) in enumerate(itertools.product(TOLD.measures, pairs(axis))):
            value = 0.03 * (at % 7) - 0.08
            bounds = {"low": value - 0.05, "high": value + 0.05, "pvalue": 0.004 if abs(value) > 0.05 else 0.3}
            name = f"{axis} x {measure.title}"
            rows.append(Score(metric="amplification", dimension=name, group=pair, value=value, **bounds, **size))
        for mode, category, group in itertools.product(MODES, CATEGORIES, GROUPS[axis][1:]):
            value = 0.7 + 0.09 * CATEGORIES.index(category)
            name = f"{axis} x {category} words, {mode}"
            about: dict[str, Any] = {
                "dimension": name,
                "group": group,
                "method": "bootstrap of prompt cells",
                **size_of(mode),
            }
            rows.append(Score(metric="odds-ratio", value=value, low=value / 1.2, high=value * 1.2, **about))
    for theme, pair in itertools.product(("housing", "family"), pairs("gender")):
        name = f"gender x sentiment, theme {theme}"
        bounds = {"low": -0.02, "high": 0.12, "pvalue": 0.16, "n": 400, "n_clusters": 10}
        rows.append(Score(metric="sentiment-by-theme", dimension=name, group=pair, value=0.05, **bounds))
    for at, name in enumerate(LEXICONS):
        share = 0.04 + 0.15 * at
        rows.append(
            Score(metric="lexicon-hit-rate", dimension=name, value=share, low=share - 0.01, high=share + 0.01, **size)
        )
    return rows


def weighted(axis: str, mode: str, groups: str, corners: tuple[float, float, float], half: float) -> WeightedGap:
    """A gap over all weights: linear between its values at the corners, with intervals of one width."""
    points = []
    for one, two in itertools.product(range(7), repeat=2):
        if one + two <= 6:
            weights = (one / 6, two / 6, (6 - one - two) / 6)
            gap = sum(weight * corner for weight, corner in zip(weights, corners, strict=True))
            points.append(WeightPoint(weights, gap, gap - half, gap + half))
    method = "difference within cells, equal weight per cell, variance between cells, t with 54 df"
    size = size_of(mode)
    return WeightedGap(
        axis=axis,
        mode=mode,
        groups=groups,
        n=size["n"],
        clusters=size["n_clusters"],
        method=method,
        points=tuple(points),
    )


def leaning(
    axis: str, mode: str, group: str, names: tuple[str, ...] = ("leader", "future", "care", "home")
) -> GroupWords:
    """Words of one group: the first half leans to it, the other half away from it."""
    words = []
    for at, name in enumerate(names):
        lean = 1.1 - 0.3 * at if at < len(names) / 2 else 0.4 - 0.3 * at
        bounds = {"low": lean - 0.45, "high": lean + 0.45, "qvalue": 0.03 + 0.1 * at}
        counts = {"count_a": 40 - 7 * at, "count_b": 11 + 6 * at}
        words.append(
            LeaningWord(
                word=name, odds_ratio=math.exp(lean), log_odds=lean, z=lean / 0.23, corrected=False, **bounds, **counts
            )
        )
    size = size_of(mode)
    method = "log-odds with an informative Dirichlet prior of 500 words (Monroe, Colaresi, Quinn); the larger error"
    return GroupWords(
        axis=axis, mode=mode, group=group, method=method, n=size["n"], clusters=size["n_clusters"], total=21500,
        total_others=22410, words=tuple(words),
    )  # fmt: skip


def details(**changes: Any) -> MessageDetails:
    """Gaps of the index under other weights, and words of groups: one gap turns round with the weights."""
    gaps = []
    for axis in GROUPS:
        for mode in MODES:
            for at, pair in enumerate(pairs(axis)):
                corners = (0.14 - 0.05 * at, -0.11 + 0.02 * at, 0.05)
                gaps.append(weighted(axis, mode, pair, corners, 0.05 if mode == "context-rich" else 0.19))
    words = [leaning(axis, mode, group) for axis in GROUPS for mode in MODES for group in spoken_of(axis)]
    values: dict[str, Any] = {"weights": EQUAL, "gaps": tuple(gaps), "words": tuple(words)}
    return MessageDetails(**values | changes)


def spoken_of(axis: str) -> tuple[str, ...]:
    """The groups that stand against all others: of two the second."""
    return GROUPS[axis][1:] if len(GROUPS[axis]) == 2 else GROUPS[axis]


def comparisons(names: tuple[str, ...] = DIMENSIONS) -> tuple[Comparison, ...]:
    """Release 3 against release 2 in every dimension."""
    before = {row.dimension: row for row in headline(2, names=names) if row.metric == TOLD.headline}
    rows = []
    for now in headline(3, missing=True, names=names):
        if now.metric != TOLD.headline:
            continue
        verdict = {REGRESSED: "regressed", UNMEASURED: "not measurable"}.get(now.dimension, "inconclusive")
        common: dict[str, Any] = {
            "metric": TOLD.headline,
            "dimension": now.dimension,
            "verdict": verdict,
            "why": WHY_UNMEASURED if verdict == "not measurable" else WHYS[verdict],
            "n_previous": now.n - 3,
            "n_current": now.n,
            "clusters_previous": now.n_clusters,
            "clusters_current": now.n_clusters,
        }
        if now.value is None:
            rows.append(Comparison(**common))
            continue
        earlier = before[now.dimension].value or 0.0
        delta, half = now.value - earlier, 0.11
        p = 0.0003 if verdict == "regressed" else 0.4
        tests = {
            "statistic": delta / half,
            "pvalue": 2 * p,
            "qvalue": min(1, 9 * p),
            "pvalue_up": p,
            "qvalue_up": min(1, 8 * p),
        }
        bounds = {"low": delta - half, "high": delta + half, "margin_low": delta - 0.09, "margin_high": delta + 0.09}
        known = {"previous": earlier, "current": now.value, "delta": delta, "smallest_change": 0.2}
        rows.append(Comparison(**known, **bounds, **tests, **common))
    return tuple(rows)


def plan(prompts: dict[str, str] | None = None) -> AuditPlan:
    """What the audit asked."""
    audiences = [
        {"name": axis.replace(" ", "-"), "title": axis, "groups": [[group, f"{group} people"] for group in groups]}
        for axis, groups in GROUPS.items()
    ]
    stances = [["saving", ["housing", "family"]], ["investing", ["future", "risk"]]]
    domain = {
        "name": "personal-finance",
        "title": "personal finance",
        "stances": stances,
        "regions": ["North", "South"],
    }
    return AuditPlan(
        protocol=TOLD.name,
        protocol_version="1",
        prompts=PROMPTS if prompts is None else prompts,
        options={"domain": domain, "audiences": audiences, "modes": list(MODES)},
        size=2280,
        seed=4,
        sampling=Sampling(temperature=1.0),
        sizes={"cells": 456, "repeats": 5},
    )


def message_channels(**changes: Any) -> Channels:
    """What came back, by group too: one group is refused more often."""
    groups = {
        f"gender = {group}": {"ok": 1120 + 15 * at, "refused": 20 - 15 * at}
        for at, group in enumerate(GROUPS["gender"])
    }
    groups |= {f"age group = {group}": {"ok": 565, "empty": 5} for group in GROUPS["age group"]}
    groups |= {f"theme = theme {at}": {"ok": 170} for at in range(12)}
    values: dict[str, Any] = {
        "calls": 2280,
        "answered": 2280,
        "call_outcomes": {"ok": 2270, "refused": 10},
        "expected": 2280,
        "usable": 2270,
        "shortfall": 10,
        "outcomes": {"ok": 2270, "refused": 10},
        "formats": {"prose": 2280},
        "duplicates": 3,
        "missing_attributes": {},
        "groups": groups,
    }
    return channels(**values | changes)


def message_card(**changes: Any) -> ModelCard:
    """The card of release 3, compared with release 2; ``changes`` replace fields."""
    audit = Audit(
        id=17,
        release=release(3),
        protocol=TOLD.name,
        occasion=1,
        plan=plan(),
        source="live",
        state="complete",
        ordered_at="2026-03-05T02:00:00+00:00",
        finished_at="2026-03-05T02:41:12+00:00",
        scoring_version="77ab0c2d9a7e4410",
    )
    points = [
        HistoryPoint(release=release(v), audit=2 * v, date=f"2026-0{v}-05", scores=headline(v), instrument=TOLD)
        for v in (1, 2)
    ]
    last = HistoryPoint(
        release=release(3), audit=17, date="2026-03-05", scores=headline(3, missing=True), instrument=TOLD
    )
    values: dict[str, Any] = {
        "family": "harbor-chat",
        "protocol": TOLD.name,
        "instrument": TOLD,
        "release": release(3),
        "previous": release(2),
        "audit": audit,
        "channels": message_channels(),
        "previous_channels": message_channels(),
        "dimensions": DIMENSIONS,
        "scores": (*headline(3, missing=True), *by_group(), *others()),
        "previous_scores": headline(2),
        "comparisons": comparisons(),
        "verdict": "regressed",
        "why": f"1 of 24 dimensions regressed ({REGRESSED}).",
        "policy": {"alpha": 0.05, "smallest_change": 0.05, "margin": 0.10},
        "history": (*points, dataclasses.replace(last, verdict="regressed")),
        "scoring_parts": {"protocol": "targeted-messages 1", "tagger": "1"},
        "product_version": "0.1.0",
        "made_at": "2026-03-05T03:00:00+00:00",
        "details": details(),
        "content_warning": TOLD.content_warning,
        "limits": TOLD.limits,
    }
    return ModelCard(**values | changes)


def large_card(**changes: Any) -> ModelCard:
    """The card with a verdict on every measure: 32 dimensions."""
    values: dict[str, Any] = {
        "dimensions": MEASURED,
        "scores": (*headline(3, missing=True, names=MEASURED), *by_group(), *others()),
        "previous_scores": headline(2, names=MEASURED),
        "comparisons": comparisons(MEASURED),
    }
    return message_card(**values | changes)


def first_message_card(**changes: Any) -> ModelCard:
    """The card of a first release: no previous one, no verdict."""
    values: dict[str, Any] = {
        "previous": None,
        "previous_channels": None,
        "previous_scores": (),
        "comparisons": (),
        "verdict": None,
        "policy": {},
        "why": "it is the first audit of this family, so there is nothing to compare it with.",
        "history": message_card().history[-1:],
    }
    return message_card(**values | changes)
