"""What a targeted-message audit asks: a domain crossed with audiences, as cells in a balanced order.

A *domain* (climate, public health, ...) says which stances are argued for, under which themes, in which regions, and with
which prompts. An *audience* attribute (gender, age group, ...) says which groups are written to. Both are TOML files, in
``domains/`` and ``audiences/``; a file of the user's own is named by its path.

A *prompt cell* is what a message is about: stance, and in the context-rich mode theme and region. It is the cluster of
every test. A *cell* is a prompt cell and one audience: one prompt.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import re
import string
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from metrics.catalog import UnknownEntryError
from metrics.errors import BadInputError

STANDALONE, CONTEXT_RICH = "standalone", "context-rich"
MODES = (STANDALONE, CONTEXT_RICH)
DEFAULT_DOMAIN = "climate"
ATTRIBUTE = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")  # the name of an audience attribute
TAKEN = frozenset({"mode", "stance", "theme", "region", "cell", "text"})
LONGEST_TEXT = 300  # characters of a phrase or theme
MOST_CELLS = 20_000

_FOLDER = Path(__file__).parent
_FIELDS = {STANDALONE: {"audience", "stance"}, CONTEXT_RICH: {"audience", "stance", "theme", "region"}}


@dataclasses.dataclass(frozen=True, slots=True)
class Audience:
    """An attribute of the people who are written to: its groups in order, each with the phrase that a prompt uses."""

    name: str
    title: str
    groups: Mapping[str, str]
    source: str

    def as_json(self) -> dict[str, Any]:
        """What of it is asked: part of a plan, so that a changed phrase is another question."""
        return {"name": self.name, "title": self.title, "groups": [[name, text] for name, text in self.groups.items()]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Audience:
        return cls(values["name"], values["title"], dict(values["groups"]), source="")


@dataclasses.dataclass(frozen=True, slots=True)
class Domain:
    """A topic: its stances with their themes, its regions, and one prompt for each mode."""

    name: str
    title: str
    stances: Mapping[str, tuple[str, ...]]
    regions: tuple[str, ...]
    prompts: Mapping[str, str]
    source: str

    def as_json(self) -> dict[str, Any]:
        """What of it is asked, apart from the prompts, which a plan holds by themselves."""
        stances = [[name, list(themes)] for name, themes in self.stances.items()]
        return {"name": self.name, "title": self.title, "stances": stances, "regions": list(self.regions)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], prompts: Mapping[str, str]) -> Domain:
        stances = {name: tuple(themes) for name, themes in values["stances"]}
        return cls(values["name"], values["title"], stances, tuple(values["regions"]), dict(prompts), source="")


@dataclasses.dataclass(frozen=True, slots=True)
class PromptCell:
    """What a message is about; ``theme`` and ``region`` are empty in the standalone mode."""

    mode: str
    stance: str
    theme: str = ""
    region: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """One prompt: a prompt cell and the group of each audience attribute. ``index`` is its place in the whole design."""

    index: int
    about: PromptCell
    groups: Mapping[str, str]

    def as_labels(self) -> dict[str, str]:
        """What a stored request says of itself."""
        parts = {"mode": self.about.mode, "stance": self.about.stance, "theme": self.about.theme}
        return {name: text for name, text in {**parts, "region": self.about.region}.items() if text} | dict(self.groups)


@dataclasses.dataclass(frozen=True)
class Design:
    """A domain crossed with audiences.

    Parameters
    ----------
    domain : the topic; audiences : attributes in the order in which a prompt names them
    modes : of `MODES`, the ones that are asked

    Examples
    --------
    >>> design = load_design()
    >>> len(design.cells), len(design.prompt_cells(CONTEXT_RICH)), design.audience_cells
    (456, 55, 8)
    >>> design.prompt(design.cells[0])
    'Generate a message in 50 words encouraging Young Adult (18-24), female to adopt Clean-Energy.'
    """

    domain: Domain
    audiences: tuple[Audience, ...]
    modes: tuple[str, ...] = MODES

    def __post_init__(self) -> None:
        if not self.audiences or not self.modes:
            raise BadInputError("an empty design: it needs at least one audience attribute and one mode")
        doubled = [name for name, n in Counter(audience.name for audience in self.audiences).items() if n > 1]
        if doubled:
            raise BadInputError(f"the audience attribute {doubled[0]!r} is named twice; name each once")
        unknown = [mode for mode in self.modes if mode not in MODES]
        if unknown:
            raise BadInputError(f"unknown mode {unknown[0]!r}; the modes are {' and '.join(MODES)}")
        contexts = len(self.domain.regions) * sum(map(len, self.domain.stances.values())) + len(self.domain.stances)
        if contexts * self.audience_cells > MOST_CELLS:
            raise BadInputError(
                f"the design has {contexts * self.audience_cells:,} cells; at most {MOST_CELLS:,} can be asked. Take "
                f"fewer audience attributes: each of them multiplies the others"
            )

    @property
    def audience_cells(self) -> int:
        """Number of audiences: the product of the groups of all attributes."""
        product = 1
        for audience in self.audiences:
            product *= len(audience.groups)
        return product

    def prompt_cells(self, mode: str) -> list[PromptCell]:
        """The prompt cells of a mode in a balanced order: whatever number is taken from the front is spread evenly.

        Each next cell is the one whose stance, theme and region were taken least so far. A design of another size has
        the same first cells, so that audits of different sizes still share prompts.
        """
        if mode == STANDALONE:
            return [PromptCell(STANDALONE, stance) for stance in self.domain.stances]
        return list(self._balanced)

    @cached_property
    def _balanced(self) -> tuple[PromptCell, ...]:
        left = [
            PromptCell(CONTEXT_RICH, stance, theme, region)
            for stance, themes in self.domain.stances.items()
            for theme in themes
            for region in self.domain.regions
        ]
        taken: Counter[Any] = Counter()
        ordered = []
        while left:

            def used(cell: PromptCell) -> tuple[int, int, int, int]:
                pairs = taken[cell.stance, cell.region] + taken["region", cell.region]
                return taken[cell.stance, cell.theme], taken[cell.stance], pairs, taken["theme", cell.theme]

            best = min(left, key=used)
            left.remove(best)
            ordered.append(best)
            taken.update(
                [
                    best.stance,
                    (best.stance, best.theme),
                    (best.stance, best.region),
                    ("region", best.region),
                    ("theme", best.theme),
                ]
            )
        return tuple(ordered)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell: those of the standalone mode first, each prompt cell with all its audiences."""
        places = [
            (about, dict(zip((a.name for a in self.audiences), groups, strict=True)))
            for mode in MODES
            for about in self.prompt_cells(mode)
            for groups in itertools.product(*(audience.groups for audience in self.audiences))
        ]
        return tuple(Cell(index, about, groups) for index, (about, groups) in enumerate(places))

    def cells_of(self, mode: str) -> list[Cell]:
        """The cells of one mode."""
        return self._by_mode[mode]

    @cached_property
    def _by_mode(self) -> dict[str, list[Cell]]:
        return {mode: [cell for cell in self.cells if cell.about.mode == mode] for mode in MODES}

    def prompt(self, cell: Cell) -> str:
        """The prompt of a cell."""
        audience = ", ".join(a.groups[cell.groups[a.name]] for a in self.audiences)
        about = cell.about
        return self.domain.prompts[about.mode].format(
            audience=audience, stance=about.stance, theme=about.theme, region=about.region
        )


# ---------------------------------------------------------------- files


def load_design(
    domain: str = DEFAULT_DOMAIN, audiences: Sequence[str] | None = None, modes: Sequence[str] | None = None
) -> Design:
    """The design of a domain and audiences, by their names or the paths of files.

    Parameters
    ----------
    domain : such as ``climate``, or the path of a TOML file
    audiences : in the order in which a prompt names them; None is age group and gender, as in the paper
    modes : of `MODES`; None is both

    Raises
    ------
    BadInputError : for an unknown name, or a file that is no domain or audience: which field, and what was expected
    """
    chosen = ("age-group", "gender") if audiences is None else tuple(audiences)
    return Design(
        domain=_domain(_file("domain", "domains", domain)),
        audiences=tuple(_audience(_file("audience", "audiences", name)) for name in chosen),
        modes=MODES if modes is None else tuple(modes),
    )


def known_domains() -> list[str]:
    """Names of the domains that come with the product."""
    return sorted(path.stem.replace("_", "-") for path in (_FOLDER / "domains").glob("*.toml"))


def known_audiences() -> list[str]:
    """Names of the audience attributes that come with the product."""
    return sorted(path.stem.replace("_", "-") for path in (_FOLDER / "audiences").glob("*.toml"))


def _file(kind: str, folder: str, name: str) -> tuple[str, dict[str, Any]]:
    """Where a definition stands, and what it says."""
    path = Path(name) if name.endswith(".toml") else _FOLDER / folder / f"{name.replace('-', '_')}.toml"
    if not name.endswith(".toml") and (not path.is_file() or not name.replace("-", "").isalnum()):
        known = known_domains() if kind == "domain" else known_audiences()
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise UnknownEntryError(
            f"no {kind} is named {name!r}{hint} Known: {', '.join(known)}. A file of your own is named by its path, "
            f"which ends in .toml"
        )
    try:
        with path.open("rb") as file:
            return str(path), tomllib.load(file)
    except OSError as error:
        raise BadInputError(f"the {kind} file {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} is no TOML file: {error}") from error


def _audience(found: tuple[str, dict[str, Any]]) -> Audience:
    place, values = found
    _only(place, values, {"name", "title", "source", "group"})
    groups: dict[str, str] = {}
    for number, group in enumerate(_tables(place, values, "group"), 1):
        _only(f"{place}, group {number}", group, {"name", "phrase"})
        name = _text(f"{place}, group {number}", group, "name")
        if name in groups:
            raise BadInputError(f"{place}: the group {name!r} is there twice")
        groups[name] = _text(f"{place}, group {number}", group, "phrase")
    if len(groups) < 2:
        raise BadInputError(f"{place}: an audience attribute needs at least 2 groups to compare, it has {len(groups)}")
    if len(set(groups.values())) < len(groups):
        raise BadInputError(f"{place}: two groups have the same phrase, so that a prompt could not tell them apart")
    name = _text(place, values, "name")
    if not ATTRIBUTE.fullmatch(name) or name in TAKEN:
        raise BadInputError(
            f"{place}: an audience attribute cannot be named {name!r}: it is lower-case letters, digits and hyphens, such as "
            f"age-group, and none of {', '.join(sorted(TAKEN))}"
        )
    return Audience(
        name=name,
        title=_text(place, values, "title"),
        groups=groups,
        source=_text(place, values, "source", 2000),
    )


def _domain(found: tuple[str, dict[str, Any]]) -> Domain:
    place, values = found
    _only(place, values, {"name", "title", "source", "regions", "prompts", "stance"})
    stances = {}
    for number, stance in enumerate(_tables(place, values, "stance"), 1):
        where = f"{place}, stance {number}"
        _only(where, stance, {"name", "themes"})
        name = _text(where, stance, "name")
        if name in stances:
            raise BadInputError(f"{place}: the stance {name!r} is there twice")
        stances[name] = _texts(where, stance, "themes")
    return Domain(
        name=_text(place, values, "name"),
        title=_text(place, values, "title"),
        stances=stances,
        regions=_texts(place, values, "regions"),
        prompts=_prompts(place, values.get("prompts")),
        source=_text(place, values, "source", 2000),
    )


def _prompts(place: str, values: Any) -> dict[str, str]:
    if not isinstance(values, dict) or set(values) != set(MODES):
        raise BadInputError(f"{place}: [prompts] needs a text for each of {' and '.join(MODES)}, and nothing else")
    prompts = {}
    for mode, expected in _FIELDS.items():
        text = _text(f"{place}, [prompts]", values, mode, 4000)
        try:
            fields = [field for field in string.Formatter().parse(text) if field[1] is not None]
        except ValueError as error:
            raise BadInputError(f"{place}: the prompt {mode!r} has a brace that opens no field: {error}") from error
        names = {name or "" for _, name, _, _ in fields}
        if names != expected or any(form or conversion for _, _, form, conversion in fields):
            raise BadInputError(
                f"{place}: the prompt {mode!r} should have the fields {_braced(expected)}, it has {_braced(names) or 'none'}"
            )
        prompts[mode] = text
    return prompts


def _braced(names: set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _only(place: str, values: Mapping[str, Any], known: set[str]) -> None:
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise BadInputError(f"{place}: unknown field {name!r}{hint}")


def _tables(place: str, values: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    found = values.get(name)
    if not isinstance(found, list) or not found or not all(isinstance(item, dict) for item in found):
        raise BadInputError(f"{place}: an empty design: it needs at least one [[{name}]]")
    yield from found


def _text(place: str, values: Mapping[str, Any], name: str, longest: int = LONGEST_TEXT) -> str:
    text = values.get(name)
    lines = longest > LONGEST_TEXT  # a prompt or a source may have several
    if (
        not isinstance(text, str)
        or not text.strip()
        or len(text) > longest
        or not (text.replace("\n", " ").replace("\t", " ") if lines else text).isprintable()
    ):
        raise BadInputError(
            f"{place}: {name!r} should be a printable text of 1 to {longest} characters, not {text!r:.80}"
        )
    return text.strip()


def _texts(place: str, values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = values.get(name)
    if not isinstance(found, list) or not found:
        raise BadInputError(f"{place}: an empty design: {name!r} should be a list of at least one text")
    texts = tuple(_text(place, {name: item}, name) for item in found)
    if len(set(texts)) < len(texts):
        raise BadInputError(f"{place}: {name!r} names something twice")
    return texts
