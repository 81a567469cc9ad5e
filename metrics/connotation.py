"""The published connotation frames of agency, which a user brings, and how far two lexicons agree.

The frames of Sap et al. (2017) are under GPL-3.0 and are not shipped. `connotation_frames` checks the published file and
makes a `Lexicon` of it; `lexicon_agreement` lays it beside another list.

References
----------
M. Sap, M. C. Prasetio, A. Holtzman, H. Rashkin, Y. Choi (2017), "Connotation Frames of Power and Agency in Modern Films",
EMNLP.
J. Cohen (1960), "A coefficient of agreement for nominal scales", Educ. Psychol. Meas. 20, 37-46; J. L. Fleiss, J. Cohen,
B. S. Everitt (1969), "Large sample standard errors of kappa and weighted kappa", Psychol. Bull. 72, 323-327.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

from metrics.errors import BadInputError
from metrics.lexicon import Lexicon, file_content, file_text

CONNOTATION_FRAMES = "connotation-frames"
_FRAMES_COLUMNS = ("verb", "agency", "power")
_FRAMES_CLASSES = {"agency_pos": "high", "agency_neg": "low", "agency_equal": None, "": None}
_FRAMES_PUBLISHED = {
    "ae53df9d1e07ef93dc837e14456ebf75c21fef66699030e3c38fdfcb61af399b",  # as published, third person singular
    "516725157fcd11622648840a6c5f63da4d87a5d9a25be5d0063a814f37f30cd6",  # its lemmas, as riveter-nlp distributes them
}


def connotation_frames(path: Path) -> Lexicon:
    """High and low agency of verbs by Sap et al. (2017), from the published CSV file, as it stands.

    The published file has verbs in the third person singular: 1,676 of high and 228 of low agency, 65 of all its entries of
    several words. Verbs of equal agency and those without a class are left out. A file of lemmas gives unit ``lemma``.

    Parameters
    ----------
    path : a CSV file with the columns verb, agency and power

    Returns
    -------
    Lexicon ``connotation-frames`` with classes ``high`` and ``low``; its version is the beginning of the file's SHA-256.
    ``recognised`` is False when the file is not one of the two known ones, byte for byte: no published figure then applies.

    Raises
    ------
    BadInputError : no such file, another header, an unknown class, or a verb in both classes
    """
    content = file_content(path)
    digest = hashlib.sha256(content).hexdigest()
    classes: dict[str, set[str]] = {"high": set(), "low": set()}
    for verb, agency in _frames_rows(file_text(content, path), path):
        title = _FRAMES_CLASSES[agency]
        if title is not None:
            classes[title].add(verb)
    verbs = classes["high"] | classes["low"]
    third_person = 2 * sum(verb.partition(" ")[0].endswith("s") for verb in verbs) > len(verbs)
    return Lexicon(
        name=CONNOTATION_FRAMES,
        title="connotation frames of agency",
        source=f"Sap, Prasetio, Holtzman, Rashkin and Choi (2017), EMNLP; file with SHA-256 {digest}",
        licence="GPL-3.0",
        version=digest[:12],
        unit="third-person" if third_person else "lemma",
        classes={title: frozenset(entries) for title, entries in classes.items()},
        recognised=digest in _FRAMES_PUBLISHED,
    )


def _frames_rows(text: str, path: Path) -> Iterator[tuple[str, str]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        header = reader.fieldnames or []
        missing = [column for column in _FRAMES_COLUMNS if column not in header]
        if missing:
            raise BadInputError(
                f"the file of connotation frames has the columns {', '.join(_FRAMES_COLUMNS)}; {path.name} lacks "
                f"{', '.join(missing)}; give the published agency_power.csv"
            )
        for row in reader:
            verb, agency = row["verb"] or "", row["agency"] or ""
            if agency not in _FRAMES_CLASSES:
                known = ", ".join(filter(None, _FRAMES_CLASSES))
                raise BadInputError(
                    f"line {reader.line_num} of {path.name}: agency is {known} or empty, got {agency!r}; correct it"
                )
            yield verb, agency
    except csv.Error as error:
        raise BadInputError(f"{path.name} must be a CSV file: {error}; give the published agency_power.csv") from error


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LexiconAgreement:
    """Cohen's kappa of two lexicons on the entries that both have, its 95 % interval, and how many entries only one has."""

    kappa: float | None
    low: float | None
    high: float | None
    n: int
    agreed: int
    only_first: int
    only_second: int
    method: str = ""
    reason: str = ""


def lexicon_agreement(first: Lexicon, second: Lexicon) -> LexiconAgreement:
    """Do two lexicons put the same words in the same class? Cohen's kappa on shared entries.

    ``(observed - expected) / (1 - expected)`` agreement, expected from the classes' shares in each lexicon; the interval
    is that of `metrics.kappa.kappa_with_interval`. None when nothing is shared or all shared entries are of one class.

    Raises `BadInputError` when units or class names differ: such lists cannot be laid beside each other.
    """
    import numpy as np

    if first.unit != second.unit or set(first.classes) != set(second.classes):
        raise BadInputError(
            f"two lexicons agree or not when unit and classes are the same; {first.name!r} has {first.unit} with "
            f"{', '.join(first.classes)}, {second.name!r} has {second.unit} with {', '.join(second.classes)}"
        )
    table = np.array([[len(first.classes[a] & second.classes[b]) for b in first.classes] for a in first.classes])
    n, agreed = int(table.sum()), int(np.trace(table))
    sizes = [sum(map(len, lexicon.classes.values())) for lexicon in (first, second)]
    expected = float(table.sum(axis=1) @ table.sum(axis=0))
    kappa = low = high = None
    interval = ""
    if n and expected < n * n:
        from metrics.kappa import kappa_with_interval

        kappa, low, high, interval = kappa_with_interval(table.astype(np.float64))
    return LexiconAgreement(
        kappa=kappa,
        low=low,
        high=high,
        n=n,
        agreed=agreed,
        only_first=sizes[0] - n,
        only_second=sizes[1] - n,
        method="" if kappa is None else f"Cohen's kappa; {interval}",
        reason="" if kappa is not None else ("all shared entries are of one class" if n else "no entry is in both"),
    )
