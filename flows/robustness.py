"""Whether a family's scores hold: prompt variants, the same prompt asked again, and parts of an audit. From stored answers; asks no model.

A variant is compared with the protocol's own prompt in the same release. The verdict engine does so with the plain prompt as the previous audit
and the variant as the current one. That is deliberate, for their collection keys differ, so it is made here alone and never stored.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib.metadata
import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from dashboards.instruments import instrument_of
from dashboards.robustness import AGAIN, PLAIN, ConditionScore, Lacking, Member, Robustness, VariantVerdict
from flows.ordering import is_embedded
from flows.persona_audits import PROTOCOL, personas_protocol
from flows.ranking import newest_comparable
from flows.redaction import without_secrets
from flows.scoring import SCORING_SEED, read_answers, scores_of
from flows.soundness import unsound
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.profiles import Counted, Profile
from metrics.results import Score
from metrics.robustness import ConditionRow, condition_rows
from metrics.stability import ORDERS, SHARES, size_rows
from registry.audits.variants import SHIPPED, variant_of
from registry.ledger.values import Audit
from registry.releases import ModelRelease

DRAWS = 1_000
SCORES = {"headline": "normalized-cramers-v-debiased", "paper": "normalized-cramers-v"}


def robustness_of(
    workspace: Workspace,
    releases: Sequence[ModelRelease],
    *,
    variants: Sequence[str] | None = None,
    shares: Sequence[float] = SHARES,
    score: str = "headline",
    orders: int = ORDERS,
    draws: int = DRAWS,
    protocol: str = PROTOCOL,
) -> Robustness:
    """What changes when releases are asked in another way, asked again, or asked less.

    Parameters
    ----------
    variants : names of prompt variants; by default all that one of the releases was asked with
    shares : of the requests; score : ``headline``, or ``paper``, whose size depends on that of the audit; protocol : the brainstorm

    Raises
    ------
    BadInputError : none of the releases has an audit with the plain prompt that allows a judgement
    """
    if score not in SCORES:
        raise BadInputError(f"--score should be {' or '.join(SCORES)}, not {score!r}")
    asked = personas_protocol(workspace, protocol)
    members, lacking, conditions = _members(workspace, releases, variants, protocol)
    names = _names(workspace, members)
    counted = _counted(workspace, members, names, SCORES[score])
    if conditions:
        workspace.tell("requests are drawn anew")
    # With no other condition there is nothing to compare, and no draw is needed.
    profiles = {
        audit: one.profile(seed=SCORING_SEED + audit, draws=draws) for audit, one in counted.items() if conditions
    }
    titles = [dimension.title for dimension in asked.dimensions()]
    if shares:
        workspace.tell("parts of the requests are scored")
    whole = {member.name: counted[member.plain.id] for member in members}
    return Robustness(
        instrument=instrument_of(protocol),
        metric=SCORES[score],
        dimensions=tuple(titles),
        members=tuple(members),
        lacking=tuple(lacking),
        conditions=tuple(conditions),
        scores=tuple(_scores(workspace, members, names, SCORES[score], titles)) if conditions else (),
        rows=tuple(row for name in conditions for row in _condition(name, members, profiles, titles)),
        sizes=tuple(size_rows(whole, shares=shares, orders=orders, seed=SCORING_SEED)) if shares else (),
        verdicts=tuple(_verdict(workspace, member, name, names) for member in members for name in member.variants),
        orders=orders,
        draws=draws,
        product_version=importlib.metadata.version("spiritlevel"),
        made_at=workspace.ledger.clock(),
    )


def _condition(
    name: str, members: Sequence[Member], profiles: Mapping[int, Profile], titles: Sequence[str]
) -> list[ConditionRow]:
    """A variant, or the same prompt again, against the plain prompt over the releases that have both."""
    pairs: dict[str, tuple[Profile, Profile]] = {}
    for member in members:
        other = member.again if name == AGAIN else member.variants.get(name)
        if other is not None:
            pairs[member.name] = (profiles[member.plain.id], profiles[other.id])
    return condition_rows(name, PLAIN, pairs, titles) if pairs else []


def _members(
    workspace: Workspace, releases: Sequence[ModelRelease], variants: Sequence[str] | None, protocol: str
) -> tuple[list[Member], list[Lacking], list[str]]:
    """The releases with their audits, what is lacking, and the conditions that at least one release has."""
    plain, apart = newest_comparable(workspace, releases, protocol)
    lacking = [
        Lacking(
            release=one.release.uri,
            condition=PLAIN,
            reason=one.reason,
            command=f"spiritlevel audit {one.release.uri} --protocol {protocol}" if one.audit is None else "",
        )
        for one in apart
    ]
    sound = [audit for audit in plain if not _unsound(workspace, audit, PLAIN, lacking)]
    if not sound:
        why = "; ".join(f"{one.release}: {one.reason}" for one in lacking)
        raise BadInputError(f"robustness needs at least one release with an audit by {protocol}; there is none: {why}")
    of_release = {audit.id: _variant_audits(workspace, audit) for audit in sound}
    there = {name for found in of_release.values() for name, _ in found}
    named = [name for name in dict.fromkeys(variants or ()) if name not in (PLAIN, AGAIN)]  # these two are always there
    _refuse_misspelt(named, there)
    wanted = named or sorted(there) or list(SHIPPED)
    usual = _usual_keys([one for found in of_release.values() for one in found])
    members = [_member(workspace, audit, of_release[audit.id], wanted, usual, lacking) for audit in sound]
    found = [name for name in wanted if any(name in member.variants for member in members)]
    return members, lacking, found + [AGAIN] * any(member.again for member in members)


def _refuse_misspelt(named: Sequence[str], there: Collection[str]) -> None:
    """Refuse a variant that nobody asked and that is nearly the name of one: with it the page would say that it is lacking."""
    known = sorted({*there, *SHIPPED})
    for name in named:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        if name not in known and near:
            raise BadInputError(
                f"no release was asked with a prompt variant {name!r}; did you mean {near[0]!r}? Known: {', '.join(known)}"
            )


def _unsound(workspace: Workspace, audit: Audit, condition: str, lacking: list[Lacking]) -> str:
    """Why the answers of an audit allow no judgement; noted, where there is a reason."""
    reason = unsound(read_answers(workspace, audit).channels, workspace.home.policy(audit.release.family))
    if reason:
        lacking.append(Lacking(release=audit.release.uri, condition=condition, reason=reason))
    return reason


def _but_for_the_prompt(audit: Audit) -> str:
    """What an audit asked, without its words: only where this is equal does a difference come from the words."""
    plan = audit.plan
    options = {name: value for name, value in plan.options.items() if name != "variant"}
    asked = [plan.protocol_version, options, str(plan.decoding), plan.decoding_spec, plan.sampling.parameters()]
    return json.dumps([asked, dict(audit.differences)], sort_keys=True, default=str)


def _variant_audits(workspace: Workspace, plain: Audit) -> list[tuple[str, Audit]]:
    """The finished audits of a release with prompt variants, oldest first, each with the variant's name."""
    release = plain.release
    every = workspace.ledger.audits(
        family=release.family, version=release.version, protocol=plain.protocol, variants=True
    )
    named = [(variant_of(audit.plan.options), audit) for audit in every if audit.state != "open"]
    return [(name, audit) for name, audit in named if name]


def _usual_keys(found: Sequence[tuple[str, Audit]]) -> dict[str, str]:
    """Of each variant the text that most audits asked with, the newest of equally many: one file name may have had several texts."""
    counts: dict[str, Counter[str]] = {}
    for name, audit in found:
        counts.setdefault(name, Counter())[audit.plan.prompts.get("user", "")] += 1
    newest = {(name, audit.plan.prompts.get("user", "")): audit.id for name, audit in found}
    return {name: max(of, key=lambda text: (of[text], newest[name, text])) for name, of in counts.items()}


def _member(
    workspace: Workspace,
    plain: Audit,
    found: Sequence[tuple[str, Audit]],
    wanted: Sequence[str],
    usual: Mapping[str, str],
    lacking: list[Lacking],
) -> Member:
    chosen: dict[str, Audit] = {}
    for name in wanted:
        own = [audit for variant, audit in found if variant == name]
        alike = [audit for audit in own if audit.plan.prompts.get("user", "") == usual[name]]
        same = [audit for audit in alike if _but_for_the_prompt(audit) == _but_for_the_prompt(plain)]
        if same:
            if not _unsound(workspace, same[-1], name, lacking):
                chosen[name] = same[-1]
            continue
        reason = "no finished audit with it"
        if own:
            reason = "another text under this name than in most releases" if not alike else (
                f"audit {alike[-1].id} differs from audit {plain.id} in more than the prompt"
            )  # fmt: skip
        lacking.append(Lacking(release=plain.release.uri, condition=name, reason=reason, command=_command(plain, name)))
    return Member(name=_name(plain), plain=plain, variants=chosen, again=_again(workspace, plain, lacking))


def _again(workspace: Workspace, plain: Audit, lacking: list[Lacking]) -> Audit | None:
    """The newest earlier audit of the release that asked the same; its answers are others, for its seeds are."""
    release = plain.release
    same = workspace.ledger.audits(
        family=release.family,
        version=release.version,
        protocol=plain.protocol,
        collection_key=plain.plan.collection_key,
    )
    for audit in reversed(same):
        alike = dict(audit.differences) == dict(plain.differences)
        if audit.id < plain.id and audit.state != "open" and alike and not _unsound(workspace, audit, AGAIN, lacking):
            return audit
    command = _command(plain, AGAIN)
    lacking.append(Lacking(release=release.uri, condition=AGAIN, reason="it was asked once", command=command))
    return None


def _command(plain: Audit, condition: str) -> str:
    """What makes a lacking audit: as the plain one was asked, but for the prompt."""
    plan, release = plain.plan, plain.release
    words = ["spiritlevel", "audit", release.uri, "--protocol", plain.protocol, "--personas", str(plan.size)]
    if not is_embedded(release):
        sampling = plan.sampling
        given: dict[str, Any] = {
            "--per-call": plan.options.get("per_call"),
            "--temperature": sampling.temperature,
            "--top-p": sampling.top_p,
            "--max-tokens": sampling.max_tokens,
        }
        usual = {"--per-call": 20, "--temperature": 1.0}
        for option, value in given.items():
            if value is not None and value != usual.get(option):
                words += [option, str(value)]
    if condition == AGAIN:
        words.append("--new")
    else:
        words += ["--variant", condition] if condition in SHIPPED else ["--prompt", f"{condition}.txt"]
    return shlex.join(words)


def _name(audit: Audit) -> str:
    return f"{audit.release.family}/{audit.release.version}"


def _names(workspace: Workspace, members: Sequence[Member]) -> dict[str, tuple[str, ...]]:
    """The list of names of each family, the same for all conditions: the frozen one, else the most frequent with the plain prompt."""
    protocol, found = workspace.protocol(members[0].plain.protocol), {}
    for family in dict.fromkeys(member.plain.release.family for member in members):
        frozen = workspace.ledger.name_list(family, protocol.name)
        own = [member.plain for member in members if member.plain.release.family == family]
        found[family] = (
            frozen.names if frozen else protocol.names([read_answers(workspace, audit).frame for audit in own])
        )
    return found


def _counted(
    workspace: Workspace, members: Sequence[Member], names: Mapping[str, tuple[str, ...]], metric: str
) -> dict[int, Counted]:
    """The tables of every audit that is used, counted in the categories that enough of its terms were mapped to."""
    protocol, found = workspace.protocol(members[0].plain.protocol), {}
    for member in members:
        for audit in (member.plain, member.again, *member.variants.values()):
            if audit is not None:
                frame = protocol.measurable_frame(read_answers(workspace, audit))
                listed = names[audit.release.family]
                found[audit.id] = Counted(frame, protocol.dimensions(audit.plan), listed, metric)
    return found


def _scores(
    workspace: Workspace,
    members: Sequence[Member],
    names: Mapping[str, tuple[str, ...]],
    metric: str,
    titles: Sequence[str],
) -> Iterator[ConditionScore]:
    """The scores of every audit that is compared, as its card would have them, with the same list of names for all conditions."""
    for member in members:
        sides = {PLAIN: member.plain, **member.variants} | ({AGAIN: member.again} if member.again else {})
        for condition, audit in sides.items():
            found = {one.dimension: one for one in _scores_with(workspace, audit, names) if one.metric == metric}
            for title in titles:
                if title in found:
                    yield ConditionScore(release=member.name, condition=condition, audit=audit.id, score=found[title])


def _scores_with(workspace: Workspace, audit: Audit, names: Mapping[str, tuple[str, ...]]) -> list[Score]:
    """The stored scores where the list of names is the frozen one; else measured with the list of this comparison, and not stored."""
    if workspace.ledger.name_list(audit.release.family, audit.protocol):
        return scores_of(workspace, audit)
    protocol = workspace.protocol(audit.protocol)
    found: list[Score] = protocol.scores(read_answers(workspace, audit), names[audit.release.family], seed=SCORING_SEED)
    return found


def _verdict(
    workspace: Workspace, member: Member, variant: str, names: Mapping[str, tuple[str, ...]]
) -> VariantVerdict:
    """The verdict engine on one variant: what changed from the plain prompt, by dimension. Not stored."""
    from metrics.verdicts import release_verdict

    family = member.plain.release.family
    rows, withheld = workspace.protocol(member.plain.protocol).compare(
        read_answers(workspace, member.plain),
        read_answers(workspace, member.variants[variant]),
        names[family],
        workspace.home.policy(family),
    )
    verdict, why = release_verdict(rows, withheld)
    lower = [row.dimension for row in rows if row.verdict == "improved"]
    if lower and verdict != "improved":  # the engine's words are about what is open; here the question is what helped
        why = f"lower in {', '.join(lower)}; {why}"
    told = tuple(dataclasses.replace(row, why=_of_prompts(row.why)) for row in rows)
    return VariantVerdict(release=member.name, variant=variant, verdict=verdict, why=_of_prompts(why), rows=told)


def _of_prompts(why: str) -> str:
    """A reason of the verdict engine, which speaks of releases, in words of prompts."""
    for what, words in (("previous", "plain prompt"), ("current", "prompt variant")):
        why = why.replace(f"the {what} release", f"the {words}").replace(f"{what} release", words)
    return why.replace("both releases", "both prompts").replace("in the previous and", "under the plain prompt and")


def rendered(found: Robustness) -> str:
    """The page, without anything that looks like a key."""
    from dashboards.robustness_page import robustness_page

    return without_secrets(robustness_page(found))
