"""The ledger of a fleet that was audited for a year, written in bulk and not through the product; see `benchmarks.fleet`.

Answers are there for the newest audits of two releases of one family, small ones. Two of the three protocols are the persona
brainstorm under other names; for other processes they are entry points of a distribution in a folder.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from flows.duties import duties_of, slots
from flows.settings import Home
from flows.workspace import Workspace, opened
from metrics.results import Comparison, Score
from registry.audits.plan import Response, content_hash
from registry.audits.protocols import PROTOCOLS
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.ledger import rows, service_tables, tables
from registry.ledger.connection import moment_text
from registry.releases import ModelRelease
from tests.stub_personas import answer_text

PROTOCOL_NAMES = ("persona-brainstorm", "fleet-second", "fleet-third")
CALLS, PER_CALL = 20, 20  # of an audit with answers
BASELINE = 5

MODULE = """
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
class Second(PersonaBrainstorm):
    name = "fleet-second"
class Third(PersonaBrainstorm):
    name = "fleet-third"
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How much there is: families, releases of each, weeks that each release was audited by each protocol."""

    families: int = 20
    releases: int = 10
    weeks: int = 52
    protocols: tuple[str, ...] = PROTOCOL_NAMES
    until: dt.datetime = dataclasses.field(default_factory=lambda: dt.datetime.now(dt.UTC))

    @property
    def audits(self) -> int:
        return self.families * self.releases * self.weeks * len(self.protocols)

    def family(self, number: int) -> str:
        return f"fleet-{number:02}"

    @property
    def read(self) -> str:
        """The family whose newest audits have answers."""
        return self.family(0)

    def at(self, week: int) -> dt.datetime:
        """When the audits of a week were made: the last one a few days ago."""
        monday = (self.until - dt.timedelta(days=self.until.weekday())).replace(
            hour=3, minute=0, second=0, microsecond=0
        )
        return monday - dt.timedelta(weeks=self.weeks - 1 - week)

    def orders(self) -> Iterator[tuple[int, int, int, int, str]]:
        """Id, week, number of the family, version and protocol of every audit, in their order."""
        number = 0
        for week in range(self.weeks):
            for family in range(self.families):
                for version in range(1, self.releases + 1):
                    for protocol in self.protocols:
                        number += 1
                        yield number, week, family, version, protocol


def plugin(folder: Path) -> Path:
    """A distribution with the two further protocols; found when its folder is on the path."""
    (folder / "spiritlevel_fleet-1.0.dist-info").mkdir(parents=True)
    (folder / "spiritlevel_fleet.py").write_text(MODULE, encoding="utf-8")
    about = folder / "spiritlevel_fleet-1.0.dist-info"
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: spiritlevel-fleet\nVersion: 1.0\n", encoding="utf-8")
    points = "\n".join(f"{name} = spiritlevel_fleet:{name.split('-')[1].title()}" for name in PROTOCOL_NAMES[1:])
    (about / "entry_points.txt").write_text(f"[spiritlevel.protocols]\n{points}\n", encoding="utf-8")
    return folder


def further_protocols() -> dict[str, type[PersonaBrainstorm]]:
    """The same two protocols for this process, by name."""
    return {
        name: type(name.title().replace("-", ""), (PersonaBrainstorm,), {"name": name}) for name in PROTOCOL_NAMES[1:]
    }


def registered() -> None:
    """Put them into this process's catalog, for as long as it lasts."""
    for name, protocol in further_protocols().items():
        PROTOCOLS.register(name)(protocol)


def configuration(fleet: Fleet) -> str:
    """The file ``spiritlevel.yaml`` that declares all of it."""
    releases = [str(version) for version in range(1, fleet.releases + 1)]
    families = {}
    for number in range(fleet.families):  # each at a time of its own
        times = {"cron": f"{number % 60} 3 * * 1", "zone": "Europe/Madrid"}
        audits = [{"protocol": name, "personas": CALLS * PER_CALL, **times} for name in fleet.protocols]
        families[fleet.family(number)] = {"releases": releases, "audits": audits}
    return json.dumps({"families": families}, indent=1)  # JSON is YAML too, and quicker to write


def built(home: Home, fleet: Fleet) -> None:
    """Write the ledger of the fleet into an empty home, and its configuration file; its protocols are in the catalog."""
    home.make()
    (home.path / "spiritlevel.yaml").write_text(configuration(fleet), encoding="utf-8")
    with opened(home) as workspace:
        ledger = workspace.ledger
        with ledger.engine.begin() as connection:
            _write_audits(connection, workspace, fleet)
            _write_results(connection, workspace, fleet)
            _write_watches(connection, workspace, fleet)
            _write_service(connection, workspace, fleet)
            _set_sequences(connection)
        _judge_newest(workspace, fleet)
        if (
            ledger.engine.dialect.name == "postgresql"
        ):  # which does so by itself; a file is left as the product leaves it
            with ledger.engine.connect() as connection:
                connection.exec_driver_sql("ANALYZE")
                connection.commit()


# ---------------------------------------------------------------- audits and answers


def _release(fleet: Fleet, family: int, version: int) -> ModelRelease:
    return ModelRelease(family=fleet.family(family), version=version, model=f"fleet-{family}-{version}")


def answered(fleet: Fleet) -> list[int]:
    """Ids of the audits that have answers: the newest of the last two releases of the first family."""
    last = [
        number
        for number, week, family, version, protocol in fleet.orders()
        if week == fleet.weeks - 1 and family == 0 and version > fleet.releases - 2 and protocol == fleet.protocols[0]
    ]
    return sorted(last)


def _versions(workspace: Workspace, fleet: Fleet) -> dict[str, str]:
    return {name: workspace.protocol(name).scoring_version(_names()) for name in fleet.protocols}


def _texts(seed: int) -> list[str]:
    return [answer_text({}, seed=f"{seed}-{call}", bias=0.1, per_call=PER_CALL) for call in range(CALLS)]


def _names() -> tuple[str, ...]:
    """Names that the answers have; the frozen list of every family."""
    found = {persona["name"].casefold() for text in _texts(0) for persona in json.loads(text)}
    return tuple(sorted(found)[:50])


def _write_audits(connection: Connection, workspace: Workspace, fleet: Fleet) -> None:
    plans = {name: workspace.protocol(name).plan(size=CALLS * PER_CALL, per_call=PER_CALL) for name in fleet.protocols}
    keys = {name: plan.collection_key for name, plan in plans.items()}
    values = {name: plan.as_json() for name, plan in plans.items()}
    versions, with_answers = _versions(workspace, fleet), set(answered(fleet))
    made: list[dict[str, Any]] = []
    for number, week, family, version, protocol in fleet.orders():
        at = fleet.at(week).isoformat().replace("+00:00", "Z")
        made.append(
            {
                "id": number,
                "family": fleet.family(family),
                "version": version,
                "release": _release(fleet, family, version).as_json(),
                "protocol": protocol,
                "collection_key": keys[protocol],
                "occasion": week + 1,
                "plan": values[protocol] | {"seed": week},
                "source": "live",
                "state": "complete",
                "ordered_at": at,
                "finished_at": at,
                "differences": {},
                "scoring_version": None if number in with_answers else versions[protocol],
                "run_id": None if number in with_answers else f"run{number}",
            }
        )
    connection.execute(tables.audits.insert(), made)
    for number in with_answers:
        asked = workspace.protocol(fleet.protocols[0]).requests(plans[fleet.protocols[0]])
        requests = [
            {"audit_id": number, "index": one.index, "repeat": 0, "cell": {}, "expected": PER_CALL} for one in asked
        ]
        connection.execute(tables.requests.insert(), requests)
        answers = [Response(index=i, text=text, served_model="fleet") for i, text in enumerate(_texts(number))]
        connection.execute(tables.responses.insert(), [rows.response_row(number, answer) for answer in answers])
    lists = [
        {
            "family": fleet.family(family),
            "protocol": protocol,
            "version": 1,
            "names": list(_names()),
            "audits": sorted(with_answers),
            "reason": "made for the benchmark",
            "made_at": fleet.at(0).isoformat(),
        }
        for family in range(fleet.families)
        for protocol in fleet.protocols
    ]
    connection.execute(tables.name_lists.insert(), lists)


def _judge_newest(workspace: Workspace, fleet: Fleet) -> None:
    """Score and compare the audits that have answers, and mark all as published, as the product would have."""
    from flows.judging import judged

    previous, current = (workspace.ledger.audit(number) for number in answered(fleet))
    judged(workspace, previous, current, workspace.home.policy())
    with workspace.ledger.engine.begin() as connection:
        connection.execute(service_tables.publications.update().values(state="done"))
        connection.execute(tables.audits.update().where(tables.audits.c.run_id.is_(None)).values(run_id="run"))
        connection.execute(
            tables.comparisons.update().where(tables.comparisons.c.run_id.is_(None)).values(run_id="run")
        )


# ---------------------------------------------------------------- scores, comparisons, watches: one is written, the rest copied


def _copied(connection: Connection, table: sa.Table, owner: str, of: sa.Select[Any], **changed: Any) -> None:
    """Copy the rows of the first owner for all others; ``of`` gives their ids."""
    others = of.subquery()
    columns = [column.name for column in table.columns]
    first = sa.select(sa.func.min(table.c[owner])).scalar_subquery()
    values = [
        others.c.id if name == owner else changed.get(name, lambda column, _: column)(table.c[name], others.c.id)
        for name in columns
    ]
    every = sa.select(*values).select_from(table.join(others, sa.true())).where(table.c[owner] == first)
    connection.execute(table.insert().from_select(columns, every.where(others.c.id != first)))


def _moved(column: Any, number: Any) -> Any:
    """A little another value for each owner, so that no two audits are the same."""
    return column + (number % 89) * 0.0005


def _write_results(connection: Connection, workspace: Workspace, fleet: Fleet) -> None:
    titles = [dimension.title for dimension in workspace.protocol(fleet.protocols[0]).dimensions()]
    n = {"n": CALLS * PER_CALL, "n_clusters": CALLS}
    scores = [
        Score(metric=metric, dimension=title, value=value, low=value - 0.05, high=value + 0.05, severity="low", **n)
        for title in titles
        for metric, value in (
            ("normalized-cramers-v", 0.31),
            ("normalized-cramers-v-debiased", 0.22),
            ("noise-floor", 0.18),
        )
    ]
    scores.append(
        Score(metric="mean-normalized-cramers-v-debiased", dimension="overall", value=0.21, low=0.15, high=0.3, **n)
    )
    table, version = tables.scores, tables.audits.c.scoring_version
    first = {"audit_id": 1, "scoring_version": _versions(workspace, fleet)[fleet.protocols[0]]}
    connection.execute(table.insert(), [rows.plain(one) | first | {"position": i} for i, one in enumerate(scores)])
    scored = sa.select(tables.audits.c.id).where(version.is_not(None))
    of_audit = sa.select(version)

    def its_version(_: Any, number: Any) -> Any:
        return of_audit.where(tables.audits.c.id == number).scalar_subquery()

    _copied(connection, table, "audit_id", scored, scoring_version=its_version, value=_moved)
    connection.execute(tables.comparisons.insert(), list(_comparisons(workspace, fleet)))
    row = Comparison(
        metric="normalized-cramers-v-debiased", dimension="", verdict="unchanged", why="inside the margin", previous=0.22,
        current=0.23, delta=0.01, low=-0.02, high=0.04, margin_low=-0.01, margin_high=0.03, pvalue=0.4, qvalue=0.9,
        pvalue_up=0.2, qvalue_up=0.8, smallest_change=0.06, n_previous=400, n_current=400, clusters_previous=20,
        clusters_current=20,
    )  # fmt: skip
    compared = sa.select(tables.comparisons.c.id)
    number = connection.execute(sa.select(sa.func.min(tables.comparisons.c.id))).scalar_one()
    one = [
        rows.plain(dataclasses.replace(row, dimension=title)) | {"comparison_id": number, "position": position}
        for position, title in enumerate(titles)
    ]
    connection.execute(tables.comparison_rows.insert(), one)
    _copied(connection, tables.comparison_rows, "comparison_id", compared, delta=_moved)


def _comparisons(workspace: Workspace, fleet: Fleet) -> Iterator[dict[str, Any]]:
    """Every audit with the previous release's of the same week, and of the first release with its own first audit."""
    policy, versions, newest = workspace.home.policy().as_json(), _versions(workspace, fleet), max(answered(fleet))
    first: dict[tuple[int, str], int] = {}
    for number, week, family, version, protocol in fleet.orders():
        before = number - len(fleet.protocols) if version > 1 else first.setdefault((family, protocol), number)
        if before != number and number != newest:
            yield {
                "id": number,
                "family": fleet.family(family),
                "protocol": protocol,
                "previous_audit_id": before,
                "current_audit_id": number,
                "scoring_version": versions[protocol],
                "policy": policy,
                "policy_hash": content_hash(policy),
                "verdict": "unchanged",
                "why": "every dimension is inside the margin",
                "made_at": fleet.at(week).isoformat(),
                "gathered_at": fleet.at(week).isoformat(),
                "run_id": f"compared{number}",
            }


def _write_watches(connection: Connection, workspace: Workspace, fleet: Fleet) -> None:
    plans = {name: workspace.protocol(name).plan(size=CALLS * PER_CALL, per_call=PER_CALL) for name in fleet.protocols}
    versions, made = _versions(workspace, fleet), {}
    for number, week, family, version, protocol in fleet.orders():
        if week == 0:
            step = fleet.families * fleet.releases * len(fleet.protocols)
            made[number] = {
                "id": number,
                "family": fleet.family(family),
                "version": version,
                "protocol": protocol,
                "collection_key": plans[protocol].collection_key,
                "scoring_version": versions[protocol],
                "size": CALLS * PER_CALL,
                "episode": 0,
                "baseline": [number + step * week for week in range(BASELINE)],
                "vocabulary": {},
                "made_at": fleet.at(BASELINE).isoformat(),
            }
    connection.execute(tables.watches.insert(), list(made.values()))
    titles = [dimension.title for dimension in workspace.protocol(fleet.protocols[0]).dimensions()]
    shown = {"estimate": 0.05, "variance": 0.0004, "n": 400, "n_clusters": 20, "reason": ""}
    table, step = tables.watch_points, len(made)
    one = [{"watch_id": 1, "audit_id": 1, "dimension": title, **shown} for title in titles]
    connection.execute(table.insert(), one)
    watch = ((tables.audits.c.id - 1) % step + 1).label("watch_id")
    others = sa.select(tables.audits.c.id, watch).where(tables.audits.c.id > 1).subquery()
    columns = ["watch_id", "audit_id", "dimension", "estimate", "variance", "n", "n_clusters", "reason"]
    values = {"watch_id": others.c.watch_id, "audit_id": others.c.id, "estimate": _moved(table.c.estimate, others.c.id)}
    every = sa.select(*[values.get(name, table.c[name]) for name in columns])
    every = every.select_from(table.join(others, sa.true())).where(table.c.audit_id == 1)
    connection.execute(table.insert().from_select(columns, every))


# ---------------------------------------------------------------- the service: duties, their runs, what was published


def _write_service(connection: Connection, workspace: Workspace, fleet: Fleet) -> None:
    duties = duties_of(workspace.home.service)
    since = fleet.at(0) - dt.timedelta(days=1)
    declared = [
        {"name": duty.name, "family": duty.family, "protocol": duty.protocol, "definition": duty.as_json()}
        for duty in duties
    ]
    connection.execute(service_tables.duties.insert().values(since=moment_text(since)), declared)
    runs = []
    for duty in duties:
        for slot in slots(duty, since, fleet.until):
            at = moment_text(slot.at)
            runs.append(
                {"duty": duty.name, "slot": slot.name, "due_at": at, "kind": "scheduled", "state": "done",
                 "release": f"models:/{duty.family}/{duty.release}", "verdict": "unchanged", "attempts": 1, "made_at": at,
                 "began_at": at, "ended_at": at, "late_s": 2.0, "why": ""}
            )  # fmt: skip
    connection.execute(service_tables.duty_runs.insert(), runs)
    done = {"state": "done", "attempts": 0, "next_at": moment_text(since), "detail": "", "made_at": moment_text(since)}
    columns = ["kind", "family", "protocol", "subject", "content", *done]
    for kind, table in (("audit", tables.audits), ("comparison", tables.comparisons)):
        content = table.c.scoring_version
        plain = [
            sa.literal(kind),
            table.c.family,
            table.c.protocol,
            table.c.id,
            content,
            *map(sa.literal, done.values()),
        ]
        every = sa.select(*plain).where(content.is_not(None))
        connection.execute(service_tables.publications.insert().from_select(columns, every))


def _set_sequences(connection: Connection) -> None:
    """Let PostgreSQL number what comes next after what was written with its number."""
    if connection.dialect.name == "postgresql":
        for name in ("audits", "comparisons", "watches"):
            query = f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), (SELECT max(id) FROM {name}))"
            connection.execute(sa.text(query))
