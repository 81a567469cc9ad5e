"""Files of attributes: what one declares is checked, and what others of the same language it needs is read as well."""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from metrics.catalog import DuplicateEntryError, UnknownEntryError
from registry.audits.asked import ENGLISH, FOLDERS, attribute_file
from registry.audits.matching import TaxonomyError, normalized

TERMS = ("synonyms", "rules", "weak")


@dataclasses.dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a persona: an identity axis or a social dimension, with its categories in order."""

    name: str
    title: str
    kind: Literal["axis", "dimension"]
    version: int
    source: str
    categories: tuple[str, ...]
    place: str = ""
    reviewed: str = ""


Files = dict[str, tuple[Attribute, Mapping[str, Any]]]
"""By name, an attribute and the values of its file."""


def _checked(values: Mapping[str, Any], place: str) -> Attribute:
    """The attribute a file declares; every fault is one sentence that names the file."""
    for key, kind in {"name": str, "title": str, "kind": str, "source": str, "version": int, "category": list}.items():
        if not isinstance(values.get(key), kind):
            raise TaxonomyError(f"{place}: expected {key!r} ({kind.__name__}) and found {values.get(key)!r:.60}")
    if values["kind"] not in FOLDERS:
        raise TaxonomyError(f"{place}: 'kind' must be 'axis' or 'dimension', and is {values['kind']!r}")
    if values["name"] == "name" or not re.fullmatch(r"[a-z][a-z0-9_]*", values["name"]):
        raise TaxonomyError(f"{place}: 'name' must be a lower-case word with underscores other than 'name'")
    if values.get("decides", "last") not in ("first", "last"):
        raise TaxonomyError(f"{place}: 'decides' must be 'first' or 'last', and is {values['decides']!r}")
    names = [category.get("name") for category in values["category"]]
    conditional = values.get("conditional", [])
    shown = [name for name in names if name not in {entry.get("category") for entry in conditional}]
    if len(set(names)) != len(names) or not all(isinstance(name, str) and name for name in names) or len(shown) < 2:
        raise TaxonomyError(f"{place}: expected two or more [[category]] with different names, found {names!r:.120}")
    targets = [values.get("several"), values.get("unspecified")]
    targets += [entry.get("category") for entry in values.get("borrowed", [])]
    targets += [target for entry in conditional for target in entry.get("becomes", {}).values()]
    for target in targets:
        if target is not None and target not in shown:
            raise TaxonomyError(f"{place}: {target!r} is not one of its categories ({', '.join(shown)})")
    return Attribute(
        values["name"],
        values["title"],
        values["kind"],
        values["version"],
        values["source"],
        tuple(shown),
        place,
        str(values.get("reviewed", "")).strip(),
    )


def packaged(name: str, language: str) -> Path:
    """The file of an attribute that comes along; `UnknownEntryError` names the nearest."""
    path = attribute_file(name, language)
    if path is None:
        known = sorted(one.stem for folder in FOLDERS.values() for one in _folder(folder, language).glob("*.toml"))
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise UnknownEntryError(
            f"no attribute is named {name!r} in the language {language!r}{hint} Known: {', '.join(known) or 'none'}"
        )
    return path


def _folder(folder: Path, language: str) -> Path:
    return folder if language == ENGLISH else folder / language


def add(files: Files, path: Path, language: str = ENGLISH) -> None:
    """Read one file more.

    Raises
    ------
    TaxonomyError : it is not TOML or lacks something
    DuplicateEntryError : the attribute is there already; both places are named
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaxonomyError(f"{path.name}: not readable as TOML: {error}") from error
    place = "/".join(path.parts[-2 if language == ENGLISH else -3 :])
    attribute = _checked(values, place)
    if attribute.name in files:
        raise DuplicateEntryError(
            f"attribute {attribute.name!r} is defined twice: in {files[attribute.name][0].place} and in {place}"
        )
    files[attribute.name] = (attribute, _with_english(attribute, values, language))


def add_needed(files: Files, language: str) -> None:
    """Add the packaged attributes that those there borrow from or are told apart by, and what these need."""
    pending = list(files)
    while pending:
        values = files[pending.pop()][1]
        for entry in (*values.get("borrowed", ()), *values.get("conditional", ())):
            name = entry.get("attribute")
            if name not in files and isinstance(name, str) and (path := attribute_file(name, language)) is not None:
                add(files, path, language)
                pending.append(name)


def _with_english(attribute: Attribute, values: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    """The values, with the terms of the English file of the same name under the categories of the same names.

    Only where the file says so (``english = true``). Terms that it lists under ``english_without`` are not taken.
    """
    path = attribute_file(attribute.name) if values.get("english") and language != ENGLISH else None
    if path is None:
        return values
    english = {one["name"]: one for one in tomllib.loads(path.read_text(encoding="utf-8"))["category"]}
    left_out = set(map(normalized, values.get("english_without", ())))
    made = []
    for category in values["category"]:
        if category["name"] not in english:
            raise TaxonomyError(
                f"{attribute.place}: {category['name']!r} is no category of the English file; rename it"
            )
        other = english[category["name"]]
        taken = {key: [one for one in other.get(key, ()) if normalized(one) not in left_out] for key in TERMS}
        made.append(category | {key: [*category.get(key, ()), *taken[key]] for key in TERMS})
    return {**values, "category": made}
