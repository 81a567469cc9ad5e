"""The file spiritlevel.yaml: what it says, what is refused, and that no secret is ever repeated."""

from __future__ import annotations

import re

import pytest

from flows.cli import exit_code
from flows.doctor_setup import home_folder
from flows.ordering import Order
from flows.service_checks import refuse_unworkable
from flows.service_settings import SERVICE_TEXT, ServiceSettings, length_of_time
from flows.settings import Home
from flows.workspace import opened
from metrics.errors import BadInputError

SECRET = "sk-proj-4f9b1c2d3e4f5a6b7c8d9e0f1a2b3c4d"
ADDRESSES = [
    f"user:{SECRET}@example.org/hook",
    f"{SECRET}@example.org/hook",
    *(f"example.org/hook?team=a&{name}={SECRET}" for name in ("token", "key", "secret", "password", "sig", "api_key")),
    f"example.org/hook?accessToken={SECRET}",
]
AUDIT = "families: {nova: {audits: [{protocol: persona-brainstorm, %s}]}}"


@pytest.fixture
def said(tmp_path, monkeypatch):
    """The settings that a text says, and the one sentence that a wrong one is answered with."""
    monkeypatch.delenv("SPIRITLEVEL_CONFIG", raising=False)

    def read(text):
        (tmp_path / "spiritlevel.yaml").write_text(text, encoding="utf-8")
        return Home(tmp_path).service

    return read


def refused(said, text):
    with pytest.raises(BadInputError) as caught:
        said(text)
    message = str(caught.value)
    assert "spiritlevel.yaml" in message
    assert "\n" not in message
    return message


def test_no_file_and_the_commented_file_say_the_same_nothing(said, tmp_path):
    assert Home(tmp_path).service == ServiceSettings()
    assert said("") == said(SERVICE_TEXT) == ServiceSettings()


def test_every_example_of_the_commented_file_is_valid(said):
    found = said(re.sub(r"^#(?=  )", "", SERVICE_TEXT, flags=re.MULTILINE).replace("# work_pool", "work_pool"))
    nova = found.families["nova-chat"]
    assert [audit.title for audit in nova.audits] == ["persona-brainstorm", "monthly"]
    assert set(found.channels) == {"log", "pager", "hook"}
    assert found.providers["api.openai.com"].concurrency == 16
    assert found.alerts.quiet_hours.from_ == "22:00"


def test_another_place_can_be_named_and_must_be_there(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere.yaml"
    monkeypatch.setenv("SPIRITLEVEL_CONFIG", str(elsewhere))
    with pytest.raises(BadInputError, match=r"SPIRITLEVEL_CONFIG names .*elsewhere\.yaml, which is not there"):
        _ = Home(tmp_path).service
    elsewhere.write_text("work_pool: machines\n")
    assert Home(tmp_path).service.work_pool == "machines"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("familes: {}", r"no setting 'familes'; did you mean 'families'\? Known here: families, channels"),
        ("families: {nova: {audit: []}}", r"'families\.nova\.audit'; did you mean 'audits'\?"),
        (AUDIT % "every: 7d, persona: 3", r"'families\.nova\.audits\.0\.persona'; did you mean 'personas'\?"),
        (AUDIT % "every: 7d, options: {temprature: 1}", r"options\.temprature'; did you mean 'temperature'\?"),
        ("families: {nova: {policy: {alhpa: 0.1}}}", r"policy\.alhpa'; did you mean 'alpha'\?"),
        ("families: {nova: {gate: {tiers: {low: {treshold: 1}}}}}", r"did you mean 'threshold'\?"),
        ("families: {nova: {policy: {alpha: 3}}}", r"policy\.alpha: input should be less than 0\.5; it is 3"),
        (AUDIT % "cron: '0 3 * * 1', every: 7d", r"audits\.0: an audit has either cron .* or every .* has both"),
        (AUDIT % "personas: 10", r"has neither\. Without a time it would never run"),
        (AUDIT % "cron: '0 3 * * 1', anchor: 2026-01-05", "cron times need none"),
        (AUDIT % "cron: '0 3 * *'", r"audits\.0\.cron: a cron time has five fields, .*'0 3 \* \*' is none"),
        (AUDIT % "cron: '61 3 * * *'", r"'61 3 \* \* \*' is none \(Bad minute\)"),
        (AUDIT % "cron: '0 3 31 2 *'", r"'0 3 31 2 \*' never comes: no month that it names has such a day"),
        (
            AUDIT % "every: 36501d",
            r"audits\.0\.every: a length of time is at most 36500d \(about 100 years\); got '36501d'",
        ),
        (AUDIT % "every: 99999999w", "at most 36500d"),
        (AUDIT % "every: 7y", r"audits\.0\.every: a length of time is a number with s, m, h, d or w"),
        (
            AUDIT % "every: 7d, zone: Europe/Madird",
            r"no time zone is named 'Europe/Madird'; did you mean 'Europe/Madrid'",
        ),
        (AUDIT % "every: 7d, anchor: monday", "a moment is an ISO date"),
        ("families: {nova/1: {}}", r"families\.nova/1: a family name starts with a letter or digit"),
        ("families: {nova: {releases: [newst]}}", r"did you mean 'newest'\?"),
        ("families: {nova: {audits: [{protocol: p, every: 1d}, {protocol: p, every: 7d}]}}", "give one of them a name"),
        (
            "alerts: {channels: [pagr]}\nchannels: {pager: {kind: file}}",
            r"names the channel 'pagr'.*did you mean 'pager'",
        ),
        ("families: {nova: {alerts: {channels: [x]}}}", r"families\.nova\.alerts names the channel 'x'.*here: none"),
        ("alerts: {at_least: urgent}", "'low', 'medium', 'high' or 'very high'; it is 'urgent'"),
        ("alerts: {quiet_hours: {from: 25:00, to: 7:00}}", "a time of day is written HH:MM"),
        ("alerts: {quiet_hours: {from: 22:00}}", r"quiet_hours\.to is missing"),
        ("providers: {'https://x.example': {}}", "a provider is its host, or host:port"),
        ("channels: {log: {}}", r"channels\.log\.kind is missing"),
        ("families: {nova: {}, nova: {}}", "line 1: 'nova' stands twice"),
        ("families: [", "not valid YAML in line"),
        ("families: !!python/object:os.system x", "not valid YAML in line 1"),
        ("- families", "the file is a table of settings, not"),
        ("families: {nova: 3}", r"families\.nova is a table of settings, not 3"),
        ("budget: {usd_per_month: -1}", "greater than or equal to 0; it is -1"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_with_its_place(said, text, words):
    assert re.search(words, refused(said, text))


@pytest.mark.parametrize(
    "text",
    [
        f"channels: {{pager: {{kind: apprise, url_env: '{SECRET}'}}}}",
        f"channels: {{pager: {{kind: webhook, secret_env: '{SECRET}'}}}}",
        f"channels: {{pager: {{kind: webhook, token: '{SECRET}'}}}}",
        f"channels: {{pager: {{kind: webhook, api_key: '{SECRET}'}}}}",
        f"channels: {{pager: {{kind: webhook, key_env: '{SECRET}'}}}}",
        f"channels: {{pager: {{kind: webhook, url: [{SECRET}]}}}}",
        f"channels: {{pager: {{url_env: '{SECRET}'}}}}",
        *(f"channels: {{pager: {{kind: webhook, url: 'https://{address}'}}}}" for address in ADDRESSES),
        f"channels: {{pager: {{kind: webhook, headers: '{SECRET}'}}}}",
        f"service: {{webhook_secret_env: '{SECRET}'}}",
        f"service: {{webhook_secret: '{SECRET}'}}",
    ],
)
def test_a_secret_in_place_of_a_variables_name_is_refused_and_never_repeated(said, text):
    assert SECRET not in refused(said, text)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_with_a_secret_belongs_into_a_variable(said, address):
    words = refused(said, f"channels: {{pager: {{kind: webhook, url: 'https://{address}', secret_env: HOOK_SECRET}}}}")
    assert words.endswith("or name the variable that holds the address as url_env")


def test_an_address_without_a_secret_may_have_parameters(said):
    url = "https://example.org:8443/hook/token?team=key&monkey=1"
    assert said(f"channels: {{pager: {{kind: webhook, url: '{url}', secret_env: X}}}}").channels["pager"].url == url


def test_a_file_in_another_encoding_is_said_with_the_first_byte_that_is_wrong(tmp_path):
    for name in ("spiritlevel.yaml", "spiritlevel.toml"):
        (tmp_path / name).write_bytes(b"# 5 \xa5\n")
    for read in (lambda home: home.service, lambda home: home.configuration):
        with pytest.raises(BadInputError, match=r"is not UTF-8 text \(byte 0xa5 at position 4\)"):
            read(Home(tmp_path))


def test_a_home_that_is_a_file_is_said(tmp_path, capsys):
    (tmp_path / "home").write_text("")
    with pytest.raises(BadInputError, match="home is a file, not a folder"):
        Home(tmp_path / "home").make()
    (found,) = home_folder(Home(tmp_path / "home"))
    assert (found.state, found.said) == ("failed", f"{tmp_path / 'home'} is a file, not a folder")
    assert exit_code(["serve", "--once", "--home", str(tmp_path / "home")]) == 2
    assert "home is a file, not a folder" in capsys.readouterr().err


def test_times_without_quotes_are_times_and_dates_stay_text(said):
    found = said(
        (AUDIT % "every: 7d, anchor: 2026-01-05")
        + "\nalerts: {quiet_hours: {from: 22:00, to: 7:00, zone: Europe/Madrid}}"
    )
    assert (found.alerts.quiet_hours.from_, found.alerts.quiet_hours.to) == ("22:00", "07:00")
    assert found.families["nova"].audits[0].anchor == "2026-01-05"


def test_an_audit_is_ordered_as_it_is_declared(said):
    text = AUDIT % "every: 7d, personas: 60, options: {temperature: 0.5, extra: {top_k: 0, min_p: 0.1}}"
    (audit,) = said(text).families["nova"].audits
    extra = (("min_p", 0.1), ("top_k", 0))
    assert audit.order() == Order(protocol="persona-brainstorm", size=60, again=True, temperature=0.5, extra=extra)


def test_a_family_judges_by_the_home_and_what_it_says_otherwise(said, tmp_path):
    (tmp_path / "spiritlevel.toml").write_text("[policy]\nmargin = 0.2\n[gate]\nleave_out = ['a x b']\n")
    said("families: {nova: {policy: {alpha: 0.01}, gate: {threshold: 0.66}}, mira: {}}")
    home = Home(tmp_path)
    assert (home.policy().alpha, home.policy().margin) == (0.05, 0.2)
    assert (home.policy("nova").alpha, home.policy("nova").margin) == (0.01, 0.2)
    assert home.policy("mira") == home.policy("never named") == home.policy()
    assert (home.gate("nova").threshold, home.gate("nova").leave_out) == (0.66, ("a x b",))
    assert home.gate("mira") == home.gate() == home.configuration.gate


def test_a_familys_alerts_say_only_what_differs(said):
    found = said(
        "channels: {log: {kind: file}, pager: {kind: file}}\n"
        "alerts: {channels: [log], at_least: medium, renotify: 3d}\n"
        "families: {nova: {alerts: {channels: [pager], renotify: null}}}"
    )
    nova = found.alerts_of("nova")
    assert (nova.channels, nova.at_least, nova.renotify) == (("pager",), "medium", None)
    assert found.alerts_of("mira") == found.alerts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            AUDIT.replace("brainstorm", "brainstrom") % "every: 7d",
            r"audits\.0: no audit protocol is named .* did you mean",
        ),
        ("channels: {log: {kind: fil}}", r"channels\.log: no alert channel is named 'fil'; did you mean 'file'"),
        (AUDIT % "every: 7d, budget: {usd: 5}", r"families\.nova\.audits\.0\.budget\.usd is a budget in money, but"),
        (
            "budget: {usd_per_month: 5}\n" + AUDIT % "every: 7d",
            r"budget\.usd_per_month .* models:/nova/1 has no prices",
        ),
    ],
)
def test_what_the_service_could_not_do_is_said_before_it_begins(said, home, text, words):
    with opened(Home(home)) as workspace:
        workspace.releases.add("nova", "m-1", base_url="http://127.0.0.1:9/v1")
        (home / "spiritlevel.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(BadInputError, match=words):
            refuse_unworkable(workspace)


def test_a_budget_in_money_is_fine_where_the_newest_release_has_prices(home):
    (home / "spiritlevel.yaml").write_text("budget: {usd_per_month: 5}\n" + AUDIT % "every: 7d", encoding="utf-8")
    with opened(Home(home)) as workspace:
        assert refuse_unworkable(workspace).budget.usd_per_month == 5  # of a family that is not registered yet
        workspace.releases.add("nova", "m-1", base_url="http://127.0.0.1:9/v1", price_input=1.0, price_output=2.0)
        assert refuse_unworkable(workspace).budget.usd_per_month == 5


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("12h", 43200), ("7d", 604800), (" 2 w ", 1_209_600)]
)
def test_a_length_of_time_is_a_number_and_a_unit(text, seconds):
    assert length_of_time(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "0d", "-1d", "1.5h", "7 days"])
def test_a_length_of_time_that_is_none_is_refused(text):
    with pytest.raises(BadInputError, match="such as 7d"):
        length_of_time(text)
