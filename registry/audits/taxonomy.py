"""Free terms put into categories, the original term always kept.

A taxonomy is data: one TOML file an attribute, in ``axes/`` and ``dimensions/``; `registry.audits.matching` has the rules
by which a term is matched. A term that no rule knows stays unmapped: it is listed and counted, never guessed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.catalog import UnknownEntryError
from registry.audits.accepted import Mapped, refuse_unknown
from registry.audits.asked import ENGLISH
from registry.audits.attribute_files import Attribute, Files, add, add_needed, packaged
from registry.audits.brainstorm import NAME, PAPER, load_brainstorm
from registry.audits.language import Language, language_of, languages
from registry.audits.matching import ENGINE_VERSION, Match, Rules, TaxonomyError, compiled, normalized, normalized_name
from registry.audits.plan import Outcome, Record, content_hash

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Attribute",
    "Taxonomy",
    "TaxonomyError",
    "load_taxonomy",
    "normalized",
    "normalized_name",
    "persona_frame",
]

_UNHASHED = ("keys", "reviewed")  # of a file: they say where an answer stands and who looked, not what a term means


class Taxonomy:
    """Attributes with their categories, and the category of any term. Immutable; made by `load_taxonomy`.

    >>> taxonomy = load_taxonomy()
    >>> taxonomy.category("occupation", "Pediatric Nurse"), taxonomy.category("occupation", "Banana")
    ('Healthcare', None)
    >>> taxonomy.category("sexual_orientation", "Homosexual", {"gender": "Woman"})
    'lesbian'
    """

    def __init__(
        self,
        attributes: Iterable[Attribute],
        rules: Callable[[], Mapping[str, Rules]],
        version: str,
        accepted: Mapped = (),
    ) -> None:
        self._attributes = tuple(attributes)
        self._make_rules = rules  # made when a term is looked up: what only shows stored results needs none
        self._version = version
        self._accepted = {(attribute, term): category for attribute, term, category in accepted}
        self._known: dict[tuple[str, str], Match | None] = {}

    @cached_property
    def _rules(self) -> dict[str, Rules]:
        return dict(self._make_rules())

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Axes, then dimensions, in the order they are asked for; names are not categorised and not among them."""
        return self._attributes

    @property
    def version(self) -> str:
        """Hash of the content of all files and of the matching rules; part of the scoring version.

        What people accepted is another part of it: `registry.audits.accepted.Accepted.scoring_part`.
        """
        return self._version

    def known_terms(self, attribute: str) -> Mapping[str, str]:
        """Every listed word, phrase and answer of an attribute in normal form, with its category; accepted ones too."""
        own = {term: category for (name, term), category in self._accepted.items() if name == attribute}
        return {**self._of(attribute).whole, **own}

    def told_apart(self, attribute: str, term: str) -> str | None:
        """The other attribute of the persona that this term's category depends on, as for "homosexual"; None for most."""
        found = self._match(attribute, term)
        entry = self._of(attribute).conditional.get(found.category) if found is not None else None
        return entry[0] if entry is not None else None

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name; `UnknownEntryError` names the nearest."""
        self._of(name)
        return next(attribute for attribute in self._attributes if attribute.name == name)

    def _of(self, name: str) -> Rules:
        known = [attribute.name for attribute in self._attributes]
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise UnknownEntryError(f"no attribute is named {name!r}{hint} Known: name, {', '.join(known)}")
        return self._rules[name]

    def category(self, attribute: str, term: str | None, persona: Mapping[str, str | None] | None = None) -> str | None:
        """Category of ``term``; None when it is missing or no rule knows it.

        Parameters
        ----------
        attribute :
            name as in the answer (``"occupation"``); for ``"name"`` the normalized full name is returned
        term :
            the term as answered
        persona :
            the other terms of the same persona, for the few words that only they tell apart ("homosexual")

        Notes
        -----
        Tried in order: what a person accepted; the whole answer; phrases with an "and" in them; the longest phrase of the first segment that
        has one, before its first preposition where possible ("Director of Nursing" falls to Healthcare because
        "director" is a weak word); weak words ("manager", "specialist"); words written as one ("RockClimbing"); an
        answer that only repeats the question ("Top personal interest is ..."); an answer to another question ("Female"
        as an occupation); the form of an answer that names nothing ("A4066"). `basis` says which it was.
        """
        found = self._match(attribute, term)
        if found is None or attribute == "name" or found.category not in self._rules[attribute].conditional:
            return found.category if found is not None else None
        other, by_category = self._rules[attribute].conditional[found.category]
        told = self._match(other, (persona or {}).get(other))
        return by_category.get(told.category if told is not None else "")

    def basis(self, attribute: str, term: str | None, persona: Mapping[str, str | None] | None = None) -> str | None:
        """On what basis `category` puts a term where it does; None when it puts it nowhere.

        ``accepted`` (a person decided so), ``term`` (the whole answer is listed), ``phrase``, ``weak word``, ``compound``, ``statement`` (a clause says it
        plainly), ``question`` (it only repeats the question), ``answer to <attribute>``, or ``form: ...`` with one of
        `registry.audits.forms.FORMS`; ``normal form`` for a name.

        >>> taxonomy = load_taxonomy()
        >>> [taxonomy.basis("occupation", term) for term in ("Night nurse", "Female", "I am alone", "Banana")]
        ['phrase', 'answer to gender', 'form: clause', None]
        """
        found = self._match(attribute, term)
        return None if found is None or self.category(attribute, term, persona) is None else found.basis

    @property
    def unspecified_categories(self) -> dict[str, str]:
        """By attribute, the category of answers that name nothing; attributes without one are left out."""
        found = {attribute.name: self._rules[attribute.name].unspecified for attribute in self._attributes}
        return {name: category for name, category in found.items() if category is not None}

    def _match(self, attribute: str, term: str | None) -> Match | None:
        if term is None:
            return None
        key = (attribute, term)
        if key not in self._known:
            if attribute == "name":
                name = normalized_name(term)
                self._known[key] = Match(name, "normal form") if name is not None else None
            else:
                rules = self._rules.get(attribute) or self._of(
                    attribute
                )  # of an attribute that only tells others apart too
                self._known[key] = self._searched(rules, attribute, term)
        return self._known[key]

    def _searched(self, rules: Rules, attribute: str, term: str) -> Match | None:
        decided = self._accepted.get((attribute, normalized(term))) if self._accepted else None
        if decided is not None:
            return Match(decided, "accepted")
        own = rules.match(term)
        if own is not None:
            return own
        for other, target in rules.borrowed:
            found = self._rules[other].match(term)
            if found is not None and found.category != self._rules[other].unspecified:
                return Match(target, f"answer to {other}")
        return rules.by_form(term)


def load_taxonomy(
    extra: Path | None = None,
    accepted: Mapped = (),
    *,
    attributes: Sequence[str] | None = None,
    language: str = ENGLISH,
) -> Taxonomy:
    """The taxonomy of packaged attributes, and of every ``*.toml`` under ``extra`` when a folder is given.

    Parameters
    ----------
    accepted : terms that people put into categories (`registry.audits.accepted`); they go before every rule
    attributes : names of packaged attributes, axes and dimensions; those of the paper unless given. What they borrow from
        or are told apart by is read as well, and part of the version; other files are not. When they are named, a file under ``extra``
        goes before the packaged one of its name
    language : of the packaged files

    Raises
    ------
    TaxonomyError
        a file is not TOML or lacks something; the sentence names the file
    DuplicateEntryError
        a term is under two categories, or an attribute is defined twice; both places are named
    UnknownEntryError
        no packaged attribute has that name in that language
    BadInputError
        a term was accepted into a category that there is not
    """
    wanted = tuple(attributes) if attributes is not None else load_brainstorm(PAPER).categorised
    if extra is not None and not extra.is_dir():
        raise TaxonomyError(f"expected a folder of TOML files, and {str(extra)!r} is not a folder")
    paths = sorted(extra.resolve().rglob("*.toml")) if extra is not None else ()
    brought = tuple((path, path.stat().st_mtime_ns) for path in paths)
    how = wanted, language, attributes is not None
    return _with_accepted(brought, accepted, *how) if accepted else _load(brought, *how)


_Brought = tuple[tuple[Path, int], ...]  # files, and when they were changed


@lru_cache(maxsize=16)
def _with_accepted(
    brought: _Brought, accepted: Mapped, wanted: tuple[str, ...], language: str, own_first: bool
) -> Taxonomy:
    base = _load(brought, wanted, language, own_first)
    categories = {attribute.name: attribute.categories for attribute in base.attributes}
    for attribute, term, category in accepted:
        refuse_unknown(categories, attribute, term, category)
    return Taxonomy(base.attributes, lambda: base._rules, base.version, accepted)


@lru_cache(maxsize=16)
def _load(brought: _Brought, wanted: tuple[str, ...], language: str, own_first: bool) -> Taxonomy:
    files: Files = {}
    for path, _ in brought:
        add(files, path, language)
    shown = list(dict.fromkeys([*wanted, *files]))
    for name in [name for name in wanted if not (own_first and name in files)]:
        add(files, packaged(name, language), language)
    add_needed(files, language)
    # Of a language that only a user's files are in, the words that hold an answer together are not known: English ones then.
    words = language_of(language if language in languages() else ENGLISH)
    rules = lru_cache(maxsize=None)(lambda: _rules_of(files, words))
    if brought:  # files that others wrote are refused at once when something is wrong with them
        rules()
    said = {
        name: {key: value for key, value in values.items() if key not in _UNHASHED}
        for name, (_, values) in files.items()
    }
    spoken = [] if language == ENGLISH else [language] if words.code == ENGLISH else [words.content]
    version = content_hash([ENGINE_VERSION, *spoken, said])
    ordered = sorted(
        shown, key=lambda name: (files[name][0].kind, shown.index(name) if name in wanted else len(shown), name)
    )
    return Taxonomy([files[name][0] for name in ordered], rules, version)


def _rules_of(files: Files, language: Language) -> dict[str, Rules]:
    rules = {name: compiled(values, attribute.place, language) for name, (attribute, values) in files.items()}
    for name, found in rules.items():
        for other in [*(other for other, _ in found.borrowed), *(other for other, _ in found.conditional.values())]:
            if other not in rules or other == name:
                raise TaxonomyError(f"{files[name][0].place}: {other!r} is not another attribute")
    return rules


def persona_frame(records: Iterable[Record], taxonomy: Taxonomy, texts: Sequence[str] = ()) -> pd.DataFrame:
    """One row a record, usable or not: the persona frame that every measure starts from.

    Columns: ``request`` (the cluster), ``index``, ``outcome``, ``reason``; the name and the taxonomy's attributes as answered; each again as ``<attribute>_category`` (for the name: the normalized full name);
    ``duplicate``, true for a usable record whose attributes, normalized, all equal those of an earlier usable one.

    >>> record = Record(request=0, index=0, outcome=Outcome.OK, attributes={"name": "Ada", "occupation": "UX designer"})
    >>> frame = persona_frame([record, record], load_taxonomy())
    >>> frame[["occupation", "occupation_category"]].iloc[1].tolist(), frame["duplicate"].tolist()
    (['UX designer', 'Creative & Design'], [False, True])
    """
    import pandas as pd

    rows = list(records)
    names = [NAME, *(attribute.name for attribute in taxonomy.attributes)]
    answers = [record.attributes or {} for record in rows]
    columns: dict[str, Any] = {
        "request": pd.array([record.request for record in rows], dtype="int64"),
        "index": pd.array([record.index for record in rows], dtype="int64"),
        "outcome": pd.array([str(record.outcome) for record in rows], dtype="str"),
        "reason": pd.array([record.reason for record in rows], dtype="str"),
    }
    for name in (*names, *texts):
        columns[name] = pd.array([answer.get(name) for answer in answers], dtype="str")
    for name in names:
        found = [taxonomy.category(name, answer.get(name), answer) for answer in answers]
        columns[f"{name}_category"] = pd.array(found, dtype="str")
    columns["duplicate"] = _repeats(rows, [*names, *texts])
    return pd.DataFrame(columns)


def _repeats(rows: Iterable[Record], names: Iterable[str]) -> list[bool]:
    """Whether each record repeats an earlier usable one in all attributes, compared in their normal form."""
    compared, seen, flags = lru_cache(maxsize=None)(normalized), set(), []
    for record in rows:
        answers = record.attributes or {}
        usable = record.outcome is Outcome.OK
        key = tuple(None if (term := answers.get(name)) is None else compared(term) for name in names)
        flags.append(usable and key in seen)
        if usable:
            seen.add(key)
    return flags
