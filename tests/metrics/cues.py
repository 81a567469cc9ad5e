"""Cue sums for tests: of given answers, and simulated ones with known truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.cue_table import COLUMNS, NO_PERSONA

FloatArray = NDArray[np.float64]


def sums_of(
    answers: FloatArray,
    personas: Sequence[str],
    *,
    task: str = "salary",
    cue: str = "name-user",
    axis: str = "gender",
) -> pd.DataFrame:
    """Sums of answers [personas, questions, variants, samples]; NaN is an answer without a number."""
    there = ~np.isnan(answers)
    kept = np.where(there, answers, 0.0)
    persona, question, variant = (places.ravel() for places in np.indices(answers.shape[:3]))
    return pd.DataFrame(
        {
            "task": task,
            "cue": cue,
            "axis": axis,
            "persona": np.array(personas, dtype=np.object_)[persona],
            "question": np.array([f"q{number:03}" for number in range(answers.shape[1])], dtype=np.object_)[question],
            "variant": np.array([str(number) for number in range(answers.shape[2])], dtype=np.object_)[variant],
            "n": there.sum(axis=3).ravel(),
            "total": kept.sum(axis=3).ravel(),
            "squares": (kept**2).sum(axis=3).ravel(),
            "excluded": (~there).sum(axis=3).ravel(),
        }
    )[list(COLUMNS)]


def baseline_of(answers: FloatArray, *, task: str = "salary") -> pd.DataFrame:
    """Sums of answers [questions, samples] without a persona."""
    frame = sums_of(answers[None, :, None, :], ["none"], task=task, cue=NO_PERSONA, axis="none")
    return frame.assign(axis="", persona="")


def yes_or_no(
    rng: np.random.Generator,
    *,
    personas: int = 3,
    questions: int = 40,
    variants: int = 5,
    samples: int = 3,
    effect: float = 0.0,
    of_variant: float = 0.15,
    crossed: float = 0.3,
) -> FloatArray:
    """Answers 0 or 1 whose logit has question, persona x question and variant effects; the first persona has ``effect``."""
    logit = rng.normal(0, 2, (1, questions, 1)) + rng.normal(0, crossed, (personas, questions, 1))
    logit = logit + rng.normal(0, of_variant, (personas, 1, variants))
    logit[0] += effect
    chance = 1 / (1 + np.exp(-logit))
    drawn: FloatArray = (rng.random((*chance.shape, samples)) < chance[..., None]).astype(np.float64)
    return drawn


def two_releases(
    seed: int,
    *,
    effects: tuple[float, float] = (0.0, 0.0),
    personas: int = 2,
    questions: int = 40,
    variants: int = 5,
    samples: int = 3,
    of_variant: float = 0.15,
    crossed: float = 0.3,
    same: float = 0.7,
) -> tuple[FloatArray, FloatArray]:
    """Answers of two releases to the same prompts, whose gap is so many logits; ``same`` is how much of every other effect both share."""
    rng = np.random.default_rng(seed)

    def effect(shape: tuple[int, int, int], spread: float) -> list[FloatArray]:
        both = rng.standard_normal(shape)
        own = [rng.standard_normal(shape) for _ in range(2)]
        return [spread * (np.sqrt(same) * both + np.sqrt(1 - same) * one) for one in own]

    parts = [effect((1, questions, 1), 2.0), effect((personas, questions, 1), crossed)]
    parts.append(effect((personas, 1, variants), of_variant))
    moved = np.linspace(0.5, -0.5, personas).reshape(-1, 1, 1)
    chances = [1 / (1 + np.exp(-(sum(part[place] for part in parts) + moved * effects[place]))) for place in range(2)]
    drawn = [(rng.random((*chance.shape, samples)) < chance[..., None]).astype(np.float64) for chance in chances]
    return drawn[0], drawn[1]
