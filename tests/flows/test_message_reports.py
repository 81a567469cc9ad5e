"""Cards, gates, rankings and texts of an audit of messages: told in its own words, from a real ledger."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil

import pytest

from dashboards.instruments import PERSONA_BRAINSTORM, TARGETED_MESSAGES
from flows.carding import card_of, rendered
from flows.commands.conclusions import result_as_json, result_text
from flows.commands.decisions import gate_text, rank_text
from flows.commands.results import comparison_table, noise_floors, score_table
from flows.concluding import Conclusion, closed
from flows.drifting import drift_files
from flows.findings import moved_dimension
from flows.gating import gated
from flows.judging import compare_releases
from flows.ranking import mean_at_most, ranking
from flows.scoring import scored
from flows.settings import Home
from flows.summaries import summary_of
from flows.workspace import opened
from metrics.errors import BadInputError
from metrics.results import Comparison, Score
from registry.audits.plan import Response
from registry.audits.protocols.targeted_messages import TargetedMessages
from tests.conftest import UNPUBLISHED

TOLD = TARGETED_MESSAGES
PROTOCOL = TOLD.name
DIMENSION = "gender x agency framing, context-rich"
PLAIN = ("We will protect our towns.", "You may hope for change.", "Care for the land.", "Perhaps you could wait.")
BOLD = ("Lead the change!", "Strong teams build and win.", "We must act and decide now.")


def messages_of(workspace, family, version, *, gap, seed):
    """A finished audit of 100 messages; with a gap of 1 men are written to in other words."""
    protocol, rng = TargetedMessages(), random.Random(seed)
    release = workspace.releases.find(f"models:/{family}/{version}")
    plan = protocol.plan(cells=50, repeats=2, audiences=["gender"], modes=["context-rich"])
    requests = list(protocol.requests(plan))
    audit = workspace.ledger.order(release, plan, requests)

    def text(request):
        bold = request.cell["gender"] == "male" and rng.random() < gap
        return " ".join(rng.choices(BOLD if bold else PLAIN + BOLD[:1], k=4))

    answers = [Response(index=r.index, repeat=r.repeat, text=text(r), served_model=release.model) for r in requests]
    workspace.ledger.record_all(audit.id, answers)
    return closed(workspace, audit)


@pytest.fixture(scope="module")
def made(migrated_home, tmp_path_factory):
    """A home with two releases of one family and one of another, all scored."""
    home = tmp_path_factory.mktemp("messages") / "home"
    shutil.copytree(migrated_home, home)
    with opened(Home(home)) as workspace:
        for family, gaps in {"nova": (0.0, 1.0), "comet": (0.3,)}.items():
            for number, gap in enumerate(gaps, 1):
                workspace.releases.add(family, f"{family}-{number}")
                scored(workspace, messages_of(workspace, family, number, gap=gap, seed=f"{family}{number}"))
        releases = [workspace.releases.find(name) for name in ("nova/1", "nova/2")]
        compare_releases(workspace, *releases, PROTOCOL, workspace.home.policy("nova"))
    return home


@pytest.fixture
def workspace(home, made):
    """A workspace on a copy of that home."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(made, home)
    with opened(Home(home)) as found:
        yield found


def test_a_card_of_messages_is_collected_with_its_own_words_and_no_names(workspace):
    card = card_of(workspace, "nova", PROTOCOL)
    assert card.instrument == TOLD
    assert card.names is None
    assert len(card.dimensions) == 6
    assert [point.score(DIMENSION) is not None for point in card.history] == [True, True]
    assert card.groups == {"gender": ("female", "male")}
    assert workspace.readings == {}  # rendered from what is stored: no message was read or tagged again
    text = rendered(card, "md")
    assert "messages asked for" in text
    assert "Groups and differences" in text
    assert "Weights" not in text
    for form in ("html", "json"):
        assert DIMENSION in rendered(card, form)


def test_the_card_has_the_index_under_other_weights_from_what_is_stored(workspace):
    found = card_of(workspace, "nova", PROTOCOL).details
    (gap,) = found.gaps
    audit = workspace.ledger.audits(family="nova", version=2)[-1]
    scores = {(row.metric, row.group): row for row in workspace.ledger.scores(audit.id)}
    index = scores["persuasion-bias-index", "male - female"]
    assert (gap.equal.gap, gap.equal.low, gap.equal.high) == pytest.approx((index.value, index.low, index.high))
    assert (gap.n, gap.clusters) == (index.n, index.n_clusters)
    assert workspace.readings == {}


def test_a_summary_that_was_kept_before_cards_had_details_is_made_again(workspace):
    audit = workspace.ledger.audits(family="nova", version=2)[-1]
    kept = workspace.ledger.summary(audit.id, audit.scoring_version)
    attempts = workspace.ledger.attempts(audit.id)
    older = {name: value for name, value in kept.items() if name != "details"}
    workspace.ledger.store_summary(audit.id, audit.scoring_version, attempts, older)
    assert summary_of(workspace, audit).details == kept["details"]
    assert workspace.ledger.summary(audit.id, audit.scoring_version) == kept


def test_a_comparison_of_messages_has_a_drift_report_of_its_measures_and_tags_nothing(workspace):
    releases = [workspace.releases.find(name) for name in ("nova/1", "nova/2")]
    comparison = compare_releases(workspace, *releases, PROTOCOL, workspace.home.policy("nova"))
    audits = [workspace.ledger.audit(one) for one in (comparison.previous_audit, comparison.current_audit)]
    (workspace.home.path / "spiritlevel.toml").write_text("[publish]\nevidently = true\n")
    with opened(Home(workspace.home.path)) as other:
        files = drift_files(other, comparison, *audits)
        assert all("_tagged" not in reading.__dict__ for reading in other.readings.values())
    assert set(files) == {"evidently/report.html", "evidently/drift.json"}
    told = json.loads(files["evidently/drift.json"])
    assert (told["verdict"], told["method"]) == (comparison.verdict, "wasserstein")
    row = told["measures"]["modal certainty, context-rich"]
    assert row["n_previous"] + row["without_previous"] == 100
    assert row["above_threshold"]


def test_a_gate_counts_messages_and_judges_gaps_against_thresholds(workspace):
    release = workspace.releases.find("nova/2")
    result = gated(workspace, release, PROTOCOL, threshold=0.2)
    checks = {check.name: check for check in result.checks if check.kind == "threshold"}
    assert len(checks) == 6
    assert (checks[DIMENSION].outcome, result.records) == ("failed", 100)
    assert checks[DIMENSION].n_clusters == 25
    text = gate_text(result)
    assert "100 messages in 100 answers" in text
    assert "personas" not in text


def configured(workspace, title):
    (workspace.home.path / "spiritlevel.toml").write_text(f'[gate.dimensions]\n"{title}" = 0.5\n{UNPUBLISHED}')
    return opened(Home(workspace.home.path))


def test_a_gate_that_names_a_dimension_of_another_design_says_so_and_one_of_no_design_is_refused(workspace):
    with configured(workspace, "income x formality, standalone") as other:
        result = gated(other, other.releases.find("nova/2"), PROTOCOL)
        assert any("did not ask about: income x formality, standalone" in note for note in result.notes)
    with (
        configured(workspace, "gender x formalty, context-rich") as other,
        pytest.raises(BadInputError, match="no dimension of an audit"),
    ):
        gated(other, other.releases.find("nova/2"), PROTOCOL)


def test_releases_of_two_families_are_ranked_by_their_mean_gap(workspace):
    releases = [workspace.releases.find(name) for name in ("nova/1", "nova/2", "comet/1")]
    found = ranking(workspace, releases, PROTOCOL)
    assert [row.release.uri for row in found.ranked][-1] == "models:/nova/2"
    assert len(found.dimensions) == 6
    row = found.ranked[-1]
    stored = scored(workspace, workspace.ledger.audit(row.audit)).scores
    mean = next(score for score in stored if score.metric == TOLD.mean and score.dimension == "overall")
    assert (row.mean, row.low, row.high, row.n_clusters) == (mean.value, mean.low, mean.high, mean.n_clusters)
    text = rank_text(found)
    assert "messages" in text
    assert "mean normalized gap over 6 dimensions" in text
    assert "less of these differences was found" in text
    assert ranking(workspace, releases, PROTOCOL, "gender").dimensions == found.dimensions
    with pytest.raises(BadInputError, match="did you mean 'gender'"):
        ranking(workspace, releases, PROTOCOL, "gendr")


def test_the_error_of_a_mean_of_some_dimensions_is_never_made_too_small():
    def row(low, high):
        return Score(metric="m", dimension=str(high), value=0.4, low=low, high=high, n=90, n_clusters=9)

    mean = mean_at_most([row(0.3, 0.5), row(0.0, 0.6)], "mean-m", "overall")
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.4, 0.15, 0.65))
    # Wholly dependent errors are the worst case, so one dimension twice has its own interval.
    assert mean_at_most([row(0.3, 0.5)] * 2, "mean-m", "overall").high == pytest.approx(0.5)


def test_a_finished_audit_of_messages_is_told_in_messages_and_prompt_cells(workspace):
    audit = workspace.ledger.audits(family="nova", version=2)[-1]
    conclusion = Conclusion(scored(workspace, audit), None, None, "no previous release")
    text = result_text(conclusion)
    assert "100 messages asked for" in text
    assert "from 100 messages in 25 prompt cells" in text
    assert "floor: what the plain score would be at this size without any difference" in text
    assert DIMENSION in text
    assert result_as_json(conclusion)["unit"] == "messages"
    rows = result_as_json(conclusion)["scores"]
    tested = next(row for row in rows if row["metric"] == "agency-framing" and row["group"] == "male - female")
    assert tested["pvalue"] < 0.05
    assert conclusion.exit_code == 0


def test_an_audit_in_which_nothing_was_measured_leaves_with_code_3(workspace):
    audit = workspace.ledger.audits(family="nova", version=2)[-1]
    made = scored(workspace, audit)
    nothing = [dataclasses.replace(s, value=None, severity=None, reason="no text") for s in made.scores]
    assert Conclusion(dataclasses.replace(made, scores=nothing), None, None, "").exit_code == 3


def test_a_comparison_of_messages_keeps_its_columns_and_its_words(workspace):
    releases = [workspace.releases.find(name) for name in ("nova/1", "nova/2")]
    comparison = compare_releases(workspace, *releases, PROTOCOL, workspace.home.policy("nova"))
    floors = noise_floors(scored(workspace, workspace.ledger.audit(comparison.current_audit)).scores)
    lines = comparison_table(comparison, floors).splitlines()
    assert lines[-1].startswith("floor: what the plain score would be")
    places = {line.index("0.") for line in lines[2:-1] if " 0." in line}
    assert len({line[: min(places)].rstrip() for line in lines[2:-1]}) == 6
    assert set(floors) == {row.dimension for row in comparison.rows}
    assert lines[0].startswith("dimension ")


def test_the_columns_of_a_gate_are_as_wide_as_its_longest_check(workspace):
    result = gated(workspace, workspace.releases.find("nova/2"), PROTOCOL)
    first, *others = result.checks
    longest = dataclasses.replace(first, name="a reference of a long name, " * 3, outcome="failed")
    head, _, row, *_ = gate_text(dataclasses.replace(result, checks=(longest, *others))).splitlines()[2:]
    assert head.index(" why") == row.index(f" {longest.why}")


def test_a_moved_dimension_is_counted_in_its_own_unit():
    row = Comparison(metric=TOLD.headline, dimension=DIMENSION, verdict="regressed", why="w", previous=0.2, current=0.6,
                     delta=0.4, low=0.2, high=0.6, qvalue_up=0.01, n_previous=98, n_current=100, clusters_previous=25,
                     clusters_current=25)  # fmt: skip
    told = moved_dimension(dataclasses.asdict(row))["text"]
    assert told.endswith("from 98 and 100 messages in 25 and 25 prompt cells")
    persona = dataclasses.replace(row, metric=PERSONA_BRAINSTORM.headline)
    assert moved_dimension(dataclasses.asdict(persona))["text"].endswith("98 and 100 personas in 25 and 25 calls")


def test_a_table_of_scores_is_as_wide_as_its_longest_dimension():
    title = "a very long name of an audience attribute x persuasion bias index, context-rich"
    row = Score(
        metric=TOLD.headline, dimension=title, value=0.2, low=0.1, high=0.3, severity="low", n=1500, n_clusters=25
    )
    head, rule, line, _ = score_table([row], TOLD).splitlines()
    assert len(head) == len(rule) == len(line)
    assert head.endswith("messages prompt cells")
    assert line.split()[-2:] == ["1,500", "25"]
