"""Reading and scoring the answers of an evidence pack again, in a home folder that exists for that only."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flows.packs.answers import MESSAGES, read_answers, read_messages, read_requests
from flows.packs.contents import AUDIT_SCHEMA
from flows.packs.making import libraries
from flows.packs.tables import SCORE_COLUMNS, read_scores, score_rows
from flows.settings import CONFIGURATION, Configuration, Home, silence
from flows.staging import temporary_folder
from flows.workspace import Workspace, opened
from metrics.errors import BadInputError
from registry.audits.plan import AuditPlan
from registry.ledger.values import Audit, NameList
from registry.releases import ModelRelease

_AT_ONCE = 500
_SHOWN = 10  # differences of one table; the rest are counted
_PRECISION = 1e-9  # of one number from another: processors and databases add up in another order


@dataclasses.dataclass(frozen=True, slots=True)
class Rescored:
    """Differences, what was not scored again and why, and how many rows were compared by protocol."""

    faults: tuple[str, ...]
    notes: tuple[str, ...]
    scored: tuple[tuple[str, int], ...]


class _PackHome(Home):
    """A home whose ledger is its own file, whatever the environment says."""

    @property
    def ledger_url(self) -> str:
        return f"sqlite:///{self.path / 'ledger.db'}"

    @property
    def tracking_uri(self) -> str:
        return f"sqlite:///{self.path / 'mlflow.db'}"

    def prepare_environment(self) -> None:
        silence()


def rescored(folder: Path, tell: Callable[[str], None]) -> Rescored:
    """Score the answers of each protocol of a pack again and compare every row with its ``scores.csv``.

    A protocol that the installed version scores by other parts is left out, with the parts that differ.
    """
    faults: list[str] = []
    notes: list[str] = []
    scored: list[tuple[str, int]] = []
    for path in sorted(folder.glob("*/audit.json")):
        name = path.parent.name
        try:
            tell(f"{name}: reading and scoring its answers again")
            found = _compared(path.parent)
        except BadInputError as error:
            faults.append(f"{name}: {error}")
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
            faults.append(
                f"{name}: it is not as a pack is written, so it cannot be scored ({type(error).__name__}: {error})"
            )
        else:
            if isinstance(found, str):
                notes.append(f"{name}: {found}")
            else:
                faults += [f"{name}: {one}" for one in found.faults]
                scored.append((name, found.rows))
    if faults and (others := _other_libraries(folder)):
        notes.append(f"libraries differ from those that made the pack: {others}")
    return Rescored(tuple(faults), tuple(notes), tuple(scored))


@dataclasses.dataclass(frozen=True, slots=True)
class _Compared:
    rows: int
    faults: list[str]


def _compared(folder: Path) -> _Compared | str:
    """Differences between the scores of a folder and those of its answers; or why they are not comparable, in words."""
    about = _read(folder / "audit.json")
    names = _read(folder / "names.json")
    known = read_messages(folder)
    for _ in read_requests(folder, known):  # each names messages that are there
        pass
    with _home(folder, about) as home, opened(home) as workspace:
        protocol = workspace.protocol(str(about["protocol"]))
        if other := _other_parts(about["scoring_parts"], protocol.scoring_parts(names["names"])):
            return f"hashes only: the installed version scores otherwise ({other})"
        audit = _restored(workspace, folder, about)
        if names["frozen"]:
            _freeze(workspace, audit, names)
        _restore_ratings(workspace, audit, folder, about)
        version = _scores(workspace, audit)
        if version != about["scoring_version"]:
            return _Compared(0, [f"its answers give the scoring version {version}, not {about['scoring_version']}"])
        made = [dict(row) for row in score_rows(workspace.ledger.scores(audit.id, version))]
    return _Compared(len(made), list(_differences(read_scores(folder / "scores.csv"), made)))


def _scores(workspace: Workspace, audit: Audit) -> str:
    from flows.scoring import scored

    return str(scored(workspace, audit).audit.scoring_version)


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, OSError) as error:
        raise BadInputError(f"{path.name} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise BadInputError(f"{path.name} should be an object, not {type(value).__name__}")
    if path.name == "audit.json" and value.get("schema") != AUDIT_SCHEMA:
        raise BadInputError(
            f"{path.name} should have the schema {AUDIT_SCHEMA!r}, not {str(value.get('schema'))[:60]!r}"
        )
    return value


_OWN = (("own-lexicons", "lexicons"), ("own-taxonomy", "taxonomy"), ("own-brainstorms", "brainstorms"))
"""Folders of a pack with what a user brought, and where a home has them."""


@contextmanager
def _home(folder: Path, about: Mapping[str, Any]) -> Iterator[Home]:
    """A home folder with the settings and lexicons that a pack was scored with; it goes away again."""
    with temporary_folder("verify") as path:
        given = Configuration.model_validate({**about["settings"], "publish": {"at_once": False, "evidently": False}})
        (path / CONFIGURATION).write_text(_toml(given), encoding="utf-8")
        for own, place in _OWN:
            if (folder / "used" / own).is_dir():
                shutil.copytree(folder / "used" / own, path / place)
        yield _PackHome(path)


def _toml(given: Configuration) -> str:
    """The tables that scores depend on; a text of JSON is a text of TOML."""
    lines = []
    for table in ("messages", "judge", "publish"):
        values = getattr(given, table).model_dump(mode="json")
        lines += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    return "\n".join(lines) + "\n"


def _restored(workspace: Workspace, folder: Path, about: Mapping[str, Any]) -> Audit:
    """An audit of the pack in the ledger of this home, with its requests and answers."""
    ledger = workspace.ledger
    said = about["release"]
    if [type(said[name]) for name in ("family", "version", "model")] != [str, int, str]:
        raise BadInputError("audit.json: a release has a family, a version and a model id")
    release, plan = ModelRelease(**said), AuditPlan.from_json(about["plan"])
    asked = (request for request, _, _ in read_requests(folder))
    audit = ledger.order(release, plan, asked, source=str(about["source"]))
    batch = []
    for answer in read_answers(folder):
        batch.append(answer)
        if len(batch) == _AT_ONCE:
            ledger.record_all(audit.id, batch)
            batch = []
    ledger.record_all(audit.id, batch)
    if about["state"] not in {"complete", "incomplete", "open"}:
        raise BadInputError(f"audit.json: the state should be complete or incomplete, not {str(about['state'])[:40]!r}")
    return ledger.change(audit.id, state=about["state"], finished_at=about["finished_at"])


def _freeze(workspace: Workspace, audit: Audit, names: Mapping[str, Any]) -> None:
    workspace.ledger.freeze_names(
        NameList(
            family=audit.release.family,
            protocol=audit.protocol,
            version=int(names["version"]),
            names=tuple(map(str, names["names"])),
            audits=tuple(map(int, names["audits"])),
            reason=str(names["reason"]),
        )
    )


def _restore_ratings(workspace: Workspace, audit: Audit, folder: Path, about: Mapping[str, Any]) -> None:
    """The ratings of a pack, as ratings of the audit in this home."""
    from flows.rating import subject_of

    there = {path.parent.relative_to(folder).as_posix(): path.parent for path in folder.glob("ratings/*/audit.json")}
    for one in about["ratings"]:
        if one["folder"] not in there:
            raise BadInputError(f"audit.json names ratings in {str(one['folder'])[:80]!r}, and there are none")
        place = there[one["folder"]]
        said = _read(place / "audit.json")
        if not (place / MESSAGES).is_file():
            raise BadInputError(f"{one['folder']} has no {MESSAGES}")
        for _ in read_requests(place, read_messages(place)):
            pass
        said["plan"]["options"]["subject"] = subject_of(audit)
        _restored(workspace, place, said)


def _other_parts(packed: Mapping[str, str], installed: Mapping[str, str]) -> str:
    """What parts of the scoring are others than in the pack, in words; empty when none is."""
    found = [
        f"{name}: {packed.get(name, 'none')} in the pack, {installed.get(name, 'none')} here"
        for name in sorted(packed.keys() | installed.keys())
        if packed.get(name) != installed.get(name)
    ]
    return "; ".join(found)


def _differences(packed: list[dict[str, Any]], made: list[dict[str, Any]]) -> Iterator[str]:
    if len(packed) != len(made):
        yield f"scores.csv has {len(packed):,} rows, and the answers give {len(made):,}"
        return
    found = [
        f"scores.csv, {_place(row)}: {name} is {row[name]!r} there, and the answers give {other[name]!r}"
        for row, other in zip(packed, made, strict=True)
        for name in SCORE_COLUMNS
        if not _same(row[name], other[name])
    ]
    yield from found[:_SHOWN]
    if len(found) > _SHOWN:
        yield f"and {len(found) - _SHOWN:,} more cells of scores.csv differ"


def _place(row: Mapping[str, Any]) -> str:
    """Which score, in words.

    >>> _place({"metric": "gap", "dimension": "gender x words", "group": "female - male"})
    'gap of gender x words, female - male'
    """
    return f"{row['metric']} of {row['dimension']}" + (f", {row['group']}" if row["group"] else "")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_PRECISION, abs_tol=1e-12)
    return bool(one == other)


def _other_libraries(folder: Path) -> str:
    packed = _read(folder / "versions.json").get("libraries")
    if not isinstance(packed, dict):
        return ""
    here = libraries()
    found = [
        f"{name} {packed[name]} there, {here[name]} here" for name in here if packed.get(name, here[name]) != here[name]
    ]
    return ", ".join(found)
