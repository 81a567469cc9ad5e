"""Terms that wait for a person, over all audits of the ledger; and what two people's files agree on."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.persona_audits import PROTOCOL, personas_protocol
from flows.scoring import finished, read_answers
from flows.taxonomies import accepted_of, text_of
from metrics.errors import BadInputError
from registry.audits.accepted import Decision, refuse_unknown
from registry.audits.review_files import REJECTED, QueueRow, read_decisions

if TYPE_CHECKING:
    from flows.settings import Home
    from flows.workspace import Workspace
    from metrics.agreement import Agreement
    from registry.audits.taxonomy import Taxonomy
    from registry.ledger.values import Audit

LONGEST_SHOWN = 80


@dataclasses.dataclass(frozen=True, slots=True)
class Queue:
    """What waits, the most frequent first, and over how many audits.

    Parameters
    ----------
    rejected : terms that a person left unmapped and that were seen; wordless : different answers without a letter;
    told_apart : terms that only another attribute of the persona can put somewhere
    """

    rows: tuple[QueueRow, ...]
    audits: int
    rejected: int
    wordless: int
    told_apart: int


@dataclasses.dataclass(slots=True)
class _Seen:
    spellings: Counter[str] = dataclasses.field(default_factory=Counter)
    releases: dict[str, None] = dataclasses.field(default_factory=dict)
    place: str = ""


def taxonomy_of(workspace: Workspace, protocol: str = PROTOCOL) -> Taxonomy:
    """What this home puts terms of a brainstorm into categories by."""
    return personas_protocol(workspace, protocol).taxonomy


def queued(workspace: Workspace, family: str = "", attribute: str = "", protocol: str = PROTOCOL) -> Queue:
    """The unmapped terms of all finished audits by a brainstorm, of a family or an attribute when given, each with a proposal by rule."""
    taxonomy = taxonomy_of(workspace, protocol)
    attributes = [attribute] if attribute else [one.name for one in taxonomy.attributes]
    if attribute:
        categories = {one.name: one.categories for one in taxonomy.attributes}
        if attribute not in categories:
            raise BadInputError(
                f"--attribute should be one of {', '.join(categories)}, and is {attribute!r:.60}; name one"
            )
    audits = audits_of(workspace, family, protocol=protocol)
    seen: dict[tuple[str, str], _Seen] = {}
    for audit in audits:
        _look(workspace, audit, attributes, seen)
    return _queue(taxonomy, accepted_of(workspace.home).decided, seen, len(audits))


def audits_of(workspace: Workspace, family: str, *, variants: bool = True, protocol: str = PROTOCOL) -> list[Audit]:
    """All finished audits that asked for personas, of a family when one is named; oldest first."""
    audits = finished(workspace, protocol=protocol, variants=variants, family=family or None)
    if not audits:
        whose = f"of {family} " if family else ""
        raise BadInputError(
            f"there should be a finished {protocol} audit {whose}in the ledger, and there is none; "
            "run 'spiritlevel audit', or see 'spiritlevel status'"
        )
    return audits


def _look(workspace: Workspace, audit: Audit, attributes: list[str], seen: dict[tuple[str, str], _Seen]) -> None:
    from registry.audits.matching import normalized

    frame = read_answers(workspace, audit).frame
    usable = frame[frame["outcome"] == "ok"]
    for attribute in attributes:
        unmapped = usable[usable[attribute].notna() & usable[f"{attribute}_category"].isna()]
        for term, request, index in zip(unmapped[attribute], unmapped["request"], unmapped["index"], strict=True):
            found = seen.setdefault((attribute, normalized(term)), _Seen())
            found.spellings[term] += 1
            found.releases[audit.release.uri.removeprefix("models:/")] = None
            found.place = found.place or f"audit {audit.id}, answer {request}.0.{index}"
    workspace.readings.clear()  # a ledger may hold more answers than memory does


def _queue(
    taxonomy: Taxonomy, decided: dict[tuple[str, str], Decision], seen: dict[tuple[str, str], _Seen], audits: int
) -> Queue:
    from registry.audits.proposals import Proposer

    proposers: dict[str, Proposer] = {}
    rows, left = [], Counter[str]()
    for (attribute, term), found in seen.items():
        said = found.spellings.most_common(1)[0][0]
        if (attribute, term) in decided:
            left["rejected"] += 1
        elif not any(map(str.isalpha, term)):
            left["wordless"] += 1
        elif taxonomy.told_apart(attribute, said):
            left["told_apart"] += 1
        else:
            if attribute not in proposers:
                proposers[attribute] = Proposer(taxonomy, attribute)
            rows.append(_row(attribute, term, said, found, proposers[attribute]))
    rows.sort(key=lambda row: (-row.count, row.attribute, row.term))
    return Queue(tuple(rows), audits, left["rejected"], left["wordless"], left["told_apart"])


def _row(attribute: str, term: str, said: str, found: _Seen, proposer: Any) -> QueueRow:
    from dashboards.phrases import visible

    proposal = proposer.propose(term)
    return QueueRow(
        attribute=attribute,
        term=term,
        as_answered=visible(said, limit=LONGEST_SHOWN),
        count=found.spellings.total(),
        releases=tuple(found.releases),
        place=found.place,
        proposed=proposal.category,
        rule=proposal.rule,
        score=proposal.score,
    )


def decisions_of(home: Home, path: Path) -> list[Decision]:
    """The decisions of a filled-in review file (CSV), or of another team's file of accepted mappings (TOML)."""
    from flows.brainstorms import every
    from registry.audits.accepted import read_accepted

    taxonomies = {
        one.name: brainstorm.taxonomy for brainstorm in every(home)[::-1] for one in brainstorm.taxonomy.attributes
    }
    categories = {name: taxonomy.attribute(name).categories for name, taxonomy in taxonomies.items()}
    text = text_of(path)
    if path.suffix.lower() == ".toml":
        found = list(read_accepted(text, path.name).decided.values())
        for one in found:
            refuse_unknown(
                categories, one.attribute, one.term, one.category or categories.get(one.attribute, ("",))[0], path.name
            )
    else:
        found = read_decisions(text, path.name, categories)
    for one in found:
        if one.category is not None and (other := taxonomies[one.attribute].told_apart(one.attribute, one.term)):
            raise BadInputError(
                f"{path.name}: {one.attribute} term {one.term!r:.80} is told apart by the {other} of each persona, and cannot be "
                "under one category; reject it, or leave the row empty"
            )
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Disagreement:
    """A term on which two people differ."""

    attribute: str
    term: str
    first: str
    second: str


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """Kappa by attribute, and every term that was decided otherwise."""

    agreement: dict[str, Agreement]
    agreed: int
    disagreements: tuple[Disagreement, ...]
    only_first: int
    only_second: int


def compared(home: Home, first: Path, second: Path) -> Compared:
    """What two people decided about the same terms; a rejected term is a label of its own."""
    from metrics.kappa import cohens_kappa

    one, other = ({d.key: d.category or REJECTED for d in decisions_of(home, path)} for path in (first, second))
    both = sorted(set(one) & set(other))
    agreement = {}
    for attribute in sorted({key[0] for key in (*one, *other)}):
        keys = [key for key in both if key[0] == attribute]
        alone = sum(key[0] == attribute for key in set(one) ^ set(other))
        agreement[attribute] = cohens_kappa([one[key] for key in keys], [other[key] for key in keys], n_excluded=alone)
    apart = tuple(Disagreement(*key, one[key], other[key]) for key in both if one[key] != other[key])
    return Compared(agreement, len(both) - len(apart), apart, len(set(one) - set(other)), len(set(other) - set(one)))
