"""Configuration files: read, checked, and one sentence for the first thing that is wrong in one."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from metrics.errors import BadInputError

Model = TypeVar("Model", bound=BaseModel)
_QUIET_INPUT = ("_env", "url", "secret", "headers", "token", "password", "key")  # may be a secret: never repeated
_LONGEST = 60


def text_of(path: Path) -> str | None:
    """The text of a configuration file; None when there is none."""
    if not path.exists():
        return None
    if not path.is_file():
        raise BadInputError(f"{path} should be a file with settings, and is a folder or a device; move it away")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise BadInputError(
            f"{path} is not UTF-8 text (byte 0x{byte:02x} at position {error.start}); save it with the encoding UTF-8"
        ) from None
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error}") from error


def checked(model: type[Model], given: Any, path: Path, table: str = "[{}]") -> Model:
    """What a file says, checked; ``table`` is how a table of settings is written in this kind of file.

    Raises
    ------
    BadInputError
        Names the file, the place, what came, the nearest name and what is known there. Secrets are not repeated.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first: Any = error.errors()[0]
        raise BadInputError(f"{path}: {_in_words(model, first, table)}") from error


def _in_words(model: type[BaseModel], error: dict[str, Any], table: str) -> str:
    place = [str(part) for part in error["loc"]]
    where = ".".join(part for part in place if part != "[key]")
    kind, given = error["type"], error.get("input")
    if kind == "extra_forbidden":
        known = known_at(model, place[:-1])
        return f"there is no setting {where!r}{nearest(place[-1], known)} Known here: {', '.join(known)}"
    if kind in {"model_type", "dict_type", "model_attributes_type"}:
        came = "something else" if _quiet(place) else _short(given)
        return f"{table.format(where) if place else 'the file'} is a table of settings, not {came}"
    if kind == "missing":
        return f"{where} is missing; it has no default"
    if kind == "value_error":  # of our own checks: a whole sentence
        sentence = str(error["ctx"]["error"])
        return f"{where}: {sentence}" if place else sentence
    sentence = f"{where}: {error['msg'][:1].lower()}{error['msg'][1:]}"
    return sentence if _quiet(place) else f"{sentence}; it is {_short(given)}"


def _quiet(place: list[str]) -> bool:
    return any(part.casefold().endswith(_QUIET_INPUT) for part in place)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def nearest(name: str, known: typing.Iterable[str]) -> str:
    """A hint to go on with: the name that was probably meant, or a full stop.

    >>> nearest("presona", ["persona"]), nearest("x", ["persona"])
    ("; did you mean 'persona'?", '.')
    """
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def known_at(model: type[BaseModel], place: list[str]) -> list[str]:
    """Names of the settings at a place of a file: of nested tables, of tables by name and of lists of tables."""
    here: Any = model
    for part in place:
        here = _part(here, part)
    fields = getattr(here, "model_fields", {})
    return [field.alias or name for name, field in fields.items()]


def _part(here: Any, part: str) -> Any:
    """The type of a part of a type: a field, or what a mapping or list holds."""
    fields = getattr(here, "model_fields", None)
    if fields is not None:
        found = next((field for name, field in fields.items() if part in (name, field.alias)), None)
        if found is None:
            return None
        marked = next((one.model for one in found.metadata if isinstance(one, FieldsOf)), None)
        return marked or _without_none(found.annotation)
    arguments = typing.get_args(here)
    return _without_none(arguments[-1]) if arguments else None


def _without_none(annotation: Any) -> Any:
    """The type itself, of one that may also be None or is annotated."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return _without_none(next(one for one in typing.get_args(annotation) if one is not type(None)))
    if typing.get_origin(annotation) is typing.Annotated:
        marked = next((one.model for one in annotation.__metadata__ if isinstance(one, FieldsOf)), None)
        return marked or _without_none(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) is tuple:
        return list[typing.get_args(annotation)[0]]  # type: ignore[misc]
    return annotation


class FieldsOf:
    """Marks a mapping that may hold fields of a model, checked as such; only those that were given stay in it."""

    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            lambda checked: checked.model_dump(exclude_unset=True),
            handler.generate_schema(self.model),
            serialization=core_schema.plain_serializer_function_ser_schema(dict),
        )


def yaml_value(path: Path, text: str) -> Any:
    """What a YAML file says: strings, numbers, true and false, lists and tables; nothing else is made of it.

    Dates and times stay text, as YAML 1.2 has it: PyYAML would read 22:00 as the number 1320. A key that stands twice in
    one table is refused, for the first would be lost silently.
    """
    import yaml

    try:
        return yaml.load(text, Loader=_loader())  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f" in line {mark.line + 1}" if mark else ""
        raise BadInputError(f"{path} is not valid YAML{line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise BadInputError(f"{path} is not valid YAML: {error}") from error


def _loader() -> type[Any]:
    import re

    import yaml

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first is ten times as fast, and not everywhere

    class Loader(safe):  # type: ignore[misc]
        """Safe, and plain: no dates, no numbers to the base 60, no key twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            self.flatten_mapping(node)
            for key, line in _repeated(node):
                raise yaml.MarkedYAMLError(problem=f"{key!r} stands twice in one table", problem_mark=line)
            return super().construct_mapping(node, deep=deep)

    Loader.yaml_implicit_resolvers = {
        first: [(tag, expression) for tag, expression in found if tag.rpartition(":")[2] not in _REPLACED]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    integer, point = re.compile(r"^[-+]?[0-9]+$"), re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:int", integer, list("-+0123456789"))
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", point, list("-+.0123456789"))
    Loader.add_constructor("tag:yaml.org,2002:int", _integer)
    return Loader


def _integer(loader: Any, node: Any) -> int:
    return int(loader.construct_scalar(node))


_REPLACED = ("timestamp", "int", "float")


def _repeated(node: Any) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for key, _ in node.value:
        if str(key.value) in seen:
            yield str(key.value), key.start_mark
        seen.add(str(key.value))
