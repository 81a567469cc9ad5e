"""First names as a persona cue: which names count for which persona, and which of them an audit takes.

The paper's rule (arXiv 2601.18572, appendix A.1): a name counts for a persona when nine in ten of its bearers have the
persona's gender and race or ethnicity, `unisex` names are those that women and men have equally often, names have more than
three letters, and the age of a name is the mean age of its bearers. The paper counts voters of North Carolina one by one. An
open table has the share of women and the share of each race or ethnicity of a name, not both together; what that changes is
in docs/decisions/0022-names.md.

A cell without names is not measurable. The rule is never relaxed to fill one.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from metrics.errors import BadInputError
from registry.audits.personas import Attribute, PersonaAxis, load_attribute, plain_text
from registry.audits.plan import content_hash

SHARE = 0.9  # of a name's bearers, at the least, in both attributes together
TIE = (0.4, 0.6)  # share of women in a unisex name
SHORTEST, LONGEST = 4, 40
COLUMNS = ("name", "race-ethnicity", "race_pct", "women_pct", "mean_age", "bearers", "born_here")
OWN_TABLE = Path(__file__).parent / "names_data" / "us.csv"

_AGE, _RACE, _GENDER = "age", "race-ethnicity", "gender"


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """A first name that counts for a persona.

    Parameters
    ----------
    groups : attribute -> the word of the name table; mean_age : of the living adults born with it in the country
    bearers : people who have it; born_here : of those whom the mean age is known of
    """

    text: str
    groups: Mapping[str, str]
    mean_age: float
    bearers: int
    born_here: int


def counted_gender(race_share: float, women_share: float) -> str | None:
    """The gender that a name counts for, or None when it counts for none.

    With shares r and w of a name, at least ``r + w - 1`` of its bearers have both (Fréchet's lower bound): the published
    margins show the rule to hold when that is above `SHARE`, and do not show it otherwise.

    >>> counted_gender(0.97, 0.99), counted_gender(0.93, 0.95), counted_gender(0.96, 0.5)
    ('female', None, 'unisex')
    """
    if round(race_share + women_share - 1, 6) > SHARE:  # exactly nine in ten is not above it, whatever floats say
        return "female"
    if round(race_share - women_share, 6) > SHARE:
        return "male"
    return "unisex" if race_share > SHARE and TIE[0] <= women_share <= TIE[1] else None


def no_names_for(attribute: Attribute) -> str:
    """Why the table of names says nothing of an attribute, such as one of the user's own; empty when it does."""
    silent = [value.name for value in attribute.values if value.names is None]
    if attribute.name in (_AGE, _RACE, _GENDER) and not silent:
        return ""
    return f"no table says which first names go with {silent[0] if silent else attribute.name!r}"


def check_names_of(attribute: Attribute) -> None:
    """Refuse an attribute that the table of names says nothing of."""
    if why := no_names_for(attribute):
        raise BadInputError(
            f"the axis {attribute.name} has no names: {why}. Leave out the cues name-system and name-user, or the axis"
        )


def own_names(axis: PersonaAxis) -> Mapping[str, tuple[str, ...]]:
    """Persona -> the first names that an axis's own file gives for it; empty when it gives none for one of them.

    Names of two files together are no names of people who belong to both, so an axis of several attributes has none.
    """
    (first, *others) = axis.attributes
    if others or not all(value.first_names for value in first.values):
        return {}
    return {value.name: value.first_names for value in first.values}


def in_drawn_order(names: Sequence[str], seed: int) -> list[str]:
    """Names in the order in which they are taken. Seed and name decide it, nothing else: a name that is added to the list
    changes no other's place before or behind it.
    """
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).hexdigest())


@dataclasses.dataclass(frozen=True)
class NameTable:
    """The names that count, with where they come from.

    Examples
    --------
    >>> table = read_names()
    >>> len(table.cell({"gender": "non-binary", "age": "35-54", "race-ethnicity": "white"}))
    0
    """

    names: tuple[Name, ...]
    source: str
    version: str

    def cell(self, values: Mapping[str, str]) -> tuple[Name, ...]:
        """The names that count for people of these values (attribute -> value), in the order of the table.

        Raises
        ------
        BadInputError : for an attribute that names say nothing of
        """
        key = tuple(sorted(values.items()))
        if key not in self._cells:
            tests = [self._test(load_attribute(attribute), value) for attribute, value in key]
            self._cells[key] = tuple(name for name in self.names if all(test(name) for test in tests))
        return self._cells[key]

    @cached_property
    def _cells(self) -> dict[tuple[tuple[str, str], ...], tuple[Name, ...]]:
        return {}

    def chosen(self, values: Mapping[str, str], seed: int) -> tuple[Name, ...]:
        """The names of a cell in the order in which they are taken; see `in_drawn_order`."""
        found = {name.text: name for name in self.cell(values)}
        return tuple(found[text] for text in in_drawn_order(list(found), seed))

    def cell_sizes(self) -> list[dict[str, Any]]:
        """How thin each cell is, empty ones included, one row a cell.

        Columns: gender, age, race-ethnicity; ``n``, its names; ``born_here``, people whom the mean ages are known of, as a
        share of the bearers, None for an empty cell. Far below 1, the age of the cell is that of a minority of its bearers.
        """
        genders, ages, races = (load_attribute(name).values for name in (_GENDER, _AGE, _RACE))
        rows = []
        for gender, age, race in itertools.product(genders, ages, races):
            names = self.cell({_GENDER: gender.name, _AGE: age.name, _RACE: race.name})
            share = sum(one.born_here for one in names) / sum(one.bearers for one in names) if names else None
            cell = {_GENDER: gender.names, _AGE: age.name, _RACE: race.name}
            rows.append({**cell, "n": len(names), "born_here": share})
        return rows

    def _test(self, attribute: Attribute, value: str) -> Callable[[Name], bool]:
        check_names_of(attribute)
        wanted = attribute[value].names
        if isinstance(wanted, tuple):
            low, high = wanted
            return lambda name: low < name.mean_age <= high
        return lambda name: name.groups[attribute.name] == wanted


# ---------------------------------------------------------------- the file


def read_names(path: Path = OWN_TABLE) -> NameTable:
    """The names of a table that count by the rule: a CSV file of `COLUMNS`, with its source in lines that begin with #.

    Raises
    ------
    BadInputError : with the line that is wrong and what was expected
    """
    return _read(path.resolve())


@lru_cache(maxsize=4)
def _read(path: Path) -> NameTable:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"the table of names {path} cannot be read: {error}") from error
    source = "\n".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    if tuple(rows.fieldnames or ()) != COLUMNS:
        raise BadInputError(f"{path.name}: expected the columns {', '.join(COLUMNS)}, found {rows.fieldnames}")
    first = sum(line.startswith("#") for line in lines) + 2
    names = tuple(name for number, row in enumerate(rows, first) if (name := _name(row, f"{path.name}, line {number}")))
    twice = [text for text, n in Counter(name.text for name in names).items() if n > 1]
    if twice:
        raise BadInputError(f"{path.name}: the name {twice[0]!r} is there twice; one of them would decide its cell")
    return NameTable(names, source, content_hash([SHARE, TIE, SHORTEST, [dataclasses.astuple(one) for one in names]]))


def _name(row: Mapping[str, Any], place: str) -> Name | None:
    text = plain_text(f"{place}: name", row["name"], LONGEST).strip()
    try:
        race, women = float(row["race_pct"]) / 100, float(row["women_pct"]) / 100
        mean_age, bearers, born_here = float(row["mean_age"]), int(row["bearers"]), int(row["born_here"])
    except (TypeError, ValueError) as error:
        raise BadInputError(
            f"{place}: race_pct, women_pct, mean_age, bearers and born_here are numbers: {error}"
        ) from None
    if not (0 <= race <= 1 and 0 <= women <= 1 and 0 < mean_age < 130 and bearers > 0 and born_here >= 0):
        raise BadInputError(f"{place}: a share outside 0 to 100, or an age or a count that cannot be: {dict(row)}")
    gender = counted_gender(race, women)
    if gender is None or len(text) < SHORTEST:
        return None
    return Name(text, {_GENDER: gender, _RACE: str(row["race-ethnicity"])}, mean_age, bearers, born_here)
