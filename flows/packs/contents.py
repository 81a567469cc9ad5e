"""What an evidence pack says of one audit: card, scores, comparisons, tests, what was asked and with what it was read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.brainstorms import folder_of as brainstorms_of
from flows.brainstorms import own_files
from flows.packs.answers import Served, write_answers, write_messages
from flows.packs.tables import COMPARISON_COLUMNS, SCORE_COLUMNS, TEST_COLUMNS, csv_text, rows_of_tests, score_rows
from flows.packs.writing import PackWriter
from flows.redaction import without_secrets
from flows.scoring import SCORING_SEED, scored, scores_of
from flows.staging import file_name
from flows.taxonomies import file_of as accepted_file
from flows.workspace import Workspace
from registry.audits.brainstorm import source_files
from registry.ledger.values import Audit, StoredComparison

if TYPE_CHECKING:
    from dashboards.card import ModelCard

AUDIT_SCHEMA = "spiritlevel/evidence-pack-audit/1"
FORMS = ("json", "md", "html")
_DATA = {  # folders with what comes along, and what an audit of a protocol is read by
    "targeted-messages": ("metrics/lexicons",),
    "persona-cues": ("registry/audits/persona_axes", "registry/audits/questions"),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One audit as it stands in a pack: its folder there, and what `versions.json` and the README say of it."""

    folder: str
    audit: Audit
    answers: int
    scoring_parts: Mapping[str, str]
    policy: Mapping[str, Any]
    newest: str


def pack_audit(workspace: Workspace, audit: Audit, writer: PackWriter, *, raw: bool) -> Packed:
    """Write everything about a finished audit into the folder of its protocol."""
    folder = file_name(audit.protocol)
    names = _scored(workspace, audit)
    audit = workspace.ledger.audit(audit.id)
    card, newest = _card(workspace, audit, raw)
    _write_card(writer, folder, card)
    comparisons = workspace.ledger.comparisons(family=audit.release.family, protocol=audit.protocol, current=audit.id)
    _write_tables(workspace, audit, comparisons, writer, folder)
    writer.json(f"{folder}/names.json", names)
    write_messages(writer, folder, workspace.ledger.sealed_messages(audit.id))
    served = write_answers(writer, folder, workspace.ledger.sealed(audit.id), raw=raw)
    ratings = _write_ratings(workspace, audit, writer, folder, raw)
    _write_used(workspace, audit, writer, folder)
    parts = workspace.protocol(audit.protocol).scoring_parts(names["names"])
    said = _audit_json(audit, served) | {
        "origins": [origin.as_json() for origin in workspace.ledger.origins(audit.id)],
        "scoring_version": audit.scoring_version,
        "scoring_parts": parts,
        "scoring_seed": SCORING_SEED,
        "policy": workspace.home.policy(audit.release.family).as_json(),
        "settings": _settings(workspace, audit),
        "ratings": ratings,
    }
    _write_json(writer, f"{folder}/audit.json", said)
    if people := workspace.ledger.human_checks(audit.id):
        _write_json(writer, f"{folder}/human.json", [one.as_json() for one in people])
    return Packed(
        folder=folder,
        audit=audit,
        answers=served.answers,
        scoring_parts=parts,
        policy=said["policy"],
        newest=newest,
    )


def _scored(workspace: Workspace, audit: Audit) -> dict[str, Any]:
    """See to it that today's scores are stored, and say which list of names they count."""
    protocol = workspace.protocol(audit.protocol)
    frozen = workspace.ledger.name_list(audit.release.family, audit.protocol) if protocol.freezes_names else None
    if frozen is not None or not protocol.freezes_names:
        scores_of(workspace, audit)
        names = list(frozen.names) if frozen else []
    else:
        names = list(scored(workspace, audit).names)
    if frozen is None:
        return {"frozen": False, "version": None, "reason": "", "audits": [], "names": names}
    told = {"version": frozen.version, "reason": frozen.reason, "audits": list(frozen.audits)}
    return {"frozen": True, **told, "names": names}


def _card(workspace: Workspace, audit: Audit, raw: bool) -> tuple[ModelCard, str]:
    """The card, dated as of the newest result on it, so that the same ledger gives the same card; and that time."""
    from flows.carding import card_of

    card = card_of(workspace, audit.release.family, audit.protocol, audit.release.version)
    stored = workspace.ledger.comparisons(family=audit.release.family, protocol=audit.protocol, current=audit.id)
    people = workspace.ledger.human_checks(audit.id)
    newest = max(
        [audit.finished_at or audit.ordered_at, *(one.made_at for one in stored), *(one.made_at for one in people)]
    )
    card = dataclasses.replace(card, made_at=newest)
    return (card if raw else _without_answers(card)), newest


def _without_answers(card: ModelCard) -> ModelCard:
    """The card without what was taken from answers word for word: examples of what moved, and terms without a category."""
    cells = tuple(dataclasses.replace(cell, previous=(), current=()) for cell in card.cells)
    events = tuple(dataclasses.replace(event, previous=(), current=()) for event in card.events)
    return dataclasses.replace(card, cells=cells, events=events, unmapped=())


def _write_card(writer: PackWriter, folder: str, card: ModelCard) -> None:
    from flows.carding import rendered

    for form in FORMS:
        writer.text(f"{folder}/card.{form}", rendered(card, form))


def _write_tables(
    workspace: Workspace, audit: Audit, comparisons: list[StoredComparison], writer: PackWriter, folder: str
) -> None:
    scores = workspace.ledger.scores(audit.id)
    rows = list(_comparison_rows(workspace, comparisons))
    checks = workspace.ledger.checks(audit.id, scoring_version=audit.scoring_version)
    tables = {
        "scores": csv_text(SCORE_COLUMNS, score_rows(scores)),
        "comparisons": csv_text(COMPARISON_COLUMNS, rows),
        "tests": csv_text(TEST_COLUMNS, rows_of_tests(scores, rows, checks)),
    }
    for name, text in tables.items():
        writer.text(f"{folder}/{name}.csv", without_secrets(text))


def _comparison_rows(workspace: Workspace, comparisons: list[StoredComparison]) -> Iterator[dict[str, Any]]:
    for one in comparisons:
        head = {
            "comparison": one.id,
            "previous_audit": one.previous_audit,
            "previous_release": workspace.ledger.audit(one.previous_audit).release.uri,
            "current_audit": one.current_audit,
            "scoring_version": one.scoring_version,
        }
        for row in one.rows:
            yield head | dataclasses.asdict(row)


def _audit_json(audit: Audit, served: Served) -> dict[str, Any]:
    """What was asked of whom, as it was ordered, and who answered."""
    return {
        "schema": AUDIT_SCHEMA,
        "audit": audit.id,
        "occasion": audit.occasion,
        "release": audit.release.as_json(),
        "protocol": audit.protocol,
        "source": audit.source,
        "state": audit.state,
        "ordered_at": audit.ordered_at,
        "finished_at": audit.finished_at,
        "differences": dict(audit.differences),
        "run_id": audit.run_id,
        "plan": audit.plan.as_json(),
        "collection_key": audit.plan.collection_key,
        "answers": served.answers,
        "served": served.as_json(),
    }


def _settings(workspace: Workspace, audit: Audit) -> dict[str, Any]:
    """The settings that scores depend on, as `spiritlevel.toml` has them."""
    protocol, configuration = workspace.protocol(audit.protocol), workspace.home.configuration
    found: dict[str, Any] = {}
    if getattr(protocol, "takes_lexicons", False):
        found["messages"] = configuration.messages.model_dump(mode="json")
    if getattr(protocol, "rubrics", ()) and configuration.judge.release:
        found["judge"] = configuration.judge.model_dump(mode="json")
    return found


def _write_ratings(
    workspace: Workspace, audit: Audit, writer: PackWriter, folder: str, raw: bool
) -> list[dict[str, str]]:
    """Write what the judge was asked and said; its questions hold the texts of answers, so only ``raw`` has them."""
    from flows.rating import ratings_made

    found = []
    for rubric, made in ratings_made(workspace, audit):
        for number, one in enumerate(made, start=1):
            place = f"{folder}/ratings/{file_name(rubric.name)}-{number}"
            if raw:
                write_messages(writer, place, workspace.ledger.sealed_messages(one.id))
            served = write_answers(writer, place, workspace.ledger.sealed(one.id), raw=raw)
            _write_json(writer, f"{place}/audit.json", _audit_json(one, served))
            found.append({"rubric": rubric.name, "folder": place.removeprefix(f"{folder}/")})
    return found


def _write_used(workspace: Workspace, audit: Audit, writer: PackWriter, folder: str) -> None:
    """Write the lists that answers are read with: taxonomies, lexicons, questions, rubrics."""
    root = Path(__file__).parents[2]
    for place in _DATA.get(audit.protocol, ()):
        for path in sorted((root / place).glob("*.toml")):
            writer.content(f"{folder}/used/{file_name(path.parent.name)}/{path.name}", path.read_bytes())
    protocol = workspace.protocol(audit.protocol)
    for path in source_files(protocol.asks) if hasattr(protocol, "asks") else ():
        writer.content(f"{folder}/used/{file_name(path.parent.name)}/{path.name}", path.read_bytes())
    for path in own_files(workspace.home, protocol.name):
        own = path.relative_to(brainstorms_of(workspace.home))
        writer.content(f"{folder}/used/own-brainstorms/{own.as_posix()}", path.read_bytes())
    for name in getattr(protocol, "rubrics", ()):
        path = root / "registry" / "audits" / "rubrics" / f"{name}.toml"
        writer.content(f"{folder}/used/rubrics/{file_name(path.name)}", path.read_bytes())
    if getattr(protocol, "takes_accepted", False) and (accepted := accepted_file(workspace.home)).is_file():
        writer.content(f"{folder}/used/own-taxonomy/{file_name(accepted.name)}", accepted.read_bytes())
    if getattr(protocol, "takes_lexicons", False):
        for path in _own_lexicons(workspace):
            writer.content(f"{folder}/used/own-lexicons/{file_name(path.stem)}.toml", path.read_bytes())


def _own_lexicons(workspace: Workspace) -> list[Path]:
    """The files of lexicons that the user brought and that take part in the scores."""
    from flows.lexicons import CONNOTATION_FRAMES, folder_of
    from metrics.lexicon import read_lexicon

    wanted = {workspace.home.configuration.messages.agency, CONNOTATION_FRAMES}
    paths = sorted(folder_of(workspace.home).glob("*.toml"))
    return [path for path in paths if read_lexicon(path).name in wanted]


def _write_json(writer: PackWriter, path: str, value: Any) -> None:
    import json

    from registry.ledger.rows import as_json

    plain = json.loads(without_secrets(as_json(value)))  # a number that is none is kept as a word
    writer.json(path, plain)
