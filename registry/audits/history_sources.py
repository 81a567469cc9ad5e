"""Conversations of two published sets as a persona cue, read from the files that the user has fetched.

**PRISM** (Kirk et al. 2024, arXiv 2404.16019): people of 75 countries with language models, and their own survey answers. Files
``conversations.jsonl`` and ``survey.jsonl``. People's texts are under CC-BY-4.0, the models' answers under CC-BY-NC-4.0.

**PersonaMem-v2** (Jiang et al. 2025, arXiv 2512.06688): conversations that models wrote for invented personas. One JSON file a persona,
in ``data/raw_data``.

The selection is that of "One Persona, Many Cues, Different Results" (arXiv 2601.18572, sections 3.2 and A.3): of several answers the
preferred one is kept; conversations that say outright what varies are not taken (`HistorySet.chosen`); five a persona, the other
attributes held constant (`registry.audits.cues`). The paper's code gives every gender that is neither word the third group, and
finds races by parts of words; here the categories of the taxonomy decide, and what has none is left out and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from metrics.errors import BadInputError
from registry.audits.histories import (
    LONGEST_FILE,
    History,
    HistorySet,
    checked_turns,
    history_set,
    json_lines,
    read_histories,
)
from registry.audits.personas import load_attribute
from registry.audits.taxonomy import load_taxonomy

PRISM_FILES = ("conversations.jsonl", "survey.jsonl")
PERSONA_MEM_TYPE = "trouble_consult"  # the kind of conversation that the paper's code takes
PERSONA_MEM_RACES = ("race_ethnicity", "race", "racial_ethnic_identity", "ethnic_background", "ethnicity")

_RACES = {
    "White": "white",
    "Black": "black",
    "Asian": "asian",
    "Hispanic": "hispanic",
    "Hispanic or Latino": "hispanic",
}
_PRISM_GENDERS = {"Female": "female", "Male": "male", "Non-binary / third gender": "non-binary"}
_PRISM_AGES = {
    "18-24 years old": "18-34",
    "25-34 years old": "18-34",
    "35-44 years old": "35-54",
    "45-54 years old": "35-54",
    "55-64 years old": "55+",
    "65+ years old": "55+",
}


class _UnusableError(Exception):
    """A conversation that cannot be used; its text is the reason, which is counted."""


def histories_from(path: Path) -> HistorySet:
    """The conversations of a path: a JSON Lines file in the own format, or the folder of one of the published sets.

    A folder may be that of the files, or the whole repository: PRISM keeps them in ``data``, PersonaMem-v2 in ``data/raw_data``.
    """
    if not path.is_dir():
        return read_histories(path)
    prism = next((folder for folder in (path, path / "data") if (folder / PRISM_FILES[0]).exists()), None)
    if prism is not None:
        return prism_histories(prism)
    raw = path / "data" / "raw_data"
    return persona_mem_histories(raw if raw.is_dir() else path)


# ---------------------------------------------------------------- PRISM


def prism_histories(folder: Path) -> HistorySet:
    """The conversations of PRISM whose writers tell gender, age and race or ethnicity, with the answer that they preferred.

    Parameters
    ----------
    folder : with ``conversations.jsonl`` and ``survey.jsonl`` as published

    Raises
    ------
    BadInputError : for a missing file or field, or when nothing can be used: how many had which reason
    """
    people = _prism_people(folder / PRISM_FILES[1])
    left_out: Counter[str] = Counter()
    histories = []
    for number, row in enumerate(json_lines(folder / PRISM_FILES[0]), 1):
        place = f"{PRISM_FILES[0]}, line {number}"
        _needs(row, ("conversation_id", "user_id", "conversation_history"), place)
        try:
            persona = people.get(str(row["user_id"]))
            if persona is None:
                raise _UnusableError("the survey has no answers of this person")
            if isinstance(persona, str):
                raise _UnusableError(persona)
            turns = _preferred(row["conversation_history"], place)
            histories.append(
                History(
                    id=f"prism-{row['conversation_id']}",
                    persona=persona,
                    turns=_bounded(turns, place),
                    writer=str(row["user_id"]),
                )
            )
        except _UnusableError as reason:
            left_out[str(reason)] += 1
    return history_set(histories, "PRISM conversations", "PRISM (Kirk et al. 2024, arXiv 2404.16019)", left_out)


def _prism_people(path: Path) -> dict[str, Mapping[str, str] | str]:
    """Persona of each participant, or the reason why there is none."""
    people: dict[str, Mapping[str, str] | str] = {}
    for number, row in enumerate(json_lines(path), 1):
        _needs(row, ("user_id", "gender", "age", "ethnicity"), f"{path.name}, line {number}")
        ethnicity = row["ethnicity"]
        told = {
            "gender": _PRISM_GENDERS.get(str(row["gender"])),
            "age": _PRISM_AGES.get(str(row["age"])),
            "race-ethnicity": _RACES.get(str(ethnicity.get("simplified"))) if isinstance(ethnicity, dict) else None,
        }
        people[str(row["user_id"])] = _persona(told)
    return people


def _preferred(history: Any, place: str) -> list[dict[str, str]]:
    """One user turn and the chosen answer for each turn of a conversation, in order."""
    if not isinstance(history, list) or not all(isinstance(one, dict) for one in history):
        raise BadInputError(f"{place}: conversation_history is a list of objects, as published")
    turns: list[dict[str, str]] = []
    for one in history:
        _needs(one, ("role", "content"), place)
        text = str(one["content"] or "")
        if one["role"] == "user":
            if turns and turns[-1]["role"] == "user":
                raise _UnusableError("a turn without a preferred answer")
            turns.append({"role": "user", "content": text})
        elif one.get("if_chosen") is True and turns and turns[-1]["role"] == "user":
            turns.append({"role": "assistant", "content": text})  # a second one chosen in a turn is passed over
    return turns[:-1] if turns and turns[-1]["role"] == "user" else turns


# ---------------------------------------------------------------- PersonaMem-v2


def persona_mem_histories(folder: Path, kind: str = PERSONA_MEM_TYPE) -> HistorySet:
    """The conversations of one kind of the personas of PersonaMem-v2 that tell gender, age and race or ethnicity.

    Of a file only gender, age, race and these conversations are looked at: the rest holds invented numbers and keys.

    Parameters
    ----------
    folder : with the JSON files of ``data/raw_data`` as published; kind : of conversation, as the files call it
    """
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not paths:
        raise BadInputError(f"{folder}: expected a folder with the JSON files of data/raw_data of PersonaMem-v2")
    left_out: Counter[str] = Counter()
    histories: list[History] = []
    for path in paths:
        found = _persona_file(path)
        try:
            persona = _persona(_persona_mem_values(found))
            if isinstance(persona, str):
                raise _UnusableError(persona)
            for number, turns in enumerate(_persona_mem_turns(found, kind), 1):
                try:
                    usable = _bounded(_answered(turns), f"{path.name}, {kind} {number}")
                    histories.append(
                        History(id=f"{path.stem}-{number}", persona=persona, turns=usable, writer=path.stem)
                    )
                except _UnusableError as reason:
                    left_out[str(reason)] += 1
        except _UnusableError as reason:
            left_out[str(reason)] += 1
    source = "PersonaMem-v2 (Jiang et al. 2025, arXiv 2512.06688)"
    return history_set(histories, "PersonaMem-v2 conversations", source, left_out)


def _persona_file(path: Path) -> Mapping[str, Any]:
    """The one persona of a file: the value of its only key, or what is under ``detailed_persona`` there."""
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise BadInputError(f"{path} has more than {LONGEST_FILE:,} bytes; expected one persona")
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise BadInputError(f"{path.name} cannot be read as JSON: {error}") from error
    persona = next(iter(values.values())) if isinstance(values, dict) and len(values) == 1 else None
    if isinstance(persona, dict) and isinstance(persona.get("detailed_persona"), dict):
        persona = persona["detailed_persona"]
    if not isinstance(persona, dict):
        raise BadInputError(f"{path.name}: expected one persona under one key, as in PersonaMem-v2 data/raw_data")
    return persona


def _persona_mem_values(found: Mapping[str, Any]) -> dict[str, str | None]:
    age = found.get("age")
    number = age if isinstance(age, int) and not isinstance(age, bool) else None
    races = [str(found[key]) for key in PERSONA_MEM_RACES if found.get(key)]
    return {
        "gender": _category("gender", str(found.get("gender") or "")),
        "age": _age_group(number),
        "race-ethnicity": _RACES.get(_category("ethnicity", races[0]) or "") if races else None,
    }


def _persona_mem_turns(found: Mapping[str, Any], kind: str) -> Iterator[Any]:
    conversations = found.get("conversations")
    listed = conversations.get(kind) if isinstance(conversations, dict) else None
    if not isinstance(listed, list) or not listed:
        raise _UnusableError(f"no conversation of the kind {kind}")
    for one in listed:
        yield one.get("conversations") if isinstance(one, dict) else None


def _answered(turns: Any) -> list[dict[str, str]]:
    """The turns up to the last answer; what is no text, or no conversation of two, cannot be used."""
    if not isinstance(turns, list) or not all(isinstance(one, dict) for one in turns):
        raise _UnusableError("no list of turns")
    if not all(isinstance(one.get("content"), str) for one in turns):
        raise _UnusableError("a turn that is not text alone")
    kept = [{"role": str(one.get("role")), "content": one["content"]} for one in turns]
    return kept[:-1] if kept and kept[-1]["role"] == "user" else kept


# ---------------------------------------------------------------- both


def _persona(told: Mapping[str, str | None]) -> Mapping[str, str] | str:
    """The persona of what somebody told, or why there is none."""
    missing = [name for name, value in told.items() if value is None]
    if missing:
        return f"{' and '.join(missing)} not told, or of no group of the axis"
    return {name: str(value) for name, value in told.items()}


def _bounded(turns: list[dict[str, str]], place: str) -> tuple[Mapping[str, str], ...]:
    try:
        return checked_turns(turns, place)
    except BadInputError as error:
        reason = str(error).removeprefix(place).lstrip(":, ")
        raise _UnusableError(
            "control characters" if "control" in reason else "roles, number or length of turns"
        ) from error


def _age_group(number: int | None) -> str | None:
    if number is None:
        return None
    values = load_attribute("age").values
    if number > values[-1].high:
        return values[-1].name
    return next((value.name for value in values if value.low <= number <= value.high), None)


@lru_cache(maxsize=4096)
def _category(attribute: str, term: str) -> str | None:
    return load_taxonomy().category(attribute, term)


def _needs(row: Mapping[str, Any], fields: tuple[str, ...], place: str) -> None:
    missing = [field for field in fields if field not in row]
    if missing:
        raise BadInputError(
            f"{place}: expected the field {missing[0]!r}, found {', '.join(map(str, row)) or 'none'}"[:400]
        )
