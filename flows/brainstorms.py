"""The brainstorms that a user brought to this home: each a folder with its file and the attribute files that come with it."""

from __future__ import annotations

import dataclasses
import functools
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.settings import Home
    from registry.audits.brainstorm import Brainstorm
    from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm

FOLDER, FILE, ATTRIBUTES = "brainstorms", "brainstorm.toml", "attributes"
OLD = ".old"
LARGEST_FILE = 2_000_000

_Stamps = tuple[tuple[Path, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Added:
    """What came of adding a brainstorm; ``before`` is the one of that name that was there."""

    asks: Brainstorm
    before: Brainstorm | None
    files: tuple[Path, ...]


def folder_of(home: Home) -> Path:
    """Where this home keeps brainstorms that its user brought."""
    return home.path / FOLDER


def own_files(home: Home, name: str) -> list[Path]:
    """The files of a brainstorm that a user brought; none for one that comes along."""
    place = folder_of(home) / name
    return sorted([*place.glob(FILE), *(place / ATTRIBUTES).glob("*.toml")])


def own_brainstorms(home: Home) -> dict[str, type[PersonaBrainstorm]]:
    """The protocols of the brainstorms that a user brought, by name, made anew when their files changed."""
    folder, found = folder_of(home), {}
    for old in folder.glob(f".*{OLD}"):  # its successor was being put in its place when the process was killed
        place = folder / old.name.removeprefix(".").removesuffix(OLD)
        if not place.exists():
            old.replace(place)
    for path in sorted(folder.glob(f"[!.]*/{FILE}")):
        stamps = tuple((one, one.stat().st_mtime_ns) for one in own_files(home, path.parent.name))
        made = _protocol(path, stamps)
        found[made.name] = made
    return found


def every(home: Home) -> list[PersonaBrainstorm]:
    """Every brainstorm of this home, those that come along first."""
    from flows.workspace import Workspace
    from registry.audits.protocols import PROTOCOLS
    from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm

    workspace = Workspace(home)
    workspace.protocol(PersonaBrainstorm.name)  # the others register themselves
    names = [name for name in PROTOCOLS if issubclass(PROTOCOLS[name], PersonaBrainstorm)]
    return [workspace.protocol(name) for name in sorted(names, key=lambda name: (PROTOCOLS.is_of_a_file(name), name))]


def named(home: Home, name: str) -> PersonaBrainstorm:
    """The brainstorm of that name; an unknown one is answered with the nearest."""
    from flows.persona_audits import personas_protocol
    from flows.workspace import Workspace

    return personas_protocol(Workspace(home), name)


@functools.lru_cache(maxsize=64)
def _protocol(path: Path, _stamps: _Stamps) -> type[PersonaBrainstorm]:
    from registry.audits.protocols.brainstorms import protocol_of

    return protocol_of(_read(path, path.parent / ATTRIBUTES))


def _read(path: Path, attributes: Path) -> Brainstorm:
    from registry.audits.brainstorm import brainstorm_from

    asks = brainstorm_from(_values(path), f"{FOLDER}/{path.parent.name}/{FILE}")
    return dataclasses.replace(asks, attributes_in=attributes if attributes.is_dir() else None)


def _values(path: Path) -> dict[str, object]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadInputError(f"{path.name} has over {LARGEST_FILE:,} bytes; give a TOML file of a brainstorm")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}; give the path of a TOML file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path.name} should be TOML: {error}") from error


def added(home: Home, path: Path, attributes: Sequence[Path] = ()) -> Added:
    """Check a brainstorm with its attribute files and keep copies in this home, in place of an earlier one of its name.

    Raises
    ------
    BadInputError : a file is none, an attribute is known nowhere, or a brainstorm that comes along has the name
    """
    from registry.audits.brainstorm import brainstorm_from

    asks = brainstorm_from(_values(path), path.name)
    _refuse_taken(asks.name)
    place = folder_of(home) / asks.name
    part, old = (folder_of(home) / f".{asks.name}{ending}" for ending in (".part", OLD))
    shutil.rmtree(part, ignore_errors=True)  # of a process that was killed while it added
    try:
        (part / ATTRIBUTES).mkdir(parents=True)
        (part / FILE).write_bytes(path.read_bytes())
        for one in attributes:
            name = _attribute_name(one)
            if name not in asks.categorised:
                raise BadInputError(
                    f"{path.name} asks for {', '.join(asks.categorised)}, and {one.name} is about {name!r}; leave it out or ask for it"
                )
            (part / ATTRIBUTES / f"{name}.toml").write_bytes(one.read_bytes())
        made = _checked(part)
        before = _there(place)
        if place.exists():
            shutil.rmtree(old, ignore_errors=True)
            place.replace(old)
        part.replace(place)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    own = dataclasses.replace(made, attributes_in=place / ATTRIBUTES)
    return Added(own, before, tuple(own_files(home, asks.name)))


def _checked(folder: Path) -> Brainstorm:
    """The brainstorm of a folder, with every attribute loaded: a fault shows when it is added, not when it is audited."""
    from metrics.catalog import DuplicateEntryError, UnknownEntryError
    from registry.audits.protocols.brainstorms import protocol_of
    from registry.audits.taxonomy import TaxonomyError

    asks = _read(folder / FILE, folder / ATTRIBUTES)
    try:
        protocol = protocol_of(asks)()
        _check_kinds(asks, {one.name: one.kind for one in protocol.taxonomy.attributes})
        if asks.terms:
            unknown = [
                f"{term!r} ({name})"
                for name, words in asks.terms.items()
                for term in words
                if protocol.taxonomy.category(name, term) is None
            ]
            if unknown:
                raise BadInputError(
                    f"'terms' has {unknown[0]}, which no category of that attribute takes; add a rule for it"
                )
    except (TaxonomyError, UnknownEntryError, DuplicateEntryError) as error:
        raise BadInputError(f"{asks.name}: {error}") from error
    return asks


def _check_kinds(asks: Brainstorm, kinds: dict[str, str]) -> None:
    for wanted, names in (("axis", asks.axes), ("dimension", asks.dimensions)):
        for name in names:
            if kinds.get(name, wanted) != wanted:
                raise BadInputError(f"{asks.name}: {name!r} is {kinds[name]}, and stands among the {wanted} names")


def _attribute_name(path: Path) -> str:
    name = _values(path).get("name")
    if not isinstance(name, str) or not name.isidentifier():
        raise BadInputError(f"{path.name}: 'name' should be a lower-case word with underscores, and is {name!r:.60}")
    return name


def _refuse_taken(name: str) -> None:
    import registry.audits.protocols.brainstorms
    import registry.audits.protocols.persona_cues
    import registry.audits.protocols.targeted_messages  # noqa: F401  (they register themselves)
    from registry.audits.protocols import PROTOCOLS

    if name in PROTOCOLS and not PROTOCOLS.is_of_a_file(name):
        raise BadInputError(f"{name!r} is the name of an instrument that comes along; give yours another name")


def _there(place: Path) -> Brainstorm | None:
    try:
        return _read(place / FILE, place / ATTRIBUTES) if (place / FILE).is_file() else None
    except BadInputError:
        return None  # what was there was none any more: it is replaced all the same
