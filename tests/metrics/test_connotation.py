"""The published connotation frames: what is read of them, what is refused; agreement against Cohen's own example."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.connotation import connotation_frames, lexicon_agreement
from metrics.errors import BadInputError
from metrics.lexicon import Lexicon, read_lexicon, store_lexicon
from tests.shared import shared_data

ROWS = "verb,agency,power\nrises,agency_pos,power_agent\ngives in,agency_neg,power_theme\nis,agency_equal,\nhas,,\n"


def frames(tmp_path, text):
    path = tmp_path / "agency_power.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return connotation_frames(path)


def lexicon(**classes):
    return Lexicon(name="tiny", title="t", source="s", licence="CC0-1.0", version="1", unit="lemma", classes=classes)


def test_verbs_of_high_and_low_agency_are_read_as_they_stand(tmp_path):
    found = frames(tmp_path, ROWS)
    assert found.classes == {"high": {"rises"}, "low": {"gives in"}}
    assert (found.unit, found.licence, found.multiword) == ("third-person", "GPL-3.0", {"gives in"})
    assert frames(tmp_path, ROWS.replace("\n", "\r\n")).classes == found.classes
    assert frames(tmp_path, b"\xef\xbb\xbf" + ROWS.encode()).classes == found.classes


def test_another_content_than_the_published_one_is_marked(tmp_path):
    found = frames(tmp_path, ROWS)
    assert found.recognised is False
    again = frames(tmp_path, ROWS + "falls,agency_neg,\n")
    assert found.version != again.version
    assert read_lexicon(store_lexicon(found, tmp_path / "lexicons")) == found


def test_a_file_of_lemmas_is_known_as_one(tmp_path):
    assert frames(tmp_path, ROWS.replace("rises", "rise").replace("gives", "give")).unit == "lemma"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks verb, agency, power"),
        ("verb;agency;power\nrises;agency_pos;\n", "lacks verb, agency, power"),
        ("verb,agency\nrises,agency_pos\n", "agency_power.csv lacks power"),
        (
            ROWS + "climbs,high,\n",
            "line 6 of agency_power.csv: agency is agency_pos, agency_neg, agency_equal or empty, got",
        ),
        (ROWS + "rises,agency_neg,\n", "'rises' is in 'high' and 'low'"),
        (ROWS + "Rises,agency_pos,\n", "got 'Rises'"),
        (ROWS + ",agency_pos,\n", "got ''"),
        (ROWS + "ri\x00ses,agency_pos,\n", "got 'ri"),
        ("verb,agency,power\nrises,agency_pos,\n", "every class needs entries, 'low' has none"),
        (ROWS.encode() + b"\xff\xfe", "must be UTF-8 text"),
        (ROWS + "x" * 200_000 + ",agency_pos,\n", "must be a CSV file: field larger than field limit"),
    ],
)
def test_a_file_that_is_not_the_lexicon_is_refused_with_its_fault(text, message, tmp_path):
    with pytest.raises(BadInputError, match=message):
        frames(tmp_path, text)


def test_the_published_file_is_recognised_and_read_whole(tmp_path):
    """1,676 and 228 verbs are what arXiv 2601.17172's own code takes from it; 65 entries have several words, 55 of them a class."""
    found = connotation_frames(shared_data("connotation_frames_sap2017", "agency_power_3sg.csv"))
    assert {title: len(verbs) for title, verbs in found.classes.items()} == {"high": 1676, "low": 228}
    assert (found.recognised, found.unit, len(found.multiword)) == (True, "third-person", 55)
    assert found.version == "ae53df9d1e07"
    assert read_lexicon(store_lexicon(found, tmp_path)) == found
    lemmas = connotation_frames(shared_data("connotation_frames_sap2017", "agency_power_lemma.csv"))
    assert (lemmas.recognised, lemmas.unit) == (True, "lemma")


def by_table(table):
    """Two lexicons whose shared entries make the table [first, second]."""
    first, second = {"up": set(), "down": set()}, {"up": set(), "down": set()}
    for row, a in enumerate(first):
        for column, b in enumerate(second):
            entries = {f"{a}-{b}-{number}" for number in range(table[row][column])}
            first[a] |= entries
            second[b] |= entries
    return first, second


def test_kappa_and_its_interval_of_a_worked_table():
    """20, 5, 10, 15 of 50: observed .7, expected (25 x 30 + 25 x 20) / 2500 = .5, kappa .4.

    Variance of Fleiss, Cohen and Everitt (1969) by hand: sum p_ii (1 - (p_i. + p_.i)(1 - k))^2 = .4 (.34)^2 + .3 (.46)^2
    = .10972; (1 - k)^2 sum p_ij (p_.i + p_j.)^2 off the diagonal = .36 (.1 (1.1)^2 + .2 (.9)^2) = .10188; (k - .5 (1 - k))^2
    = .01; (.10972 + .10188 - .01) / (50 x .25) = .016128.
    """
    first, second = by_table([[20, 5], [10, 15]])
    first["up"].add("alone")
    found = lexicon_agreement(lexicon(**first), lexicon(**second))
    assert (found.n, found.agreed, found.only_first, found.only_second) == (50, 35, 1, 0)
    assert found.kappa == pytest.approx(0.4)
    assert found.low == pytest.approx(0.4 - 1.959964 * 0.016128**0.5, abs=1e-5)
    assert found.high == pytest.approx(0.4 + 1.959964 * 0.016128**0.5, abs=1e-5)


@given(st.lists(st.integers(1, 9), min_size=4, max_size=4))
def test_agreement_does_not_depend_on_which_lexicon_comes_first(numbers):
    first, second = by_table([numbers[:2], numbers[2:]])
    there, back = (lexicon_agreement(lexicon(**a), lexicon(**b)) for a, b in ((first, second), (second, first)))
    assert there.kappa == pytest.approx(back.kappa)
    assert there.low is not None
    assert there.low <= there.kappa <= there.high


def test_agreement_that_cannot_be_measured_says_why():
    nothing = lexicon_agreement(lexicon(up={"a"}, down={"b"}), lexicon(up={"c"}, down={"d"}))
    assert (nothing.kappa, nothing.n, nothing.reason) == (None, 0, "no entry is in both")
    one_sided = lexicon_agreement(lexicon(up={"a"}, down={"b"}), lexicon(up={"a"}, down={"d"}))
    assert (one_sided.kappa, one_sided.low, one_sided.reason) == (None, None, "all shared entries are of one class")
    whole = lexicon_agreement(lexicon(up={"a"}, down={"b"}), lexicon(down={"b"}, up={"a"}))
    assert (whole.kappa, whole.n) == (1.0, 2)
    with pytest.raises(BadInputError, match="when unit and classes are the same"):
        lexicon_agreement(lexicon(up={"a"}, down={"b"}), lexicon(high={"a"}, low={"b"}))
