"""What a planned audit takes: calls, tokens, money, time, energy. From audits that were made, else marked estimates."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

from flows.ordering import refuse_stranger
from flows.scoring import finished
from flows.workspace import Workspace
from registry.audits.channels import cost_usd
from registry.audits.plan import AuditPlan
from registry.audits.variants import variant_of
from registry.ledger.values import Audit
from registry.releases import ModelRelease

# Estimates for a model that was never asked, marked as such: English text has about 4 characters a token, a persona of
# eight attributes takes up to 120 tokens and a message of a paragraph up to 200 (as a budget reserves them before the
# first call).
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_PERSONA, TOKENS_PER_MESSAGE = 120, 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CallUsage:
    """What one call takes, on average. ``source`` : in words, where the tokens are from; ``latency_s`` None is unknown."""

    prompt_tokens: float
    completion_tokens: float
    estimated: bool
    source: str
    latency_s: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseCost:
    """What an audit of one release takes. None is unknown, never 0."""

    release: str
    size: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    cost_usd: float | None
    duration_s: float | None
    energy_wh: float | None


def per_call_of(plan: AuditPlan) -> int:
    """Personas that one call of the plan asks for."""
    return int(plan.options.get("per_call", 1))


def answer_tokens(plan: AuditPlan) -> tuple[int, str]:
    """Tokens that one answer takes by estimate, and what they are reckoned by, in words."""
    if "per_call" in plan.options:
        return TOKENS_PER_PERSONA * per_call_of(plan), f"{TOKENS_PER_PERSONA} tokens a persona"
    return TOKENS_PER_MESSAGE, f"{TOKENS_PER_MESSAGE} tokens a message"


def finished_audits(workspace: Workspace, release: ModelRelease, plan: AuditPlan) -> list[Audit]:
    """The release's finished audits with the planned protocol, oldest first: with its own prompt, or in the words of the plan."""
    wording = variant_of(plan.options)
    every = finished(
        workspace, family=release.family, version=release.version, protocol=plan.protocol, variants=bool(wording)
    )
    audits = [
        audit
        for audit in every
        if not (asked := variant_of(audit.plan.options)) or (asked == wording and audit.plan.prompts == plan.prompts)
    ]
    for audit in audits:
        refuse_stranger(audit, release)
    return audits


def call_usage(
    workspace: Workspace, release: ModelRelease, releases: Sequence[ModelRelease], plan: AuditPlan
) -> CallUsage:
    """Tokens and latency of a call: of the release's newest audit with as many personas a call, else the other's.

    For a prompt variant an audit in its words goes before all others; of another prompt the tokens are put in proportion to its length.
    """
    wording = variant_of(plan.options)
    places = (release, *(other for other in releases if other.uri != release.uri))
    every = [audit for one in places for audit in reversed(finished_audits(workspace, one, plan))]
    for audit in sorted(
        every, key=lambda audit: variant_of(audit.plan.options) != wording
    ):  # stable: else in that order
        if audit.plan.options.get("per_call") != plan.options.get("per_call"):
            continue
        answers = [answer for answer in workspace.ledger.responses(audit.id) if answer.text is not None]
        counted = [
            (answer.prompt_tokens, answer.completion_tokens)
            for answer in answers
            if answer.prompt_tokens is not None and answer.completion_tokens is not None
        ]
        latencies = [answer.latency_s for answer in answers if answer.latency_s is not None]
        if not counted and not latencies:
            continue
        latency = statistics.fmean(latencies) if latencies else None
        if not counted:
            return dataclasses.replace(_estimated_usage(plan), latency_s=latency)
        usage = CallUsage(
            prompt_tokens=statistics.fmean(prompt for prompt, _ in counted),
            completion_tokens=statistics.fmean(completion for _, completion in counted),
            estimated=False,
            source=f"as the provider counted them in audit {audit.id} of {audit.release.uri}",
            latency_s=latency,
        )
        return usage if variant_of(audit.plan.options) == wording else _reworded(usage, audit.plan, plan)
    return _estimated_usage(plan)


def _reworded(usage: CallUsage, asked: AuditPlan, plan: AuditPlan) -> CallUsage:
    """What was counted with one prompt, for a plan with another: an estimate, and marked as one.

    An import does not hold the text of its prompt: then the tokens of the new one are reckoned from its characters alone.
    """
    old, new = (sum(len(text) for text in one.prompts.values()) for one in (asked, plan))
    prompt = usage.prompt_tokens * new / old if old else new / CHARACTERS_PER_TOKEN
    how = "in proportion to the length of the prompts" if old else f"at {CHARACTERS_PER_TOKEN} characters a token"
    return dataclasses.replace(
        usage,
        prompt_tokens=prompt,
        estimated=True,
        source=f"ESTIMATED for the prompt variant: its prompt {how}, answers {usage.source} with the plain prompt",
    )


def _estimated_usage(plan: AuditPlan) -> CallUsage:
    prompt = sum(len(text) for text in plan.prompts.values()) / CHARACTERS_PER_TOKEN
    answer, words = answer_tokens(plan)
    return CallUsage(
        prompt_tokens=prompt,
        completion_tokens=min(answer, plan.sampling.max_tokens or answer),
        estimated=True,
        source=(
            f"ESTIMATED from the length of the prompt ({CHARACTERS_PER_TOKEN} characters a token) and "
            f"{words}, for there is no audit with token counts"
        ),
    )


def release_cost(
    release: ModelRelease, size: int, per_call: int, usage: CallUsage, concurrency: int, wh_per_1k_tokens: float | None
) -> ReleaseCost:
    calls = -(-size // per_call)
    prompt, completion = math.ceil(calls * usage.prompt_tokens), math.ceil(calls * usage.completion_tokens)
    return ReleaseCost(
        release=release.uri,
        size=size,
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        estimated=usage.estimated,
        cost_usd=cost_usd(prompt, completion, release.price_input, release.price_output),
        duration_s=None if usage.latency_s is None else calls * usage.latency_s / min(concurrency, calls),
        energy_wh=None if wh_per_1k_tokens is None else (prompt + completion) / 1000 * wh_per_1k_tokens,
    )


def usage_notes(
    workspace: Workspace,
    releases: Sequence[ModelRelease],
    plans: Sequence[AuditPlan],
    usages: Sequence[CallUsage],
    wh_per_1k_tokens: float | None,
) -> list[str]:
    """Where tokens are from, what is unknown and why, and which audits are there already."""
    said: dict[str, list[str]] = {}
    for release, usage in zip(releases, usages, strict=True):
        said.setdefault(f"tokens: {usage.source}", []).append(release.uri)
    for release, usage in zip(releases, usages, strict=True):
        if release.price_input is None or release.price_output is None:
            said.setdefault("the cost is unknown: the release has no prices", []).append(release.uri)
        if usage.latency_s is None:
            said.setdefault("the time is unknown: there is no audit with latencies", []).append(release.uri)
    notes = [f"{' and '.join(uris)}: {words}" for words, uris in said.items()]
    for release, plan in zip(releases, plans, strict=True):
        same = [
            audit
            for audit in finished_audits(workspace, release, plan)
            if audit.plan.collection_key == plan.collection_key
        ]
        if same:
            notes.append(f"{release.uri}: audited already, audit {same[-1].id} asked for {same[-1].plan.size:,}")
    if wh_per_1k_tokens is None:
        notes.append("energy is unknown: state a measured figure with --wh-per-1k-tokens")
    return notes
