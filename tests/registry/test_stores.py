"""Reaching an MLflow server: certificates, patience, and what messages leave out."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from registry import stores
from registry.stores import StoreUnreachableError, asked_once, opened


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that nobody vouches for, and its key, in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "server.pem"
    form = serialization.PrivateFormat.TraditionalOpenSSL
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


@pytest.fixture
def secured(certificate):
    """Address of a server with that certificate; it answers everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_a_certificate_that_nobody_vouches_for_is_refused(secured, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_SERVER_CERT_PATH", raising=False)
    with pytest.raises(StoreUnreachableError, match="SSLError"):
        opened(secured)


def test_a_certificate_that_the_user_names_is_taken(secured, certificate, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", str(certificate))
    assert opened(secured).tracking_uri == secured


def test_a_certificate_file_that_is_not_there_is_said(secured, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", str(tmp_path / "none.pem"))
    with pytest.raises(StoreUnreachableError, match=r"the MLflow server at https://127.0.0.1:\d+ does not answer"):
        opened(secured)


def test_a_server_that_went_away_is_noticed_though_it_answered_before(monkeypatch):
    address = "http://127.0.0.1:9"
    monkeypatch.setitem(stores._reached, address, stores.time.monotonic())
    assert opened(address).tracking_uri == address
    monkeypatch.setitem(stores._reached, address, stores.time.monotonic() - 11)
    with pytest.raises(StoreUnreachableError):
        opened(address)


def test_a_request_that_must_not_be_repeated_leaves_the_setting_as_it_was(monkeypatch):
    name = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
    monkeypatch.setenv(name, "4")
    with asked_once():
        assert os.environ[name] == "0"
    assert os.environ[name] == "4"
    monkeypatch.delenv(name)
    with asked_once():
        assert os.environ[name] == "0"
    assert name not in os.environ
