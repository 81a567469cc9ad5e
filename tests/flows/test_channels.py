"""Each kind of channel against a real receiver, and what it refuses."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import pytest

from flows.channels.apprise_channel import AppriseChannel
from flows.channels.catalog import CHANNELS, ChannelOptions, DeliveryError, load_channels
from flows.channels.file import FileChannel
from flows.channels.message import Message, trial_message
from flows.channels.prefect_events import EVENTS, PrefectEventChannel, event_of
from flows.channels.webhook import WebhookChannel
from flows.finding_kinds import KINDS
from flows.service_settings import ChannelSettings
from metrics.errors import BadInputError
from tests.hook_server import HookServer

# Apprise looks for a module of the standard library that later Pythons do not have.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

AT = "2026-11-02T12:00:00.000Z"
TOKEN = "token-value-77"
MESSAGE = Message(
    id="0f3a5c-7",
    event="opened",
    incident=3,
    key="regression/nova chat/p/against models:/nova chat/1",
    kind="regression",
    severity="high",
    at=AT,
    family="nova chat",
    version=2,
    release="models:/nova chat/2",
    previous="models:/nova chat/1",
    protocol="persona-brainstorm",
    verdict="regressed",
    title="models:/nova chat/2 regressed against models:/nova chat/1",
    why="more bias in gender x occupation",
    dimensions=("gender x occupation",),
    evidence={"moved": [{"text": "gender x occupation: 0.2 to 0.4"}], "sure": "5 % <b>by</b> chance"},
    links={"Comparison in MLflow": "https://mlflow.example/#/runs/1"},
)


def options(kind, home="/nowhere", **settings):
    return ChannelOptions(name="mine", settings=ChannelSettings(kind=kind, **settings), home=Path(home))


@pytest.fixture
def hook():
    with HookServer() as server:
        yield server


@pytest.fixture
def webhook(hook, monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", TOKEN)
    return lambda **more: WebhookChannel(options("webhook", **{"url": hook.url, "secret_env": "HOOK_SECRET", **more}))


def test_every_module_of_the_folder_registers_its_channel():
    load_channels()
    assert {"file", "webhook", "apprise", "prefect-event"} <= set(CHANNELS)


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        ("file", {"pth": "x"}, "a file channel has no setting 'pth'. Known here: kind, path"),
        ("webhook", {"url": "https://a.example/"}, "name the variable that holds the secret as secret_env"),
        ("webhook", {"secret_env": "HOOK_SECRET"}, "either url, or url_env"),
        ("webhook", {"url": "ftp://a.example/", "secret_env": "HOOK_SECRET"}, r"http\(s\)://host"),
        ("webhook", {"url_env": "HOOK_URL", "secret_env": "HOOK_SECRET"}, "no user and password"),
        ("webhook", {"url": "https://a.example:99999/", "secret_env": "HOOK_SECRET"}, r"http\(s\)://host"),
        (
            "webhook",
            {"url": "https://a.example/", "secret_env": "HOOK_SECRET", "headers": {"Content-Type": "text/plain"}},
            "the header Content-Type is the channel's own",
        ),
        ("apprise", {"url": "json://a.example"}, "has no setting 'url'"),
        ("apprise", {}, "needs url_env"),
        ("apprise", {"url_env": "HOOK_SECRET", "format": "html"}, "format is text or markdown"),
        ("apprise", {"url_env": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE, which is not set"),
        ("prefect-event", {"url": "http://127.0.0.1:4200/api"}, "has no setting 'url'"),
    ],
)
def test_a_channel_that_cannot_work_is_refused_with_the_reason(kind, settings, says, monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", TOKEN)
    monkeypatch.setenv("HOOK_URL", "https://me:it@a.example/")
    load_channels()
    with pytest.raises(BadInputError, match=says) as refused:
        CHANNELS[kind](options(kind, **settings))
    assert TOKEN not in str(refused.value)


# Webhooks ---------------------------------------------------------------------------------------------------------


def test_a_webhook_is_signed_over_its_time_and_body_and_names_its_message(webhook, hook):
    assert webhook(headers={"X-Team": "audits"}).send(MESSAGE) == "HTTP 204"
    assert hook.signed_with(TOKEN) == [True]
    assert hook.signed_with("another") == [False]
    hook.bodies[0] = hook.bodies[0].replace(b"regressed", b"improved_", 1)
    assert hook.signed_with(TOKEN) == [False]
    headers = hook.headers[0]
    assert (headers["idempotency-key"], headers["x-team"]) == ("0f3a5c-7", "audits")
    assert headers["content-type"] == "application/json"


def test_a_redirect_is_not_followed(webhook, hook):
    with HookServer() as other:
        hook.redirect, hook.answers = other.url, [307]
        with pytest.raises(DeliveryError, match="HTTP 307: it redirects"):
            webhook().send(MESSAGE)
        assert other.bodies == []


def test_a_receiver_that_does_not_answer_in_time_or_at_all_is_a_failure_without_its_address(webhook, hook, monkeypatch):
    monkeypatch.setattr("flows.channels.webhook.TIMEOUT_S", 0.2)
    hook.delay_s = 1.0
    with pytest.raises(DeliveryError, match=r"no answer within 0.2 s"):
        webhook().send(MESSAGE)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}/{TOKEN}"
        with pytest.raises(DeliveryError, match="no connection") as failed:
            webhook(url=address).send(MESSAGE)
    assert TOKEN not in str(failed.value)
    assert failed.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://169.254.169.254/latest", "link-local address, which is refused"),
        ("http://[fe80::1]/", "link-local"),
        ("http://[::ffff:169.254.169.254]/", "link-local"),
        ("http://0.0.0.0:80/", "link-local"),
        ("http://8.8.8.8/", "plain http to a public address is refused"),
        ("https://no-such-host.invalid/", "the host has no address"),
    ],
)
def test_addresses_that_no_receiver_has_are_refused(webhook, url, says):
    with pytest.raises(DeliveryError, match=says):
        webhook(url=url).send(MESSAGE)


# Apprise ----------------------------------------------------------------------------------------------------------


def apprise_to(hook, monkeypatch, path=f"/{TOKEN}", **settings):
    monkeypatch.setenv("PAGER_URL", hook.url.replace("http://", "json://").replace("/hook", path))
    return AppriseChannel(options("apprise", url_env="PAGER_URL", **settings))


def test_apprise_hands_the_message_to_the_service_and_says_who_took_it(hook, monkeypatch):
    assert apprise_to(hook, monkeypatch).send(MESSAGE) == "taken by JSON"
    (sent,) = hook.messages
    assert sent["title"] == "(high) models:/nova chat/2 regressed against models:/nova chat/1"
    assert "What moved:\n- gender x occupation: 0.2 to 0.4" in sent["message"]
    assert "How sure: 5 % ＜b＞by＜/b＞ chance" in sent["message"]
    assert "Comparison in MLflow: https://mlflow.example/#/runs/1" in sent["message"]
    assert "spiritlevel alerts ack 3 --why TEXT" in sent["message"]
    assert sent["type"] == "failure"


def test_apprise_takes_markdown_where_the_service_shows_it(hook, monkeypatch):
    apprise_to(hook, monkeypatch, format="markdown").send(MESSAGE)
    assert "* gender x occupation: 0.2 to 0.4" in hook.messages[0]["message"]


def test_what_apprise_could_not_deliver_is_a_failure_and_its_reason_has_no_secret(hook, monkeypatch, caplog):
    hook.answers = [500]
    caplog.set_level(logging.DEBUG)
    with pytest.raises(DeliveryError, match="500") as failed:
        apprise_to(hook, monkeypatch).send(MESSAGE)
    assert TOKEN not in str(failed.value) + caplog.text
    monkeypatch.setenv("PAGER_URL", f"nonsense://{TOKEN}/")
    with pytest.raises(BadInputError, match="none that Apprise knows") as refused:
        AppriseChannel(options("apprise", url_env="PAGER_URL")).send(MESSAGE)
    assert TOKEN not in str(refused.value) + caplog.text


def test_apprise_follows_no_redirect(hook, monkeypatch):
    with HookServer() as other:
        hook.redirect, hook.answers = other.url, [307]
        with pytest.raises(DeliveryError):
            apprise_to(hook, monkeypatch).send(MESSAGE)
        assert other.bodies == []


# Prefect ----------------------------------------------------------------------------------------------------------


def test_every_kind_of_finding_has_its_event():
    assert set(EVENTS) == set(KINDS)
    assert event_of(MESSAGE)["event"] == "spiritlevel.release.regressed"
    assert event_of(MESSAGE)["resource"]["prefect.resource.id"] == "spiritlevel.release.nova-chat.2"
    assert event_of(MESSAGE)["id"] == event_of(MESSAGE)["id"]


def test_without_a_prefect_server_an_event_waits(monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with (
        temporary_settings(restore_defaults={PREFECT_API_URL}),
        pytest.raises(DeliveryError, match="PREFECT_API_URL is not set"),
    ):
        PrefectEventChannel(options("prefect-event")).send(MESSAGE)


@pytest.mark.usefixtures("prefect_server")
def test_prefect_takes_an_event_once_and_an_automation_can_match_it():
    import time

    from prefect.client.orchestration import get_client

    channel = PrefectEventChannel(options("prefect-event"))
    for message in (MESSAGE, MESSAGE, trial_message("mine", "0f3a5c-test", AT)):
        assert channel.send(message).endswith("taken by the Prefect server")
    wanted = {
        "event": {"prefix": ["spiritlevel."]},
        "occurred": {"since": "2026-11-02T00:00:00Z", "until": "2026-11-03T00:00:00Z"},
    }
    with get_client(sync_client=True) as client:
        found: list[dict] = []
        deadline = time.monotonic() + 30
        while len(found) < 2 and time.monotonic() < deadline:  # the server stores them a moment after it took them
            found = client.request("POST", "/events/filter", json={"filter": wanted, "limit": 50}).json()["events"]
            time.sleep(0.1)
    assert sorted(event["event"] for event in found) == ["spiritlevel.alerts.test", "spiritlevel.release.regressed"]
    (event,) = [event for event in found if event["event"].endswith("regressed")]
    assert event["resource"]["spiritlevel.severity"] == "high"
    assert {"prefect.resource.id": "spiritlevel.incident.3", "prefect.resource.role": "incident"} in event["related"]
    assert event["payload"]["dimensions"] == ["gender x occupation"]


# Files ------------------------------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_written_is_a_failure_with_its_reason(tmp_path):
    (tmp_path / "alerts.jsonl").mkdir()
    with pytest.raises(DeliveryError, match="cannot be written"):
        FileChannel(options("file", home=tmp_path)).send(MESSAGE)
    elsewhere = tmp_path / "elsewhere.jsonl"
    assert (
        FileChannel(options("file", home=tmp_path, path=str(elsewhere))).send(MESSAGE) == "written to elsewhere.jsonl"
    )
    assert FileChannel(options("file", home=tmp_path, path=str(elsewhere))).send(MESSAGE).endswith("already")
    assert len(elsewhere.read_text().splitlines()) == 1
