"""From a dimension to a category, a term and its answers, and over the releases of a family: `spiritlevel zoom`. Asks no model."""

from __future__ import annotations

import difflib
import importlib.metadata
import shlex
from typing import TYPE_CHECKING, Any

from dashboards.zooms import Moment, ZoomReport
from flows.persona_audits import PROTOCOL, PersonaAudit, audited_personas, persona_audit
from flows.ranking import newest_comparable
from flows.rebalancing_targets import SUFFIX
from flows.redaction import without_secrets
from flows.scoring import SCORING_SEED
from flows.workspace import Workspace
from metrics.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

    from metrics.moves import BiasDimension
    from metrics.zoom import Zoom
    from registry.audits.taxonomy import Taxonomy
    from registry.ledger.values import Audit
    from registry.releases import ModelRelease

ALL_PLACES = 10_000  # of a single term; elsewhere the first ones
_NEAR = 8
_NO_CATEGORY = "no category"


def zoomed(
    workspace: Workspace,
    release: ModelRelease,
    social: str,
    *,
    axis: str = "gender",
    category: str = "",
    term: str = "",
    over_time: bool = False,
    protocol: str = PROTOCOL,
) -> ZoomReport:
    """Look at one dimension of a release from near.

    Parameters
    ----------
    social, axis : as somebody writes them; category, term : to go down to; over_time : over all comparable releases of the family;
    protocol : the brainstorm

    Raises
    ------
    BadInputError : an unknown name, a category or term that no persona has, or ``over_time`` without either
    """
    if over_time and not (category or term):
        raise BadInputError("--over-time follows a category or a term; add --category or --term")
    personas = persona_audit(workspace, release, protocol)
    dimension = personas.dimension(personas.axis(axis), personas.social(social))
    terms = _terms(personas.frame, dimension)
    taxonomy = workspace.protocol(personas.audit.protocol).taxonomy
    key, category, basis = _found(personas.frame, dimension, terms, category, term, taxonomy)
    frame, within = _level(personas.frame, dimension, category, key)
    made = _zooms(frame, dimension, terms, within, category, key)
    moments, left_out = _moments(workspace, personas, dimension, category, key) if over_time else ((), ())
    return ZoomReport(
        release=release.uri,
        model=release.model,
        audit=personas.audit.id,
        axis=dimension.axis,
        social=dimension.social,
        category="" if category == _NO_CATEGORY else category,
        term=key,
        basis=basis,
        spellings=_spellings(personas.frame, dimension, terms, key),
        over_time=moments,
        left_out=left_out,
        **_ways(personas.audit, dimension, axis, category, key, made["terms"]),
        **made,
        product_version=importlib.metadata.version("spiritlevel"),
        made_at=workspace.ledger.clock(),
    )


def _term_column(dimension: BiasDimension) -> str:
    return dimension.column.removesuffix(SUFFIX)


def _terms(frame: pd.DataFrame, dimension: BiasDimension) -> pd.Series:
    """The term of each record in its normal form, None where it has none."""
    from registry.audits.matching import normalized

    said = frame[_term_column(dimension)]
    forms = {term: normalized(str(term)) or None for term in said.dropna().unique()}
    return said.astype(object).map(forms)


def _found(
    frame: pd.DataFrame, dimension: BiasDimension, terms: pd.Series, category: str, term: str, taxonomy: Taxonomy
) -> tuple[str, str, str]:
    """The term in its normal form, the category that is meant, and on what basis the term is in it."""
    from registry.audits.matching import normalized

    if category:
        category = _category(frame, dimension, category)
    if not term:
        return "", category, ""
    key = normalized(term)
    there = frame[terms == key]
    if not len(there):
        raise BadInputError(_no_term(terms, dimension, term, key))
    own = there[dimension.column].dropna()
    held = str(own.mode().iloc[0]) if len(own) else _NO_CATEGORY
    if category and category != held:
        raise BadInputError(f"{term!r} is in {held}, not in {category}; leave --category out, or name {held!r}")
    spelled = str(there[_term_column(dimension)].mode().iloc[0])
    basis = taxonomy.basis(_term_column(dimension), spelled) if len(own) else None
    return key, held, basis or "no rule of the taxonomy knows it"


def _category(frame: pd.DataFrame, dimension: BiasDimension, wanted: str) -> str:
    known = sorted(map(str, frame[dimension.column].dropna().unique()))
    by_fold = {name.casefold(): name for name in known}
    if wanted.strip().casefold() in by_fold:
        return by_fold[wanted.strip().casefold()]
    near = difflib.get_close_matches(wanted.casefold(), by_fold, n=1)
    hint = f"did you mean {by_fold[near[0]]!r}? " if near else ""
    raise BadInputError(f"no persona has the {dimension.social} {wanted!r}; {hint}there are {', '.join(known)}")


def _no_term(terms: pd.Series, dimension: BiasDimension, wanted: str, key: str) -> str:
    """Which terms are near, in a sentence."""
    known = [str(term) for term in terms.dropna().value_counts().index]
    near = [term for term in known if key and f" {key} " in f" {term} "][:_NEAR] or difflib.get_close_matches(
        key, known, n=_NEAR
    )
    hint = f"near it: {', '.join(near)}" if near else f"the most frequent: {', '.join(known[:_NEAR])}"
    return f"no persona has the {dimension.social} {wanted!r}; {hint}"


def _level(
    frame: pd.DataFrame, dimension: BiasDimension, category: str, key: str
) -> tuple[pd.DataFrame, pd.Series | None]:
    """The records that shares are of, and which of them are in the category, None for all."""
    if key and category == _NO_CATEGORY:  # then a term without a category counts as well
        frame = frame.assign(**{dimension.column: frame[dimension.column].astype(object).fillna(_NO_CATEGORY)})
    return frame, (frame[dimension.column] == category) if category else None


def _zooms(
    frame: pd.DataFrame, dimension: BiasDimension, terms: pd.Series, within: pd.Series | None, category: str, key: str
) -> dict[str, Any]:
    """The tables of the level, and the gaps of the groups over it."""
    from metrics.zoom import item_gaps, zoom

    categories = frame[dimension.column]
    known = terms.where(categories.notna(), None)
    own = known if within is None else known.where(within, None)
    only = [key] if key else None if within is None else [str(term) for term in own.dropna().unique()]
    title = f"{dimension.axis} x {key or (f'terms of {category}' if category else f'terms of {dimension.social}')}"
    found = zoom(
        frame, dimension, known, title=title, seed=SCORING_SEED, only=only, most_places=ALL_PLACES if key else 20
    )
    if within is None:
        level = zoom(frame, dimension, categories, title=dimension.title, seed=SCORING_SEED)
        gaps = item_gaps(frame, dimension, categories, title=dimension.title, seed=SCORING_SEED)
        return {"categories": level, "terms": found, "gaps": gaps}
    over = f"{dimension.axis} x terms of {category}"
    gaps = item_gaps(frame, dimension, own, title=over, seed=SCORING_SEED)
    return {"categories": None, "terms": found, "gaps": gaps}


def _spellings(
    frame: pd.DataFrame, dimension: BiasDimension, terms: pd.Series, key: str
) -> tuple[tuple[str, int], ...]:
    if not key:
        return ()
    counted = frame.loc[terms == key, _term_column(dimension)].value_counts()
    return tuple((str(spelled), int(n)) for spelled, n in counted.items())


def _ways(audit: Audit, dimension: BiasDimension, axis: str, category: str, key: str, terms: Zoom) -> dict[str, Any]:
    """Commands to the level above and to some below."""
    base = ["spiritlevel", "zoom", audit.release.uri, _term_column(dimension), "--axis", axis]
    base += ["--protocol", audit.protocol] if audit.protocol != PROTOCOL else []
    real = category if category != _NO_CATEGORY else ""
    if key:
        return {"up": shlex.join([*base, *(["--category", real] if real else [])]), "down": ()}
    if real:
        down = tuple(shlex.join([*base, "--term", row.label]) for row in terms.rows[:3])
        return {"up": shlex.join(base), "down": down}
    return {"up": "", "down": (f"{shlex.join(base)} --category CATEGORY", f"{shlex.join(base)} --term TERM")}


def _moments(
    workspace: Workspace, asked: PersonaAudit, dimension: BiasDimension, category: str, key: str
) -> tuple[tuple[Moment, ...], tuple[tuple[str, str], ...]]:
    """The item in every release of the family that was asked the same, oldest first."""
    releases = workspace.releases.list(asked.audit.release.family)
    audits, apart = newest_comparable(workspace, releases, asked.audit.protocol)
    left_out = [(one.release.uri, one.reason) for one in apart]
    moments = []
    for audit in sorted(audits, key=lambda audit: audit.release.version):
        try:
            personas = audited_personas(workspace, audit)
            moments.append(_moment(personas, dimension, category, key))
        except BadInputError as error:
            left_out.append((audit.release.uri, str(error)))
    return tuple(moments), tuple(left_out)


def _moment(personas: PersonaAudit, dimension: BiasDimension, category: str, key: str) -> Moment:
    from metrics.zoom import zoom

    for column in (dimension.row, dimension.column):
        if reason := personas.unmapped.get(column):
            raise BadInputError(reason)
    frame, _ = _level(personas.frame, dimension, category, key)
    items = _terms(frame, dimension).where(frame[dimension.column].notna(), None) if key else frame[dimension.column]
    wanted = key or category
    found = zoom(frame, dimension, items, title=wanted, seed=SCORING_SEED, only=[wanted])
    row = found.rows[0]
    return Moment(
        release=personas.audit.release.uri,
        audit=personas.audit.id,
        n=row.n,
        of=found.n,
        cells={cell.group: cell for cell in row.cells},
    )


def rendered(report: ZoomReport) -> str:
    """The page, without anything that looks like a key."""
    from dashboards.zoom_page import zoom_page

    return without_secrets(zoom_page(report))
