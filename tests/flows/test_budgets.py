"""Budgets of an audit, a family and a month: kept from the ledger, by all workers together, and said when reached."""

import dataclasses
import datetime as dt
import json
from contextlib import closing

import pytest

from flows.budget import Budget, Spending
from flows.budgets import Month, budgets_of
from flows.collecting import Limits
from flows.settings import Home
from flows.workspace import opened
from registry.audits.plan import Response
from registry.ledger.store import Ledger
from registry.releases import ModelRelease
from tests.faults.conftest import Spawn, spawn  # noqa: F401  (a fixture)
from tests.flows.audited import audit_of, release_of
from tests.flows.purse import Purse
from tests.stub_server import StubServer

ORDER = ["--protocol", "persona-brainstorm", "--per-call", 1, "--concurrency", 4]


@pytest.fixture
def spiritlevel(spiritlevel):
    """The command line; what it spends does not hang on MLflow."""
    return spiritlevel


def registered(spiritlevel, base_url, family="nova", **prices):
    options = [text for name, value in prices.items() for text in (f"--price-{name}", value)]
    command = ("release", "add", family, "--model", "stub-1", "--base-url", base_url, *options)
    return spiritlevel.json(*command)["release"]


def configured(spiritlevel, text):
    (spiritlevel.home / "spiritlevel.yaml").write_text(text)


def spent(spiritlevel):
    with closing(Ledger(f"sqlite:///{spiritlevel.home / 'ledger.db'}")) as ledger:
        return ledger.spent()


@pytest.mark.parametrize(
    ("moment", "name", "ends"),
    [
        ("2026-11-30T23:59:59.999Z", "2026-11", "2026-12-01"),
        ("2026-12-31T23:59:59.999+00:00", "2026-12", "2027-01-01"),
        ("2027-01-01T00:30:00+01:00", "2026-12", "2027-01-01"),
        ("2028-02-29T12:00:00Z", "2028-02", "2028-03-01"),
    ],
)
def test_a_month_is_one_of_utc(moment, name, ends):
    month = Month.of(moment)
    assert (month.name, month.begins, month.ends) == (name, f"{name}-01", ends)


def test_an_allowance_admits_no_call_that_it_might_not_hold_and_is_asked_rarely():
    purse = Purse(1000)
    spending, made = Spending(Budget(first_call_tokens=100), purse), 0
    while spending.admit():
        purse.left -= 60  # as the ledger counts it when the answer is stored
        spending.settle(Response(index=0, text="x", prompt_tokens=10, completion_tokens=50))
        made += 1
    assert made == 16, "the last leaves less than a large call may take"
    assert purse.renewals <= made
    assert spending.why_stopped == "the purse is empty"


def test_a_month_that_is_spent_leaves_the_audit_open_and_says_which_budget_how_much_and_until_when(spiritlevel):
    configured(
        spiritlevel, "families: {nova: {budget: {tokens_per_month: 5000}}}\nbudget: {tokens_per_month: 900000}\n"
    )
    with StubServer() as server:
        release = registered(spiritlevel, server.base_url)
        stopped = spiritlevel.json("audit", release, *ORDER, "--personas", 100, code=3)
        made = server.calls
        assert (stopped["state"], stopped["stopped_by"]) == ("open", "budget")
        month = Month.of(dt.datetime.now(dt.UTC).isoformat())
        assert f"the budget of family nova for {month.name} is reached: " in spiritlevel.stderr
        assert " of 5,000 tokens spent" in spiritlevel.stderr
        assert f"it begins anew on {month.ends} at 00:00 UTC" in spiritlevel.stderr
        assert 10 < made < 100
        assert 4000 < spent(spiritlevel).charged_tokens <= 5000
        spiritlevel("audit", release, *ORDER, "--personas", 100, code=3)
        assert server.calls == made, "nothing is asked while the month is spent"
        other = registered(spiritlevel, server.base_url, "other")
        spiritlevel("audit", other, *ORDER, "--personas", 20, code=None)
        configured(spiritlevel, "budget: {tokens_per_month: 900000}\n")
        spiritlevel("audit", release, *ORDER, "--personas", 100, code=None)
        assert server.calls == 100 + 20


def test_a_budget_in_money_without_a_price_is_refused_before_any_call(spiritlevel):
    configured(spiritlevel, "budget: {usd_per_month: 5}\n")
    with StubServer() as server:
        release = registered(spiritlevel, server.base_url)
        spiritlevel("audit", release, *ORDER, "--personas", 20, code=2)
        assert "the price of models:/nova/1 is not known" in spiritlevel.stderr
        assert server.calls == 0
        configured(spiritlevel, "{}\n")
        spiritlevel("audit", release, *ORDER, "--personas", 20, code=None)
        made = server.calls
        configured(spiritlevel, "budget: {usd_per_month: 5}\n")
        priced = registered(spiritlevel, server.base_url, "priced", input=1, output=2)
        spiritlevel("audit", priced, *ORDER, "--personas", 20, code=2)
        assert "the price of models:/nova/1 is not known" in spiritlevel.stderr, "what it took this month is unknown"
        assert server.calls == made


def test_a_budget_in_money_is_kept(spiritlevel):
    configured(spiritlevel, "budget: {usd_per_month: 0.01}\n")
    with StubServer() as server:
        release = registered(spiritlevel, server.base_url, input=1, output=2)
        spiritlevel("audit", release, *ORDER, "--personas", 100, code=3)
        assert 10 < server.calls < 100
    assert "of 0.0100 US dollars spent" in spiritlevel.stderr
    assert 0.008 < spent(spiritlevel).usd <= 0.01


@pytest.mark.slow
def test_two_workers_of_different_audits_never_pass_a_months_budget_together(spiritlevel, spawn):  # noqa: F811
    configured(spiritlevel, "budget: {tokens_per_month: 12000}\n")
    with StubServer(latency_s=0.05) as server:
        releases = [registered(spiritlevel, server.base_url, family) for family in ("nova", "vega")]
        started = [
            spawn("audit", release, *ORDER, "--personas", 200, "--json", home=spiritlevel.home) for release in releases
        ]
        results = [json.loads(spawn.ended(process, 3)) for process in started]
    assert {result["stopped_by"] for result in results} == {"budget"}
    assert 9000 < spent(spiritlevel).charged_tokens <= 12000
    with (
        closing(Ledger(f"sqlite:///{spiritlevel.home / 'ledger.db'}")) as ledger,
        ledger.engine.connect() as connection,
    ):
        assert connection.exec_driver_sql("SELECT count(*) FROM allowances").scalar_one() == 0, "all is given back"


def test_an_endpoint_that_counts_nothing_for_its_text_is_not_free(spiritlevel):
    with StubServer(default={"kind": "ok", "usage": {"prompt_tokens": 0, "completion_tokens": 0}}) as server:
        release = registered(spiritlevel, server.base_url)
        options = ("--personas", 100, "--budget-tokens", 5000)
        stopped = spiritlevel.json("audit", release, *ORDER, *options, code=3)
        assert stopped["stopped_by"] == "budget"
        assert 0 < server.calls < 40


class Registry:
    """Knows a price of every release, and writes into the ledger when it is asked: it must be asked outside of transactions."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.asked = ledger, []

    def find(self, uri: str) -> ModelRelease:
        self.ledger.set_fact("asked", uri)
        self.asked.append(uri)
        return dataclasses.replace(release_of(1), price_input=1.0, price_output=2.0)


def test_the_registry_is_asked_for_prices_only_by_a_budget_in_money_once_and_outside_of_transactions(spiritlevel):
    configured(spiritlevel, "budget: {usd_per_month: 5}\nfamilies: {vega: {budget: {tokens_per_month: 100}}}\n")
    with opened(Home(spiritlevel.home)) as workspace:
        workspace.releases = Registry(workspace.ledger)
        audit, other = (audit_of(workspace, 1, ["[]"], family=family) for family in ("nova", "vega"))
        answer = {"prompt_tokens": 1000, "completion_tokens": 500, "received_at": workspace.ledger.moment()}
        workspace.ledger.record(audit.id, Response(index=0, attempt=2, **answer))
        budget, allowance = budgets_of(workspace, audit, Limits())
        assert (budget.price_input, budget.price_output) == (1.0, 2.0)
        assert workspace.releases.asked == ["models:/nova/1"]
        workspace.ledger.record(other.id, Response(index=0, attempt=2, **answer))
        granted = allowance.renew(10, 0.25, 10)
        assert (granted.tokens, granted.usd) == (10, 0.25)
        assert workspace.releases.asked == ["models:/nova/1", "models:/vega/1"]
    configured(spiritlevel, "{}\n")
    with opened(Home(spiritlevel.home)) as workspace:
        _, allowance = budgets_of(workspace, workspace.ledger.audit(audit.id), Limits(budget_tokens=4000))
        assert allowance.renew(10, 0.25, 10).tokens == 10
        assert "releases" not in vars(workspace)
