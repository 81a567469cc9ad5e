"""Where the ledger is: in the environment, in a file, or in the configuration without a password."""

from __future__ import annotations

import pytest

from flows.settings import Home
from metrics.errors import BadInputError


@pytest.mark.parametrize(
    "address",
    ["postgresql://me:hush@db/ledger", "postgresql+psycopg://me:hush@db:5432/l", "postgresql://db/l?password=hush"],
)
def test_a_password_in_the_configuration_file_is_refused_and_not_repeated(home, spiritlevel, address):
    (home / "spiritlevel.toml").write_text(f'ledger_url = "{address}"\n')
    spiritlevel("status", code=2)
    assert "hush" not in spiritlevel.stderr
    assert "SPIRITLEVEL_LEDGER_URL" in spiritlevel.stderr
    assert "PGPASSFILE" in spiritlevel.stderr


@pytest.mark.parametrize("address", ["https://me:hush@mlflow:5000", "postgresql://db/mlflow?password=hush"])
def test_a_password_in_the_address_of_mlflow_is_refused_too(home, monkeypatch, address):
    (home / "spiritlevel.toml").write_text(f'tracking_uri = "{address}"\n')
    with pytest.raises(BadInputError, match=r"tracking_uri .* holds a password") as refused:
        _ = Home(home).tracking_uri
    assert "hush" not in str(refused.value)
    monkeypatch.setenv("SPIRITLEVEL_TRACKING_URI", address)
    assert "mlflow" in Home(home).tracking_uri


def test_an_address_without_a_password_is_taken_with_its_tls_settings(home):
    address = "postgresql://me@db/ledger?sslmode=verify-full&sslrootcert=/etc/ca.pem"
    (home / "spiritlevel.toml").write_text(f'ledger_url = "{address}"\n')
    assert Home(home).ledger_url == address


def test_the_environment_and_the_file_that_it_names_win(home, monkeypatch, tmp_path):
    (home / "spiritlevel.toml").write_text('ledger_url = "postgresql://me@db/ledger"\n')
    secret = tmp_path / "ledger_url"
    secret.write_text("postgresql://me:hush@other/ledger\n")
    monkeypatch.setenv("SPIRITLEVEL_LEDGER_URL_FILE", str(secret))
    assert Home(home).ledger_url == "postgresql://me:hush@other/ledger"
    monkeypatch.setenv("SPIRITLEVEL_LEDGER_URL", "postgresql://me:hush@third/ledger")
    assert Home(home).ledger_url == "postgresql://me:hush@third/ledger"
    monkeypatch.delenv("SPIRITLEVEL_LEDGER_URL")
    secret.unlink()
    with pytest.raises(BadInputError, match="ledger's address"):
        _ = Home(home).ledger_url
