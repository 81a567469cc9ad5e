"""A fleet that was audited for a year: what is shown of it takes as many queries as of a few weeks, and below a second.

The ledger is that of `benchmarks.fleet_ledger`; the small one is a few weeks of three releases in two families.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from benchmarks.fleet import LIMIT_S, LIMITED, ROOT, commands, whole
from benchmarks.fleet_ledger import Fleet, built, further_protocols, plugin
from flows.cli import exit_code
from flows.settings import Home
from registry.audits.protocols import PROTOCOLS
from registry.ledger.opening import migrate
from tests.conftest import _OWN

WEEKS, MORE_WEEKS = 6, 24
PROTOCOL = ("--protocol", "persona-brainstorm")


def fleet_of(weeks: int) -> Fleet:
    return Fleet(families=2, releases=3, weeks=weeks)


@pytest.fixture(scope="module")
def protocols() -> Iterator[None]:
    """Two further protocols in the catalog, for the tests of this module only."""
    with pytest.MonkeyPatch.context() as patch:
        for name, protocol in further_protocols().items():
            patch.setitem(PROTOCOLS._entries, name, protocol)
        yield


@pytest.fixture(scope="module")
def fleets(tmp_path_factory: pytest.TempPathFactory, protocols: None) -> dict[int, Path]:
    """Two homes: of a few weeks, and of four times as many."""
    folder = tmp_path_factory.mktemp("fleets")
    plugin(folder / "plugin")
    with pytest.MonkeyPatch.context() as patch:
        for name in _OWN:
            patch.delenv(name, raising=False)
        for weeks in (WEEKS, MORE_WEEKS):
            built(Home(folder / str(weeks)), fleet_of(weeks))
    return {weeks: folder / str(weeks) for weeks in (WEEKS, MORE_WEEKS)}


@contextlib.contextmanager
def counted(home: Path) -> Iterator[list[str]]:
    """The SQL statements that are sent meanwhile to the databases of a home; what earlier tests left behind has others."""
    sent: list[str] = []

    def note(connection: sa.Connection, _cursor: object, statement: str, *_: object) -> None:
        if Path(connection.engine.url.database or "").parent == home and statement not in (
            "BEGIN",
            "COMMIT",
            "ROLLBACK",
        ):
            sent.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)


def statements(arguments: list[str], home: Path) -> list[str]:
    with counted(home) as sent:
        assert exit_code([*arguments, "--home", str(home)]) in (0, 1, 3)
    return sent


@pytest.mark.parametrize("name", ["schedule", "card", "compare", "card, html", "watch", "status"])
def test_four_times_as_many_audits_need_no_further_query(fleets, monkeypatch, capsys, name):
    for variable in _OWN:
        monkeypatch.delenv(variable, raising=False)
    for weeks in fleets:  # what is made once and kept is made
        statements(commands(fleet_of(weeks))[name], fleets[weeks])
    few, many = (statements(commands(fleet_of(weeks))[name], fleets[weeks]) for weeks in (WEEKS, MORE_WEEKS))
    assert len(many) == len(few), set(many) ^ set(few)
    assert 0 < len(few) < 60


def test_schedule_card_and_compare_load_neither_mlflow_nor_a_numerical_library(fleets):
    fleet, home = fleet_of(WEEKS), fleets[WEEKS]
    calls = [[*commands(fleet)[name], "--home", str(home)] for name in LIMITED]
    heavy = "mlflow prefect openai evidently pandas scipy numpy statsmodels matplotlib alembic psycopg requests"
    script = (
        f"import sys; from flows.cli import exit_code; codes = [exit_code(each) for each in {calls}];"
        f"print(codes, [name for name in '{heavy}'.split() if name in sys.modules], file=sys.stderr)"
    )
    paths = f"{home.parent / 'plugin'}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "[0, 0, 3] []"


def test_the_same_is_shown_from_postgresql(fleets, monkeypatch, capsys, empty_postgres_url, tmp_path):
    for variable in _OWN:
        monkeypatch.delenv(variable, raising=False)
    fleet = fleet_of(WEEKS)
    engine = sa.create_engine(empty_postgres_url)
    migrate(engine)
    engine.dispose()
    shown: dict[str, dict[str, Any]] = {}
    for place, home in (("sqlite", fleets[WEEKS]), ("postgresql", tmp_path / "home")):
        if place == "postgresql":
            monkeypatch.setenv("SPIRITLEVEL_LEDGER_URL", empty_postgres_url)
            built(Home(home), fleet)
        capsys.readouterr()
        exit_code([*commands(fleet)["card"], "--format", "json", "--home", str(home)])
        shown[place] = json.loads(capsys.readouterr().out)
    for part in ("history", "comparisons", "scores", "channels", "cardinality", "names"):
        assert shown["postgresql"][part] == shown["sqlite"][part], part


def test_a_long_history_is_thinned_and_says_how_many_audits_are_not_shown(fleets, monkeypatch, capsys):
    for variable in _OWN:
        monkeypatch.delenv(variable, raising=False)
    fleet = fleet_of(MORE_WEEKS)
    exit_code(["card", fleet.read, *PROTOCOL, "--format", "json", "--home", str(fleets[MORE_WEEKS])])
    card = json.loads(capsys.readouterr().out)
    shown, audits = card["history"], fleet.releases * fleet.weeks
    assert len(shown) + card["history_left_out"] == audits > 60 >= len(shown)
    assert card["history_period"] == "month"
    assert shown[-1]["audit"] == card["audit"]["id"]
    assert {point["release"]["version"] for point in shown} == {1, 2, 3}
    assert all(point["verdict"] for point in shown[1:])
    exit_code(["card", fleet.read, *PROTOCOL, "--home", str(fleets[MORE_WEEKS])])
    assert f"{card['history_left_out']} audits are not on this card" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("protocols")
def test_200_releases_audited_weekly_for_a_year_are_shown_below_a_second(tmp_path, monkeypatch, record_property):
    for variable in _OWN:
        monkeypatch.delenv(variable, raising=False)
    fleet = Fleet()
    assert fleet.families * fleet.releases == 200
    built(Home(tmp_path / "home"), fleet)
    environment = os.environ | {"PYTHONPATH": f"{plugin(tmp_path / 'plugin')}{os.pathsep}{ROOT}"}
    took = {}
    for name in LIMITED:
        # The best of several: whole processes, imports included, beside whatever else the machine does.
        took[name] = min(whole(commands(fleet)[name], tmp_path / "home", environment) for _ in range(6))
        record_property(name, took[name])
    print({name: f"{wall:.2f} s, {cpu:.2f} s of processor time" for name, (wall, cpu) in took.items()})
    assert {name: cpu < LIMIT_S for name, (_, cpu) in took.items()} == dict.fromkeys(LIMITED, True)
