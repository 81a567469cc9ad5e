"""What is kept of read answers: the same as reading them again, and never older than they are."""

from __future__ import annotations

import dataclasses
import socket
import subprocess
import sys

import pytest

from flows.carding import card_of
from flows.judging import compare_releases, verdicts_with_previous
from flows.scoring import current_scores, read_answers, scores_of
from flows.settings import Home
from flows.summaries import Summary, summarized, summary_of
from flows.workspace import opened
from registry.audits.plan import Response
from tests.flows.recording import recorded
from tests.stub_personas import answer_text

PROTOCOL = "persona-brainstorm"


def texts(seed, calls=30):
    return [answer_text({}, seed=f"{seed} {number}", bias=0.2, per_call=20) for number in range(calls)]


@pytest.fixture
def compared(home):
    """Two releases that were compared, which freezes the family's names; everything is in the ledger only."""
    for version in (1, 2):
        recorded(home, "nova", texts(version), version=version, model=f"nova-{version}")
    with opened(Home(home)) as workspace:
        one, other = (audit.release for audit in workspace.ledger.audits())
        compare_releases(workspace, one, other, PROTOCOL, workspace.home.policy())
    with opened(Home(home)) as workspace:
        yield workspace


def test_a_kept_summary_is_what_reading_the_answers_again_gives(compared):
    audit = compared.ledger.audits()[1]
    kept = summary_of(compared, audit)
    assert compared.readings == {}  # no answer was read
    names = compared.ledger.name_list("nova", PROTOCOL).names
    again = summarized(compared.protocol(PROTOCOL), read_answers(compared, audit), names)
    assert kept == again
    assert Summary.from_json(kept.as_json()) == kept


def test_an_answer_that_comes_later_makes_another_summary(compared):
    audit = compared.ledger.audits()[1]
    before = summary_of(compared, audit)
    compared.ledger.record(
        audit.id, Response(index=3, attempt=2, text="I can't help with that.", served_model="nova-1")
    )
    after = summary_of(compared, audit)
    assert after.channels.usable == before.channels.usable - 20
    assert Summary.from_json(compared.ledger.summary(audit.id, audit.scoring_version)) == after


def test_a_card_of_judged_audits_reads_no_answer_and_asks_no_registry(compared):
    card = card_of(compared, "nova", PROTOCOL)
    assert compared.readings == {}
    assert "releases" not in vars(compared)
    assert (card.release.version, card.previous.version) == (2, 1)
    assert [point.verdict for point in card.history] == [None, card.verdict]
    assert card.channels == read_answers(compared, card.audit).channels


@pytest.mark.usefixtures("publishing")
def test_compare_says_its_verdict_before_it_waits_for_mlflow(compared, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
        monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", f"http://127.0.0.1:{silent.getsockname()[1]}")
        command = [sys.executable, "-m", "flows.cli", "compare", "nova/1", "nova/2", "--home", str(compared.home.path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            verdict = next(line for line in process.stdout if line.startswith("verdict: "))
            asked, _ = silent.accept()
            assert process.poll() is None, f"it waits for MLflow: {verdict}"
            asked.close()
            process.communicate(timeout=120)
    assert process.returncode in (0, 1, 3)


def test_many_audits_are_read_at_once_as_they_are_one_by_one(compared):
    audits = compared.ledger.audits()
    ids = [audit.id for audit in audits]
    assert compared.ledger.audits_of(ids) == {audit.id: audit for audit in audits}
    assert current_scores(compared, "nova", PROTOCOL, ids) == {a.id: scores_of(compared, a) for a in audits}
    for audit, seen in zip(audits, compared.ledger.occasions(), strict=True):
        names = [field.name for field in dataclasses.fields(seen) if hasattr(audit, field.name)]
        assert {name: getattr(seen, name) for name in names} == {name: getattr(audit, name) for name in names}
        assert (seen.family, seen.version, seen.release) == (*_place(audit), audit.release.uri)
        assert compared.ledger.progress_of_all()[audit.id] == compared.ledger.progress(audit.id)
    (comparison,) = compared.ledger.comparisons()
    assert compared.ledger.comparison(comparison.id) == comparison
    assert verdicts_with_previous(compared, compared.ledger.occasions()) == {ids[1]: comparison.verdict}
    assert compared.ledger.audited_releases() == [audit.release for audit in audits]


def _place(audit):
    return audit.release.family, audit.release.version


def test_a_release_whose_next_lower_version_was_not_audited_is_looked_up_in_the_registry(spiritlevel):
    from flows.reference import previous_release, release_of

    for version in (1, 2, 3):
        spiritlevel("release", "add", "nova", "--model", f"nova-{version}")
    recorded(spiritlevel.home, "nova", texts("a", calls=2), version=1, model="nova-1")
    recorded(spiritlevel.home, "nova", texts("b", calls=2), version=3, model="nova-3")
    with opened(Home(spiritlevel.home)) as workspace:
        third = release_of(workspace, "models:/nova/3")
        assert "releases" not in vars(workspace)
        assert previous_release(workspace, third).model == "nova-2"  # registered, and never audited
        assert release_of(workspace, "nova/latest").version == 3
        assert previous_release(workspace, release_of(workspace, "models:/nova/1")) is None
