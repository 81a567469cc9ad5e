"""The receiver over real HTTP: what is believed, what is refused, and that a refusal leaves nothing behind."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flows.receiver
from flows.receiver import FRESH_S, Desk, News, RefusedError, news_of, receiving, signature, verified
from flows.settings import Home
from flows.workspace import opened
from metrics.errors import BadInputError

SECRET = "not a secret of anybody"
NOW = 1_767_225_600


def created(name="nova", version="2", action="created", entity="model_version", **data):
    return json.dumps({"entity": entity, "action": action, "data": {"name": name, "version": version, **data}}).encode()


def headers_for(body, *, delivery="delivery-0001", at=NOW, secret=SECRET):
    return {
        "X-MLflow-Delivery-Id": delivery,
        "X-MLflow-Timestamp": str(at),
        "X-MLflow-Signature": signature(secret, delivery, str(at), body),
    }


class Service:
    """A receiver on a real ledger, with what arrived."""

    def __init__(self, workspace, secret=SECRET):
        self.rung = 0
        self.trouble = None
        self.ledger = ledger = workspace.ledger
        self.desk = Desk(
            secret=secret,
            families=lambda: frozenset({"nova"}),
            receive=self.receive,
            ring=self.ring,
            health=lambda: {"ledger": ledger.identity},
            figures=lambda: "# EOF\n",
            clock=lambda: NOW,
        )

    def receive(self, delivery):
        if self.trouble:
            raise self.trouble
        return self.ledger.receive_webhook(delivery)

    def ring(self):
        self.rung += 1

    def ask(self, method="POST", path="/webhooks/mlflow", body=b"", headers=None):
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.address).netloc, timeout=10)
        try:
            connection.request(method, path, body or None, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            connection.close()

    def post(self, body, **how):
        status, answer, _ = self.ask(body=body, headers=headers_for(body, **how))
        return status, json.loads(answer)


@pytest.fixture
def service(home):
    with opened(Home(home)) as workspace:
        made = Service(workspace)
        with receiving(made.desk, "127.0.0.1", 0) as made.address:
            yield made


def test_the_signature_is_the_one_that_mlflow_makes():
    from mlflow.webhooks.delivery import _generate_hmac_signature

    body = created(description="naïve – £")
    theirs = _generate_hmac_signature(SECRET, "delivery-0001", str(NOW), body.decode())
    assert signature(SECRET, "delivery-0001", str(NOW), body) == theirs


def test_a_signed_webhook_of_a_declared_family_is_noted_once_and_its_repetition_is_refused(service):
    body = created()
    assert service.post(body) == (202, {"noted": "models:/nova/2"})
    status, answer = service.post(body)
    assert (status, answer) == (409, {"refused": "this delivery was received before"})
    assert service.post(created(alias="champion", entity="model_version_alias"), delivery="delivery-0002")[0] == 202
    assert service.rung == 2


def test_other_families_and_other_events_are_ignored_and_leave_nothing_behind(service):
    assert "declared families" in service.post(created(name="example_model"))[1]["ignored"]
    assert "model_version.created" in service.post(created(action="deleted"))[1]["ignored"]
    assert service.rung == 0
    assert service.post(created())[0] == 202  # the same delivery id: neither was taken down


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"X-MLflow-Signature": None}, 401),
        ({"X-MLflow-Signature": "v1,AAAA"}, 401),
        ({"X-MLflow-Signature": "v1,\xff\xfe"}, 401),
        ({"X-MLflow-Timestamp": None}, 401),
        ({"X-MLflow-Timestamp": str(NOW + 1)}, 401),
        ({"X-MLflow-Timestamp": "-1"}, 401),
        ({"X-MLflow-Timestamp": "9" * 400}, 401),
        ({"X-MLflow-Delivery-Id": "another-id"}, 401),
        ({"X-MLflow-Delivery-Id": "x" * 500}, 401),
    ],
)
def test_whatever_is_not_signed_as_a_whole_is_refused(service, change, status):
    body = created()
    headers = {name: value for name, value in (headers_for(body) | change).items() if value is not None}
    headers = {name: value.encode("latin-1") for name, value in headers.items()}
    assert service.ask(body=body, headers=headers)[0] == status
    assert service.ask(body=body + b" ", headers=headers_for(body))[0] == 401
    assert service.rung == 0


@pytest.mark.parametrize(("at", "status"), [(NOW - FRESH_S, 202), (NOW - FRESH_S - 1, 401), (NOW + FRESH_S + 1, 401)])
def test_an_old_time_stamp_is_refused_though_it_is_signed(service, at, status):
    assert service.post(created(), at=at)[0] == status


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"entity": "model_version", "action": "created", "data": []}',
        created(name=7),
        created(version="0"),
        created(version="latest"),
        created(version=True),
        created(version="9" * 50),
        created(version=["1"]),
        created(entity="model_version_alias", name=None, alias="champion"),
    ],
)
def test_a_signed_body_of_another_form_is_refused_with_a_reason(service, body):
    status, answer = service.post(body)
    assert status == 400, answer
    assert service.rung == 0


@settings(max_examples=200, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(
    st.sampled_from(["entity", "action", "data", "name", "version", "alias"]), inner)))  # fmt: skip
def test_no_json_whatever_makes_reading_a_webhook_fail_in_another_way(value):
    with contextlib.suppress(RefusedError):
        assert isinstance(news_of(json.dumps(value).encode()), News | None)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["x-mlflow-signature", "x-mlflow-timestamp", "x-mlflow-delivery-id"]), st.text())
)
def test_no_headers_whatever_are_believed_without_the_secret(headers):
    with pytest.raises(RefusedError) as refused:
        verified(headers, b"{}", SECRET, NOW)
    assert refused.value.status == 401


def test_a_body_that_is_too_large_is_refused_before_it_is_read(service, monkeypatch):
    headers = {"Content-Length": str(flows.receiver.LARGEST_BODY + 1)}
    assert service.ask(body=b"x", headers=headers)[0] == 413
    monkeypatch.setattr(flows.receiver, "LARGEST_BODY", 1000)
    chunks = iter([b"x" * 600, b"x" * 600])
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(service.address).netloc, timeout=10)
    connection.request("POST", "/webhooks/mlflow", chunks, {"Transfer-Encoding": "chunked"}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_a_sender_that_dribbles_or_hangs_up_does_not_hold_the_others_up(service, monkeypatch):
    monkeypatch.setattr(flows.receiver, "BODY_WITHIN_S", 0.3)
    host, port = urllib.parse.urlsplit(service.address).netloc.split(":")
    head = b"POST /webhooks/mlflow HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    with (
        socket.create_connection((host, int(port)), timeout=10) as slow,
        socket.create_connection((host, int(port))) as gone,
    ):
        slow.sendall(head)
        gone.sendall(head)
        gone.close()
        assert service.post(created())[0] == 202
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")


def test_of_many_copies_of_one_delivery_that_come_at_once_one_is_acted_on(service):
    body, statuses = created(), []
    threads = [threading.Thread(target=lambda: statuses.append(service.post(body)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [202] + [409] * 7
    assert service.rung == 1


def test_what_could_not_be_noted_is_answered_so_that_mlflow_sends_it_again(service):
    service.trouble = RuntimeError("the ledger is away at postgresql://secret@host")
    body = created()
    status, answer = service.post(body)
    assert status == 503  # one of those that MLflow repeats
    assert "secret" not in str(answer)
    assert service.rung == 0
    service.trouble = None
    assert service.post(body)[0] == 202
    assert service.rung == 1


def test_without_a_secret_every_webhook_is_refused(home):
    with opened(Home(home)) as workspace:
        service = Service(workspace, secret=None)
        with receiving(service.desk, "127.0.0.1", 0) as service.address:
            assert service.post(created(), secret="")[0] == 503
            assert service.ask("GET", "/health")[0] == 200
    assert service.rung == 0


def test_health_and_figures_are_served_and_nothing_else(service):
    assert json.loads(service.ask("GET", "/health")[1])["status"] == "ok"
    status, text, headers = service.ask("GET", "/metrics")
    assert (status, text) == (200, b"# EOF\n")
    assert headers["content-type"].startswith("application/openmetrics-text")
    assert "server" not in headers
    assert service.ask("GET", "/")[0] == 404
    assert service.ask("GET", "/webhooks/mlflow")[0] == 405


def test_trouble_in_a_health_check_is_said_without_details(home):
    def away():
        raise RuntimeError("postgresql://user:password@host")

    with opened(Home(home)) as workspace:
        service = Service(workspace)
        object.__setattr__(service.desk, "health", away)
        object.__setattr__(service.desk, "figures", away)
        with receiving(service.desk, "127.0.0.1", 0) as service.address:
            assert (service.ask("GET", "/health")[0], service.ask("GET", "/metrics")[0]) == (503, 503)
            assert b"password" not in service.ask("GET", "/health")[1] + service.ask("GET", "/metrics")[1]


def test_a_port_that_is_taken_is_said_in_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = receiving(None, "127.0.0.1", other.getsockname()[1])
        with pytest.raises(BadInputError, match=r"service\.port"):
            place.__enter__()


def test_the_secret_is_not_shown_with_the_desk(service):
    assert SECRET not in repr(service.desk)
