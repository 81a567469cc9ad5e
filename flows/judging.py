"""From two scored audits to a stored comparison with its verdict. Asks no model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flows.evidence import gathered
from flows.ordering import refuse_stranger
from flows.scoring import finished, frozen_names, read_answers, scored
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.power import round_up
from metrics.results import Comparison
from metrics.verdicts import Policy, release_verdict, size_that_would_decide, withheld
from registry.ledger.values import Audit, StoredComparison
from registry.releases import ModelRelease


def chosen_protocol(workspace: Workspace, protocol: str | None, releases: Sequence[ModelRelease]) -> str:
    """The protocol asked for, or the only one that these releases were audited with."""
    if protocol is not None:
        workspace.protocol(protocol)  # an unknown name is answered with the nearest
        return protocol
    ran = {a.protocol for r in releases for a in workspace.ledger.audits(family=r.family, version=r.version)}
    if len(ran) == 1:
        return ran.pop()
    names = " and ".join(release.uri for release in releases)
    if not releases:
        raise BadInputError(
            "the family has no version yet; register one with 'spiritlevel release add FAMILY --model ID'"
        )
    if not ran:
        raise BadInputError(
            f"{names}: no audit in the ledger; run 'spiritlevel audit {releases[0].uri} --protocol NAME'"
        )
    raise BadInputError(f"{names}: audited with {', '.join(sorted(ran))}; say which with --protocol")


def comparable_audits(
    workspace: Workspace, previous: ModelRelease, current: ModelRelease, protocol: str
) -> tuple[Audit, Audit, str | None]:
    """The newest finished audits of two releases that asked the same, or the newest two and why they differ."""
    sides = []
    for release in (previous, current):
        audits = finished(workspace, family=release.family, version=release.version, protocol=protocol)
        if not audits:
            raise BadInputError(
                f"{release.uri} has no finished {protocol} audit; run 'spiritlevel audit {release.uri} --protocol {protocol}'"
            )
        for audit in audits:
            refuse_stranger(audit, release)
        sides.append(audits[::-1])
    for one in sides[1]:
        for other in sides[0]:
            if other.id != one.id and not why_not_comparable(other, one):
                return other, one, None
    return sides[0][0], sides[1][0], why_not_comparable(sides[0][0], sides[1][0])


def why_not_comparable(previous: Audit, current: Audit) -> str | None:
    """In words, what differs between what two audits asked; None when they asked the same."""
    if previous.plan.collection_key == current.plan.collection_key:
        if dict(previous.differences) == dict(current.differences):
            return None
        return (
            f"the endpoints took different sampling parameters (audit {previous.id}: {dict(previous.differences) or 'as ordered'}, "
            f"audit {current.id}: {dict(current.differences) or 'as ordered'})"
        )
    parts = []
    for name in ("protocol_version", "prompts", "options", "decoding", "decoding_spec"):
        one, other = getattr(previous.plan, name), getattr(current.plan, name)
        if one != other:
            shown = f" ({one} and {other})" if name in {"protocol_version", "options", "decoding"} else ""
            parts.append(name.replace("_", " ") + shown)
    if previous.plan.sampling != current.plan.sampling:
        parts.append(f"sampling ({previous.plan.sampling.parameters()} and {current.plan.sampling.parameters()})")
    return f"audits {previous.id} and {current.id} asked different things: {', '.join(parts)}"


def judged(
    workspace: Workspace, previous: Audit, current: Audit, policy: Policy, reason: str | None = None
) -> StoredComparison:
    """The stored comparison of two audits under a policy, made now when there is none of today's scoring version."""
    ledger, protocol = workspace.ledger, workspace.protocol(current.protocol)
    names = frozen_names(workspace, current)
    version = protocol.scoring_version(names)
    kept = [
        comparison
        for comparison in ledger.comparisons(
            family=current.release.family, protocol=current.protocol, current=current.id
        )
        if comparison.previous_audit == previous.id
        and comparison.scoring_version == version
        and dict(comparison.policy) == policy.as_json()
    ]
    if kept:
        return kept[-1]
    for audit in (previous, current):
        scored(workspace, audit)
    if reason:
        rows, why_withheld = withheld(protocol.dimensions(), reason), reason
    else:
        rows, why_withheld = protocol.compare(
            read_answers(workspace, previous), read_answers(workspace, current), names, policy
        )
    verdict, why = release_verdict(rows, why_withheld)
    if verdict == "inconclusive":
        why += _deciding_size(workspace, previous, current, rows, policy)
    stored = ledger.store_comparison(
        previous, current, scoring_version=version, policy=policy.as_json(), verdict=verdict, why=why, results=rows
    )
    gathered(workspace, stored)
    return stored


def _deciding_size(
    workspace: Workspace, previous: Audit, current: Audit, rows: Sequence[Comparison], policy: Policy
) -> str:
    """Which size would decide, in words; empty when nothing was measured that could say."""
    usable = min(read_answers(workspace, audit).channels.usable for audit in (previous, current))
    named = _size_for_names(rows, usable, policy)
    size = size_that_would_decide(rows, usable, policy)
    if size is None or max(size.detect_median, size.margin_median) <= usable:
        return named
    return named + (
        f". With these {usable:,} personas a release only large changes show; in the median dimension about "
        f"{round_up(size.detect_median):,} would show a change of {policy.smallest_change:.2f}, and about "
        f"{round_up(size.margin_median):,} would show that there is none beyond {policy.margin:.2f}"
    )


def _size_for_names(rows: Sequence[Comparison], usable: int, policy: Policy) -> str:
    """What verdicts on names would take, in words; empty when they are not what is missing."""
    listed = [
        min(row.n_previous, row.n_current)
        for row in rows
        if row.verdict == "inconclusive" and row.dimension.startswith("name x ")
    ]
    few = [count for count in listed if 0 < count < policy.name_n_eff]
    if not few:
        return ""
    return (
        f". Verdicts on names need {policy.name_n_eff:,} personas with a listed name in each release, which takes about "
        f"{round_up(math.ceil(usable * policy.name_n_eff / min(few))):,} personas a release"
    )


def judged_with_previous(workspace: Workspace, audit: Audit) -> StoredComparison | None:
    """The newest stored comparison of an audit with its previous release, else with an earlier audit of its own.

    Comparisons with blessed baselines are others. Read from the ledger alone.
    """
    family, version = audit.release.family, audit.release.version
    known = {other.id: other.release.version for other in workspace.ledger.audits(family=family)}
    previous = audit.release.previous or max((number for number in known.values() if number < version), default=version)
    made = workspace.ledger.comparisons(family=family, protocol=audit.protocol, current=audit.id)
    for wanted in (previous, version):
        if found := [comparison for comparison in made if known[comparison.previous_audit] == wanted]:
            return found[-1]
    return None


def compare_releases(
    workspace: Workspace, previous: ModelRelease, current: ModelRelease, protocol: str, policy: Policy
) -> StoredComparison:
    """Compare the newest comparable audits of two releases."""
    one, other, reason = comparable_audits(workspace, previous, current, protocol)
    return judged(workspace, one, other, policy, reason)
