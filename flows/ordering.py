"""Ordering an audit: a new one, the one that was interrupted, or the one that is already there."""

from __future__ import annotations

import dataclasses
from typing import Any

from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.audits.plan import AuditPlan, Decoding, Sampling, content_hash
from registry.audits.protocols.persona_brainstorm import LARGEST_SEED
from registry.ledger.ownership import Owner
from registry.ledger.values import Audit
from registry.releases import ModelRelease

EMBEDDED_SCHEME = "embedded:"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a user asked for; ``None`` leaves a choice to the protocol or the release.

    Parameters
    ----------
    protocol : catalog name; size : personas; seed : base of the per-request seeds
    new : start another occasion though there is a finished or open audit
    again : start another occasion unless the newest one was interrupted; what a schedule means
    per_call : personas per call; temperature, top_p, max_tokens, extra : sampling
    decoding, decoding_spec : how the answer's form is held
    """

    protocol: str
    size: int | None = None
    seed: int | None = None
    new: bool = False
    again: bool = False
    per_call: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    extra: tuple[tuple[str, Any], ...] = ()
    decoding: str | None = None
    decoding_spec: str | None = None


def is_embedded(release: ModelRelease) -> bool:
    """Whether the product serves this release's model itself."""
    return (release.base_url or "").startswith(EMBEDDED_SCHEME)


def plan_of(workspace: Workspace, release: ModelRelease, order: Order) -> AuditPlan:
    """The plan of an order. The embedded model has choices of its own, named in the plan like all others."""
    protocol = workspace.protocol(order.protocol)
    chosen: dict[str, Any] = {
        "per_call": 20,
        "decoding": Decoding.FREE_TEXT,
        "spec": None,
        "sampling": Sampling(temperature=1.0),
    }
    if is_embedded(release):
        chosen = embedded_choices()
    sampling = chosen["sampling"]
    asked = {
        name: getattr(order, name)
        for name in ("temperature", "top_p", "max_tokens")
        if getattr(order, name) is not None
    }
    if order.extra:
        asked["extra"] = tuple(sorted({**dict(sampling.extra), **dict(order.extra)}.items()))
    decoding, spec = chosen["decoding"], chosen["spec"]
    if order.decoding is not None:
        decoding, spec = _decoding(order)
    plan: AuditPlan = protocol.plan(
        size=order.size or (chosen.get("size") or protocol.default_size),
        seed=order.seed or 0,
        per_call=order.per_call or chosen["per_call"],
        sampling=dataclasses.replace(sampling, **asked),
        decoding=decoding,
        decoding_spec=spec,
    )
    return plan


def _decoding(order: Order) -> tuple[Decoding, str | None]:
    try:
        decoding = Decoding(order.decoding or "")
    except ValueError:
        raise BadInputError(f"decoding should be one of {', '.join(Decoding)}, not {order.decoding!r}") from None
    if decoding != Decoding.FREE_TEXT and not order.decoding_spec:
        raise BadInputError(f"decoding {decoding} needs the {decoding.replace('-', ' ')} itself: give its file")
    return decoding, order.decoding_spec


def embedded_choices() -> dict[str, Any]:
    """How small embedded models are asked: one persona a call, its shape held by a grammar, truncation samplers off.

    With llama.cpp's default samplers (top_k 40, top_p .95, min_p .05) rare groups vanish from what a small
    model says, so they are switched off and recorded.
    """
    from registry.audits.protocols.persona_brainstorm import PROMPTS

    return {
        "per_call": 1,
        "size": 240,
        "decoding": Decoding.GRAMMAR,
        "spec": (PROMPTS / "persona_grammar.lark").read_text(encoding="utf-8"),
        "sampling": Sampling(temperature=1.0, top_p=1.0, max_tokens=160, extra=(("min_p", 0.0), ("top_k", 0))),
    }


def refuse_stranger(audit: Audit, release: ModelRelease) -> None:
    """Refuse evidence of another model under the same name and version: one registry was lost, or a model replaced.

    Raises
    ------
    BadInputError
        When the audit's release was another model than the registered one.
    """
    if audit.release.model != release.model:
        raise BadInputError(
            f"the ledger's audit {audit.id} of {release.uri} asked {audit.release.model!r}, but the registry now says "
            f"{release.model!r}; answers of one model are never shown as another's. Register the model as a new version"
        )


def ordered(workspace: Workspace, release: ModelRelease, order: Order) -> Audit:
    """The audit this order means: the newest occasion that asks the same, or a new one.

    Raises
    ------
    BadInputError
        When that occasion has another size or seed: evidence of different sizes is kept apart.
    """
    plan = plan_of(workspace, release, order)
    # Of two processes that begin the same audit at once, one orders it and the other finds it.
    kind = content_hash([release.family, release.version, plan.protocol, plan.collection_key])
    with workspace.ledger.alone(f"order {kind}", Owner.this_process()):
        return _ordered(workspace, release, order, plan)


def _ordered(workspace: Workspace, release: ModelRelease, order: Order, plan: AuditPlan) -> Audit:
    protocol = workspace.protocol(order.protocol)
    same = workspace.ledger.audits(
        family=release.family, version=release.version, protocol=plan.protocol, collection_key=plan.collection_key
    )
    for audit in same:
        refuse_stranger(audit, release)
    newest = next((audit for audit in reversed(same) if audit.source == "live"), None)
    if newest is None or order.new or (order.again and newest.concluded):
        if newest is not None and order.seed is None:
            # The same seeds may bring the same answers, which are no new evidence.
            plan = dataclasses.replace(plan, seed=(newest.plan.seed + 1) % LARGEST_SEED)
        return workspace.ledger.order(release, plan, protocol.requests(plan))
    differing = [
        (name, asked, there)
        for name, asked, there in (("size", order.size, newest.plan.size), ("seed", order.seed, newest.plan.seed))
        if asked is not None and asked != there
    ]
    if not differing:
        return newest
    if newest.state == "open" and workspace.ledger.withdraw(
        newest.id
    ):  # nothing was answered yet: nothing to keep apart
        return workspace.ledger.order(release, plan, protocol.requests(plan))
    name, asked, there = differing[0]
    raise BadInputError(
        f"occasion {newest.occasion} of {release.uri} was ordered with {name} {there}, not {asked}; leave the "
        f"option out to use it, or add --new for another occasion"
    )
