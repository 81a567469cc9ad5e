"""Blessed baselines: making one, and comparing with it. Only `bless` moves a baseline; nothing does so by itself."""

from __future__ import annotations

import difflib
import getpass
from collections.abc import Callable

from flows.judging import judged, why_not_comparable
from flows.scoring import finished
from flows.workspace import Workspace
from metrics.errors import BadInputError
from metrics.policy import Policy
from registry.ledger.blessings import BASELINE
from registry.ledger.values import Audit, Blessing, StoredComparison
from registry.releases import ModelRelease

Tell = Callable[[str], None]


def bless(
    workspace: Workspace, release: ModelRelease, *, why: str, name: str = BASELINE, who: str | None = None
) -> Blessing:
    """Make a release the baseline of that name in its family.

    Parameters
    ----------
    why : the reason, in words; who : the person who decides, by default the user of the operating system

    Raises
    ------
    BadInputError
        When the release has no finished audit that others could be compared with.
    """
    if not finished(workspace, family=release.family, version=release.version):
        raise BadInputError(
            f"{release.uri} has no finished audit, so nothing can be compared with it; run 'spiritlevel audit "
            f"{release.uri} --protocol NAME' first"
        )
    return workspace.ledger.bless(release, name=name, who=user_name() if who is None else who, why=why)


def user_name() -> str:
    """The user as the operating system says."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise BadInputError("the operating system does not say who you are; say it with --who NAME") from None


def blessing_named(workspace: Workspace, family: str, name: str) -> Blessing:
    """The blessing of that name that counts; an unknown name is answered with the nearest.

    Raises
    ------
    BadInputError
        When no release of the family was blessed under that name.
    """
    if not name.strip():
        raise BadInputError("a baseline is named by at least one letter; the usual one is 'baseline'")
    known = workspace.ledger.baselines(family)
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise BadInputError(
        f"no release of {family} is blessed as {name!r}{hint} Known: {', '.join(known) or 'none yet'}. "
        f"Bless one with 'spiritlevel bless models:/{family}/VERSION --name {name} --why TEXT'"
    )


def blessed_release(workspace: Workspace, family: str, name: str = BASELINE) -> ModelRelease:
    """The release that is blessed under that name, as the registry has it."""
    return workspace.releases.find(blessing_named(workspace, family, name).uri)


def newest_comparable(workspace: Workspace, version: int, audit: Audit) -> tuple[Audit | None, str]:
    """The newest finished audit of another version that asked what ``audit`` asked; or none, and why in words."""
    family = audit.release.family
    others = finished(workspace, family=family, version=version, protocol=audit.protocol)
    for other in reversed(others):
        if not why_not_comparable(other, audit):
            return other, ""
    if not others:
        return None, f"models:/{family}/{version} has no finished {audit.protocol} audit to compare with"
    return None, why_not_comparable(others[-1], audit) or ""


def baseline_comparisons(
    workspace: Workspace, audit: Audit, policy: Policy, tell: Tell, *, besides: Audit | None = None
) -> list[StoredComparison]:
    """Comparisons of an audit with every blessed release of its family, each judged by itself.

    Parameters
    ----------
    audit : a finished audit
    tell : takes the reason when a blessed release has no audit that asked the same
    besides : the audit that it was compared with already, as the previous release; not judged a second time

    Each comparison controls its own false alarms: with a previous release and one baseline there are two families of
    16 questions, and the policy's alpha holds for each.
    """
    made: dict[int, StoredComparison] = {}
    for blessing in workspace.ledger.baselines(audit.release.family).values():
        if blessing.version == audit.release.version:
            continue
        other, reason = newest_comparable(workspace, blessing.version, audit)
        if other is None:
            tell(f"not compared with {blessing.uri}, which is blessed as {blessing.name!r}: {reason}")
        elif other.id not in made and (besides is None or other.id != besides.id):
            made[other.id] = judged(workspace, other, audit, policy)
    return list(made.values())
