"""``spiritlevel rank --pairs``: every two releases by the paired t test and by the joint test, as text, JSON and a page."""

from __future__ import annotations

import shutil

import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from flows.settings import Home
from flows.workspace import opened
from tests.conftest import CommandLine
from tests.dashboards.pages import page
from tests.flows.audited import audit_of, texts_of

HEADLINE = "normalized-cramers-v-debiased"


@pytest.fixture(scope="module")
def ranked_home(migrated_home, tmp_path_factory):
    """Two releases without an association, and one of another family whose women work in care, and nothing else."""
    home = tmp_path_factory.mktemp("pairs") / "home"
    shutil.copytree(migrated_home, home)
    with opened(Home(home)) as workspace:
        for family, version, bias in (("nova", 1, 0.0), ("nova", 2, 0.0), ("vega", 1, 0.95)):
            workspace.releases.add(family, f"{family}-{version}")
            audit_of(workspace, version, texts_of(bias=bias, seed=f"{family} {version}", calls=60), family=family)
    return home


@pytest.fixture
def command(ranked_home, capsys):
    return CommandLine(ranked_home, capsys)


def test_a_release_that_differs_in_one_dimension_is_found_by_the_joint_test_and_missed_by_the_t_test(command):
    pairs = command.json("rank", "nova", "vega", "--pairs")["pairs"]
    found = {frozenset((row["lower"], row["higher"])): row for row in pairs}
    assert len(found) == 3
    for nova in ("models:/nova/1", "models:/nova/2"):
        row = found[frozenset((nova, "models:/vega/1"))]
        assert row["joint_q"] < 0.01
        assert row["qvalue"] > 0.05
        changed = row["up"] if row["higher"] == "models:/vega/1" else row["down"]
        assert changed == ["gender x occupation"]
    same = found[frozenset(("models:/nova/1", "models:/nova/2"))]
    assert same["joint"] > 0.05
    assert (same["up"], same["down"], same["of"]) == ([], [], 12)


def test_the_t_tests_are_scipys_over_the_dimensions_of_the_ranking(command, ranked_home):
    found = command.json("rank", "nova", "vega", "--pairs")
    with opened(Home(ranked_home)) as workspace:
        values = {
            one.id: {s.dimension: s.value for s in workspace.ledger.scores(one.id) if s.metric == HEADLINE}
            for one in workspace.ledger.audits()
        }
    expected = []
    for row in found["pairs"]:
        one, other = ([values[audit][title] for title in found["dimensions"]] for audit in row["audits"])
        expected.append(stats.ttest_rel(other, one).pvalue)
    assert [row["test"]["pvalue"] for row in found["pairs"]] == pytest.approx(expected)
    assert [row["qvalue"] for row in found["pairs"]] == pytest.approx(multipletests(expected, method="fdr_bh")[1])


def test_the_ranking_is_as_before_and_nothing_is_stored(command, ranked_home):
    plain, pairs = command("rank", "nova", "vega"), command("rank", "nova", "vega", "--pairs")
    assert pairs.startswith(plain)
    assert "lower - higher mean" in pairs
    assert "stored nowhere and alert nobody" in pairs
    with opened(Home(ranked_home)) as workspace:
        assert [one for family in ("nova", "vega") for one in workspace.ledger.comparisons(family=family)] == []


def test_the_page_stands_alone_with_the_figure_and_names_families(command, tmp_path):
    command("rank", "nova", "vega", "--html", tmp_path / "pairs.html")
    document = page((tmp_path / "pairs.html").read_text())
    assert not [e.tag for e in document.all() if e.tag in {"script", "link", "img", "iframe"}]
    drawn = [e.attributes["aria-labelledby"] for e in document.all("svg")]
    assert len(drawn) == 2
    for words in ("Every two releases of nova and vega", "nova 1", "vega 1", "gender x occupation", "Of 3 pairs"):
        assert words in document.text


def test_one_release_has_no_pairs_and_a_page_needs_a_folder(command):
    assert "there are no pairs" in command("rank", "models:/nova/1", "--pairs", code=3)
    command("rank", "nova", "--html", "nowhere/x.html", code=2)
    assert "there is no folder nowhere" in command.stderr


def test_more_releases_than_pairs_are_made_of_are_refused(command, monkeypatch):
    import flows.pairing

    monkeypatch.setattr(flows.pairing, "MOST_RELEASES", 2)
    command("rank", "nova", "vega", "--pairs", code=2)
    assert "up to 2 releases, and 3 are ranked: name fewer" in command.stderr
