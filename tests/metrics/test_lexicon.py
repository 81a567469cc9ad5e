"""Lexicons: their files, what they refuse, which words they know; against loops and counts by hand."""

from __future__ import annotations

import copy
import fnmatch
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.catalog import UnknownEntryError
from metrics.errors import BadInputError
from metrics.lexicon import UNKNOWN, Lexicon, hit_rate, lexicon_names, load_lexicon, read_lexicon, store_lexicon

HEADER = {"name": "tiny", "title": "t", "source": "s", "licence": "CC0-1.0", "version": "1"}
GOOD = "".join(f'{key} = "{value}"\n' for key, value in HEADER.items())
SHIPPED = [load_lexicon(name) for name in lexicon_names()]
CATEGORIES = [lexicon for lexicon in SHIPPED if lexicon.unit == "stem"]


def lexicon(unit="lemma", **classes):
    return Lexicon(**HEADER, unit=unit, classes=classes)


def written(folder, text):
    path = folder / "tiny.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("unit", "classes", "message"),
    [
        ("lemma", {"up": {"rise"}, "down": {"rise"}}, "'rise' is in 'up' and 'down'"),
        ("stem", {"up": {"lead*"}, "down": {"leaden"}}, r"stem 'lead\*' of 'up' also reaches 'leaden' of 'down'"),
        ("stem", {"up": {"lead*"}, "down": {"leade*"}}, r"also reaches 'leade\*' of 'down'"),
        ("lemma", {"up": {"rise"}, "down": set()}, "every class needs entries, 'down' has none"),
        ("lemma", {}, "at least one class"),
        ("lemma", {"up": {"Rise"}}, "got 'Rise'"),
        ("lemma", {"up": {" rise"}}, "got ' rise'"),
        ("lemma", {"up": {""}}, "got ''"),
        ("phrase", {"up": {"on  top"}}, "got 'on  top'"),
        ("phrase", {"up": {"ri\x00se"}}, "got 'ri"),
        ("stem", {"up": {"go up"}}, "is one word, got 'go up'"),
        ("lemma", {"up": {"ris*"}}, r"in unit 'stem' only; got 'ris\*'"),
        ("stem", {"up": {"r*"}}, r"3 letters or more.*got 'r\*'"),
        ("stem", {"up": {"ri*se"}}, r"got 'ri\*se'"),
        ("lemmas", {"up": {"rise"}}, "unit must be one of lemma, stem, third-person, phrase, got 'lemmas'"),
        ("lemma", {"Up!": {"rise"}}, "a class is named by lower-case words joined by hyphens, got 'Up!'"),
    ],
)
def test_a_lexicon_that_leaves_a_words_class_open_is_refused(unit, classes, message):
    with pytest.raises(BadInputError, match=message):
        lexicon(unit, **classes)


@pytest.mark.parametrize("field", [*HEADER, "unit"])
def test_a_header_field_that_is_missing_or_empty_is_named(field, tmp_path):
    fields = {**HEADER, "unit": "lemma"}
    lines = [f'{key} = "{value}"\n' for key, value in fields.items() if key != field]
    with pytest.raises(BadInputError, match=f"missing: {field}; unknown: nothing"):
        read_lexicon(written(tmp_path, "".join(lines) + '[classes]\nup = ["rise"]\n'))
    with pytest.raises(BadInputError, match=f"'{field}' must be a text that is not empty, got ' '"):
        Lexicon(**{**fields, field: " "}, classes={"up": frozenset({"rise"})})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "must be TOML"),
        (GOOD, "missing: unit, classes"),
        (GOOD + 'unit = "lemma"\nunits = 1\n[classes]\nup = ["rise"]\n', "unknown: units"),
        (GOOD + 'unit = "lemma"\n[classes]\nup = ["rise", "rise"]\n', "'rise' is listed twice in 'up'"),
        (GOOD + 'unit = "lemma"\n[classes]\nup = "rise"\n', "class 'up' must be a list of texts"),
        (GOOD + 'unit = "lemma"\n[classes]\nup = [1]\n', "class 'up' must be a list of texts"),
        (GOOD + 'unit = "lemma"\nclasses = 3\n', "is a table of lists, got 3"),
        (GOOD.replace('"1"', "1") + 'unit = "lemma"\n[classes]\nup = ["rise"]\n', "'version' must be a text"),
        (GOOD.replace("tiny", "../up") + 'unit = "lemma"\n[classes]\nup = ["rise"]\n', "got '../up'"),
        (GOOD + 'unit = "lemma"\nrecognised = "no"\n[classes]\nup = ["rise"]\n', "'recognised' is true or false"),
    ],
)
def test_a_file_that_is_no_lexicon_is_refused_with_its_fault(text, message, tmp_path):
    with pytest.raises(BadInputError, match=message):
        read_lexicon(written(tmp_path, text))


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(BadInputError, match="cannot be read: No such file"):
        read_lexicon(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes("name = 'é'".encode("latin-1"))
    with pytest.raises(BadInputError, match="must be UTF-8 text, byte 8 is not"):
        read_lexicon(tmp_path / "latin.toml")
    (tmp_path / "huge.toml").write_bytes(b"#" * 5_000_001)
    with pytest.raises(BadInputError, match="at most 5,000,000 bytes"):
        read_lexicon(tmp_path / "huge.toml")


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownEntryError, match="no lexicon is named 'agentcy'; did you mean 'agency'"):
        load_lexicon("agentcy")


@given(
    st.dictionaries(
        st.sampled_from(["one", "two", "three"]),
        st.frozensets(st.text(alphabet='aé"\\ .#ß漢', min_size=1).map(lambda text: " ".join(text.lower().split()))),
        min_size=1,
    )
)
def test_what_is_stored_is_read_back_equal(tmp_path_factory, classes):
    seen: set[str] = set()
    for title, entries in classes.items():
        classes[title] = entries - seen - {""}
        seen |= entries
    classes = {title: entries for title, entries in classes.items() if entries} or {"one": frozenset({"a"})}
    made = Lexicon(**{**HEADER, "source": 'two\nlines "quoted"'}, unit="phrase", classes=classes, recognised=False)
    found = read_lexicon(store_lexicon(made, tmp_path_factory.mktemp("stored")))
    assert found == made
    assert found.digest == made.digest
    assert found.class_names == made.class_names


def test_storing_again_replaces_the_file_and_leaves_nothing_else(tmp_path):
    store_lexicon(lexicon(up={"rise"}), tmp_path / "new")
    path = store_lexicon(lexicon(up={"climb"}), tmp_path / "new")
    assert read_lexicon(path).classes == {"up": frozenset({"climb"})}
    assert list(path.parent.iterdir()) == [path]


def test_a_lexicon_does_not_change_and_travels_between_processes():
    made = lexicon("stem", up={"rise", "grow*"}, down={"fall"})
    for twin in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert twin == made
        assert hash(twin) == hash(made)
        assert twin.places(["growing"]).tolist() == [0]
    with pytest.raises(TypeError):
        made.classes["up"] = frozenset()  # type: ignore[index]


def test_the_digest_follows_the_words_and_nothing_else():
    made = lexicon(up={"rise", "climb"}, down={"fall"})
    other_words = Lexicon(**{**HEADER, "title": "else", "version": "2"}, unit="lemma", classes=made.classes)
    assert made.digest == other_words.digest
    assert made.digest == lexicon(down={"fall"}, up={"climb", "rise"}).digest
    others = [lexicon(up={"rise", "fall"}, down={"climb"}), lexicon("phrase", up={"rise", "climb"}, down={"fall"})]
    assert len({made.digest, *(other.digest for other in others)}) == 3


@given(st.lists(st.text(alphabet="abcA", max_size=7)))
def test_the_look_up_finds_what_shell_patterns_find(words):
    made = lexicon("stem", up={"abc*", "ab", "cab*"}, down={"acb*", "b", "abb*"})
    expected = [
        next(
            (
                place
                for place, entries in enumerate(made.classes.values())
                if any(fnmatch.fnmatchcase(word.lower(), entry) for entry in entries)
            ),
            UNKNOWN,
        )
        for word in words
    ]
    assert made.places(words).tolist() == expected


def test_a_star_is_only_an_ending_in_stems_and_entries_of_several_words_are_listed():
    made = lexicon("third-person", up={"rises", "goes up"})
    assert made.places(["rises", "goes", "goes up"]).tolist() == [0, UNKNOWN, 0]
    assert made.multiword == {"goes up"}


def test_hit_rates_count_tokens_or_words():
    made = lexicon(up={"rise"}, down={"fall", "sink"})
    # 2 rise + 3 fall of 10 tokens; 2 of 3 words.
    rate = hit_rate(made, ["rise", "fall", "tree"], np.array([2, 3, 5]))
    assert (rate.value, rate.hits, rate.n, rate.by_class) == (0.5, 5, 10, (2, 3))
    assert hit_rate(made, ["rise", "fall", "tree"]).value == pytest.approx(2 / 3)
    nothing = hit_rate(made, [], [])
    assert (nothing.value, nothing.n, nothing.reason) == (None, 0, "there is no word to look up")


@pytest.mark.parametrize("counts", [[1], [1, -1], [0.5, 1.0], [[1], [2]]])
def test_counts_that_do_not_fit_the_words_are_refused(counts):
    with pytest.raises(BadInputError, match="one for each of 2 words"):
        hit_rate(lexicon(up={"rise"}), ["rise", "fall"], np.array(counts))


def test_every_shipped_lexicon_is_our_own_and_says_where_its_idea_comes_from():
    for shipped in SHIPPED:
        assert shipped.licence == "Apache-2.0", shipped.name
        assert shipped.recognised
    for category in CATEGORIES:
        assert "Construct: " in category.source, category.name
        assert "Words chosen by the project" in " ".join(category.source.split()), category.name
    assert "connotation-frames" not in lexicon_names()


def test_the_categories_of_lexical_content_are_all_there_with_words_enough():
    assert {title for category in CATEGORIES for title in category.classes} == {
        *(
            "agentic",
            "communal",
            "ability",
            "standout",
            "leadership",
            "masculine",
            "feminine",
            "personal",
            "professional",
        ),
        *(
            "warmth",
            "coldness",
            "competence",
            "incompetence",
            "independence",
            "dependence",
            "progressive",
            "traditional",
        ),
        *("energy", "frailty", "opportunity", "risk"),
    }
    sizes = {title: len(entries) for category in CATEGORIES for title, entries in category.classes.items()}
    assert {title: size for title, size in sizes.items() if not 25 <= size <= 60} == {}


def test_every_entry_of_lemmas_and_stems_is_one_token_of_the_tagger():
    """The tokenizer splits at hyphens: an entry such as "self-reliant" would never be found."""
    spacy = pytest.importorskip("spacy", reason="the tagger is not installed")
    tokenizer = spacy.blank("en").tokenizer
    entries = {
        entry.removesuffix("*")
        for shipped in SHIPPED
        if shipped.unit in ("lemma", "stem")
        for entries in shipped.classes.values()
        for entry in entries
    }
    assert [entry for entry in sorted(entries) if len(tokenizer(entry)) != 1] == []


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("agentic-communal", "gentleman"),
        ("agentic-communal", "succession"),
        ("competence-incompetence", "thoroughfare"),
        ("energy-frailty", "energy"),
        ("energy-frailty", "painting"),
        ("leadership", "directory"),
        ("masculine-feminine", "power"),
        ("masculine-feminine", "software"),
        ("opportunity-risk", "fearless"),
        ("opportunity-risk", "harmless"),
        ("progressive-traditional", "conservation"),
        ("progressive-traditional", "transformer"),
        ("warmth-coldness", "warming"),
    ],
)
def test_stems_do_not_reach_false_friends_and_the_topics_of_the_messages(name, word):
    assert load_lexicon(name).places([word]).tolist() == [UNKNOWN]


def test_modality_has_the_words_of_the_paper():
    """arXiv 2601.17172: five words of certainty, six hedges."""
    assert load_lexicon("modality").classes == {
        "certainty": {"will", "must", "shall", "definitely", "certainly"},
        "hedge": {"might", "may", "could", "can", "perhaps", "possibly"},
    }
