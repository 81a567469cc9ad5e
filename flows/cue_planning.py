"""What an audit of persona cues would take, before anything is sent: calls, tokens, cost and time, and what cannot be asked."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flows.cue_reach import Asked, Key, Reach, cue_reach
from flows.expenses import CHARACTERS_PER_TOKEN
from metrics.errors import BadInputError
from registry.audits.channels import cost_usd
from registry.audits.tasks import TASKS

if TYPE_CHECKING:
    from flows.ordering import Order
    from flows.workspace import Workspace
    from registry.audits.plan import AuditPlan
    from registry.releases import ModelRelease

TOKENS_OF_SHORT_ANSWER = 5
_PROBED = 97  # every so manieth prompt is measured: prompts of one question and cue are alike


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CueSize:
    """What an audit of one release takes. None is unknown, never 0.

    Parameters
    ----------
    prompts, samples, calls : different prompts, answers to each, and their product
    tasks, axes, cues : names; by_cue : calls of each cue, the baseline among them
    prompt_tokens : of all calls, from the length of prompts; completion_tokens : if every answer has the usual length
    cost_usd, duration_s : None without prices, and without an audit whose latencies are known
    reach : which differences the design shows; None where only what it takes was asked for
    missing : what the design cannot ask, with the reason; notes : where figures are from, what is unknown
    """

    release: str
    protocol: str
    prompts: int
    samples: int
    calls: int
    tasks: tuple[str, ...]
    axes: tuple[str, ...]
    cues: tuple[str, ...]
    by_cue: dict[str, int]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    duration_s: float | None
    reach: Reach | None
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values for machines."""
        return dataclasses.asdict(self)


def planned_cues(
    workspace: Workspace,
    release: ModelRelease,
    order: Order,
    *,
    concurrency: int = 8,
    made: AuditPlan | None = None,
    reach: bool = False,
) -> CueSize:
    """What an order of persona cues takes; asks no model.

    Parameters
    ----------
    concurrency : calls at the same time; made : the plan, when there is one already
    reach : say too which differences it shows, which may read the answers of an earlier audit
    """
    from flows.ordering import plan_of

    plan = made or plan_of(workspace, release, order)
    protocol = workspace.protocol(plan.protocol)
    if not getattr(protocol, "tallied", False):
        raise BadInputError(f"{plan.protocol} is not an audit of persona cues")
    samples = plan.sizes["samples"]
    characters, probed = 0, 0
    by_cue: Counter[str] = Counter()
    answers = judged = 0
    asked: dict[Key, Asked] = {}
    requests = (request for request in protocol.requests(plan) if request.repeat == 0)
    for number, request in enumerate(requests):
        by_cue[request.cell["cue"]] += samples
        answers += samples * _answer_tokens(request.cell["task"], plan)
        judged += samples if TASKS[request.cell["task"]].rubric else 0
        if request.cell.get("axis"):
            key = (request.cell["task"], request.cell["axis"], request.cell["cue"])
            asked.setdefault(key, Asked()).add(request.cell)
        if number % _PROBED == 0:
            probed += 1
            characters += sum(len(message["content"]) for message in request.messages)
    prompt_tokens = round(plan.size * characters / max(probed, 1) / CHARACTERS_PER_TOKEN)
    latency = _latency(workspace, release, plan)
    notes = [f"tokens: ESTIMATED, {CHARACTERS_PER_TOKEN} characters a token and the usual length of answers"]
    if release.price_input is None or release.price_output is None:
        notes.append(
            "the cost is unknown: the release has no prices ('spiritlevel release add --price-input --price-output')"
        )
    if latency is None:
        notes.append("the time is unknown: there is no audit of this release with latencies")
    notes += _left_out(workspace, plan, order)
    notes += _fewer(asked, order)
    notes += _judge_calls(workspace, plan, judged)
    notes += _few_questions(workspace, release, asked) if reach else []
    return CueSize(
        release=release.uri,
        protocol=plan.protocol,
        prompts=plan.size // samples,
        samples=samples,
        calls=plan.size,
        tasks=tuple(name for name, *_ in plan.options["tasks"]),
        axes=tuple(axis["name"] for axis in plan.options["axes"]),
        cues=tuple(plan.options["cues"]),
        by_cue=dict(by_cue),
        prompt_tokens=prompt_tokens,
        completion_tokens=answers,
        cost_usd=cost_usd(prompt_tokens, answers, release.price_input, release.price_output),
        duration_s=None if latency is None else plan.size * latency / min(concurrency, plan.size),
        reach=cue_reach(workspace, release.family, plan, asked) if reach else None,
        missing=missing_of(plan),
        notes=tuple(notes),
    )


def missing_of(plan: AuditPlan) -> tuple[str, ...]:
    """What a plan cannot ask: the first reason for each axis and cue; the others are in the plan."""
    found: dict[tuple[str, str], list[str]] = {}
    for cue, axis, _, _, reason in plan.options["missing"]:
        found.setdefault((axis, cue), []).append(reason)
    return tuple(
        f"{reasons[0]}{f' and {len(reasons) - 1} more' if len(reasons) > 1 else ''} ({cue}, {axis})"
        for (axis, cue), reasons in found.items()
    )


def _answer_tokens(task: str, plan: AuditPlan) -> int:
    known = TASKS[task]
    most = plan.sampling.max_tokens or known.max_tokens
    return most if known.rubric else min(TOKENS_OF_SHORT_ANSWER, most)


def _latency(workspace: Workspace, release: ModelRelease, plan: AuditPlan) -> float | None:
    """Mean seconds of a call in the newest finished audit of this kind."""
    from flows.scoring import finished

    for audit in reversed(finished(workspace, family=release.family, version=release.version, protocol=plan.protocol)):
        totals = [row for row in workspace.ledger.call_totals([audit.id]) if row.timed]
        if timed := sum(row.timed for row in totals):
            return sum(row.latency_s for row in totals) / timed
    return None


def _few_questions(workspace: Workspace, release: ModelRelease, asked: Mapping[Key, Asked]) -> list[str]:
    """What a verdict needs, and that a change takes more than a difference."""
    fewest = workspace.home.policy(release.family).fewest_clusters
    short = {task: len(one.questions) for (task, *_), one in asked.items() if len(one.questions) < fewest}
    notes = [
        "a change from one release to the next is a difference of two such gaps: what is shown of it is up to 1.4 times as large, less "
        "where both releases keep what is peculiar to a question or a variant"
    ]
    if short:
        told = ", ".join(f"{task} {number}" for task, number in short.items())
        notes.append(f"a verdict on a change needs {fewest} questions of a task, and this design asks fewer: {told}")
    return notes


def _fewer(asked: Mapping[Key, Asked], order: Order) -> list[str]:
    """What is there less often than was wanted."""
    notes = []
    for what, wanted, place in (("questions", order.questions, 0), ("variants", order.variants, 2)):
        if wanted is None:
            continue
        found: dict[str, int] = {}
        for key, one in asked.items():
            found[key[place]] = max(found.get(key[place], 0), len(getattr(one, what)))
        few = [f"{name} {number}" for name, number in found.items() if number < wanted]
        if few:
            notes.append(
                f"fewer {what} are there than the {wanted} wanted, and all of them are asked: {', '.join(few)}"
            )
    return notes


def _judge_calls(workspace: Workspace, plan: AuditPlan, texts: int) -> list[str]:
    """How often a judge is called besides; its tokens count against the same budgets."""
    if not texts:
        return []
    from registry.audits.rubric import load_rubric

    names = sorted({TASKS[name].rubric for name, *_ in plan.options["tasks"] if TASKS[name].rubric})
    gold = sum(len(load_rubric(name).gold) for name in names)
    judge = workspace.home.configuration.judge.release or "the judge"
    return [
        f"besides, {judge} rates each different text: up to {texts:,} calls, and {gold} on its gold set; they are in no figure above"
    ]


def _left_out(workspace: Workspace, plan: AuditPlan, order: Order) -> list[str]:
    """The tasks that are left out because no judge is configured."""
    asked = {name for name, *_ in plan.options["tasks"]}
    judged = [name for name in TASKS if TASKS[name].rubric and name not in asked]
    if order.tasks is not None or not judged or workspace.home.configuration.judge.release:
        return []
    return [
        f"left out: {', '.join(judged)}, which a judge has to rate, and none is configured ([judge] in spiritlevel.toml)"
    ]
