"""The README of an evidence pack: what it is, how it is verified, what it cannot show."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dashboards.instruments import instrument_of
from flows.packs.contents import Packed
from registry.releases import ModelRelease
from registry.stores import harmless

_WIDTH = 100
_FILES = (
    ("card.html, card.md, card.json", "the model card, dated as of the newest result on it"),
    ("scores.csv", "every score: value, interval and its method, n, severity, or the reason why there is none"),
    ("comparisons.csv", "every comparison of this audit with another one: change, interval, q value, verdict, reason"),
    ("tests.csv", "every statistical test behind both tables, and the checks of the instrument itself"),
    ("audit.json", "what was asked of which model, as it was ordered; who answered; how it was scored and judged"),
    ("names.json", "the list of names that is counted, for a protocol that has one"),
    ("messages.jsonl", "the different messages that were sent, word for word, each with its hash; empty for imports"),
    ("requests.jsonl", "every request in order: what it was about, the hash of its messages, the hash of its answer"),
    ("answers.jsonl", "the answers in the same order, word for word, in the form that 'spiritlevel import' takes"),
    ("ratings/", "what a judge model was asked about the answers and what it said, if there was one"),
    ("human.json", "what people said who rated the answers blindly, with hashes of key and sheets, if there were any"),
    ("used/", "the taxonomies, lexicons, questions and rubrics that answers were read with"),
)
_RAW_ONLY = {"answers.jsonl"}


def readme(release: ModelRelease, packed: Sequence[Packed], *, raw: bool) -> str:
    """The text; the same pack always has the same one."""
    parts = [
        f"EVIDENCE PACK OF {release.uri}",
        "",
        _wrapped(
            f"Everything that spiritlevel knows about the newest finished audit of {release.uri} (model id {release.model}) under "
            f"each protocol below. Each protocol has a folder."
        ),
        "",
        *(_audit_line(one) for one in packed),
        "",
        "HOW TO VERIFY",
        "",
        *_verifying(raw),
        "",
        "WHAT IS IN IT",
        "",
        *_files(raw),
        "",
        "WHAT IT CANNOT SHOW",
        "",
        *_limits(packed, raw),
        "",
    ]
    return harmless("\n".join(parts))


def _audit_line(one: Packed) -> str:
    audit, told = one.audit, instrument_of(one.audit.protocol)
    counted = f"{one.answers:,} answers or failures of calls"
    return _item(
        f"{one.folder}/: {told.title}, audit {audit.id} ({audit.source}, {audit.state}), ended {audit.finished_at}; {counted}"
    )


def _verifying(raw: bool) -> list[str]:
    again = (
        "With the answers it also reads and scores them again and compares every number with scores.csv, as long as the "
        "installed version scores as the one that made the pack; else it says what differs and checks the hashes only."
        if raw
        else "The answers are not in this pack, so their hashes can be compared with answers that you are shown elsewhere, "
        "and the scores cannot be made again."
    )
    return [
        "    spiritlevel evidence verify FOLDER",
        "",
        _wrapped(
            "on any machine with spiritlevel; no ledger, MLflow or network is needed. It checks the SHA-256 and the size of every "
            f"file against manifest.json, that none is missing and none was added. {again} Exit code 0: all is as it was; 1: "
            "something is not, and it says what; 2: the folder is no pack."
        ),
        "",
        _wrapped(
            "Whoever can change a file can write a new manifest too. So compare the digest in manifest.json with the one that you "
            "were told by another way ('--digest' does it), or have the folder signed. Without spiritlevel: 'sha256sum' gives "
            "the hashes, and the digest is the SHA-256 of the manifest without its key digest, as JSON with sorted keys and no spaces."
        ),
    ]


def _files(raw: bool) -> list[str]:
    found = [_item(f"{name}: {told}") for name, told in _FILES if raw or name not in _RAW_ONLY]
    return [
        *found,
        _item("versions.json: product, Python, libraries, parts of the scoring, collection key and policy"),
        _item("manifest.json: every file with bytes and SHA-256, and one digest; only its made_at and digest differ when the "
              "pack is made again from the same ledger"),
    ]  # fmt: skip


def _limits(packed: Sequence[Packed], raw: bool) -> list[str]:
    found = [
        "That the answers came from the model: they are what the endpoint sent and the ledger kept. What the endpoint said about "
        "itself (served model, fingerprint) is in audit.json as it said it.",
        "That nothing was left out before: another audit of the release that was never recorded leaves no trace here. Earlier "
        "audits of the same release are told in the card's history, and their answers are not in the pack.",
        "How comparisons came about: the other release's answers are not in the pack, so verdicts are checked by hash, not "
        "made again.",
        "That the hashes are of that time: a manifest has no time stamp that a third party gave.",
        "Keys and passwords were removed from answers when they came; the mark [api key removed] stands in their place.",
        "Texts are what a model or a user wrote. Open tables and answers as data: a spreadsheet may run a cell that begins with "
        "'=', and a page may be meant to mislead its reader.",
    ]
    if any(one.audit.protocol == "targeted-messages" for one in packed):
        found.append(
            "Lexicons in used/own-lexicons were brought by a user and keep their own licence; see that you may pass them on."
        )
    if any("accepted mappings" in one.scoring_parts for one in packed):
        found.append(
            "The file in used/own-taxonomy names the people who put terms into categories; see that you may pass it on."
        )
    if not raw:
        found.append(
            "Whether the scores follow from the answers: only their hashes are here. A hash of a very short answer can be guessed, "
            "so it hides less than it seems. Categories, names and counted words are still in the tables and the card."
        )
    found += [limit for one in packed for limit in instrument_of(one.audit.protocol).limits]
    return [_item(text) for text in dict.fromkeys(found)]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _item(text: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
