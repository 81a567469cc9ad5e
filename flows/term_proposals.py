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
    Taken,
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
    kappa : Cohen's, with its interval, between it and the taxonomy; people : what people who decided about its terms took of what it had proposed
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
    people: Taken

    @property
    def in_words(self) -> tuple[str, ...]:
        """A line on the listed terms, and one on what people took once they decided about some."""
        whose = f"{self.release}, {self.attribute}"
        if not self.n or self.low is None or self.high is None:
            first = f"{whose}: asked about no listed term, so nothing says how good its proposals are"
        else:
            kappa = _kappa_text(self.kappa, self.kappa_low, self.kappa_high, "")
            first = f"{whose}: {_share_text(self.right, self.n, 'listed terms right', self.low, self.high)}; {kappa}"
        return (first, *([f"{whose}: {taken}"] if (taken := _taken_text(self.people)) else []))


def _share_text(hits: int, n: int, what: str, low: float, high: float) -> str:
    return f"{hits} of {n} {what}, {hits / n:.0%} ({low:.0%} to {high:.0%}, Wilson)"


def _kappa_text(value: float | None, low: float | None, high: float | None, reason: str) -> str:
    if value is None:
        return f"kappa not measured{f': {reason}' if reason else ''}"
    interval = "no interval" if low is None or high is None else f"{low:.2f} to {high:.2f}"
    return f"kappa {value:.2f} ({interval})"


def _taken_text(people: Taken) -> str:
    """What people took, in words; empty where they decided about nothing that the model said something about."""
    if not people.kappa.n:
        return ""
    taken = "it had proposed no category for what people decided about"
    if people.low is not None and people.high is not None:
        what = "proposals that they decided about"
        taken = f"people, who saw them, took {_share_text(people.taken, people.n, what, people.low, people.high)}"
    kappa = people.kappa
    left = f", {kappa.n_excluded} more decided without an answer of it" if kappa.n_excluded else ""
    said = _kappa_text(kappa.value, kappa.low, kappa.high, kappa.reason)
    return f"{taken}; model and people: {said} over {kappa.n} terms{left}"


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
        of_people = {term: category for (other, term), category in (decided or {}).items() if other == name}
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
                people=said.taken(of_people),
            )
        )
    return rows


def decided_of(workspace: Workspace) -> dict[tuple[str, str], str | None]:
    """What people decided in this home, by attribute and term: a category, or None where they rejected the term."""
    return {key: one.category for key, one in accepted_of(workspace.home).decided.items()}


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
    return dataclasses.replace(queue, rows=tuple(rows)), checks_of(found_release, found, decided_of(workspace))
