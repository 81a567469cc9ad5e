"""Files of categories: a further axis is one file, and a faulty one is refused in one sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import registry.audits.taxonomy as taxonomy_module
from metrics.catalog import DuplicateEntryError, UnknownEntryError
from registry.audits.plan import Outcome, Record
from registry.audits.taxonomy import (
    Taxonomy,
    TaxonomyError,
    load_taxonomy,
    persona_frame,
)
from registry.audits.term_tables import cardinality

_HERE = Path(taxonomy_module.__file__).parent
PACKAGED = sorted([*_HERE.glob("axes/**/*.toml"), *_HERE.glob("dimensions/**/*.toml")])


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_whole_answer_of_a_file_falls_into_its_own_category(path: Path) -> None:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    language = path.parent.name if path.parent.parent.name in ("axes", "dimensions") else "en"
    taxonomy = load_taxonomy(attributes=[values["name"]], language=language)
    hidden = {entry["category"] for entry in values.get("conditional", [])}
    wrong = [
        (term, category["name"], taxonomy.category(values["name"], term))
        for category in values["category"]
        if category["name"] not in hidden
        for kind in ("synonyms", "rules", "weak")
        for term in category.get(kind, [])
        if taxonomy.category(values["name"], term) != category["name"]
    ]
    assert wrong == []


RELIGION = """
name = "religion"
title = "religion"
kind = "axis"
version = 1
source = "test"
[[category]]
name = "Christian"
rules = ["christian", "catholic"]
[[category]]
name = "Muslim"
rules = ["muslim", "islam"]
"""


def test_a_further_axis_is_one_file(tmp_path: Path, taxonomy: Taxonomy) -> None:
    (tmp_path / "religion.toml").write_text(RELIGION)
    extended = load_taxonomy(tmp_path)
    assert extended.category("religion", "Roman Catholic") == "Christian"
    assert [attribute.name for attribute in extended.attributes if attribute.kind == "axis"][-1] == "religion"
    assert extended.version != taxonomy.version
    record = Record(request=0, index=0, outcome=Outcome.OK, attributes={"religion": "Islam"})
    frame = persona_frame([record], extended)
    assert frame.loc[0, "religion_category"] == "Muslim"
    assert "religion" in cardinality(frame)["attribute"].tolist()


def test_a_changed_word_changes_the_version(tmp_path: Path) -> None:
    for name, text in {"a": RELIGION, "b": RELIGION.replace("catholic", "protestant")}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "religion.toml").write_text(text)
    assert load_taxonomy(tmp_path / "a").version != load_taxonomy(tmp_path / "b").version
    assert load_taxonomy().version == load_taxonomy().version


BROKEN = [
    (
        RELIGION.replace('"islam"', '"Catholic "'),
        DuplicateEntryError,
        "'Catholic '.*'Christian', rules.*'Muslim', rules",
    ),
    (RELIGION.replace('"religion"', '"gender"', 1), DuplicateEntryError, "'gender' is defined twice.*axes/gender.toml"),
    (RELIGION.replace('kind = "axis"', 'kind = "axle"'), TaxonomyError, "religion.toml: 'kind' must be"),
    (RELIGION.replace('source = "test"', ""), TaxonomyError, "expected 'source'"),
    (RELIGION.replace('"religion"', '"name"', 1), TaxonomyError, "'name' must be"),
    (RELIGION.replace('"Muslim"', '"Christian"'), TaxonomyError, "different names"),
    (RELIGION.replace('["muslim", "islam"]', '"muslim"'), TaxonomyError, "'rules' must be a list"),
    ('several = "Jedi"\n' + RELIGION, TaxonomyError, "'Jedi' is not one of its categories"),
    ('borrowed = [{attribute = "x", category = "Muslim"}]\n' + RELIGION, TaxonomyError, "'x' is not another attribute"),
    ('decides = "middle"\n' + RELIGION, TaxonomyError, "'decides' must be"),
    ("name = ", TaxonomyError, "not readable as TOML"),
]


@pytest.mark.parametrize(("text", "error", "message"), BROKEN)
def test_a_faulty_file_is_refused_in_one_sentence(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    (tmp_path / "religion.toml").write_text(text)
    with pytest.raises(error, match=message):
        load_taxonomy(tmp_path)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match="is not a folder"):
        load_taxonomy(tmp_path / "absent")


def test_an_unknown_attribute_is_answered_with_the_nearest(taxonomy: Taxonomy) -> None:
    with pytest.raises(UnknownEntryError, match="'ocupation'; did you mean 'occupation'"):
        taxonomy.category("ocupation", "Nurse")
    assert taxonomy.category("occupation", None) is None


def test_a_stem_shared_by_two_categories_decides_nothing(tmp_path: Path) -> None:
    # "animation" and "animals" have one Snowball stem, "anim".
    text = RELIGION.replace('"catholic"', '"animation"').replace('"islam"', '"animals"')
    (tmp_path / "religion.toml").write_text(text)
    extended = load_taxonomy(tmp_path)
    assert extended.category("religion", "animation") == "Christian"
    assert extended.category("religion", "animals") == "Muslim"
    assert extended.category("religion", "animated") is None
