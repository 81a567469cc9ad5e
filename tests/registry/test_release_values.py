"""What a release may say of itself: ids, dates, endpoints, prices, and never a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.releases import (
    Releases,
    is_floating,
    pinning,
)


@pytest.fixture
def unopened(tmp_path):
    """A registry whose store is never made: what cannot be right is refused before anything is opened."""
    yield Releases(f"sqlite:///{tmp_path}/mlflow.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "family", ["", " ", "a/b", "a:b", "a@b", "..", ".", " a", "a ", "a'b", 'a"b', "a\nb", "x" * 201]
)
def test_families_that_cannot_be_referred_to_are_refused(unopened, family):
    with pytest.raises(ValueError, match="a family name starts with a letter or digit"):
        unopened.add(family, "a")


@pytest.mark.parametrize("model", ["", "a b", "a\n", "x" * 251])
def test_model_ids_that_no_endpoint_has_are_refused(unopened, model):
    with pytest.raises(ValueError, match="a model id is 1 to 250 characters without spaces"):
        unopened.add("acme-chat", model)


@pytest.mark.parametrize("released", ["2026-13-01", "2026-02-30", "20261001", "1 Oct 2026", ""])
def test_days_that_are_not_in_the_calendar_are_refused(unopened, released):
    with pytest.raises(ValueError, match="a release date is an ISO date"):
        unopened.add("acme-chat", "a", released=released)


@pytest.mark.parametrize(
    "base_url",
    ["api.acme.example", "ftp://x/v1", "http://", "embedded:", "embedded:a/../b", "http://h:x/v1", "https://a b/"],
)
def test_what_is_no_endpoint_is_refused(unopened, base_url):
    with pytest.raises(ValueError, match=r"an endpoint is http|the embedded model is written embedded:NAME"):
        unopened.add("acme-chat", "a", base_url=base_url)


@pytest.mark.parametrize("price", [-0.01, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["price_input", "price_output"])
def test_impossible_prices_are_refused(unopened, name, price):
    with pytest.raises(ValueError, match=f"{name} is US dollars per million tokens"):
        unopened.add("acme-chat", "a", **{name: price})


KEYS = [
    "sk-proj-4f9a8b7c6d5e",
    "sk_live_4f9a8b7c6d5e",
    "hf_AbCdEfGhIjKl",
    "gsk_abc123",
    "AIzaSyA1234567",
    "AKIA/secret+value",
    "4f9a8b7c6d5e",
    "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4",
    "two words",
    "",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_in_place_of_a_variable_name_is_refused_and_not_repeated(unopened, key):
    with pytest.raises(ValueError, match="name of the environment variable") as caught:
        unopened.add("acme-chat", "a", api_key_env=key)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(
    "base_url", ["https://me:hush@h/v1", "https://hush@h/v1", "https://h/v1?api_key=hush", "https://h/v1?token=hush"]
)
def test_a_secret_in_an_url_is_refused_and_not_repeated(unopened, base_url):
    with pytest.raises(ValueError, match="give the key by api_key_env") as caught:
        unopened.add("acme-chat", "a", base_url=base_url)
    assert "hush" not in str(caught.value)


# Ids as the providers' own documentation and model lists write them.
IDS = {
    "pinned": [
        "gpt-4o-2024-08-06",
        "gpt-4-0613",
        "gpt-4-1106-preview",
        "gpt-3.5-turbo-0125",
        "gpt-3.5-turbo-16k-0613",
        "o1-2024-12-17",
        "ft:gpt-4o-mini-2024-07-18:acme::abc123",
        "claude-3-5-sonnet-20241022",
        "claude-3-5-sonnet-v2@20241022",
        "anthropic.claude-3-5-sonnet-20241022-v2:0",
        "amazon.nova-pro-v1:0",
        "gemini-1.5-pro-002",
        "gemini-2.5-flash-preview-04-17",
        "gemini-2.5-flash-preview-09-2025",
        "mistral-small-2501",
        "codestral-2405",
        "mistral-small-2503@001",
        "command-r-08-2024",
        "command-a-03-2025",
        "deepseek-ai/DeepSeek-V3-0324",
        "Qwen/Qwen3-235B-A22B-Instruct-2507",
        "qwen-max-2025-01-25",
        "grok-2-1212",
        "meta-llama/Llama-3.1-8B-Instruct@0e9e39f249a16976918f6564b8830bc894c89659",
        "meta/llama-2-70b:02e509c789964a7ea8736978a43525956ef40397be9033abf9fd2badfe68c9e3",
        "llama3.1:8b-instruct-q4_K_M",
        "llama3:8b-instruct-fp16",
        "smollm2-135m-instruct.Q8_0.gguf",
        "SmolLM2-135M-Instruct-IQ2_XXS",
        "embedded:smollm2-135m",
    ],
    "floating": [
        "gpt-4o",
        "gpt-4.1-mini",
        "gpt-4-32k",
        "gpt-4-turbo-preview",
        "chatgpt-4o-latest",
        "o3-mini",
        "claude-3-5-sonnet-latest",
        "claude-opus-4-1",
        "gemini-2.5-flash",
        "gemini-flash-latest",
        "mistral-large-latest",
        "command-r-plus",
        "deepseek-chat",
        "grok-3",
        "llama3.1",
        "llama3.1:70b",
        "llama3.1:latest",
        "llama-3.1-8b-instant",
        "mixtral-8x7b-32768",
        "llama3-8b-8192",
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Llama-3.1-8B-Instruct@main",
        "yi-34b-200k",
        "phi-4",
    ],
}


@pytest.mark.parametrize(("model", "expected"), [(model, kind) for kind, models in IDS.items() for model in models])
def test_pinned_and_floating_ids(model, expected):
    assert pinning(model) == expected
    assert is_floating(model) == (expected == "floating")


def test_the_embedded_endpoint_pins_any_id():
    assert pinning("smollm2", "embedded:smollm2") == "pinned"
    assert pinning("smollm2", "http://127.0.0.1/v1") == "floating"


@given(name=st.from_regex(r"[a-z]{1,8}(-[a-z]{1,8}){0,3}", fullmatch=True), day=st.dates())
def test_a_dated_id_is_pinned_and_the_bare_name_is_not(name, day):
    if 2010 <= day.year < 2050:
        assert pinning(f"{name}-{day.isoformat()}") == "pinned"
        assert pinning(f"{name}-{day:%Y%m%d}") == "pinned"
    assert pinning(name) == "floating"
    assert pinning(f"{name}-latest") == "floating"
