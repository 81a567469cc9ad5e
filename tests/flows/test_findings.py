"""What a concluded audit is found to say, and what it is not."""

from __future__ import annotations

import dataclasses

import pytest

from flows.alerts import alerted
from flows.finding_kinds import KINDS, Finding, key_of
from flows.findings import findings_of, identity_changes
from flows.settings import Home
from flows.workspace import opened
from metrics.errors import BadInputError
from registry.ledger.checks import InstrumentCheck
from registry.ledger.incidents import CLOSED, OPEN, RECOVERED
from tests.flows.audited import audit_of, concluded_of, release_of, texts_of

REFUSAL = "I'm sorry, but I can't help with that."


@pytest.fixture
def workspace(home):
    with opened(Home(home)) as found:
        for version in (1, 2, 3):
            found.releases.add("nova", f"nova-{version}")
        yield found


def kinds(findings):
    return sorted(finding.kind for finding in findings)


def fair(seed, calls=100):
    return texts_of(bias=0.0, seed=seed, calls=calls)


def biased(seed, calls=100):
    return texts_of(bias=0.9, seed=seed, calls=calls)


def refusing(seed, of_five):
    """Answers of which so many of five are refusals, all through the audit: else its halves would differ."""
    return [REFUSAL if number % 5 < of_five else text for number, text in enumerate(fair(seed))]


def test_a_finding_of_no_known_kind_is_refused_and_a_long_key_is_cut_to_one_of_its_own():
    with pytest.raises(BadInputError, match="Known: regression"):
        Finding(key="k", kind="regresion", family="nova", title="t", why="w")
    keys = {key_of("overdue", "x" * 300 + end) for end in "ab"}
    assert len(keys) == 2
    assert {len(key) for key in keys} == {250}


def test_an_improvement_is_told_once_and_needs_nothing(workspace):
    concluded_of(workspace, 1, biased("a"))
    better = concluded_of(workspace, 2, fair("b"))
    found = dataclasses.replace(better, comparison=dataclasses.replace(better.comparison, verdict="improved"))
    (finding,) = findings_of(workspace, found)
    assert (finding.kind, finding.severity) == ("improvement", "low")
    assert finding.title == "models:/nova/2 improved against models:/nova/1 (persona-brainstorm)"
    assert "gender x occupation" in finding.evidence["dimensions"]
    first, again = (alerted(workspace, found) for _ in range(2))
    assert [one.state for one in first] == [CLOSED]
    assert [one.id for one in again] == [one.id for one in first]
    assert len(workspace.ledger.notices()) == 1


def test_a_regression_against_a_blessed_baseline_is_a_finding_of_its_own(workspace):
    concluded_of(workspace, 1, fair("a"))
    workspace.ledger.bless(release_of(1), who="ada", why="agreed")
    concluded_of(workspace, 2, biased("b"))
    found = findings_of(workspace, concluded_of(workspace, 3, biased("c")))
    (finding,) = [one for one in found if one.kind == "regression"]
    assert finding.title.startswith("models:/nova/3 regressed against the blessed baseline models:/nova/1")
    assert finding.evidence["previous"] == "models:/nova/1"


def test_later_audits_of_one_release_are_the_watchs_alone(workspace):
    concluded_of(workspace, 1, fair("a"))
    assert kinds(findings_of(workspace, concluded_of(workspace, 2, biased("b")))) == ["regression"]
    again = concluded_of(workspace, 2, biased("c"), seed=1)
    assert again.comparison.verdict == "regressed"
    assert findings_of(workspace, again) == []


def test_while_the_instrument_moved_that_is_the_only_finding_and_nothing_recovers(workspace, home):
    (home / "spiritlevel.yaml").write_text("alerts: {replicate: false}\n")
    concluded_of(workspace, 1, fair("1"))
    (incident,) = alerted(workspace, concluded_of(workspace, 2, biased("2")))
    moved = InstrumentCheck(audit=3, kind="split", state="moved", why="its halves differ", made_at="")
    good = concluded_of(workspace, 3, fair("4 0.0 0"))
    held = dataclasses.replace(good, checks=(moved,))
    (found,) = alerted(workspace, held)
    assert (found.kind, found.severity, found.why) == ("instrument-moved", "low", "its halves differ")
    assert workspace.ledger.incident(incident.id).state == OPEN
    # the same audit without the doubt: it recovers, and the instrument's incident ends with the next steady audit
    states = {one.kind: one.state for one in alerted(workspace, good)}
    assert states["regression"] == RECOVERED
    later = concluded_of(workspace, 3, fair("later"), seed=5)
    assert {one.kind: one.state for one in alerted(workspace, later)}["instrument-moved"] == RECOVERED


def test_a_collapse_of_coverage_is_told_with_what_became_of_the_answers_and_ends_with_the_next_good_audit(workspace):
    concluded_of(workspace, 1, fair("a"))
    poor = concluded_of(workspace, 2, refusing("b", 3))
    (incident,) = alerted(workspace, poor)
    assert (incident.kind, incident.severity) == ("coverage-collapse", "medium")
    assert "usable records came for 40 % of those asked for" in incident.why
    assert "refused: 60 % of what was asked for" in incident.evidence["details"]
    less = concluded_of(workspace, 2, refusing("c", 1), seed=1)
    assert [one.state for one in alerted(workspace, less)] == [OPEN]  # 20 points fewer than the previous release
    good = concluded_of(workspace, 2, fair("d"), seed=2)
    assert [one.state for one in alerted(workspace, good)] == [RECOVERED]


def test_another_served_model_is_told_once(workspace):
    concluded_of(workspace, 1, fair("a"), served="nova-1-2026-10", fingerprint="fp1")
    same = concluded_of(workspace, 1, fair("b"), served="nova-1-2026-10", fingerprint="fp1", seed=1)
    assert findings_of(workspace, same) == []
    other = concluded_of(workspace, 1, fair("c"), served="nova-1-2026-11", fingerprint="fp2", seed=2)
    (incident,) = alerted(workspace, other)
    assert (incident.kind, incident.severity, incident.state) == ("identity-changed", "medium", CLOSED)
    assert incident.why == (
        "the served model changed from nova-1-2026-10 to nova-1-2026-11; the system fingerprint changed from fp1 to fp2"
    )
    alerted(workspace, other)
    assert len(workspace.ledger.notices()) == 1


def test_builds_that_a_provider_runs_side_by_side_are_no_change(workspace):
    audits = [audit_of(workspace, 1, fair(str(n), calls=2), fingerprint=f"fp{n}", seed=n) for n in (1, 2)]
    from flows.scoring import read_answers

    one, other = (read_answers(workspace, audit).channels for audit in audits)
    assert identity_changes(one, other) == ["the system fingerprint changed from fp1 to fp2"]
    both = dataclasses.replace(other, fingerprints={"fp1": 1, "fp2": 1})
    assert identity_changes(one, both) == []
    silent = dataclasses.replace(other, fingerprints={}, served_models={})
    assert identity_changes(one, silent) == []


def test_a_gate_is_judged_when_one_is_configured(workspace, home):
    concluded_of(workspace, 1, fair("a"))
    bad = concluded_of(workspace, 2, biased("b"))
    assert kinds(findings_of(workspace, bad)) == ["regression"]
    (home / "spiritlevel.toml").write_text("[gate]\nthreshold = 0.6\n")
    with opened(Home(home)) as gated:
        found = {one.kind: one for one in findings_of(gated, bad)}
        assert set(found) == {"regression", "gate-failure"}
        assert any("gender x occupation" in line for line in found["gate-failure"].evidence["details"])
    told = []
    (home / "spiritlevel.toml").write_text('[gate.dimensions]\n"gendre x occupation" = 0.6\n')
    with opened(Home(home), told.append) as mistyped:  # its settings are wrong: the audit's other findings stay
        assert kinds(findings_of(mistyped, bad)) == ["regression"]
    assert "did you mean 'gender x occupation'" in told[0]


def test_every_kind_has_a_severity_that_settings_may_name():
    from typing import get_args

    from flows.service_settings import Severity

    assert set(KINDS.values()) <= set(get_args(Severity))
