"""``spiritlevel robustness``: releases with planted bias, asked in other words and again, as text, JSON and a page."""

from __future__ import annotations

import csv

import pytest

from flows.settings import Home
from flows.workspace import opened
from tests.conftest import CommandLine
from tests.dashboards.pages import page
from tests.flows.robust_home import robust_home

RELEASES = [f"models:/nova/{version}" for version in (1, 2, 3)]


@pytest.fixture(scope="module")
def home_of_three(migrated_home, tmp_path_factory):
    return robust_home(migrated_home, tmp_path_factory.mktemp("robust") / "home")


@pytest.fixture
def command(home_of_three, capsys):
    return CommandLine(home_of_three, capsys)


def rows_of(found, **wanted):
    return [row for row in found["agreement"] if all(row[name] == value for name, value in wanted.items())]


def test_a_debiasing_prompt_that_helps_one_release_is_improved_there_and_nowhere_else(command):
    found = command.json("robustness", "nova", "--sizes", "none")
    verdicts = {(row["release"], row["variant"]): row for row in found["verdicts"]}
    third = {row["dimension"]: row["verdict"] for row in verdicts["nova/3", "debias"]["rows"]}
    assert third["gender x occupation"] == "improved"
    for key in (("nova/1", "debias"), ("nova/2", "debias"), ("nova/1", "role-play"), ("nova/2", "role-play")):
        changed = [row["verdict"] for row in verdicts[key]["rows"] if row["verdict"] in ("improved", "regressed")]
        assert changed == []
    assert "release" not in verdicts["nova/3", "debias"]["why"]


def test_what_was_compared_is_stored_nowhere(command, home_of_three):
    with opened(Home(home_of_three)) as workspace:
        before = [(one.id, one.current_audit) for one in workspace.ledger.comparisons(family="nova")]
    command("robustness", "nova", "--sizes", "none")
    with opened(Home(home_of_three)) as workspace:
        stored = workspace.ledger.comparisons(family="nova")
        assert [(one.id, one.current_audit) for one in stored] == before
        asides = {one.id for one in workspace.ledger.audits(family="nova", variants=True)} - {
            one.id for one in workspace.ledger.audits(family="nova")
        }
        assert len(asides) == 6
        assert not asides & {side for one in stored for side in (one.previous_audit, one.current_audit)}
        assert workspace.ledger.incidents() == []


def test_the_scores_are_those_of_the_audits_and_the_agreement_that_of_their_table(command, home_of_three):
    from metrics.agreement import icc_agreement, paired_t

    found = command.json("robustness", "nova", "--sizes", "none")
    title, metric = "gender x occupation", found["metric"]
    with opened(Home(home_of_three)) as workspace:

        def value(audit):
            return next(s.value for s in workspace.ledger.scores(audit) if (s.metric, s.dimension) == (metric, title))

        table = [[value(one["audit"]), value(one["variants"]["debias"])] for one in found["releases"]]
    row = rows_of(found, condition="debias", grouping="dimension", group=title)[0]
    assert row["measures"]["icc-a1"]["value"] == pytest.approx(icc_agreement(table).value, abs=1e-9)
    assert row["test"]["pvalue"] == pytest.approx(paired_t(*zip(*table, strict=True)).pvalue, abs=1e-9)
    assert row["measures"]["spearman"]["low"] is not None


def test_what_is_lacking_is_named_with_the_command_that_makes_it(command):
    found = command.json("robustness", "nova", "--variants", "role-play,mine,again", "--sizes", "none")
    lacking = {(row["release"], row["condition"]): row for row in found["lacking"]}
    once = lacking[RELEASES[0], "again"]
    assert once["reason"] == "it was asked once"
    assert once["command"] == f"spiritlevel audit {RELEASES[0]} --protocol persona-brainstorm --personas 1200 --new"
    assert lacking[RELEASES[1], "mine"]["command"].endswith("--personas 1200 --prompt mine.txt")
    cooler = lacking[RELEASES[2], "role-play"]
    assert cooler["reason"].endswith("in more than the prompt")
    assert found["conditions"] == ["role-play", "again"]
    few = rows_of(found, condition="role-play", grouping="dimension")[0]["measures"]["icc-c1"]
    assert (few["value"], few["n"]) == (None, 2)
    assert "at least 3 targets" in few["reason"]


def test_parts_of_the_requests_agree_more_the_larger_they_are(command):
    found = command.json("robustness", "nova", "--variants", "debias", "--sizes", "20,60")
    of = {row["share"]: row for row in found["sizes"] if (row["grouping"], row["group"]) == ("release", "nova/3")}
    assert of[0.2]["measures"]["spearman"]["value"] < of[0.6]["measures"]["spearman"]["value"]
    assert of[0.2]["requests"] == [12, 12]


def test_the_text_says_conditions_verdicts_sizes_and_what_is_not_here(command):
    text = command("robustness", "nova", "--sizes", "50")
    assert "nova/3: audit 9, debias 10, asked before 8" in text
    assert "not here: models:/nova/3 role-play: audit 11 differs from audit 9 in more than the prompt" in text
    assert "nova/3, plain prompt against debias: " in text
    assert "prompt variant debias against the plain prompt" in text
    assert "the same prompt asked again against the plain prompt" in text
    assert "p lower: one-sided for scores that fell" in text
    assert max(len(line) for line in text.splitlines() if not line.startswith(("normalized", "nova/"))) < 260


def test_the_page_stands_alone_and_shows_every_condition_with_what_was_asked(command, tmp_path):
    command("robustness", "nova", "--sizes", "50", "--html", tmp_path / "robust.html")
    text = (tmp_path / "robust.html").read_text()
    document = page(text)
    assert not [e.tag for e in document.all() if e.tag in {"script", "link", "img", "iframe"}]
    ids = [e.attributes["id"] for e in document.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for words in (
        "Prompt variant debias",
        "The same prompt, asked again",
        "Act as an expert UX researcher.",
        "How large must an audit be?",
    ):
        assert words in document.text
    assert "nan" not in document.text.lower().split()


def test_the_picture_of_a_release_has_the_scores_of_its_audits_and_says_why_where_there_is_none(
    command, home_of_three, tmp_path
):
    command("robustness", "nova", "--sizes", "none", "--html", tmp_path / "robust.html")
    document = page((tmp_path / "robust.html").read_text())
    assert "prompt variant role-play: no picture" not in document.text  # by release there are targets enough
    pictures = [e for e in document.all("svg") if e.all("title")[0].text == "Scores of nova/3 under each prompt"]
    assert len(pictures) == 2
    with opened(Home(home_of_three)) as workspace:
        for audit, words in ((9, "plain prompt"), (10, "prompt variant debias"), (8, "the same prompt asked again")):
            key = ("normalized-cramers-v-debiased", "gender x occupation")
            score = next(s for s in workspace.ledger.scores(audit) if (s.metric, s.dimension) == key)
            told = (
                f"{words} {score.value:.3f} ({score.low:.3f} to {score.high:.3f}), n {score.n:,} ({score.n_clusters})"
            )
            assert all(told in picture.all("desc")[0].text for picture in pictures), words


def test_the_charts_of_prompts_are_written_when_they_are_named_and_only_then(command, tmp_path):
    command("chart", "prompts", "nova", "--out", tmp_path / "named")
    command("chart", "agreement", "nova", "--out", tmp_path / "named")
    stems = {path.stem for path in (tmp_path / "named").iterdir()}
    assert stems == {"prompts", "agreement-debias", "agreement-role-play", "agreement-again"}
    with (tmp_path / "named" / "prompts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = command.json("robustness", "nova", "--sizes", "none")
    told = [one for one in found["scores"] if one["release"] == "nova/3"]
    assert [(row["condition"], row["dimension"], row["value"]) for row in rows] == [
        (one["condition"], one["dimension"], "" if one["value"] is None else repr(one["value"])) for one in told
    ]
    command("chart", "nova", "--out", tmp_path / "all", "--dimension", "overall")
    assert not {"prompts", "agreement"} & {path.stem.partition("-")[0] for path in (tmp_path / "all").iterdir()}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("nova", "--sizes", "0,50"), "above 0 and below 100, as 10,20,50, or none; got '0,50'"),
     (("nova", "--sizes", "many"), "got 'many'"), (("nova", "--variants", "debias,"), "names of prompt variants"),
     (("nova", "--variants", "plain"), "names of prompt variants"), (("nova", "--variants", "role-pay"), "did you mean 'role-play'?"), (("nova", "--score", "best"), "headline or paper, not 'best'"),
     (("vega",), "vega"), (("nova", "--html", "nowhere/x.html"), "there is no folder nowhere")],
)  # fmt: skip
def test_what_cannot_be_compared_or_written_is_one_clear_error(command, arguments, words):
    command("robustness", *arguments, code=2)
    assert words in command.stderr


def test_the_plain_score_is_compared_too_and_grows_as_audits_get_smaller(command):
    found = command.json("robustness", "nova", "--variants", "debias", "--sizes", "20", "--score", "paper")
    assert found["metric"] == "normalized-cramers-v"
    overall = next(row for row in found["sizes"] if row["grouping"] == "overall")
    assert overall["change"]["low"] > 0.05


def test_one_release_alone_has_its_profile_and_says_why_there_is_no_agreement_over_releases(command, tmp_path):
    text = command(
        "robustness", RELEASES[0], "--variants", "debias", "--sizes", "none", "--html", tmp_path / "one.html"
    )
    assert "agreement needs at least 3 targets with all scores; there are 1" in text
    assert "not measurable: name x social class, name x education, " in text
    words = page((tmp_path / "one.html").read_text()).text
    assert "By dimension, over the releases: not measurable: agreement needs at least 3 targets" in words
    assert "Prompt variant debias: by release, over its dimensions" in words
