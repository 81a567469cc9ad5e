"""Persona frames for the tests: made from a seed, with a known strength of association and of dependence in answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from metrics.tables import BiasDimension

SIZES = {
    "gender": 3,
    "ethnicity": 6,
    "sexual_orientation": 5,
    "social_class": 3,
    "education_level": 5,
    "occupation": 18,
    "top_personal_interest": 15,
}
AXES = {"name": "name", "gender": "gender", "ethnicity": "ethnicity", "sexual_orientation": "sexual orientation"}
SOCIAL = {
    "social_class": "social class",
    "education_level": "education",
    "occupation": "occupation",
    "top_personal_interest": "interest",
}
NAMES = [f"name {number:02}" for number in range(50)]

DIMENSIONS = [
    BiasDimension(
        title=f"{axis} x {social}", axis=axis, social=social, row=f"{row}_category", column=f"{column}_category"
    )
    for row, axis in AXES.items()
    for column, social in SOCIAL.items()
]
WITHOUT_NAMES = [dimension for dimension in DIMENSIONS if not dimension.by_name]


def _drawn(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    """One category for each row of ``chances`` [records, categories]."""
    return (chances.cumsum(axis=1) < rng.random((len(chances), 1))).sum(axis=1)


def persona_frame(
    requests: int, per_request: int, *, seed: int, strength: float = 0.6, modes: bool = False, extra: float = 0.0
) -> pd.DataFrame:
    """Personas whose name sets gender and ethnicity, and whose gender, ethnicity and orientation set the rest.

    ``strength`` scales all associations; ``extra`` adds to that of gender with occupation only. With ``modes``, half
    of the answers stereotype 1.6 times as strongly and half a fifth as strongly, so that personas of one answer
    depend on each other.
    """
    law = np.random.default_rng(11)  # one population for all seeds
    rng = np.random.default_rng(seed)
    n = requests * per_request
    request = np.repeat(np.arange(requests), per_request)
    scale = np.ones(n) if not modes else np.where(rng.random(requests) < 0.5, 1.6, 0.2)[request]
    weights = 1 / np.arange(1, 141)
    codes = {"name": rng.choice(140, size=n, p=weights / weights.sum())}
    parents = {"gender": ["name"], "ethnicity": ["name"], "sexual_orientation": ["gender"]}
    for attribute, size in SIZES.items():
        logits = np.log(law.dirichlet(np.full(size, 6.0)))[None, :].repeat(n, axis=0)
        for parent in parents.get(attribute, ["gender", "ethnicity", "sexual_orientation"]):
            effects = law.standard_normal((200, size))
            more = extra if (parent, attribute) == ("gender", "occupation") else 0.0
            logits += ((strength + more) * scale)[:, None] * effects[codes[parent]]
        chances = np.exp(logits)
        codes[attribute] = _drawn(rng, chances / chances.sum(axis=1, keepdims=True))
    frame = pd.DataFrame({"request": request, "index": np.tile(np.arange(per_request), requests), "outcome": "ok"})
    for attribute, code in codes.items():
        labels = np.array([f"{attribute} {number:02}" for number in range(200)])
        frame[f"{attribute}_category"] = labels[code]
    frame["duplicate"] = frame.duplicated([f"{attribute}_category" for attribute in codes])
    return frame


def corpus_frame(path: Path) -> pd.DataFrame:
    """Persona frame of a JSON Lines file with one persona in each answer; raw terms stand as categories."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        try:
            persona = json.loads(json.loads(line)["raw_text"])
        except json.JSONDecodeError:
            persona = {}
        attributes = ("name", *SIZES)
        terms = {f"{key}_category": persona.get(key) if isinstance(persona, dict) else None for key in attributes}
        rows.append({"request": number, "outcome": "ok" if any(terms.values()) else "unparsable", **terms})
    return pd.DataFrame(rows)
