"""Evidently's report of how the categories of two releases are distributed: to look at, beside the verdict.

It shows each attribute by itself. A verdict is about how two attributes go together, so neither replaces the other.
"""

from __future__ import annotations

import dataclasses
import hashlib
import html
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metrics.events import attribute_columns
from metrics.tables import BiasDimension, usable_records

if TYPE_CHECKING:
    import pandas as pd

METHOD = "jensenshannon"
THRESHOLD = 0.1
UNMAPPED = "(no category)"
UNLISTED = "(not a listed name)"
_LONGEST = 80

CAVEAT = (
    "This report stands beside the verdict and never replaces it. It shows how often each category was answered in the previous "
    "release (reference) and in this one (current), one attribute at a time, over usable records and before rare categories "
    "are merged. The distance is Jensen-Shannon (natural logarithm, 0 to 0.83); at 0.1 or more Evidently calls it drift. No p "
    "value is used, for with many records it flags every small difference; and Evidently's line on dataset drift counts attributes "
    "and is no verdict. The report cannot show whether two attributes go "
    "together, which is what the scores and the verdict measure; nor is the distance corrected for the number of records: "
    "two samples of one distribution differ by about the noise given here, and by more when the records of one answer "
    "resemble each other."
)

# Nothing may be fetched, and nothing sent: the page shows what a model wrote.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """What the columns of a report are (``categorical`` or ``numerical``), and Evidently's method and threshold, by name."""

    columns: str
    method: str
    threshold: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """The page and its numbers, as texts."""

    html: str
    json: str


def drift_report(
    previous: pd.DataFrame,
    current: pd.DataFrame,
    dimensions: Sequence[BiasDimension],
    *,
    names: Sequence[str],
    releases: tuple[str, str],
    verdict: str,
) -> DriftReport | None:
    """Evidently's report of the categories of both releases; None when one of them has no usable record.

    Parameters
    ----------
    previous, current : one row per record, with a column ``*_category`` per attribute and ``outcome``
    dimensions : whose attributes are shown
    names : listed first names; all others are one category, for thousands of names are far apart by chance alone
    releases : what to call the two; verdict : of the comparison, which the page names first
    """
    columns = attribute_columns(dimensions)
    if by_name := [dimension.row for dimension in dimensions if dimension.by_name]:
        columns["name"] = by_name[0]
    shared = {t: c for t, c in columns.items() if c in previous.columns and c in current.columns}
    before, now = (_shown(frame, shared, names) for frame in (previous, current))
    if not shared or before.empty or now.empty:
        return None
    values = {title: _numbers(before[title], now[title]) for title in shared}
    page, distances = distances_of(before, now, Kind("categorical", METHOD, THRESHOLD))
    attributes = {
        title: {"distance": distances[title], "above_threshold": distances[title] >= THRESHOLD, **values[title]}
        for title in shared
    }
    document = {
        "about": CAVEAT,
        "verdict": verdict,
        "previous": releases[0],
        "current": releases[1],
        "method": METHOD,
        "threshold": THRESHOLD,
        "attributes": attributes,
    }
    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
    title = "how categories are distributed"
    return DriftReport(html=framed(page, releases, verdict, attributes, title, CAVEAT), json=text)


def harmless_category(text: str) -> str:
    """A category as it may stand in a page: Evidently puts it into a script as it is.

    >>> harmless_category("</script><b>"), harmless_category("nurse")
    ('&lt;/script&gt;&lt;b&gt;', 'nurse')
    """
    plain = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    if len(plain) > _LONGEST:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
        plain = f"{plain[: _LONGEST - 9]} \u2026 {digest}"
    return html.escape(plain, quote=False)


def _shown(frame: pd.DataFrame, columns: Mapping[str, str], names: Sequence[str]) -> pd.DataFrame:
    """One column per attribute, of usable records only; what has no category is one of its own."""
    import pandas as pd

    usable = frame[usable_records(frame)]
    listed = set(names)
    shown: dict[str, list[str]] = {}
    for title, column in columns.items():
        terms = [UNMAPPED if pd.isna(term) else str(term) for term in usable[column]]
        if title == "name" and listed:
            terms = [term if term in listed or term == UNMAPPED else UNLISTED for term in terms]
        shown[title] = [harmless_category(term) for term in terms]
    return pd.DataFrame(shown, dtype="object")


def _numbers(before: pd.Series[str], now: pd.Series[str]) -> dict[str, Any]:
    """Records by category in both releases, and the distance that two samples of one distribution have by chance."""
    counts = [series.value_counts() for series in (before, now)]
    categories = sorted(set(counts[0].index) | set(counts[1].index))
    # The mean squared distance of two such samples is (k - 1) / 8 (1 / n1 + 1 / n2), in the natural logarithm.
    noise = math.sqrt((len(categories) - 1) / 8 * (1 / len(before) + 1 / len(now)))
    return {
        "noise": noise,
        "n_previous": len(before),
        "n_current": len(now),
        "categories": {name: [int(side.get(name, 0)) for side in counts] for name in categories},
    }


def distances_of(before: pd.DataFrame, now: pd.DataFrame, kind: Kind) -> tuple[str, dict[str, float]]:
    """Evidently's page, and the distance of each column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Evidently's own, about numpy and litestar
        from evidently import DataDefinition, Dataset, Report  # type: ignore[import-untyped]
        from evidently.presets import DataDriftPreset  # type: ignore[import-untyped]

        columns = list(now.columns)
        definition = DataDefinition(**{f"{kind.columns}_columns": columns})
        sides = [Dataset.from_pandas(frame, data_definition=definition) for frame in (now, before)]
        preset = DataDriftPreset(columns=columns, method=kind.method, threshold=kind.threshold)
        snapshot = Report([preset]).run(*sides)
        page = str(snapshot.get_html_str(as_iframe=False))
        found = json.loads(snapshot.json())["metrics"]
    values = {
        metric["config"]["column"]: float(metric["value"])
        for metric in found
        if str(metric["config"].get("type", "")).endswith(":ValueDrift")
    }
    # The distance of two equal distributions can be the square root of a tiny negative number.
    return page, {name: values[name] if math.isfinite(values[name]) else 0.0 for name in columns}


def framed(
    page: str,
    releases: tuple[str, str],
    verdict: str,
    found: Mapping[str, Mapping[str, Any]],
    about: str,
    caveat: str,
) -> str:
    """The page with its caveat first, each distance beside its noise and sizes, and a policy that lets it fetch nothing."""
    style = "font:16px/1.5 sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem"
    head = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    title = f"{html.escape(releases[0])} and {html.escape(releases[1])}: {about}"
    told = f"<p><b>Verdict of the comparison: {html.escape(verdict)}.</b> {html.escape(caveat)}</p>"
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{row['distance']:.3f}</td><td>{row['noise']:.3f}</td>"
        f"<td>{row['n_previous']:,}</td><td>{row['n_current']:,}</td></tr>"
        for name, row in found.items()
    )
    of = "attribute" if caveat == CAVEAT else "measure"
    head_row = "".join(f"<th>{name}</th>" for name in (of, "distance", "noise", "n, previous", "n, current"))
    cells = f"<tr>{head_row}</tr>{rows}"
    table = f'<table style="border-spacing:1rem 0;text-align:left">{cells}</table>'
    banner = f'<section style="{style}"><h1 style="font-size:1.3rem">{title}</h1>{told}{table}</section>'
    start, body, rest = page.partition("<body>")
    if not body or "<head>" not in start:
        raise ValueError("Evidently's page has no head and body where they are expected")
    return start.replace("<head>", f"<head>{head}", 1) + body + banner + rest
