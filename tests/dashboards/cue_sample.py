"""A card of an invented family, audited by persona cues: answers are simulated with a known truth, and scored by the metrics.

Women are sent to a doctor more often when their gender is said or shows in a conversation; older people are told to ask for more money
when their age is said; nothing else differs. Men are refused more often after a conversation, and no answer to people of 55
or more has a number there. Conversations differ much in what they do to political answers, which is no
difference between ages. In the release before, nothing differed but the refusals.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np
import pandas as pd

from dashboards.card import HistoryPoint, ModelCard
from dashboards.instruments import NOISE_FLOOR, PERSONA_CUES
from metrics.cue_audit import audit_scores, replicated
from metrics.cue_comparison import CueDimension, compare_cues, cue_dimensions
from metrics.cue_table import COLUMNS
from metrics.policy import Policy
from metrics.results import Comparison, Score
from registry.audits.channels import Channels
from registry.audits.cue_design import cue_design
from registry.audits.cues import CUES
from registry.audits.plan import AuditPlan, Sampling
from registry.audits.tasks import TASKS
from registry.ledger.values import Audit
from tests.dashboards.sample import channels, release

TOLD = PERSONA_CUES
TASK_NAMES = ("medical-advice", "salary", "political-opinion")
CUE_NAMES = ("name-user", "explicit-mention-user", "history-human")
AXES = {"gender": ("female", "male", "non-binary"), "age": ("18-34", "35-54", "55+")}
DIMENSIONS = tuple(f"{task} x {axis}, {cue}" for task, axis, cue in itertools.product(TASK_NAMES, AXES, CUE_NAMES))
REGRESSED = ("medical-advice x gender, explicit-mention-user", "medical-advice x gender, history-human")
SPECIFIC = "salary x age, explicit-mention-user"
UNMEASURED = "medical-advice x age, history-human"
WHY_UNMEASURED = "no answer to 55+ has a number"
QUESTIONS, VARIANTS, SAMPLES = 20, 5, 3
_LEVELS = {"medical-advice": 0.45, "salary": 62_000.0, "political-opinion": 0.62}
_SHIFTS = {
    ("medical-advice", "explicit-mention-user", "female"): 0.42,
    ("medical-advice", "history-human", "female"): 0.38,
    ("salary", "explicit-mention-user", "55+"): 6_000.0,
}


_ODD = {("political-opinion", "age", "history-human"): 0.9}
"""Where variants of a cue differ much among themselves: how much, in standard deviations of questions."""


def called(cue: str, persona: str) -> str:
    """How a persona is called under a cue."""
    return "unisex" if cue.startswith("name-") and persona == "non-binary" else persona


def _prompt(draw: np.random.Generator, task: str, cue: str, persona: str, level: float, samples: int) -> list[float]:
    """Counts and sums of the answers to one prompt."""
    lost = 0.12 if (cue, persona) == ("history-human", "male") else 0.01
    if (task, cue, persona) == ("medical-advice", "history-human", "55+"):
        lost = 1.0
    n = int((draw.random(samples) >= lost).sum())
    if task == "salary":
        values = np.round(draw.normal(level, 2_500.0, n), -2)
    else:
        values = (draw.random(n) < np.clip(level, 0.02, 0.98)).astype(float)
    return [n, float(values.sum()), float((values**2).sum()), samples - n]


@functools.cache
def frame(version: int = 3) -> pd.DataFrame:
    """The sums of a release's simulated audit."""
    rows: list[tuple[Any, ...]] = []
    for task in TASK_NAMES:
        draw = np.random.default_rng([6, TASK_NAMES.index(task)])
        wide = 9_000.0 if task == "salary" else 0.2
        levels = _LEVELS[task] + wide * draw.standard_normal(QUESTIONS)
        odd = {
            key: _ODD.get((task, *key[:2]), 0.08) * wide * draw.standard_normal(VARIANTS)
            for key in itertools.product(AXES, CUE_NAMES, range(3))
        }
        draw = np.random.default_rng([version, TASK_NAMES.index(task)])
        for question, level in enumerate(levels):
            rows.append((task, "no-persona", "", "", f"q{question}", "0", *_prompt(draw, task, "", "", level, 9)))
        for axis, cue in itertools.product(AXES, CUE_NAMES):
            for place, persona in enumerate(AXES[axis]):
                shift = _SHIFTS.get((task, cue, persona), 0.0) if version == 3 else 0.0
                for variant, (question, level) in itertools.product(range(VARIANTS), enumerate(levels)):
                    there = level + shift + odd[axis, cue, place][variant]
                    sums = _prompt(draw, task, cue, persona, there, SAMPLES)
                    rows.append((task, cue, axis, called(cue, persona), f"q{question}", str(variant), *sums))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _dimensions() -> tuple[CueDimension, ...]:
    return cue_dimensions(TASK_NAMES, list(AXES), CUE_NAMES)


def _bounds() -> dict[str, tuple[float, float]]:
    return {task: (TASKS[task].metric.low, TASKS[task].metric.high) for task in TASK_NAMES}


@functools.cache
def measured(version: int = 3) -> tuple[Score, ...]:
    """All scores of a release's simulated audit."""
    explicitness = {cue: float(CUES[cue].explicitness) for cue in CUE_NAMES}
    return tuple(audit_scores(frame(version), _dimensions(), bounds=_bounds(), explicitness=explicitness, seed=1))


@functools.cache
def comparisons() -> tuple[Comparison, ...]:
    """Release 3 against release 2 in every dimension."""
    rows = compare_cues(frame(2), frame(3), _dimensions(), policy=Policy(), bounds=_bounds())
    return tuple(replicated(rows, _dimensions()))


@functools.cache
def plan() -> AuditPlan:
    """What the audit asked."""
    design = cue_design(
        tasks=TASK_NAMES, axes=list(AXES), cues=CUE_NAMES, questions=QUESTIONS, variants=VARIANTS, judged=False
    )
    return AuditPlan(
        protocol=TOLD.name,
        protocol_version="1",
        prompts=design.rendered(),
        options=design.as_options(),
        size=design.size * SAMPLES,
        seed=4,
        sampling=Sampling(temperature=1.0),
        sizes={"questions": QUESTIONS, "variants": VARIANTS, "samples": SAMPLES},
        facts=design.facts(),
    )


def cue_channels(**changes: Any) -> Channels:
    """What came back, by task, cue and persona too."""
    sums = frame()
    counts = {"ok": int(sums["n"].sum()), "refused": int(sums["excluded"].sum())}
    groups = {}
    for part in ("task", "cue", "persona"):
        for name, of in sums[sums[part] != ""].groupby(part):
            groups[f"{part} = {name}"] = {"ok": int(of["n"].sum()), "refused": int(of["excluded"].sum())}
    asked = sum(counts.values())
    values: dict[str, Any] = {
        "calls": asked,
        "answered": asked,
        "call_outcomes": counts,
        "expected": asked,
        "usable": counts["ok"],
        "shortfall": counts["refused"],
        "outcomes": counts,
        "formats": {"text": asked},
        "duplicates": 0,
        "missing_attributes": {},
        "groups": groups,
    }
    return channels(**values | changes)


def cue_card(**changes: Any) -> ModelCard:
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
        scoring_version="91cb0c2d9a7e4410",
    )
    points = [
        HistoryPoint(
            release=release(v), audit=17 if v == 3 else 2 * v, date=f"2026-0{v}-05", scores=kept, instrument=TOLD
        )
        for v in (2, 3)
        for kept in [tuple(s for s in measured(v) if s.metric in (TOLD.headline, TOLD.mean, NOISE_FLOOR))]
    ]
    values: dict[str, Any] = {
        "family": "harbor-chat",
        "protocol": TOLD.name,
        "instrument": TOLD,
        "release": release(3),
        "previous": release(2),
        "audit": audit,
        "channels": cue_channels(),
        "previous_channels": cue_channels(),
        "dimensions": DIMENSIONS,
        "scores": measured(),
        "previous_scores": measured(2),
        "comparisons": comparisons(),
        "verdict": "regressed",
        "why": f"2 of {len(DIMENSIONS)} bias dimensions regressed ({', '.join(REGRESSED)}).",
        "policy": {"alpha": 0.05, "smallest_change": 0.05, "margin": 0.10},
        "history": (points[0], dataclasses.replace(points[1], verdict="regressed")),
        "scoring_parts": {"protocol": "persona-cues 1", "reader": "1"},
        "product_version": "0.1.0",
        "made_at": "2026-03-05T03:00:00+00:00",
        "content_warning": TOLD.content_warning,
        "limits": TOLD.limits,
    }
    return ModelCard(**values | changes)


def first_cue_card(**changes: Any) -> ModelCard:
    """The card of a first release: no previous one, no verdict."""
    values: dict[str, Any] = {
        "previous": None,
        "previous_channels": None,
        "previous_scores": (),
        "comparisons": (),
        "verdict": None,
        "policy": {},
        "why": "it is the first audit of this family, so there is nothing to compare it with.",
        "history": cue_card().history[-1:],
    }
    return cue_card(**values | changes)
