"""`Redaction`: no text keeps a key."""

from hypothesis import given
from hypothesis import strategies as st

from flows.redaction import REMOVED_KEY, Redaction

KEY = "sk-very-secret-0123456789"


@given(st.text(min_size=6, alphabet=st.characters(min_codepoint=33, max_codepoint=126)), st.text(), st.text())
def test_no_text_keeps_a_key(key, before, after):
    line = f"{before}{key}{after}"
    for text in (Redaction(key).of(line), Redaction(key).of([{"a": line}])[0]["a"], Redaction(key).line(line)):
        assert key not in text.replace(REMOVED_KEY, "\n")
        text.encode()


def test_a_cut_line_ends_with_no_part_of_a_key():
    assert KEY[:8] not in Redaction(KEY).line("x" * 390 + KEY)


def test_placeholder_keys_do_not_damage_answers():
    assert Redaction("none").of("one of none") == "one of none"
