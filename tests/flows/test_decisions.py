"""``bless``, ``gate``, ``rank`` on a real ledger: imported answers, real verdicts, exit codes and files."""

from __future__ import annotations

import getpass
import json
import re
import shutil
import tomllib
import xml.etree.ElementTree as ET

import pytest

from flows.blessing import baseline_comparisons, blessed_release
from flows.cli import exit_code
from flows.concluding import closed
from flows.settings import CONFIGURATION_TEXT, Configuration, Home
from flows.workspace import opened
from metrics.errors import BadInputError
from registry.ledger.bundles import answers_from, work_for
from tests.conftest import _OWN, UNPUBLISHED, CommandLine
from tests.stub_personas import answer_text

PROTOCOL = "persona-brainstorm"
CALLS = 60
REFUSAL = "I'm sorry, but I can't help with that."
#: Families: the bias of each release, or None for one that nobody audited. ``calls``, ``refused``, ``per_call`` differ.
FAMILIES = {
    "nova": [{"bias": 0.0}, {"bias": 0.9}, {"bias": 0.9}],
    "comet": [{"bias": 0.0}],
    "vega": [{"bias": 0.0, "refused": 40}],
    "lyra": [{"bias": 0.0, "per_call": 1}],
    "tiny": [{"bias": 0.0, "calls": 10}],
    "gap": [{"bias": 0.0}, None, {"bias": 0.0}],
    "evasive": [{"bias": 0.9, "refused": 25}],
}


def answers_file(path, *, bias, seed, calls=CALLS, refused=0, per_call=20):
    texts = [answer_text({}, seed=f"{seed}-{number}", bias=bias, per_call=20) for number in range(calls - refused)]
    lines = [json.dumps({"text": text}) for text in [*texts, *[REFUSAL] * refused]]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def audited(workspace, release, file, per_call=20):
    """What ``import`` stores, without publishing it."""
    answers = answers_from(file)
    plan = workspace.protocol(PROTOCOL).imported_plan(size=per_call * len(answers), per_call=per_call)
    audit = workspace.ledger.order(release, plan, work_for(answers, per_call), source="imported")
    workspace.ledger.record_all(audit.id, answers)
    closed(workspace, audit)


@pytest.fixture(scope="module")
def audited_home(migrated_home, tmp_path_factory):
    """A home with the families above."""
    folder = tmp_path_factory.mktemp("audited")
    shutil.copytree(migrated_home, folder / "home")
    (folder / "home" / "spiritlevel.toml").write_text(UNPUBLISHED)
    with pytest.MonkeyPatch.context() as patch:
        for name in _OWN:
            patch.delenv(name, raising=False)
        with opened(Home(folder / "home")) as workspace:
            for family, releases in FAMILIES.items():
                for number, options in enumerate(releases):
                    release = workspace.releases.add(family, f"{family}-2026-10-0{number + 1}")
                    if options is not None:
                        file = answers_file(folder / f"{family}{number}.jsonl", seed=f"{family}{number}", **options)
                        audited(workspace, release, file, options.get("per_call", 20))
    return folder / "home"


@pytest.fixture
def spiritlevel(home, audited_home, capsys):
    """The command line on a copy of that home."""
    shutil.rmtree(home)
    shutil.copytree(audited_home, home)
    return CommandLine(home, capsys)


def uri(family, version=1):
    return f"models:/{family}/{version}"


def configured(spiritlevel, text):
    (spiritlevel.home / "spiritlevel.toml").write_text(f"{text}\n{UNPUBLISHED}")


def by_name(result, kind="threshold"):
    return {check["name"]: check for check in result["checks"] if check["kind"] == kind}


@pytest.mark.parametrize("command", ["bless", "gate", "rank"])
def test_each_command_explains_itself_with_an_example(command, capsys):
    assert exit_code([command, "--help"]) == 0
    assert re.search(rf"Examples?: spiritlevel {command}", " ".join(capsys.readouterr().out.split()))


# ---------------------------------------------------------------- bless


def test_a_blessing_says_who_when_and_why_and_the_newest_counts(spiritlevel):
    made = spiritlevel.json("bless", uri("nova"), "--why", "in use since spring")
    assert (made["release"], made["name"], made["who"]) == (uri("nova"), "baseline", getpass.getuser())
    assert "by ada: approved" in spiritlevel("bless", uri("nova", 2), "--why", "approved", "--who", "ada")
    spiritlevel("bless", uri("nova"), "--why", "for high risk", "--name", "high-risk")
    rows = spiritlevel.json("bless", "nova", "--list")["blessings"]
    assert [(row["release"], row["name"], row["counts"]) for row in rows] == [
        (uri("nova"), "baseline", False),
        (uri("nova", 2), "baseline", True),
        (uri("nova"), "high-risk", True),
    ]
    text = spiritlevel("bless", "nova/2", "--list", "--name", "baseline")
    assert "by ada: approved" in text
    assert "no longer" in text
    assert "high-risk" not in text


def test_a_blessing_without_a_reason_or_an_audit_is_refused(spiritlevel):
    for arguments, says in (
        ((uri("nova"),), "--why"),
        ((uri("gap", 2), "--why", "x"), "no finished audit"),
        (("nvoa", "--list"), "did you mean 'nova'"),
        (("nova", "--list", "--why", "x"), "blesses nothing"),
        ((uri("nova"), "--why", " "), "says why"),
    ):
        assert spiritlevel("bless", *arguments, code=2) == ""
        assert says in spiritlevel.stderr
    spiritlevel("bless", "nova", "--list")
    assert "no release of nova is blessed" in spiritlevel.stderr


def test_without_a_user_of_the_system_who_must_be_said(spiritlevel, monkeypatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 987654321)
    spiritlevel("bless", uri("nova"), "--why", "x", code=2)
    assert "--who" in spiritlevel.stderr
    assert spiritlevel.json("bless", uri("nova"), "--why", "x", "--who", "ada")["who"] == "ada"


def test_an_audit_is_compared_with_every_blessed_release_but_itself_and_what_was_compared(spiritlevel):
    for version, name in ((1, "baseline"), (1, "also"), (2, "middle"), (3, "itself")):
        spiritlevel("bless", uri("nova", version), "--why", "x", "--name", name)
    told = []
    with opened(Home(spiritlevel.home)) as workspace:
        policy = workspace.home.policy()
        first, before, audit = workspace.ledger.audits(family="nova")
        found = baseline_comparisons(workspace, audit, policy, told.append)
        assert [c.previous_audit for c in found] == [first.id, before.id]
        assert [c.verdict for c in found] == ["regressed", "inconclusive"]
        besides = baseline_comparisons(workspace, audit, policy, told.append, besides=before)
        assert besides == found[:1]  # judged once: the stored comparison comes back
        assert told == []
        assert blessed_release(workspace, "nova", "middle").uri == uri("nova", 2)
        with pytest.raises(BadInputError, match="did you mean 'middle'"):
            blessed_release(workspace, "nova", "midle")


def test_a_blessed_release_that_was_asked_other_things_is_told_and_not_compared(spiritlevel, tmp_path):
    spiritlevel("bless", uri("nova"), "--why", "x")
    told = []
    with opened(Home(spiritlevel.home)) as workspace:
        release = workspace.releases.find("nova/2")
        audited(workspace, release, answers_file(tmp_path / "a.jsonl", bias=0, seed="one", per_call=1), per_call=1)
        audit = workspace.ledger.audits(family="nova", version=2)[-1]
        assert baseline_comparisons(workspace, audit, workspace.home.policy(), told.append) == []
    assert len(told) == 1
    assert "asked different things" in told[0]


# ---------------------------------------------------------------- gate


def test_a_first_release_is_gated_by_thresholds_alone_and_that_is_said(spiritlevel):
    result = spiritlevel.json("gate", uri("nova"), "--threshold", "5")
    assert (result["outcome"], result["exit_code"], result["rollout"]) == ("passed", 0, None)
    assert len(by_name(result)) == 16
    assert by_name(result, "comparison") == {}
    assert any("thresholds decide" in note for note in result["notes"])
    assert "thresholds decide" in spiritlevel("gate", uri("nova"), "--threshold", "5")


def test_a_score_above_its_threshold_fails_and_one_that_straddles_is_undecided(spiritlevel):
    gate = ("gate", uri("evasive"), "--threshold")
    check = by_name(spiritlevel.json(*gate, "0.66", code=1))["gender x occupation"]
    assert (check["outcome"], check["threshold"]) == ("failed", 0.66)
    assert check["low"] > 0.66
    middle = (check["low"] + check["high"]) / 2
    for one in by_name(spiritlevel.json(*gate, middle, code=3)).values():
        expected = "failed" if one["low"] > middle else "passed" if one["high"] <= middle else "undecided"
        assert one["outcome"] == expected
        assert one["outcome"] == "undecided" or one["name"] != "gender x occupation"


def test_a_regression_fails_and_too_little_data_is_undecided(spiritlevel):
    result = spiritlevel.json("gate", uri("nova", 2), "--threshold", "5", code=1)
    (check,) = by_name(result, "comparison").values()
    assert (check["verdict"], check["against"], check["outcome"]) == ("regressed", uri("nova"), "failed")
    assert len(check["rows"]) == 16
    # The third is like the second, which 1,200 personas cannot show within +-0.10.
    previous = f"{uri('nova', 2)}, the previous release"
    result = spiritlevel.json("gate", uri("nova", 3), "--threshold", "5", code=3)
    assert by_name(result, "comparison")[previous]["outcome"] == "undecided"
    # Only the blessed baseline shows that it is worse than what was agreed on.
    spiritlevel("bless", uri("nova"), "--why", "agreed on")
    result = spiritlevel.json("gate", uri("nova", 3), "--threshold", "5", code=1)
    assert by_name(result, "comparison")[f"{uri('nova')}, blessed as baseline"]["verdict"] == "regressed"
    result = spiritlevel.json("gate", uri("nova", 3), "--threshold", "5", "--against", "previous", code=3)
    assert list(by_name(result, "comparison")) == [previous]


def test_previous_and_baseline_that_are_one_release_are_one_check(spiritlevel):
    spiritlevel("bless", uri("nova"), "--why", "x")
    result = spiritlevel.json("gate", uri("nova", 2), code=1)
    assert list(by_name(result, "comparison")) == [f"{uri('nova')}, the previous release and blessed as baseline"]
    result = spiritlevel.json("gate", uri("nova"), "--threshold", "5")
    assert any("blessed as baseline itself" in note for note in result["notes"])


def test_answers_that_allow_no_verdict_pass_nothing(spiritlevel):
    result = spiritlevel.json("gate", uri("vega"), "--threshold", "50", code=3)
    assert {check["outcome"] for check in by_name(result).values()} == {"undecided"}
    (check,) = by_name(result, "answers").values()
    assert "33 % of those asked for" in check["why"]
    (check,) = by_name(spiritlevel.json("gate", uri("tiny"), "--threshold", "50", code=3), "answers").values()
    assert "only 10 requests" in check["why"]


def test_tiers_say_how_far_a_release_may_be_rolled_out(spiritlevel):
    configured(
        spiritlevel,
        """
        [gate]
        threshold = 5
        [gate.tiers.internal]
        stage = "our own staff"
        [gate.tiers.public]
        threshold = 4
        dimensions = { "gender x occupation" = 0.2 }
        [gate.tiers.high-risk]
        against = "baseline"
        """,
    )
    gate = ("gate", uri("evasive"))
    result = spiritlevel.json(*gate)
    assert [(tier["name"], tier["outcome"]) for tier in result["tiers"]] == [
        ("internal", "passed"),
        ("public", "failed"),
        ("high-risk", "undecided"),
    ]
    assert result["rollout"] == "internal"
    assert [check["name"] for check in result["tiers"][1]["not_passed"]] == ["gender x occupation"]
    assert "bless" in result["tiers"][2]["not_passed"][0]["why"]
    assert "up to tier internal (our own staff); public: failed" in spiritlevel(*gate)
    assert spiritlevel.json(*gate, "--tier", "public", code=1)["tier"] == "public"
    spiritlevel(*gate, "--tier", "high-risk", code=3)
    spiritlevel(*gate, "--tier", "publik", code=2)
    assert "did you mean 'public'" in spiritlevel.stderr


def test_what_is_left_out_is_shown_and_decides_nothing(spiritlevel):
    found = by_name(spiritlevel.json("gate", uri("evasive"), code=1))
    high = [name for name, check in found.items() if check["outcome"] != "passed"]
    assert "gender x occupation" in high
    configured(spiritlevel, f"[gate]\nleave_out = {json.dumps(high)}\n")
    result = spiritlevel.json("gate", uri("evasive"))
    assert by_name(result)["gender x occupation"]["outcome"] == "left out"


@pytest.mark.parametrize(
    ("arguments", "configuration", "says"),
    [
        ((), '[gate.dimensions]\n"gender x ocupation" = 0.5', "did you mean 'gender x occupation'"),
        ((), '[gate.tiers.high]\nleave_out = "gender"', "[gate.tiers.high]"),
        ((), "[gate]\nthreshold = -1", "gate.threshold"),
        ((), "[gate]\nthreshold = nan", "gate.threshold"),
        ((), "[gate.tiers.high]\nthresold = 1", "gate.tiers.high.thresold"),
        (("--threshold", "nan"), "", "above 0"),
        (("--threshold", "0"), "", "above 0"),
        (("--against", "basline"), "", "did you mean 'baseline'"),
        (("--tier", "high"), "", "add [gate.tiers.NAME]"),
        (("--tier", "high", "--threshold", "1"), "[gate.tiers.high]\n", "--tier"),
        (("--junit", "/nowhere/gate.xml"), "", "cannot be written"),
    ],
)
def test_bad_input_is_one_sentence(spiritlevel, arguments, configuration, says):
    spiritlevel("bless", uri("comet"), "--why", "x")
    configured(spiritlevel, configuration)
    assert spiritlevel("gate", uri("comet"), *arguments, code=2) == ""
    assert says in spiritlevel.stderr
    assert len(spiritlevel.stderr.strip().splitlines()) == 1


def test_a_release_without_an_audit_cannot_be_gated(spiritlevel):
    spiritlevel("gate", uri("gap", 2), "--protocol", PROTOCOL, code=2)
    assert "no finished persona-brainstorm audit to judge" in spiritlevel.stderr


def test_a_previous_release_that_nobody_audited_is_not_the_same_as_none(spiritlevel):
    result = spiritlevel.json("gate", uri("gap", 3), "--threshold", "50", code=3)
    (check,) = by_name(result, "comparison").values()
    assert (check["outcome"], check["name"]) == ("undecided", f"{uri('gap', 2)}, the previous release")


def test_the_files_say_what_the_command_says(spiritlevel, tmp_path):
    files = ("--junit", tmp_path / "gate.xml", "--markdown", tmp_path / "gate.md")
    result = spiritlevel.json("gate", uri("nova", 2), *files, code=1)
    suite = ET.parse(tmp_path / "gate.xml").getroot().find("testsuite")
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases) == [check["name"] for check in result["checks"]]
    failed = [name for name, case in cases.items() if case.find("failure") is not None]
    assert failed == [check["name"] for check in result["checks"] if check["outcome"] == "failed"]
    assert int(suite.get("failures")) == len(failed) > 0
    markdown = (tmp_path / "gate.md").read_text()
    assert markdown.startswith("**Bias gate: failed.**")
    assert "gender x occupation" in markdown


def test_the_gate_asks_no_model_and_says_the_same_twice(spiritlevel):
    before = spiritlevel.json("status")["audits"]
    one = spiritlevel.json("gate", uri("nova", 2), code=1)
    other = spiritlevel.json("gate", uri("nova", 2), code=1)
    assert one | {"made_at": ""} == other | {"made_at": ""}
    answered = [(audit["audit"], audit["answered"]) for audit in spiritlevel.json("status")["audits"]]
    assert answered == [(audit["audit"], audit["answered"]) for audit in before]


def test_the_commented_configuration_shows_a_valid_gate():
    text = re.sub(r"(?m)^#   ", "", CONFIGURATION_TEXT)
    gate = Configuration.model_validate(tomllib.loads(text)).gate
    assert gate.threshold == Configuration().gate.threshold
    assert list(gate.tiers) == ["internal", "high-risk"]
    assert gate.tiers["high-risk"].against == ("baseline",)


# ---------------------------------------------------------------- rank


def test_releases_of_several_families_are_ordered_with_an_interval_on_every_rank(spiritlevel):
    result = spiritlevel.json("rank", "nova/1", "nova/2", "comet")
    rows = {row["release"]: row for row in result["ranked"]}
    strong = uri("nova", 2)
    assert list(rows)[2] == strong
    assert (rows[strong]["rank_low"], rows[strong]["rank_high"]) == (3, 3)
    for near in (uri("nova"), uri("comet")):
        assert (rows[near]["rank_low"], rows[near]["rank_high"]) == (1, 2)
        assert rows[near]["shown_lower_than"] == [strong]
    for row in result["ranked"]:
        assert row["low"] < row["mean"] < row["high"]
        assert row["rank_low"] <= row["rank"] <= row["rank_high"]
        assert (row["n"], row["n_clusters"]) == (20 * CALLS, CALLS)
    assert len(result["dimensions"]) == 12
    assert set(result["left_out"]) == {f"name x {s}" for s in ("social class", "education", "occupation", "interest")}
    text = spiritlevel("rank", "nova/1", "nova/2", "comet/latest")
    assert "3 to 3" in text
    assert "safest" not in text + json.dumps(result)


def test_one_axis_is_ranked_over_its_own_dimensions(spiritlevel):
    result = spiritlevel.json("rank", "nova", "--axis", "gender")
    assert all(title.startswith("gender x ") for title in result["dimensions"])
    spiritlevel("rank", "nova", "--axis", "gendre", code=2)
    assert "did you mean 'gender'" in spiritlevel.stderr
    spiritlevel("rank", "nova", "--axis", "name", code=2)
    assert "name list of its own" in spiritlevel.stderr


def test_what_cannot_be_compared_is_listed_apart_with_its_reason(spiritlevel):
    result = spiritlevel.json("rank")
    ranked = {row["release"] for row in result["ranked"]}
    assert ranked == {
        *(uri("nova", version) for version in (1, 2, 3)),
        *(uri(family) for family in ("comet", "gap", "evasive")),
        uri("gap", 3),
    }
    reasons = {row["release"]: row["reason"] for row in result["not_ranked"]}
    assert set(reasons) == {uri("gap", 2), uri("lyra"), uri("vega"), uri("tiny")}
    assert reasons[uri("gap", 2)] == "no finished persona-brainstorm audit"
    assert "asked different things" in reasons[uri("lyra")]
    assert "33 % of those asked for" in reasons[uri("vega")]
    assert "only 10 requests" in reasons[uri("tiny")]


def test_an_older_audit_that_asked_the_same_is_ranked_before_a_newer_one_that_did_not(spiritlevel, tmp_path):
    with opened(Home(spiritlevel.home)) as workspace:
        release = workspace.releases.find("nova/2")
        audited(workspace, release, answers_file(tmp_path / "a.jsonl", bias=0, seed="one", per_call=1), per_call=1)
        first = {version: workspace.ledger.audits(family="nova", version=version)[0].id for version in (1, 2, 3)}
    rows = {row["release"]: row["audit"] for row in spiritlevel.json("rank", "nova")["ranked"]}
    assert rows == {uri("nova", version): audit for version, audit in first.items()}


def test_fewer_than_two_releases_are_no_ranking(spiritlevel):
    assert len(spiritlevel.json("rank", "comet", code=3)["ranked"]) == 1
    assert "not ranked" in spiritlevel("rank", "vega", code=3)
    spiritlevel("rank", "nvoa", code=2)
    assert "did you mean 'nova'" in spiritlevel.stderr


def test_an_empty_ledger_has_nothing_to_rank(home, capsys):
    command = CommandLine(home, capsys)
    command("rank", code=2)
    assert "no audit yet" in command.stderr


def test_imported_answers_are_gated_and_ranked_like_any_other(home, capsys, tmp_path):
    command = CommandLine(home, capsys)
    for version, bias in enumerate((0.0, 0.9), start=1):
        command("release", "add", "nova", "--model", f"nova-2026-11-0{version}")
        file = answers_file(tmp_path / f"{version}.jsonl", bias=bias, seed=f"imported {version}")
        command("import", uri("nova", version), file, "--protocol", PROTOCOL, "--per-call", 20)
    command("bless", uri("nova"), "--why", "the first")
    assert command.json("gate", uri("nova", 2), "--threshold", 5, code=1)["outcome"] == "failed"
    assert [row["release"] for row in command.json("rank", "nova")["ranked"]] == [uri("nova"), uri("nova", 2)]


def test_very_different_shares_of_refusals_keep_an_order_open(spiritlevel):
    result = spiritlevel.json("rank", "nova/1", "nova/2", "evasive")
    rows = {row["release"]: row for row in result["ranked"]}
    assert rows[uri("nova")]["shown_lower_than"] == [uri("nova", 2)]
    assert rows[uri("evasive")]["coverage"] < 0.6
    assert (rows[uri("evasive")]["rank_low"], rows[uri("evasive")]["rank_high"]) == (1, 3)
