"""Ordering an audit: a new one, the one that was interrupted, or the one that is already there."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.audits.plan import AuditPlan, Decoding, content_hash
from registry.audits.protocols import LARGEST_SEED, AuditProtocol
from registry.ledger.ownership import Owner
from registry.ledger.values import Audit
from registry.releases import ModelRelease

EMBEDDED_SCHEME = "embedded:"
SIZES = ("cells", "repeats", "questions", "variants", "samples")  # how many, where a design is crossed
OWN_OPTIONS = (
    "per_call",
    "variant",
    "prompt",
    "domain",
    "audiences",
    "modes",
    "cells",
    "repeats",
    "tasks",
    "axes",
    "cues",
    "questions",
    "variants",
    "samples",
    "files",
    "paper",
)  # fields of an order that a protocol knows or not


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a user asked for; ``None`` leaves a choice to the protocol or the release.

    Parameters
    ----------
    protocol : catalog name; size : personas or messages; seed : base of the per-request seeds
    new : start another occasion though there is a finished or open audit
    again : start another occasion unless the newest one was interrupted; what a schedule means
    per_call : personas per call; temperature, top_p, max_tokens, extra : sampling
    variant, prompt : name of another wording of the persona prompt, and its text where it is the user's own
    domain, audiences, modes, cells, repeats : what messages are about, to whom, and how many
    tasks, axes, cues, questions, variants, samples, files, paper : what personas ask, who they are, how the model learns of
        them, and how many of each; ``files`` are of a task's questions or a cue's conversations
    decoding, decoding_spec : how the answer's form is held
    """

    protocol: str
    size: int | None = None
    seed: int | None = None
    new: bool = False
    again: bool = False
    per_call: int | None = None
    variant: str | None = None
    prompt: str | None = None
    domain: str | None = None
    audiences: tuple[str, ...] | None = None
    modes: tuple[str, ...] | None = None
    cells: int | None = None
    repeats: int | None = None
    tasks: tuple[str, ...] | None = None
    axes: tuple[str, ...] | None = None
    cues: tuple[str, ...] | None = None
    questions: int | None = None
    variants: int | None = None
    samples: int | None = None
    files: Mapping[str, str] | None = None
    paper: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    extra: tuple[tuple[str, Any], ...] = ()
    decoding: str | None = None
    decoding_spec: str | None = None

    def __post_init__(self) -> None:
        for name in ("audiences", "modes", "tasks", "axes", "cues"):  # lists, where the order comes from JSON or YAML
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))

    @property
    def sized(self) -> bool:
        """Whether it says how many; else the protocol does."""
        return any(getattr(self, name) is not None for name in ("size", *SIZES))


def as_large(order: Order, plan: AuditPlan) -> Order:
    """The order with the size of a plan, whatever its own was, and with seeds of its own."""
    sizes: dict[str, Any] = {name: plan.sizes.get(name) for name in SIZES}
    return dataclasses.replace(order, size=None if plan.sizes else plan.size, seed=None, **sizes)


def of_size(order: Order, size: int) -> Order:
    """The order with about so many personas, messages or answers in place of its own sizes, and with seeds of its own."""
    none: dict[str, Any] = dict.fromkeys(SIZES)
    return dataclasses.replace(order, size=size, seed=None, **none)


def is_embedded(release: ModelRelease) -> bool:
    """Whether the product serves this release's model itself."""
    return (release.base_url or "").startswith(EMBEDDED_SCHEME)


def plan_of(workspace: Workspace, release: ModelRelease, order: Order) -> AuditPlan:
    """The plan of an order. The embedded model has choices of its own, named in the plan like all others."""
    protocol: AuditProtocol = workspace.protocol(order.protocol)
    chosen = protocol.embedded() if is_embedded(release) else protocol.defaults()
    sampling = chosen.sampling
    asked = {
        name: getattr(order, name)
        for name in ("temperature", "top_p", "max_tokens")
        if getattr(order, name) is not None
    }
    if order.extra:
        asked["extra"] = tuple(sorted({**dict(sampling.extra), **dict(order.extra)}.items()))
    decoding, spec = chosen.decoding, chosen.decoding_spec
    if order.decoding is not None:
        decoding, spec = _decoding(order)
    own = {**chosen.options, **_own_options(protocol, order)}
    sizes = chosen.sizes if order.size is None else {"size": order.size}
    return protocol.plan(
        seed=order.seed or 0,
        sampling=dataclasses.replace(sampling, **asked),
        decoding=decoding,
        decoding_spec=spec,
        **{**sizes, **own},
    )


def _own_options(protocol: AuditProtocol, order: Order) -> dict[str, Any]:
    """The options of an order that are the protocol's own; one that it does not have is refused, not left out."""
    own = {name: getattr(order, name) for name in OWN_OPTIONS if getattr(order, name) is not None}
    for name in own:
        if name not in protocol.options:
            raise BadInputError(
                f"{protocol.name} has no option {name.replace('_', '-')}; it has "
                f"{', '.join(option.replace('_', '-') for option in protocol.options)}"
            )
    return own


def _decoding(order: Order) -> tuple[Decoding, str | None]:
    try:
        decoding = Decoding(order.decoding or "")
    except ValueError:
        raise BadInputError(f"decoding should be one of {', '.join(Decoding)}, not {order.decoding!r}") from None
    if decoding != Decoding.FREE_TEXT and not order.decoding_spec:
        raise BadInputError(f"decoding {decoding} needs the {decoding.replace('-', ' ')} itself: give its file")
    return decoding, order.decoding_spec


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
        if reviewed := getattr(getattr(protocol, "asks", None), "reviewed", ""):
            workspace.tell(f"{plan.protocol}: {reviewed}")
        return workspace.ledger.order(release, plan, protocol.requests(plan))
    differing = [
        (name, asked, there)
        for name, asked, there in (
            ("size", plan.size if order.sized else None, newest.plan.size),
            ("seed", order.seed, newest.plan.seed),
        )
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
