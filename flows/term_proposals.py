"""Asking a model for the categories of terms that no rule knows: an audit of that model, with its evidence, asked once a term."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flows.persona_audits import PROTOCOL as BRAINSTORM
from flows.rating import Shown, ask_jobs, judge_release, open_calls
from flows.reviewing import Queue, queued, taxonomy_of
from flows.taxonomies import accepted_of
from flows.workspace import Workspace
from registry.audits.plan import Sampling
from registry.audits.term_rating import (
    PROTOCOL,
    TermProposals,
    proposal_plan,
    proposal_requests,
    read_proposals,
)
from registry.ledger.ownership import Owner
from registry.ledger.values import Audit
from registry.releases import ModelRelease

if TYPE_CHECKING:
    from flows.collecting import Limits
    from registry.audits.taxonomy import Taxonomy

MOST_TOKENS = 16


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """How far asking came: by attribute what the release proposes, and how many terms are still open."""

    release: ModelRelease
    found: Mapping[str, TermProposals]
    open: int


def propose(
    workspace: Workspace,
    release: ModelRelease,
    limits: Limits,
    *,
    family: str = "",
    attribute: str = "",
    protocol: str = BRAINSTORM,
    most: int = 200,
    tell: Callable[[str], None],
    shown: Shown | None = None,
) -> Asked:
    """Ask a release about the terms of the queue that it was not asked about, the most frequent first, and store what it says.

    Parameters
    ----------
    family, attribute, protocol : as of the queue; most : terms at most
    """
    rows = queued(workspace, family, attribute, protocol).rows[:most]
    terms: dict[str, list[str]] = {}
    for row in rows:
        terms.setdefault(row.attribute, []).append(row.term)
    taxonomy = taxonomy_of(workspace, protocol)
    with workspace.ledger.alone(f"{PROTOCOL} {release.uri}", Owner.this_process()):
        jobs = [job for name, said in terms.items() for job in _ordered(workspace, release, taxonomy, name, said)]
        if jobs:
            asked = f"{release.uri} is asked %s times"
            ask_jobs(workspace, release, jobs, limits, tell, shown, lambda calls: tell(asked % f"{calls:,}"))
    left = sum(open_calls(workspace, workspace.ledger.audit(job.id)) for job in jobs)
    return Asked(release, proposals_of(workspace, release, taxonomy, list(terms)), left)


def _made(workspace: Workspace, release: ModelRelease, taxonomy: Taxonomy, attribute: str) -> list[Audit]:
    """What a release was asked about an attribute in today's categories, oldest first."""
    keys = {
        proposal_plan(taxonomy, attribute, size=0, sampling=_SAMPLING, constrained=constrained).collection_key
        for constrained in (False, True)
    }
    where: dict[str, Any] = {"family": release.family, "version": release.version, "protocol": PROTOCOL}
    found = [one for key in keys for one in workspace.ledger.audits(**where, collection_key=key)]
    return sorted(found, key=lambda one: one.id)


_SAMPLING = Sampling(temperature=0.0, max_tokens=MOST_TOKENS)


def _ordered(
    workspace: Workspace, release: ModelRelease, taxonomy: Taxonomy, attribute: str, terms: Sequence[str]
) -> list[Audit]:
    from flows.ordering import is_embedded, refuse_stranger

    made = _made(workspace, release, taxonomy, attribute)
    for one in made:
        refuse_stranger(one, release)
    known = {request.cell.get("term") for one in made for request in workspace.ledger.requests(one.id)}
    fresh = [term for term in terms if term not in known]
    if fresh:
        requests = list(proposal_requests(taxonomy, attribute, fresh, with_gold=not made))
        plan = proposal_plan(
            taxonomy, attribute, size=len(requests), sampling=_SAMPLING, constrained=is_embedded(release)
        )
        made.append(workspace.ledger.order(release, plan, requests))
    return [one for one in made if open_calls(workspace, one)]


def proposals_of(
    workspace: Workspace, release: ModelRelease, taxonomy: Taxonomy, attributes: Sequence[str]
) -> dict[str, TermProposals]:
    """What a release said so far about the terms of these attributes, in today's categories. Asks nobody."""
    found = {}
    for name in attributes:
        made = _made(workspace, release, taxonomy, name)
        if made:
            occasions = [(workspace.ledger.requests(one.id), workspace.ledger.responses(one.id)) for one in made]
            found[name] = read_proposals(taxonomy, name, release.uri, occasions)
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """How far a release's proposals about an attribute can be relied on, by listed terms whose category is known.

    Parameters
    ----------
    right, n : listed terms that it put where the taxonomy has them, of those asked about; low, high : Wilson's 95 % interval of that share
    kappa : Cohen's, with its interval; people : how often a person who decided about a term took what it had proposed, and of how many
    """

    release: str
    attribute: str
    served: tuple[str, ...]
    right: int
    n: int
    low: float | None
    high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    people: tuple[int, int] = (0, 0)

    @property
    def in_words(self) -> str:
        """One line for people."""
        if not self.n or self.low is None or self.high is None:
            return f"{self.release}, {self.attribute}: asked about no listed term, so nothing says how good its proposals are"
        kappa = (
            "kappa not measured"
            if self.kappa is None
            else f"kappa {self.kappa:.2f} ({self.kappa_low:.2f} to {self.kappa_high:.2f})"
        )
        taken = (
            f"; people took {self.people[0]} of {self.people[1]} proposals they decided about" if self.people[1] else ""
        )
        return (
            f"{self.release}, {self.attribute}: {self.right} of {self.n} listed terms right, {self.right / self.n:.0%} ({self.low:.0%} to "
            f"{self.high:.0%}, Wilson); {kappa}{taken}"
        )


def checks_of(
    release: ModelRelease,
    found: Mapping[str, TermProposals],
    decided: Mapping[tuple[str, str], str | None] | None = None,
) -> list[Check]:
    """A check for each attribute; ``decided`` : what people decided, by attribute and term (None: rejected)."""
    rows = []
    for name, said in found.items():
        low, high = said.interval() or (None, None)
        kappa = said.agreement()
        both = [
            (one.category, (decided or {})[name, term])
            for term, one in said.proposals.items()
            if one.category is not None and (name, term) in (decided or {})
        ]
        rows.append(
            Check(
                release=release.uri,
                attribute=name,
                served=tuple(sorted({one.served for one in said.proposals.values() if one.served})),
                right=said.right,
                n=len(said.gold),
                low=low,
                high=high,
                kappa=kappa.value,
                kappa_low=kappa.low,
                kappa_high=kappa.high,
                people=(sum(one == other for one, other in both), len(both)),
            )
        )
    return rows


def reviewed(
    workspace: Workspace, family: str, attribute: str, protocol: str, release: str
) -> tuple[Queue, list[Check]]:
    """The queue with what a release proposed beside what rules propose, and how good that release is. Asks nobody."""
    queue = queued(workspace, family, attribute, protocol)
    if not release and not workspace.home.configuration.judge.release:
        return queue, []
    found_release = judge_release(workspace, release)
    taxonomy = taxonomy_of(workspace, protocol)
    names = [attribute] if attribute else [one.name for one in taxonomy.attributes]
    found = proposals_of(workspace, found_release, taxonomy, names)
    rows = []
    for row in queue.rows:
        said = found[row.attribute].proposals.get(row.term) if row.attribute in found else None
        model = "" if said is None else found_release.uri
        rows.append(
            row
            if said is None
            else dataclasses.replace(row, model_proposed=said.category, model_reason=said.reason, model=model)
        )
    decided = {key: one.category for key, one in accepted_of(workspace.home).decided.items()}
    return dataclasses.replace(queue, rows=tuple(rows)), checks_of(found_release, found, decided)
