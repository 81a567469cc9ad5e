"""Rating: a judge model says what texts of an audit are, under each rubric of its protocol.

A rating is an audit of the judge: its requests are sealed, its answers stored as they come, it goes on where it was stopped,
and it counts against budgets. It is found again by what was asked: the rubric, the subject, and how the judge was sampled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.audits.plan import AuditPlan, Sampling, content_hash
from registry.audits.rating import PROTOCOL, Ratings, rating_plan, rating_requests, read_ratings, text_key
from registry.audits.rubric import Rubric, load_rubric
from registry.ledger.ownership import Owner
from registry.ledger.values import Audit
from registry.releases import ModelRelease

if TYPE_CHECKING:
    from flows.collecting import Limits
    from flows.collection import Progress
    from flows.settings import Home

Tell = Callable[[str], None]
Shown = Callable[[str, int], AbstractContextManager[Callable[["Progress"], None]]]


@dataclasses.dataclass(frozen=True, slots=True)
class Rating:
    """How far the rating of an audit is: its different texts, those with an answer under each rubric, and what is open."""

    audit: Audit
    judge: ModelRelease
    texts: int
    asked: Mapping[str, int]
    open: Mapping[str, int]

    @property
    def complete(self) -> bool:
        """Whether every text was asked about under every rubric."""
        return not any(self.open.values())


def rubrics_of(workspace: Workspace, protocol: str) -> tuple[Rubric, ...]:
    """The rubrics that a protocol wants texts rated under; none when no judge is configured."""
    if not workspace.home.configuration.judge.release:
        return ()
    return tuple(load_rubric(name) for name in getattr(workspace.protocol(protocol), "rubrics", ()))


def judge_parts(home: Home, rubrics: Sequence[str]) -> dict[str, str]:
    """What of the judge makes other scores, by name; nothing when none is configured."""
    settings = home.configuration.judge
    if not settings.release:
        return {}
    asked = f"{settings.release}, temperature {settings.temperature:g}, at most {settings.max_tokens} tokens"
    return {"judge": asked, "rubrics": " ".join(f"{name} {load_rubric(name).digest}" for name in rubrics)}


def ratings_of(workspace: Workspace, audit: Audit) -> dict[str, Ratings]:
    """What the configured judge said about an audit's texts so far, by rubric. Asks nobody."""
    found = {}
    for rubric, made in ratings_made(workspace, audit):
        occasions = [(workspace.ledger.requests(one.id), workspace.ledger.responses(one.id)) for one in made]
        found[rubric.name] = read_ratings(rubric, workspace.home.configuration.judge.release, occasions)
    return found


def ratings_made(workspace: Workspace, audit: Audit) -> list[tuple[Rubric, list[Audit]]]:
    """The audits of the configured judge that rate an audit's texts, oldest first, under each rubric that has some."""
    found = [(rubric, _made(workspace, audit, rubric)) for rubric in rubrics_of(workspace, audit.protocol)]
    return [(rubric, made) for rubric, made in found if made]


def subject_of(audit: Audit) -> str:
    """What a rating of an audit's texts says of whose they are."""
    return f"{audit.release.uri} {audit.protocol} {audit.plan.collection_key} occasion {audit.occasion}"


def rate(
    workspace: Workspace,
    audit: Audit,
    limits: Limits,
    *,
    tell: Tell,
    shown: Shown | None = None,
    worth: Callable[[int], None] = lambda _: None,
) -> Rating:
    """Ask the configured judge about every text of a finished audit that it was not asked about, and store what it says.

    Parameters
    ----------
    worth : is told how many calls are to be made, before the first; it may raise to stop them

    Returns
    -------
    How far it came: a budget or a provider that goes away may end it before all is asked. What was asked stays.

    Raises
    ------
    BadInputError : no judge is configured, or the protocol has nothing to rate
    """
    judge = judge_release(workspace)
    rubrics = rubrics_of(workspace, audit.protocol)
    if not rubrics:
        raise BadInputError(
            f"{audit.protocol} has no texts that a judge rates; 'spiritlevel rate' is for targeted-messages"
        )
    _refuse_open(audit)
    texts = _texts(workspace, audit)
    if not texts:
        return Rating(audit, judge, 0, {}, {})
    # Of two processes that rate the same audit one asks; the other then finds nothing open.
    with workspace.ledger.alone(f"rate/{audit.id}", Owner.this_process()):
        jobs = [_ordered(workspace, judge, audit, rubric, texts) for rubric in rubrics]
        if any(jobs):
            ask_jobs(workspace, judge, [job for some in jobs for job in some], limits, tell, shown, worth)
            _made_anew(workspace, audit)
    said = ratings_of(workspace, audit)
    asked = {name: sum(text_key(text) in one.answers for text in texts) for name, one in said.items()}
    left = {
        rubric.name: sum(open_calls(workspace, one) for one in _made(workspace, audit, rubric))
        if rubric.name in said
        else 1
        for rubric in rubrics
    }
    return Rating(workspace.ledger.audit(audit.id), judge, len(texts), asked, left)


def _texts(workspace: Workspace, audit: Audit) -> list[str]:
    from flows.scoring import read_answers
    from flows.tallying import texts_to_rate

    protocol = workspace.protocol(audit.protocol)
    if getattr(protocol, "tallied", False):
        return texts_to_rate(workspace, audit, protocol)
    reading: Any = read_answers(workspace, audit)
    texts: list[str] = reading.texts
    return texts


def judge_release(workspace: Workspace, wanted: str = "") -> ModelRelease:
    """The judge that is named, else the configured one.

    Raises
    ------
    BadInputError : none is configured, or its model id is one that the provider may change
    """
    from registry.pinning import pinning

    wanted = wanted or workspace.home.configuration.judge.release
    if not wanted:
        raise BadInputError(
            "no judge is configured: register one ('spiritlevel release add judges --model ID') and name it in "
            f'{workspace.home.path / "spiritlevel.toml"} as [judge] release = "models:/judges/1"'
        )
    judge = workspace.releases.find(wanted)
    if pinning(judge.model, judge.base_url) == "floating":
        raise BadInputError(
            f"the judge {wanted} asks for {judge.model!r}, which its provider may change at any time: what it "
            f"says at two times would not be one judge's. Register a dated id, a revision or a file"
        )
    return judge


def _refuse_open(audit: Audit) -> None:
    if audit.state == "open":
        raise BadInputError(
            f"audit {audit.id} of {audit.release.uri} is not finished; 'spiritlevel audit {audit.release.uri} --protocol "
            f"{audit.protocol}' with the options that it was ordered with finishes it"
        )


def _plan(workspace: Workspace, audit: Audit, rubric: Rubric, *, size: int, constrained: bool) -> AuditPlan:
    settings = workspace.home.configuration.judge
    sampling = Sampling(temperature=settings.temperature, max_tokens=settings.max_tokens)
    return rating_plan(rubric, subject_of(audit), size=size, sampling=sampling, constrained=constrained)


def _made(workspace: Workspace, audit: Audit, rubric: Rubric) -> list[Audit]:
    """The ratings of an audit under a rubric, oldest first, found without asking the registry what kind of model the judge is."""
    family, _, version = workspace.home.configuration.judge.release.removeprefix("models:/").partition("/")
    keys = {
        _plan(workspace, audit, rubric, size=0, constrained=constrained).collection_key for constrained in (False, True)
    }
    where: dict[str, Any] = {"family": family, "version": int(version), "protocol": PROTOCOL}
    found = [one for key in keys for one in workspace.ledger.audits(**where, collection_key=key)]
    return sorted(found, key=lambda one: one.id)


def _ordered(
    workspace: Workspace, judge: ModelRelease, audit: Audit, rubric: Rubric, texts: Sequence[str]
) -> list[Audit]:
    """The ratings that have something to ask: those that were interrupted or failed, and one for texts that are in none."""
    from flows.ordering import is_embedded, refuse_stranger

    made = _made(workspace, audit, rubric)
    for one in made:
        refuse_stranger(one, judge)
    known = {request.cell.get("text") for one in made for request in workspace.ledger.requests(one.id)}
    fresh = [text for text in texts if text_key(text) not in known]
    if fresh:
        requests = list(rating_requests(rubric, fresh, with_gold=not made))
        plan = _plan(workspace, audit, rubric, size=len(requests), constrained=is_embedded(judge))
        made.append(workspace.ledger.order(judge, plan, requests))
    return [one for one in made if open_calls(workspace, one)]


def open_calls(workspace: Workspace, rating: Audit) -> int:
    """Requests of a rating without an answer: not asked yet, or failed at the provider."""
    return len(workspace.ledger.open_work(rating.id, failed=True)) if rating.state != "complete" else 0


def ask_jobs(
    workspace: Workspace,
    judge: ModelRelease,
    jobs: Sequence[Audit],
    limits: Limits,
    tell: Tell,
    shown: Shown | None,
    worth: Callable[[int], None],
) -> None:
    """Ask a judge what is open of its ratings; a budget that is reached or a provider that goes away ends it, and what came is stored."""
    from flows.collecting import collect_answers, place_of
    from flows.concluding import closed

    worth(sum(open_calls(workspace, job) for job in jobs))
    with place_of(workspace, judge, tell) as place:
        for job in jobs:
            work = workspace.ledger.open_work(job.id, failed=True)
            name = next(iter(job.plan.prompts))
            with shown(f"{judge.uri}, {name}", job.plan.size - len(work)) if shown else nullcontext(None) as progress:
                report = collect_answers(workspace, job, work, place, limits, progress)
            closed(workspace, workspace.ledger.audit(job.id))
            if report is not None and report.stopped_by:
                tell(f"stopped: {report.why or report.stopped_by}; what was asked is stored")
                return


def _made_anew(workspace: Workspace, audit: Audit) -> None:
    """Scores without these ratings are no longer the audit's: they are made again, and published again."""
    workspace.readings.clear()
    workspace.ledger.forget_readings(audit.id)
    if audit.scoring_version:
        workspace.ledger.change(audit.id, scoring_version="", run_id=None)
        made = [list(one.answers) for _, one in sorted(ratings_of(workspace, audit).items())]
        workspace.ledger.publish_audit_later(audit.id, content_hash(["rated", audit.scoring_version, made]))


def rated_first(workspace: Workspace, audit: Audit, limits: Limits, tell: Tell, shown: Shown | None = None) -> None:
    """Rate a live audit before it is scored, when a judge is configured. A judge that fails ends no audit: it says so.

    The audit's budget bounds each of its ratings too.
    """
    if audit.source != "live" or not rubrics_of(workspace, audit.protocol):
        return
    try:
        found = rate(workspace, audit, limits, tell=tell, shown=shown)
    except BadInputError as error:
        tell(f"not rated: {error}; '{rate_command(audit)}' asks again")
        return
    if not found.complete:
        tell(f"the rating is not complete; '{rate_command(audit)}' goes on")


def rate_command(audit: Audit) -> str:
    """The command that rates an audit."""
    return f"spiritlevel rate {audit.release.uri} --protocol {audit.protocol}"
