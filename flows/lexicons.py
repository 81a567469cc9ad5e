"""The lexicons that this home measures messages with: those that come along, and those that its user brought."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING

from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.settings import Home
    from metrics.lexicon import Lexicon
    from metrics.message_measures import MessageLexicons

FOLDER = "lexicons"
CONNOTATION_FRAMES = "connotation-frames"


def folder_of(home: Home) -> Path:
    """Where this home keeps lexicons that its user brought."""
    return home.path / FOLDER


def stored_lexicons(home: Home) -> dict[str, Lexicon]:
    """The lexicons that were added to this home, by name."""
    from metrics.lexicon import read_lexicon

    found = (read_lexicon(path) for path in sorted(folder_of(home).glob("*.toml")))
    return {lexicon.name: lexicon for lexicon in found}


def added(home: Home, kind: str, path: Path) -> tuple[Lexicon, Path]:
    """Check a lexicon and keep a copy of it in this home.

    Parameters
    ----------
    kind : ``connotation-frames`` for the published CSV file of Sap et al. (2017), or ``file`` for one in our own form

    Raises
    ------
    BadInputError : for another kind, and for a file that is no such lexicon
    """
    from metrics.connotation import connotation_frames
    from metrics.lexicon import lexicon_names, read_lexicon, store_lexicon

    if kind == CONNOTATION_FRAMES:
        lexicon = connotation_frames(path)
        if lexicon.unit == "lemma":  # the file of lemmas and the one that paper mode takes are kept beside each other
            lexicon = dataclasses.replace(lexicon, name=f"{CONNOTATION_FRAMES}-lemmas")
    elif kind == "file":
        lexicon = read_lexicon(path)
        if lexicon.name in lexicon_names():
            raise BadInputError(f"{lexicon.name!r} is the name of a lexicon that comes along; give yours another name")
    else:
        raise BadInputError(f"a lexicon is added as {CONNOTATION_FRAMES} or as file, not as {kind!r}")
    return lexicon, store_lexicon(lexicon, folder_of(home))


def message_lexicons(home: Home) -> MessageLexicons:
    """What this home measures messages with.

    Paper mode takes the published verbs once they were added, and the third-person forms of the lexicon of agency before.
    """
    settings = home.configuration.messages
    stamps = tuple((path.name, path.stat().st_mtime_ns) for path in sorted(folder_of(home).glob("*.toml")))
    return _chosen(folder_of(home), stamps, settings.agency, settings.weights, settings.missing)


@functools.lru_cache(maxsize=8)
def _chosen(
    folder: Path,
    stamps: tuple[tuple[str, int], ...],
    agency: str,
    weights: tuple[float, float, float],
    missing: str,
) -> MessageLexicons:
    from metrics.lexicon import load_lexicon, read_lexicon
    from metrics.message_measures import MessageLexicons
    from metrics.persuasion import Weights

    stored = {lexicon.name: lexicon for name, _ in stamps for lexicon in [read_lexicon(folder / name)]}
    default = MessageLexicons.default()
    chosen = stored[agency] if agency in stored else load_lexicon(agency)
    if chosen.unit != "lemma" or set(chosen.class_names) != {"high", "low"}:
        raise BadInputError(
            f"[messages] agency needs a lexicon of lemmas with the classes high and low; {agency!r} has {chosen.unit} entries "
            f"in {', '.join(chosen.class_names)}"
        )
    published = stored.get(CONNOTATION_FRAMES)
    paper = published if published is not None and published.unit == "third-person" else None
    return dataclasses.replace(
        default,
        agency=chosen,
        agency_paper=paper,
        weights=Weights(agency=weights[0], modality=weights[1], imperative=weights[2]),
        missing=missing,
    )
