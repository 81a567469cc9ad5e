"""``audit``, ``retry``, ``import``: asking a release, and taking answers that somebody else collected."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dashboards.instruments import Instrument, instrument_of
from flows.commands.audit_options import (
    AudienceOption,
    AxisOption,
    BudgetTokensOption,
    BudgetUsdOption,
    CellsOption,
    CueOption,
    DecodingOption,
    DecodingSpecOption,
    DomainOption,
    FileOption,
    FlowOption,
    InstrumentOption,
    JoinOption,
    MaxTokensOption,
    ModeOption,
    NewOption,
    PaperOption,
    PerCallOption,
    PersonasOption,
    QuestionsOption,
    RepeatsOption,
    ReplicateOption,
    SamplesOption,
    SeedOption,
    TaskOption,
    TemperatureOption,
    TopPOption,
    VariantsOption,
    decoding_text,
    named_files,
)
from flows.commands.cue_sizes import who_as_json, who_was_asked
from flows.commands.results import channels_as_json, comparison_table, noise_floors, row_as_json, score_table
from flows.commands.shared import (
    Exit,
    HomeOption,
    JsonOption,
    ProtocolOption,
    number,
    print_json,
    print_text,
    say,
    workspace_of,
)
from flows.commands.stopping import command_of, say_left, stoppable
from flows.commands.watching import confirmation_as_json, watch_as_json, watch_lines
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.collecting import Limits
    from flows.collection import CollectionReport
    from flows.concluding import Conclusion
    from flows.ordering import Order
    from flows.scoring import Scored
    from flows.settings import Home
    from flows.workspace import Workspace
    from metrics.results import Score
    from registry.ledger.values import Audit

_TEST = ("statistic", "df", "df_error", "pvalue", "qvalue")
_SIZES = ("n_clusters", "n_excluded")
_AFTER_IMPORT = "the verdict against the previous release: 'spiritlevel compare RELEASE --against previous'"

ReleaseArgument = Annotated[
    str, typer.Argument(help="The release, as models:/nova-chat/3 or models:/nova-chat@champion")
]
ConcurrencyOption = Annotated[int, typer.Option(min=1, max=1000, help="Calls under way at the same time.")]
TimeoutOption = Annotated[float, typer.Option(min=0.1, help="Seconds for one try of a call.")]
AttemptsOption = Annotated[
    int, typer.Option(min=1, help="Tries of one call, the first included; refusals for too many calls do not count.")
]
DeadlineOption = Annotated[float, typer.Option(min=0.1, help="Seconds for one call with all its tries and waiting.")]


def result_as_json(conclusion: Conclusion) -> dict[str, Any]:
    """A finished audit for machines."""
    audit, comparison = conclusion.scored.audit, conclusion.comparison
    told = instrument_of(audit.protocol)
    return {
        "release": audit.release.uri,
        "protocol": audit.protocol,
        "unit": told.unit,
        "audit": audit.id,
        "occasion": audit.occasion,
        "state": audit.state,
        "source": audit.source,
        "collection_key": audit.plan.collection_key,
        "scoring_version": audit.scoring_version,
        "differences": dict(audit.differences),
        "personas": who_as_json(audit.plan),
        "channels": channels_as_json(conclusion.scored.reading.channels),
        "scores": [
            {
                name: getattr(score, name)
                for name in ("metric", "dimension", "group", "value", "low", "high", "level", "n", *_SIZES, *_TEST)
            }
            | told.parts(score.dimension, score.group)
            | {"severity": score.severity, "method": score.method, "reason": score.reason or None}
            for score in conclusion.scored.scores
        ],
        "previous": conclusion.previous.uri if conclusion.previous and comparison else None,
        "verdict": comparison.verdict if comparison else None,
        "why": comparison.why if comparison else conclusion.note,
        "comparisons": [row_as_json(row) for row in comparison.rows] if comparison else [],
        "with_baselines": [
            {"previous_audit": other.previous_audit, "verdict": other.verdict, "why": other.why}
            for other in conclusion.with_baselines
        ],
        "instrument": [{"kind": check.kind, "state": check.state, "why": check.why} for check in conclusion.checks],
        "alerts_held": conclusion.held,
        "watch": watch_as_json(conclusion.watch) if conclusion.watch else None,
        "confirmation": confirmation_as_json(conclusion.confirmation) if conclusion.confirmation else None,
        "exit_code": conclusion.exit_code,
    }


def result_text(conclusion: Conclusion) -> str:
    """A finished audit for people: what was asked, what came back, how it scores, what changed."""
    audit, channels = conclusion.scored.audit, conclusion.scored.reading.channels
    told = instrument_of(audit.protocol)
    lines = [f"{audit.release.uri}, {audit.protocol}, occasion {audit.occasion}: {audit.state}"]
    rates = ", ".join(
        f"{name} {share:.1%}" for name, share in sorted(channels.rates().items(), key=lambda item: -item[1])
    )
    asked = (
        f"{channels.expected:,} {told.unit} asked for"
        if channels.expected is not None
        else f"{channels.usable:,} {told.unit}"
    )
    lines.append(f"{channels.calls:,} calls, {asked}, {channels.usable:,} usable ({rates})")
    if audit.state == "incomplete":
        lines.append(
            f"incomplete: some calls brought no answer; 'spiritlevel retry {audit.release.uri} --failed' asks them again"
        )
    if channels.mixed_release:
        lines.append(
            f"mixed release, no verdict: answered by more than one model: {', '.join(sorted(channels.served_models))}"
        )
    if channels.repeated:
        lines.append(
            f"{channels.repeated:,} answers repeat an earlier one word for word (a cache, or a seed that is ignored?); "
            f"equal answers count as one request"
        )
    if channels.substitution and not channels.mixed_release:
        lines.append(channels.substitution)
    if audit.differences:
        lines.append(f"sampling that the endpoint did not take as ordered: {dict(audit.differences)}")
    lines += who_was_asked(audit.plan)
    lines += _uneven(conclusion.scored)
    scores = conclusion.scored.scores
    lines += _mean_lines(scores, told)
    if conclusion.comparison is None:
        lines += ["", score_table(scores, told), "", conclusion.note or _AFTER_IMPORT]
    else:
        previous = conclusion.previous.uri if conclusion.previous else ""
        lines += ["", f"compared with {previous}:", comparison_table(conclusion.comparison, noise_floors(scores))]
        lines += ["", f"verdict: {conclusion.comparison.verdict}. {conclusion.comparison.why}"]
        if conclusion.with_itself:
            lines.append(
                "that is a comparison with an earlier audit of the same release; by itself it would be wrong in most years, "
                "so the watch judges all of them together"
            )
    return "\n".join([*lines, *_beside(conclusion)])


def _uneven(made: Scored) -> list[str]:
    """The dimensions whose groups were answered unevenly, the same words once."""
    from flows.soundness import uneven
    from metrics.policy import Policy

    told = instrument_of(made.audit.protocol)
    found: dict[str, list[str]] = {}
    for score in made.scores:
        if score.metric == told.headline and (words := uneven(made, told, score.dimension, Policy())):
            found.setdefault(words, []).append(score.dimension)
    return [f"answered unevenly in {'; '.join(titles)}: {words}" for words, titles in found.items()]


def _mean_lines(scores: Sequence[Score], told: Instrument) -> list[str]:
    """The mean over all dimensions with its interval and size, or why there is none; nothing where none was made."""
    mean = next((score for score in scores if score.metric == told.mean and score.dimension == "overall"), None)
    if mean is None:
        return []
    if mean.value is None:
        return [f"mean normalized score not measurable: {mean.reason}"]
    interval = f" [{mean.low:.3f}, {mean.high:.3f}]" if mean.low is not None and mean.high is not None else ""
    size = f"{mean.n:,} {told.unit} in {mean.n_clusters:,} {told.calls}"
    return [f"mean normalized score {number(mean.value)}{interval} from {size}"]


def _beside(conclusion: Conclusion) -> list[str]:
    """What a reader must know beside the verdict: baselines, the watch, the instrument."""
    audit = conclusion.scored.audit
    lines = [
        f"against the blessed baseline (audit {other.previous_audit}): {other.verdict}. {other.why}"
        for other in conclusion.with_baselines
    ]
    if conclusion.confirmation is not None:
        lines.append(f"full audit after an alarm: {conclusion.confirmation.verdict}. {conclusion.confirmation.why}")
    if conclusion.watch is not None:
        lines += watch_lines(conclusion.watch, audit.release.uri, audit.protocol, unsteady=bool(conclusion.held))
    for check in conclusion.checks:
        if check.state == "moved":
            lines.append(f"the instrument moved, alerts are held: {check.why}")
        elif check.state == "steady":
            lines.append(f"instrument ({check.kind}): steady; {check.why}")
    return ["", *lines] if lines else []


def finish(result: Conclusion | CollectionReport, release: str, protocol: str, json: bool, again: str = "") -> None:
    """Print the end of an audit and leave with its exit code; ``again`` : the command that continues it."""
    from flows.collection import CollectionReport

    if isinstance(result, CollectionReport):
        say(
            f"{release}: stopped after {result.done} calls ({result.why or result.stopped_by}); everything that arrived is "
            f"stored. Continue with '{again or f'spiritlevel audit {release} --protocol {protocol}'}'"
            f"{', and a larger budget' * (result.stopped_by == 'budget')}"
        )
        if json:
            outcomes = dict(result.outcomes)
            print_json(
                {
                    "release": release,
                    "protocol": protocol,
                    "state": "open",
                    "stopped_by": result.stopped_by,
                    "why": result.why,
                    "outcomes": outcomes,
                }
            )
        raise typer.Exit(Exit.INCONCLUSIVE)
    if json:
        print_json(result_as_json(result))
    else:
        print_text(result_text(result))
    raise typer.Exit(result.exit_code)


def audit(
    release: ReleaseArgument,
    protocol: InstrumentOption,
    personas: PersonasOption = None,
    cells: CellsOption = None,
    repeats: RepeatsOption = None,
    domain: DomainOption = None,
    audience: AudienceOption = None,
    mode: ModeOption = None,
    task: TaskOption = None,
    axis: AxisOption = None,
    cue: CueOption = None,
    questions: QuestionsOption = None,
    variants: VariantsOption = None,
    samples: SamplesOption = None,
    file: FileOption = None,
    paper: PaperOption = False,
    concurrency: ConcurrencyOption = 8,
    seed: SeedOption = None,
    new: NewOption = False,
    per_call: PerCallOption = None,
    temperature: TemperatureOption = None,
    top_p: TopPOption = None,
    max_tokens: MaxTokensOption = None,
    decoding: DecodingOption = None,
    decoding_spec: DecodingSpecOption = None,
    budget_usd: BudgetUsdOption = None,
    budget_tokens: BudgetTokensOption = None,
    timeout_s: TimeoutOption = 120.0,
    attempts: AttemptsOption = 6,
    deadline_s: DeadlineOption = 900.0,
    join: JoinOption = False,
    replicate: ReplicateOption = False,
    flow: FlowOption = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Audit a release: ask it, score its answers, compare it with the previous release, publish.

    Interrupted audits go on where they stopped; a finished one prints its stored result and asks nothing. Several
    processes, on one machine or many, share an audit when each is started with --join on the same ledger.

    Exit code: 0 ok, 1 regressed, 2 bad input or a provider that never answered, 3 inconclusive or incomplete.

    Example: spiritlevel audit models:/nova-chat/3 --protocol persona-brainstorm --personas 5000 --budget-usd 20
    """
    from flows.collecting import Limits
    from flows.ordering import Order, ordered
    from flows.replication import sampled_again

    if join and new:
        raise BadInputError("--join shares an audit that is there, and --new starts another one: give one of them")
    with workspace_of(home) as workspace:
        found = workspace.releases.find(release)
        order = Order(
            protocol=protocol,
            size=personas,
            seed=seed,
            new=new,
            per_call=per_call,
            domain=domain,
            audiences=tuple(audience) if audience else None,
            modes=tuple(mode) if mode else None,
            cells=cells,
            repeats=repeats,
            tasks=tuple(task) if task else None,
            axes=tuple(axis) if axis else None,
            cues=tuple(cue) if cue else None,
            questions=questions,
            variants=variants,
            samples=samples,
            files=named_files(file) if file else None,
            paper=paper or None,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            decoding=decoding,
            decoding_spec=decoding_text(decoding_spec),
        )
        limits = Limits(
            concurrency=concurrency,
            timeout_s=timeout_s,
            attempts=attempts,
            deadline_s=deadline_s,
            budget_tokens=budget_tokens,
            budget_usd=budget_usd,
            join=join,
        )
        workspace.releases.previous(
            found
        )  # a declared previous release that is not there is said before anything is asked
        asked = ordered(workspace, found, order)
        if new:
            say_left(workspace, asked)
        say_few_prompts(workspace, asked)
        say_size(workspace, asked, order, concurrency)
        sampling = {"--temperature": temperature, "--top-p": top_p, "--max-tokens": max_tokens}
        form = {"--per-call": per_call, "--decoding": decoding, "--decoding-spec": decoding_spec}
        about = {"--domain": domain, "--audience": audience, "--mode": mode}
        about |= {"--task": task, "--axis": axis, "--cue": cue, "--file": file}
        flags = ["--replicate"] * replicate + ["--paper"] * paper
        again = command_of("audit", asked, {**sampling, **form, **about}, *flags)
        with stoppable(workspace, asked, again) as run:
            if flow:
                in_flow(found.uri, order, limits, workspace.home, replicate=replicate)
                asked = workspace.ledger.audit(asked.id)
            # After a flow run nothing is open any more, and this only reads the stored result.
            result = run(asked, limits=limits)
            if replicate:
                sampled_again(workspace, result, order, functools.partial(run, limits=limits), say)
        if not replicate:
            say_unconfirmed(workspace, result, {**sampling, **form, **about})
        finish(result, found.uri, protocol, json, again)


def say_size(workspace: Workspace, asked: Audit, order: Order, concurrency: int) -> None:
    """Say before anything is sent how large an audit of persona cues is; one that was begun before is known."""
    if asked.state != "open" or "cues" not in asked.plan.options or workspace.ledger.progress(asked.id)[0]:
        return
    from flows.commands.cue_sizes import cue_size_text
    from flows.cue_planning import planned_cues

    release = asked.release
    say(cue_size_text(planned_cues(workspace, release, order, concurrency=concurrency, made=asked.plan)))


def say_few_prompts(workspace: Workspace, asked: Audit) -> None:
    """Say before anything is asked that a design has too few prompts for a verdict, and which option asks more."""
    if asked.state != "open" or "domain" not in asked.plan.options:
        return
    from flows.prompt_cells import too_few_prompts

    if short := too_few_prompts(asked.plan, workspace.home.policy(asked.release.family)):
        say(f"{asked.release.uri}: {short}")


def say_unconfirmed(
    workspace: Workspace, result: Conclusion | CollectionReport, options: Mapping[str, object] | None = None
) -> None:
    """Say that a finding waits for a second sample, and what takes it; ``options`` say how the audit was to ask."""
    from flows.collection import CollectionReport
    from flows.replication import wanted

    if isinstance(result, CollectionReport) or result.held:
        return
    audit = result.scored.audit
    if (waits := wanted(workspace, audit)) is None:
        return
    command = command_of("audit", audit, options or {}, "--replicate")
    as_before = "" if options is not None else ", with the options that say how it asks"
    say(
        f"incident {waits.id} is not confirmed and nobody was told: {waits.title}. A second sample has to show it too: "
        f"'{command}'{as_before}"
    )


def in_flow(release: str, order: Order, limits: Limits, home: Home, *, replicate: bool) -> None:
    """Run an ordered audit as a Prefect flow run. It has been ordered already, so the flow is never told ``new``."""
    import dataclasses

    from flows.audit import audit_release

    options = {
        k: v for k, v in dataclasses.asdict(order).items() if k not in {"protocol", "size", "seed", "new", "again"}
    }
    audit_release(
        release,
        order.protocol,
        personas=order.size,
        seed=order.seed,
        options=options,
        limits=dataclasses.asdict(limits),
        home=str(home.path),
        replicate=replicate,
    )


def retry(
    release: ReleaseArgument,
    failed: Annotated[
        bool, typer.Option("--failed", help="Ask again what timed out or failed at the provider.")
    ] = False,
    protocol: ProtocolOption = None,
    concurrency: ConcurrencyOption = 8,
    timeout_s: TimeoutOption = 120.0,
    attempts: AttemptsOption = 6,
    deadline_s: DeadlineOption = 900.0,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Ask again only the calls that failed in a release's newest audit. Answers that came stay as they are.

    Example: spiritlevel retry models:/nova-chat/3 --failed
    """
    from flows.collecting import Limits
    from flows.judging import chosen_protocol

    if not failed:
        raise BadInputError("retry asks again what failed: say so with --failed (for a new sample use 'audit --new')")
    with workspace_of(home) as workspace:
        found = workspace.releases.find(release)
        name = chosen_protocol(workspace, protocol, [found])
        audits = [
            audit
            for audit in workspace.ledger.audits(family=found.family, version=found.version, protocol=name)
            if audit.source == "live"
        ]
        if not audits:
            raise BadInputError(f"{found.uri} has no live {name} audit to retry")
        limits = Limits(concurrency=concurrency, timeout_s=timeout_s, attempts=attempts, deadline_s=deadline_s)
        again = command_of("retry", audits[-1], {}, "--failed")
        with stoppable(workspace, audits[-1], again) as run:
            result = run(audits[-1], limits=limits, failed=True)
        say_unconfirmed(workspace, result)
        finish(result, found.uri, name, json, again)
