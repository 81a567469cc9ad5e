"""Whether the answers of one audit allow a judgement by themselves: enough of them, and all from one model."""

from __future__ import annotations

from metrics.policy import Policy
from registry.audits.channels import Channels


def unsound(channels: Channels, policy: Policy) -> str:
    """In words, why the answers of an audit allow no judgement; empty when they do.

    The limits are those of a comparison, which looks at two audits: one served model, usable records for the policy's
    share of those asked for (also within each group that was asked about), and its number of requests.
    """
    if channels.mixed_release:
        return (
            f"mixed release: more than one model answered ({', '.join(sorted(channels.served_models))}); the numbers "
            f"are of neither"
        )
    if channels.coverage is None:
        return "the audit has no record at all"
    shares = {"": channels.coverage} | {f"for {name} ": share for name, share in channels.group_coverage.items()}
    for whom, share in shares.items():
        if share < policy.coverage_floor:
            return (
                f"{whom}usable records came for {100 * share:.0f} % of those asked for; {100 * policy.coverage_floor:.0f} % "
                f"are needed, for who is missing is unknown"
            )
    answered = channels.call_outcomes.get("ok", 0)
    if answered < policy.fewest_clusters:
        return (
            f"only {answered} requests gave usable records; {policy.fewest_clusters} are needed for intervals to hold"
        )
    return ""
