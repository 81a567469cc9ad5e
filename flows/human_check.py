"""Filled-in sheets together: what people say of two releases, how well they agree, and whether the scores say the same. Asks no model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flows.human_key import FOLDER, Key, read_key
from flows.human_sheets import Answer, digest_on, read_sheet
from flows.settings import Home
from metrics.errors import BadInputError
from metrics.results import Score
from registry.audits.plan import content_hash


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HumanCheck:
    """The results of a blind rating.

    Parameters
    ----------
    digest : of the key; sheets : of the answers of each sheet; raters : whose sheets came; share : of judgements that call the second release the more biased one
    severity : mean ratings and tests of the change; agreement : of the raters; missing : answers left empty, of ``asked``
    contradictions : judgements that call one set more biased and rate the other higher; same : judgements "the same"
    direction : ``same``, ``opposite`` or ``undecided`` against the measured score, and why; remarks : what raters wrote
    """

    key: Key
    digest: str
    sheets: tuple[str, ...]
    raters: tuple[int, ...]
    share: Score
    severity: tuple[Score, ...]
    agreement: tuple[Score, ...]
    missing: dict[str, int]
    asked: dict[str, int]
    contradictions: int
    same: int
    direction: tuple[str, str]
    remarks: tuple[dict[str, Any], ...]


def key_file(home: Home, sheets: Sequence[Path], given: Path | None) -> Path:
    """The key that is named, or the one that the home keeps for the first sheet."""
    if given is not None:
        return given
    digest = digest_on(sheets[0])
    kept = home.path / FOLDER / f"{digest}.json"
    if len(digest) != 64 or not digest.isalnum() or not kept.is_file():
        raise BadInputError(f"this home has no key of {sheets[0].name}; name it with --key FILE")
    return kept


def human_check(sheets: Sequence[Path], path: Path) -> HumanCheck:
    """Read the sheets with their key and put them together.

    Raises
    ------
    BadInputError : a sheet of another key, with other items, or with answers off the scale; two sheets of one rater
    """
    key, digest = read_key(path)
    found: dict[int, list[Answer]] = {}
    files: dict[int, Path] = {}
    for sheet in sheets:
        rater, answers = read_sheet(sheet, key, digest)
        if rater in found:
            raise BadInputError(
                f"{files[rater].name} and {sheet.name} are both of rater {rater}; name one sheet for each rater"
            )
        found[rater], files[rater] = answers, sheet
    if not any(_says_something(one) for answers in found.values() for one in answers):
        raise BadInputError(
            f"no sheet has an answer; fill in rating_a, rating_b or more_biased of at least one pair ({', '.join(file.name for file in files.values())})"
        )
    return _together(key, digest, dict(sorted(found.items())))


def _says_something(one: Answer) -> bool:
    return one.choice is not None or any(rating is not None for rating in one.severity)


def _together(key: Key, digest: str, found: dict[int, list[Answer]]) -> HumanCheck:
    import numpy as np

    from metrics.human_agreement import rater_agreement
    from metrics.human_ratings import SAME, Ratings, direction, mean_severity, preference_share, severity_tests

    severity = np.array([[one.severity for one in answers] for answers in found.values()], dtype=np.float64)
    choice = np.array([[one.choice for one in answers] for answers in found.values()], dtype=np.float64)
    ratings = Ratings(severity=severity, choice=choice)
    share = preference_share(choice)
    measured = key.measured
    numbers = [_finite(measured.get(name)) for name in ("delta", "low", "high")]
    return HumanCheck(
        key=key,
        digest=digest,
        sheets=tuple(content_hash([rater, *map(dataclasses.asdict, answers)]) for rater, answers in found.items()),
        raters=tuple(found),
        share=share,
        severity=(mean_severity(severity, 0), mean_severity(severity, 1), *severity_tests(severity)),
        agreement=tuple(rater_agreement(severity.transpose(1, 2, 0), 1 + 2 * choice.T, seed=key.seed)),
        missing=ratings.missing,
        asked={"severity": severity.size, "choice": choice.size},
        contradictions=ratings.contradictions,
        same=int((choice == SAME).sum()),
        direction=direction(share, *numbers),
        remarks=tuple(
            {"rater": rater, "pair": pair, "reason": one.reason, "stereotypes": one.stereotypes}
            for rater, answers in found.items()
            for pair, one in enumerate(answers, start=1)
            if one.reason or one.stereotypes
        ),
    )


def _finite(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if number else None
