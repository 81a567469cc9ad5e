"""How often does the analysis of persona cues err? Simulated answers of known truth, judged by the product's own quasi-F.

Question: false alarms, power and coverage of `metrics.cue_variance`, beside the published ANOVA on the same answers, when questions, and the
variants of a persona, have effects of their own.
Run: ``python -m benchmarks.calibration.cues --runs 1000`` prints the tables of docs/metrics.md; a minute or two on one core.

Answers are yes or no. The logit of a yes is the question's (standard deviation 2) plus the persona's on that question, plus the variant's, plus
the variant's on that question, plus the effect of the first persona; deviations are those of a scenario.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from benchmarks.calibration.outcomes import Share
from metrics.cue_power import WITHOUT_PILOT, Assumption, CueSize, assumed, detectable
from metrics.cue_variance import difference_error, filled, persona_parts, quasi_f

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

QUESTION_SPREAD, RELEASE_SPREAD = 2.0, 0.7
_AT_ONCE = 250


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Standard deviations on the logit scale, and which answers are missing.

    ``crossed`` : persona x question; ``variant`` : of each persona's variants, one number or one a persona; ``nested`` : variant x question
    ``silent`` : share of prompts without any answer that has a number
    """

    name: str
    crossed: float = 0.0
    variant: float | tuple[float, ...] = 0.0
    nested: float = 0.0
    silent: float = 0.0

    def spread(self) -> float:
        """Standard deviation of the logit of all prompts of a persona."""
        variant = np.mean(np.square(self.variant))
        return float(np.sqrt(QUESTION_SPREAD**2 + self.crossed**2 + variant + self.nested**2))


SCENARIOS = (
    Scenario(name="S0: questions only"),
    Scenario(name="S1: persona x question .3", crossed=0.3),
    Scenario(name="S2: variants .15", variant=0.15),
    Scenario(name="S3: S1 and S2", crossed=0.3, variant=0.15),
    Scenario(name="S4: histories, variants .3, x question .5", crossed=0.3, variant=0.3, nested=0.5),
    Scenario(name="S5: variants of one persona only, .3", variant=(0.3, 0.0, 0.0)),
    Scenario(name="S6: S3, every fifth prompt silent", crossed=0.3, variant=0.15, silent=0.2),
)


PLANNED_SCENARIOS = ((SCENARIOS[3], WITHOUT_PILOT[0]), (SCENARIOS[4], WITHOUT_PILOT[1]))
"""Scenarios that ``spiritlevel plan`` assumes without a pilot (`metrics.cue_power`)."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How much is asked. ``releases`` are pooled, each with questions of its own difficulty."""

    personas: int = 3
    questions: int = 100
    variants: int = 5
    samples: int = 3
    releases: int = 1

    def __str__(self) -> str:
        """In words."""
        pooled = f", {self.releases} releases pooled" if self.releases > 1 else ""
        return f"{self.variants} variants{pooled}"


DESIGNS = (Design(), Design(variants=20), Design(releases=7))


def logit_effect(scenario: Scenario, points: float) -> float:
    """Effect on the logit that moves the share of yes by so many points on average.

    >>> round(logit_effect(SCENARIOS[0], 0.04), 2)
    0.26
    """
    at, weights = np.polynomial.hermite_e.hermegauss(99)
    logits = scenario.spread() * at
    base = float(weights @ special.expit(logits) / weights.sum())
    found = optimize.brentq(lambda d: float(weights @ special.expit(logits + d) / weights.sum()) - base - points, 0, 5)
    return float(found)


def answers(
    rng: np.random.Generator, runs: int, scenario: Scenario, design: Design, effect: float
) -> tuple[FloatArray, FloatArray]:
    """Yes answers by prompt, all releases together [runs, personas, questions, variants], and their number in each prompt."""
    k, q, v = design.personas, design.questions, design.variants
    own = RELEASE_SPREAD if design.releases > 1 else 0.0
    logit = rng.normal(0, QUESTION_SPREAD, (runs, 1, q, 1)) + rng.normal(0, scenario.crossed, (runs, k, q, 1))
    of_variant = np.broadcast_to(np.asarray(scenario.variant, dtype=np.float64), (k,)).reshape(1, k, 1, 1)
    logit = logit + of_variant * rng.standard_normal((runs, k, 1, v)) + rng.normal(0, scenario.nested, (runs, k, q, v))
    logit[:, 0] += effect
    yes = np.zeros(logit.shape)
    for _ in range(design.releases):
        chance = special.expit(logit + rng.normal(0, own, (runs, 1, q, 1)))
        yes += rng.binomial(design.samples, chance)
    asked = np.full(yes.shape, float(design.samples * design.releases))
    if scenario.silent:
        gone = rng.random(yes.shape) < scenario.silent
        yes, asked = np.where(gone, 0.0, yes), np.where(gone, 0.0, asked)
    return yes, asked


def anova_pvalues(yes: FloatArray, asked: FloatArray) -> FloatArray:
    """P values of the published ANOVA, which takes every answer as independent [runs]."""
    n, total = asked.sum(axis=(2, 3)), yes.sum(axis=(2, 3))
    grand = total.sum(axis=1) / n.sum(axis=1)
    between = (n * np.square(total / n - grand[:, None])).sum(axis=1)
    within = (total - total**2 / n).sum(axis=1)  # an answer of 0 or 1 is its own square
    k = yes.shape[1]
    free = n.sum(axis=1) - k
    result: FloatArray = special.fdtrc(k - 1, free, between / (k - 1) / (within / free))
    return result


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """P values of the two analyses, and whether each interval of the first gap holds the true one [runs]."""

    quasi: FloatArray
    anova: FloatArray
    held: BoolArray
    held_independent: BoolArray


def outcomes(scenario: Scenario, design: Design, *, runs: int, seed: int, points: float = 0.0) -> Outcome:
    """Simulate audits and judge them; ``points`` is how much more often the first persona gets a yes."""
    effect = logit_effect(scenario, points) if points else 0.0
    parts = list(_blocks(scenario, design, runs, seed, effect, points))
    return Outcome(
        quasi=np.concatenate([one.quasi for one in parts]),
        anova=np.concatenate([one.anova for one in parts]),
        held=np.concatenate([one.held for one in parts]),
        held_independent=np.concatenate([one.held_independent for one in parts]),
    )


def _blocks(
    scenario: Scenario, design: Design, runs: int, seed: int, effect: float, points: float
) -> Iterator[Outcome]:
    rng = np.random.default_rng([seed, design.variants, design.releases, round(1000 * points)])
    for start in range(0, runs, _AT_ONCE):
        yes, asked = answers(rng, min(_AT_ONCE, runs - start), scenario, design, effect)
        means, missing = _cells(yes, asked)
        parts = [persona_parts(means[:, g], missing) for g in range(design.personas)]
        error = difference_error(parts[0], parts[1])
        reach = special.stdtrit(error.df, 0.975) * np.sqrt(error.variance)
        n, total = asked.sum(axis=(2, 3)), yes.sum(axis=(2, 3))
        share = total / n
        gap = share[:, 0] - share[:, 1]
        alone = 1.96 * np.sqrt((share * (1 - share) / n)[:, :2].sum(axis=1))
        yield Outcome(
            quasi=quasi_f(parts).pvalue,
            anova=anova_pvalues(yes, asked),
            held=np.abs(parts[0].mean - parts[1].mean - points) <= reach,
            held_independent=np.abs(gap - points) <= alone,
        )


def _cells(yes: FloatArray, asked: FloatArray) -> tuple[FloatArray, int]:
    """Means of prompts, silent ones filled in as the product does, and how many were on average for a persona."""
    means = np.where(asked > 0, yes / np.maximum(asked, 1), np.nan)
    if not np.isnan(means).any():
        return means, 0
    flat = means.reshape(-1, *means.shape[2:])
    done = [filled(cells) for cells in flat]
    # One number of degrees of freedom for all runs: that of the run with the most missing.
    return np.stack([cells for cells, _ in done]).reshape(means.shape), max(missing for _, missing in done)


def report(runs: int, power_runs: int, seed: int = 0, points: float = 0.04) -> str:
    """Both tables as Markdown."""
    lines = [
        "| scenario and design | quasi-F, p <= .05 | ANOVA of the paper, p <= .05 | p <= .01 | interval of a gap holds: two-way | independent |",
        "|---|---|---|---|---|---|",
    ]
    power = [
        f"| scenario: a gap of {100 * points:.0f} points is found by quasi-F at .05 | "
        + " | ".join(map(str, DESIGNS))
        + " |",
        "|---|" + "---|" * len(DESIGNS),
    ]
    for scenario in SCENARIOS:
        found = []
        for design in DESIGNS:
            if scenario.silent and design != DESIGNS[0]:
                found.append("-")
                continue
            null = outcomes(scenario, design, runs=runs, seed=seed)
            lines.append(
                f"| {scenario.name}; {design} | {Share.among(null.quasi <= 0.05)} | {100 * np.mean(null.anova <= 0.05):.1f} % "
                f"| {100 * np.mean(null.anova <= 0.01):.1f} % | {100 * null.held.mean():.1f} % "
                f"| {100 * null.held_independent.mean():.1f} % |"
            )
            moved = outcomes(scenario, design, runs=power_runs, seed=seed, points=points)
            found.append(f"{100 * np.mean(moved.quasi <= 0.05):.0f} %")
        power.append(f"| {scenario.name} | " + " | ".join(found) + " |")
    return "\n".join([*lines, "", *power])


PLANNED = (
    Design(questions=40),
    Design(questions=40, variants=20),
    Design(),
    Design(variants=20),
)


def planned_difference(assumption: Assumption, design: Design) -> float:
    """The difference that the planner says a design shows with 80 % power.

    >>> round(100 * planned_difference(WITHOUT_PILOT[0], Design()), 1)
    6.8
    """
    size = CueSize(
        personas=design.personas, questions=design.questions, variants=design.variants, samples=design.samples
    )
    return detectable(assumed(assumption), size) or 0.0


def planning_report(runs: int, seed: int = 0) -> str:
    """What the planner says beside what simulated audits of that very difference show, as Markdown."""
    lines = [
        "| scenario | questions x variants | shown with 80 % power from | found by quasi-F at .05 |",
        "|---|---|---|---|",
    ]
    for scenario, assumption in PLANNED_SCENARIOS:
        for design in PLANNED:
            points = planned_difference(assumption, design)
            found = outcomes(scenario, design, runs=runs, seed=seed, points=points).quasi <= 0.05
            size = f"{design.questions} x {design.variants}"
            lines.append(f"| {scenario.name} | {size} | {100 * points:.1f} points | {Share.among(found)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration.cues", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="audits without an effect, a scenario and design")
    parser.add_argument("--power-runs", type=int, default=500, help="audits with a gap of 4 points")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(report(options.runs, options.power_runs, options.seed))
    print()
    print(planning_report(options.power_runs, options.seed))


if __name__ == "__main__":
    main()
