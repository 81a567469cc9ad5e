"""`Redaction`: no text keeps a key, and nothing else is changed."""

import asyncio
import gzip
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.redaction import (
    REMOVED_KEY,
    REMOVED_SECRET,
    Redaction,
    counted_without_secrets,
    looks_like_key,
    without_secrets_in,
)
from tests.shared import shared_data
from tests.stub_server import StubServer

KEY = "sk-very-secret-0123456789"

# In the forms that the providers document. Put together here, so that no scanner of repositories takes them for real.
BODY = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"
KEYS = {
    "OpenAI": "sk-" + "proj-" + BODY,
    "OpenAI, old": "sk-" + BODY + "ABCDEF123",
    "Anthropic": "sk-" + "ant-api03-" + BODY + "_-AA",
    "OpenRouter": "sk-" + "or-v1-" + "0123456789abcdef" * 4,
    "Groq": "gsk" + "_" + BODY,
    "Stripe": "sk" + "_live_" + BODY,
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS, temporary": "ASIA" + "IOSFODNN7EXAMPLE",
    "GitHub": "ghp" + "_" + BODY[:36],
    "GitHub, fine-grained": "github" + "_pat_" + "11ABCDEFG0" + BODY,
    "GitLab": "glpat" + "-" + BODY[:20],
    "Slack": "xoxb" + "-1234567890-" + BODY,
    "Google": "AIza" + "Sy" + BODY[:33],
    "Hugging Face": "hf" + "_" + BODY[:34],
    "a web token": "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + BODY,
}
# What must go, and a text that it stands in; what is around it stays.
WITHIN = {
    "a bearer token": (BODY, "Authorization: Bearer {}, and more"),
    "basic authentication": ("dXNlcjpwYXNzd29yZDEyMw==", "{'Authorization': 'Basic {}'}"),
    "a password in an address": ("hunter2!", "postgresql://audit:{}@db.example.org/ledger"),
    "a password with signs": ("p@ss:w0rd", "https://audit:{}@mlflow.example.org"),
    "a password in a query": ("hunter2", "postgresql://db/ledger?sslmode=require&sslpassword={}&x=1"),
    "a database's settings": ("hunter2", "host=db password={} user=audit"),
    "a key by its name": (BODY, '{"api_key": "{}", "n": 1}'),
    "an escaped key by its name": (BODY, '{\\"apiKey\\":\\"{}\\", \\"n\\": 1}'),
    "the secret half of an AWS key": ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1", "aws_secret_access_key = {}"),
    "a Slack webhook": ("T00000000/B00000000/" + BODY[:24], "https://hooks.slack.com/services/{} refused"),
}


@given(st.text(min_size=6, alphabet=st.characters(min_codepoint=33, max_codepoint=126)), st.text(), st.text())
def test_no_text_keeps_a_key(key, before, after):
    line = f"{before}{key}{after}"
    for text in (Redaction(key).of(line), Redaction(key).of([{"a": line}])[0]["a"], Redaction(key).line(line)):
        assert key not in text.replace(REMOVED_KEY, "\n").replace(REMOVED_SECRET, "\n")
        text.encode()


def test_a_cut_line_ends_with_no_part_of_a_key():
    assert KEY[:8] not in Redaction(KEY).line("x" * 390 + KEY)


def test_placeholder_keys_do_not_damage_answers():
    assert Redaction("none").of("one of none") == "one of none"


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("around", ["{}", "the key {} is wrong", '{"said": "{}"}', "({}).", "KEY={}\n"])
def test_what_looks_like_a_key_is_removed_and_what_is_around_it_stays(kind, around):
    text, removed = counted_without_secrets(around.replace("{}", KEYS[kind]))
    assert (text, removed) == (around.replace("{}", REMOVED_SECRET), 1)
    assert looks_like_key(KEYS[kind])


@pytest.mark.parametrize("kind", WITHIN)
def test_a_secret_is_known_by_what_stands_before_it(kind):
    secret, around = WITHIN[kind]
    assert counted_without_secrets(around.replace("{}", secret)) == (around.replace("{}", REMOVED_SECRET), 1)


@pytest.mark.parametrize("line_break", ["\n", "\\n"])
def test_a_private_key_is_removed_as_a_whole(line_break):
    name = "RSA PRIVATE" + " KEY"
    pem = line_break.join([f"-----BEGIN {name}-----", "MIIEow+/=" * 7, "AbCd" * 9, f"-----END {name}-----"])
    assert counted_without_secrets(f"before {pem} after") == (f"before {REMOVED_SECRET} after", 1)


def test_removing_twice_changes_nothing_more():
    text = " ".join([*KEYS.values(), *(around.replace("{}", secret) for secret, around in WITHIN.values())])
    once, removed = counted_without_secrets(text)
    assert removed >= len(KEYS) + len(WITHIN)
    assert counted_without_secrets(once) == (once, 0)


@pytest.mark.parametrize("kind", WITHIN)
def test_json_stays_json_and_keeps_its_other_values(kind):
    secret, around = WITHIN[kind]
    text = json.dumps({"said": f'he said "{around.replace("{}", secret)}"', "n": 1})
    found = json.loads(counted_without_secrets(text)[0])
    assert found["n"] == 1
    assert secret not in found["said"]


def test_imported_answers_are_cleaned_and_say_so_and_the_others_are_the_same_objects():
    from registry.audits.plan import Response

    kept, other = Response(index=0, text="a person"), Response(index=1, text=f"my key {KEYS['OpenAI']}", extra={"x": 1})
    first, second = without_secrets_in([kept, other])
    assert first is kept
    assert second.text == f"my key {REMOVED_SECRET}"
    assert second.extra == {"x": 1, "redactions": 1}


def test_an_answer_says_how_many_keys_were_removed_from_it():
    from flows.chat import OpenAIChat
    from registry.audits.plan import Request

    with StubServer(calls=["echo-answer", "ok"]) as server:

        async def asked():
            async with OpenAIChat("stub-1", base_url=server.base_url, api_key=KEY) as chat:
                request = Request(
                    index=0, repeat=0, messages=({"role": "user", "content": "Imagine a person."},), seed=1
                )
                return [await chat.answer(request) for _ in range(2)]

        echoed, plain = asyncio.run(asked())
    assert echoed.extra["redactions"] >= 1
    assert "redactions" not in plain.extra


PROSE = (
    "a risk-averse, desk-based clerk; task-oriented-and-very-long-hyphenated-words-without-end",
    "sk-learn-based-classification-of-many-things",
    "Bearer of bad news, bearer responsibilities and Basic qualifications",
    "her secret: gardening; the key: patience; token=yes? a password is needed",
    "http://localhost:8000/v1 and https://example.org/a?b=c@d.org, mail me@example.org",
    "OPENAI_API_KEY, api_key_env=MY_PROVIDER_API_KEY2, Secretary: Key West, monkey: 12 bananas",
    "AKIA, ASIAN 16, xoxo, eyJafjallajökull, hf_, -----BEGIN CERTIFICATE-----",
    "models:/nova-chat/3 1f2e3d4c5b6a79881f2e3d4c5b6a7988 sha256:" + "0123456789abcdef" * 4,
)


@pytest.mark.parametrize("text", PROSE)
def test_prose_addresses_hashes_and_names_of_variables_stay_as_they_are(text):
    assert counted_without_secrets(text) == (text, 0)


WORDS = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ éüñ'-.,0123456789"), max_size=60)
PERSONA = st.fixed_dictionaries(
    dict.fromkeys(("name", "gender", "occupation", "religion", "political view", "key trait", "secret wish"), WORDS)
)


@given(st.lists(PERSONA, max_size=5), st.sampled_from([None, 2]))
def test_ordinary_personas_are_never_altered(personas, indent):
    text = json.dumps(personas, ensure_ascii=False, indent=indent)
    assert Redaction(KEY).counted(text) == (text, 0)


@pytest.mark.slow
def test_no_text_of_the_real_corpora_is_altered():
    altered = {}
    for path in sorted(path for path in shared_data().rglob("*") if path.is_file()):
        if path.suffix == ".xlsx":
            continue
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text, removed = counted_without_secrets(raw.decode("utf-8", "replace"))
        if removed:
            altered[path.name] = (removed, text[max(0, text.index(REMOVED_SECRET) - 60) :][:120])
    assert altered == {}


HOSTILE = (
    "sk-", "api_key=", "api_key='", "Bearer a", "://a:", "eyJaaaaaaaaaaa.a", "xoxa-", "-----BEGIN PRIVATE KEY-----",
    "password=", "authorization: basic ", "hooks.slack.com/a/",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_text_that_was_made_to_be_slow_is_not(piece):
    began = time.process_time()
    counted_without_secrets(piece * (200_000 // len(piece)))
    assert time.process_time() - began < 1.0


def test_an_answer_costs_microseconds():
    answer = json.dumps([{"name": f"Maria {n}", "occupation": "desk clerk", "trait": "risk-averse"} for n in range(30)])
    redaction, rounds = Redaction(), 200
    began = time.process_time()
    for _ in range(rounds):
        redaction.of(answer[:2000])
    assert (time.process_time() - began) / rounds < 0.001
