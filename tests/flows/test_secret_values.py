"""`secret`: from a variable or a file, and never shown when it stands in the wrong place."""

import traceback

import pytest

from flows.secret_values import secret, secret_present
from metrics.errors import BadInputError

KEY = "sk" + "-proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0"


def refusal(name):
    with pytest.raises(BadInputError) as caught:
        secret(name, "the channel 'pager'")
    # The whole chain of exceptions, for that is what a log shows.
    return str(caught.value), "".join(traceback.format_exception(caught.value))


def test_a_secret_comes_from_its_variable_else_from_the_file_that_is_named(monkeypatch, tmp_path):
    path = tmp_path / "key"
    path.write_text("of the file\n")
    monkeypatch.setenv("MY_KEY_FILE", str(path))
    assert secret("MY_KEY", "it") == "of the file"
    monkeypatch.setenv("MY_KEY", "of the variable")
    assert secret("MY_KEY", "it") == "of the variable"
    monkeypatch.setenv("MY_KEY", "")  # as compose files leave what is not set
    assert secret("MY_KEY", "it") == "of the file"
    assert secret(None, "it") is None
    assert secret_present("MY_KEY")
    assert not secret_present(None)


def test_what_is_not_set_is_said_with_both_ways_to_set_it():
    said, _ = refusal("MY_KEY")
    assert said.startswith("the channel 'pager' takes its secret")
    assert "variable MY_KEY," in said
    assert "MY_KEY_FILE" in said
    assert not secret_present("MY_KEY")


@pytest.mark.parametrize("given", [KEY, "hunter 2", "AKIA" + "IOSFODNN7EXAMPLE", "0123abc", ""])
def test_a_key_in_place_of_a_variables_name_is_refused_and_not_shown(given):
    said, chain = refusal(given)
    assert "not repeated here" in said
    assert not given or given not in chain


def test_a_key_in_place_of_a_files_path_is_not_shown(monkeypatch):
    monkeypatch.setenv("MY_KEY_FILE", KEY)
    said, chain = refusal("MY_KEY")
    assert KEY not in chain
    assert "MY_KEY_FILE names the path in it (not repeated here): No such file" in said


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "empty"), (b"\n\n", "empty"), (b"\xff\xfe\x00", "no text"), (b"x" * 70_000, "too large")]
)
def test_a_file_that_holds_no_secret_is_refused_with_the_reason(monkeypatch, tmp_path, content, why):
    path = tmp_path / "key"
    path.write_bytes(content)
    monkeypatch.setenv("MY_KEY_FILE", str(path))
    assert why in refusal("MY_KEY")[0]
    monkeypatch.setenv("MY_KEY_FILE", str(tmp_path))
    assert "directory" in refusal("MY_KEY")[0]
