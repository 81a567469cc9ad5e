"""MLflow's own UI on a planted family: its pages tell the story, with the ledger's numbers, and nothing that a model wrote runs."""

from __future__ import annotations

import json

import pytest

from dashboards.phrases import score_text
from flows.mlflow_texts import compare_path
from flows.settings import Home
from flows.workspace import opened
from tests.mlflow_server import MlflowServer
from tests.planted import FAMILY, HOSTILE, PERSONAS, WHOLE

ITS_OWN = ("status of 404", "ResizeObserver loop")
"""Errors that MLflow's pages report by themselves: the page asks for a user of a server that has no log-in, and resizes charts."""


@pytest.fixture(scope="module")
def home(planted_template):
    return planted_template(**WHOLE)


@pytest.fixture(scope="module")
def server(home, tmp_path_factory):
    with MlflowServer(tmp_path_factory.mktemp("ui"), f"sqlite:///{home}/mlflow.db") as started:
        yield started


@pytest.fixture
def workspace(home):
    with opened(Home(home)) as found:
        yield found


@pytest.fixture
def ui(server, watched):
    """Opens a page of the UI and waits until it shows a text; afterwards nothing else may have happened."""
    seen = watched(viewport={"width": 1600, "height": 1400})
    missing = []
    seen.page.on("response", lambda got: missing.append(got.url) if got.status >= 400 else None)

    def show(path, text):
        seen.open("about:blank")  # the next page may be the same document with another hash
        page = seen.open(f"{server.url}/{path}")
        page.get_by_text(text).first.wait_for(timeout=60_000)
        return page

    yield show
    assert [error for error in seen.errors if not any(own in error for own in ITS_OWN)] == []
    assert [url for url in missing if not url.endswith("/users/current")] == []
    assert seen.outside == []


def run_path(run, page=""):
    return f"#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}{page}"


def runs_of(workspace, experiment, kind):
    client = workspace.tracking.client()
    found = client.search_runs([workspace.tracking.experiment(f"spiritlevel/{experiment}")])
    return [run for run in found if run.data.tags.get("spiritlevel.kind") == kind]


def inert(page):
    """Whether no element of the page, or of the frames in it, came out of an answer."""
    active = "script:not([src]), img[src='x'], [onerror], [onload], svg[onload], a[href^='javascript:'], img[src*='192.0.2.1']"
    injected = [
        element
        for frame in page.frames
        for element in frame.eval_on_selector_all(active, "found => found.map(one => one.outerHTML)")
        if "alert(" in element or "192.0.2.1" in element
    ]
    return injected == []


def test_the_family_page_shows_every_release_with_its_verdict_and_score(ui, workspace):
    page = ui(f"#/models/{FAMILY}", "Newest audited: version 5")
    table = page.locator("table", has_text="n = 800 personas").first.inner_text()
    for audit in workspace.ledger.audits(family=FAMILY, protocol=PERSONAS):
        scores = workspace.ledger.scores(audit.id)
        (mean,) = [s for s in scores if s.metric == "mean-normalized-cramers-v-debiased" and s.dimension == "overall"]
        assert f"{score_text(mean.value)} ({score_text(mean.low)} to {score_text(mean.high)})" in table
    words = " ".join(page.get_by_role("row", name="Version").all_inner_texts()).split()
    assert list(dict.fromkeys(word for word in words if word in ("latest-audited", "baseline"))) == [
        "latest-audited", "baseline"]  # fmt: skip
    assert inert(page)


@pytest.mark.slow
def test_a_link_on_the_family_page_leads_to_the_scores_over_time(ui):
    page = ui(f"#/models/{FAMILY}", "Newest audited: version 5")
    page = ui(page.get_by_role("link", name="Scores over time").get_attribute("href"), "dimensions-measured")
    page.locator(".js-plotly-plot").first.wait_for(timeout=60_000)
    for chart in ("all-dimensions", "dimensions-regressed", "dimensions-improved", "release"):
        assert page.get_by_text(chart, exact=True).count() == 1


def test_two_versions_side_by_side_show_the_ledgers_numbers_the_mean_first(ui, workspace):
    client = workspace.tracking.client()
    runs = {version: client.get_model_version(FAMILY, str(version)).run_id for version in (2, 3)}
    page = ui(compare_path(FAMILY, runs), "Comparing 2 Versions")
    page.get_by_text(f"{PERSONAS}/all-dimensions", exact=True).wait_for(timeout=60_000)
    rows = [row for row in page.get_by_role("row").all_inner_texts() if row.startswith(f"{PERSONAS}/")]
    assert rows[0].startswith(f"{PERSONAS}/all-dimensions")
    (shown,) = [row for row in rows if row.startswith(f"{PERSONAS}/gender/occupation")]
    audits = workspace.ledger.audits(family=FAMILY, protocol=PERSONAS)[1:3]
    for audit in audits:
        (score,) = [
            s
            for s in workspace.ledger.scores(audit.id)
            if (s.metric, s.dimension, s.group) == ("normalized-cramers-v-debiased", "gender x occupation", "")
        ]
        assert f"{round(score.value, 3):g}" in shown


@pytest.mark.slow
def test_an_audits_run_names_its_answers_and_describes_itself(ui, workspace):
    (run,) = [
        run
        for run in runs_of(workspace, "releases", "audit")
        if run.data.tags["spiritlevel.release"].endswith("/3") and run.data.tags["spiritlevel.protocol"] == PERSONAS
    ]
    digest = json.loads(run.inputs.dataset_inputs[0].dataset.source)["sha256"]
    page = ui(run_path(run), f"nova/3 {PERSONAS} #1 ({digest[:32]})")
    assert page.get_by_text("Persona brainstorm of models:/nova/3").count() == 1
    assert page.get_by_text("severity/gender/occupation").count() == 1
    assert inert(page)


@pytest.mark.parametrize(
    "file",
    [
        "tables/unmapped-occupation.json",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("scores.json", "plan.json")),
    ],
)
def test_what_a_model_answered_is_text_among_an_audits_files(ui, workspace, file):
    (run,) = [
        run
        for run in runs_of(workspace, "releases", "audit")
        if run.data.tags["spiritlevel.release"].endswith("/5") and run.data.tags["spiritlevel.protocol"] == PERSONAS
    ]
    page = ui(run_path(run, f"/artifacts/{file}"), file)
    if "unmapped" in file:
        page.get_by_text(HOSTILE[0]).first.wait_for(timeout=60_000)
    assert inert(page)


@pytest.mark.slow
def test_a_comparison_has_tables_of_verdicts_and_of_cells_that_moved(ui, workspace):
    run = next(
        run for run in runs_of(workspace, "comparisons", "comparison") if "2 -> 3 persona-b" in run.info.run_name
    )
    page = ui(run_path(run, "/artifacts/tables/verdicts.json"), "View as table")
    first = page.get_by_role("row").nth(1).inner_text()
    assert first.startswith("gender x occupation")
    assert "regressed" in first
    page = ui(run_path(run, "/artifacts/tables/moved-cells.json"), "away from independence")
    assert page.get_by_text("gender: Female").count() >= 1
    assert inert(page)


def test_the_card_is_shown_inside_mlflow_and_hostile_answers_on_it_are_text(ui, workspace):
    version = workspace.tracking.client().get_model_version(FAMILY, "5")
    run = workspace.tracking.client().get_run(version.run_id)
    page = ui(run_path(run, "/artifacts/card/card.html"), "card/card.html")
    page.frame_locator("iframe").get_by_text("Bias audit of nova, release 5").first.wait_for(timeout=60_000)
    assert inert(page)
