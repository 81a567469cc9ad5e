"""What English prose says of a person: each attribute's own words, found by cues, never guessed.

A value counts only where the text states it of the person described. What a relative is, what somebody was or hopes to become, a
restaurant's cuisine or a rights group's cause is none. Two statements that fall into different categories are no answer. The
errors that are left are measured (`docs/extraction.md`); prose is never read for a brainstorm that asks for labels.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from registry.audits.brainstorm import NAME
from registry.audits.prose_cues import AROUND, CUES, KIN, PRONOUNS, Cue

if TYPE_CHECKING:
    from registry.audits.taxonomy import Taxonomy

READABLE = (NAME, *CUES)
"""Attributes that there are cues for."""
LONGEST = 4_000  # characters of one person's text that are looked at


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_OWN_PRONOUNS = 0.8  # share of one gender's pronouns from which they are the person's
_HIGHEST = frozenset({"education_level"})  # of several statements the highest counts; categories stand from low to high
_FIRST = frozenset({"occupation", "top_personal_interest"})  # of several statements the first one counts

_LONGEST_TERM = 4  # words
_VAGUE = _listed(
    "various diverse other others multiple several many global international unknown none different unique varied rural"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_JOINT = re.compile(r"\s*(?:/|-|–|\band\b|\+|)\s*(?:half|part)?[\s-]*", re.IGNORECASE)
_NO_OCCUPATION = re.compile(r"(?:(?:avid|keen|amateur|passionate|proud|strong|fierce|vocal|active|volunteer|devoted)\s+)*(?:avid|keen|amateur|advocate|volunteer|mentor|member|believer|supporter|follower|fan|lover|reader|cook|learner|traveler|traveller|runner|hiker|gardener|listener|role model|regular)\b", re.IGNORECASE)  # fmt: skip
_KIN = re.compile(rf"\b(?:{KIN})\b", re.IGNORECASE)
_SELF = re.compile(r"\b(?:she|he|they|i|who)\b|\bi['’](?:m|ve)\b", re.IGNORECASE)
_KIN_FIRST = re.compile(rf"\W*(?:(?:and|but|while|whose|where|that|because)\s+)*(?:(?:her|his|their|my|the|an?|one|both|two|whose|[\w-]+['’]s)\s+)?(?:\w+\s+){{0,2}}?(?:{KIN})\b(?!\s+(?:of|with)\b)", re.IGNORECASE)  # fmt: skip
_DOING = re.compile(r"(?:play|watch|read|collect|make|making|do|practi[sc]e|attend|visit|go|tend|carve|restore|build|perform|ride|riding|learn|study)(?:s|ing)?", re.IGNORECASE)  # fmt: skip
_GOES_ON = re.compile(r"\band\b|\bbut\b|\bbefore\s+\w+ing\b|\bafter\s+\w+ing\b", re.IGNORECASE)
_NEAR = 45  # characters before a value in which a denial or a hope is looked for
_CLAUSE = re.compile(r"[.;!?\n:—–]|,\s+(?:and|but|while|whose)\b")
_NOT = re.compile(r"\b(?:no|not|never|neither|nor|without|isn['’]t|doesn['’]t|wasn['’]t|didn['’]t|hardly)\b", re.IGNORECASE)  # fmt: skip
_UNREAL = re.compile(
    r"\b(?:dream(?:s|ed|ing)?|hop(?:es|ed|ing)|aspir\w+|wants?|wanted|would|could|might|plans?|planned|planning|wish(?:es|ed)?|pretend\w*|mistaken|future|"
    r"pursuing|working\s+towards?|studying\s+(?:for|towards?)|final year of|never planned|enrolled in|almost|nearly|half of|half-finished|unfinished|dropped out of(?! (?:high|college|university|school))|if|used to|formerly|former|once|previously|ex|late|until|gave up|quit|left (?:her|his|their|my)|instead of|rather than)\b",
    re.IGNORECASE,
)  # fmt: skip
_FIRST_PERSON = re.compile(r"\b(?:I|I['’]m|I['’]ve|my|me|myself)\b")
_NAME = r"[^\W\d_a-z](?:[^\W\d_]|['’-](?=[^\W\d_]))*"
_TITLE = r"(?:(?:Dr|Mr|Mrs|Ms|Mx|Prof)\.?\s+)?"
_FULL = rf"{_TITLE}{_NAME}(?:\s+(?:[\"“][^\"”\n]{{1,20}}[\"”]\s+)?(?:(?:de|da|van|von|der|al|bin|bint|del|dos|la|el)\s+){{0,2}}{_NAME}){{0,3}}"
_NAMED = (  # where a name stands, the plainest first
    re.compile(rf"(?:\b[Mm]y name is|\b[Nn]ame['’]s|\b[Nn]ame:|\b[Nn]ame was|\b(?:is|was) (?:named|called)|\b[Mm]eet|\bI['’]m|\bI am|\bI,|\b[Tt]his is|\b[Tt]hat is|\b[Gg]oes by)\s+(?P<said>{_FULL})"),
    re.compile(rf"^\W*(?P<said>{_FULL})(?=\s+(?:is|was|has|works|lives|grew|spends|loves|holds|runs|teaches|drives|keeps|never|always)\b|\s*[,(—–])"),
    re.compile(rf"(?<!\bin\s)(?<!\bat\s)(?<!\bfrom\s)(?<!\bof\s)(?<!\bnear\s)(?<!\bto\s)(?<!\bthe\s)(?<![\w'’-])(?P<said>{_TITLE}{_NAME}\s+(?:[\"“][^\"”\n]{{1,20}}[\"”]\s+)?(?:(?:de|da|van|von|der|al|bin|bint|del|dos|la|el)\s+){{0,2}}{_NAME})(?=\s+(?:is|was|has|works|lives|[a-z]+s|[a-z]+ed)\b|\s*[,(—–])"),
    re.compile(rf"^\W*(?P<said>{_NAME})\s*\.\s"),
)  # fmt: skip
_NO_NAME = _listed(
    """
    hello hi hey hola namaste greetings welcome introducing
    the a an in at as by on with from this that these those she he they i it its her his their my our we you born raised growing after before when
    while every each most despite though although since meet say ask on off once by for to and but or nor so yet if because not no never now then
    there here what who how why where all some few many both raised retired working living outside weekends weekdays saturdays sundays mornings
    evenings at thirty twenty forty fifty sixty proud passionate black white asian hispanic latino latina queer gay bisexual straight nonbinary
    working-class middle-class upper-class mid-thirties having being openly age profile persona name user bio description sure certainly
    american british african mexican chinese indian japanese korean nigerian irish italian german french polish english scottish welsh jewish muslim
    christian she's he's i'm friends resident native grandma grandpa female male woman man employee patient client candidate straight gay lesbian retired single monday tuesday wednesday thursday friday
    saturday sunday january february march april may june july august september october november december
    """
)


class Said(NamedTuple):
    """Words of a text that state an attribute."""

    text: str
    start: int
    category: str | None


def extracted(text: str, taxonomy: Taxonomy, attributes: Sequence[str]) -> dict[str, Said]:
    """What a text about one person states; attributes that it does not state, or states in two ways, are left out.

    Parameters
    ----------
    text : of one person; only the first `LONGEST` characters are looked at
    taxonomy : decides whether words are a value, and whether two statements are the same one
    attributes : of `READABLE`; others are left out

    Returns
    -------
    By attribute the words as they stand in the text, where they begin, and their category; the category of a name is None.

    >>> from registry.audits.taxonomy import load_taxonomy
    >>> text = "Meet Ana Silva, a Black lesbian who works as a night nurse. Her mother is a judge. She loves pottery."
    >>> said = extracted(text, load_taxonomy(), READABLE)
    >>> [f"{name}: {one.text}" for name, one in said.items()]
    ['name: Ana Silva', 'gender: Her', 'ethnicity: Black', 'sexual_orientation: lesbian', 'occupation: night nurse', 'top_personal_interest: pottery']
    """
    text = text[:LONGEST]
    found: dict[str, Said] = {}
    named = _name(text, taxonomy)  # asked for or not: it tells the person from relatives
    own = named.text.split()[0] if named is not None else ""
    for name in attributes:
        if name == NAME:
            said = named
        elif name in READABLE:
            said = _stated(text, name, taxonomy, found, own) or (
                _by_pronouns(text, taxonomy) if name == "gender" else None
            )
        else:
            continue
        if said is not None:
            found[name] = said
    return found


def _stated(text: str, name: str, taxonomy: Taxonomy, found: Mapping[str, Said], own: str) -> Said | None:
    """The statement of the first rank that has one; None where that rank has two of different categories."""
    unlisted: list[Said] = []
    unspecified = taxonomy.unspecified_categories.get(name)
    persona = {other: said.text for other, said in found.items()}
    by_rank: dict[int, list[Said]] = {}
    for rank, said, must in [*_of_cues(text, name, own), *_of_words(text, name, taxonomy, own)]:
        category = taxonomy.category(name, said.text, persona)
        basis = taxonomy.basis(name, said.text, persona) or ""
        if name == "top_personal_interest" and category in (None, unspecified):
            said, category, basis = _without_its_verb(said, name, taxonomy)
        if category is not None and category != unspecified and not basis.startswith(("answer to", "form")):
            by_rank.setdefault(rank, []).append(said._replace(category=category))
        elif not must:
            unlisted.append(said)
    if by_rank:
        return _one_of(sorted(by_rank[min(by_rank)], key=lambda said: said.start), name, taxonomy)
    return min(unlisted, key=lambda said: said.start, default=None)


def _without_its_verb(said: Said, name: str, taxonomy: Taxonomy) -> tuple[Said, str | None, str]:
    """The object alone of what somebody does: "backgammon" of "play backgammon"."""
    verb, _, rest = said.text.partition(" ")
    if not rest or not _DOING.fullmatch(verb):
        return said, None, ""
    place = said.start + len(verb) + 1
    return Said(rest, place, None), taxonomy.category(name, rest), taxonomy.basis(name, rest) or ""


def _one_of(said: list[Said], name: str, taxonomy: Taxonomy) -> Said | None:
    categories = {one.category for one in said}
    if len(categories) == 1 or name in _FIRST:
        return said[0]
    if name in _HIGHEST:
        order = taxonomy.attribute(name).categories
        return max(said, key=lambda one: order.index(one.category) if one.category in order else -1)
    return None


def _of_cues(text: str, name: str, own: str) -> Iterator[tuple[int, Said, bool]]:
    """Rank and words of every place where a cue fits, and whether the words must be known to the taxonomy."""
    for cue in CUES.get(name, ()):
        for said in _matches(text, cue, own):
            if name != "occupation" or not (_NO_OCCUPATION.match(said.text) or _UNREAL.search(said.text)):
                yield cue.rank, said, cue.listed


def _of_words(text: str, name: str, taxonomy: Taxonomy, own: str) -> Iterator[tuple[int, Said, bool]]:
    """The taxonomy's own words where what stands around them says that they are about a person."""
    if name not in AROUND:
        return
    for start, end in _joined(text, _known(text, taxonomy.known_terms(name))):
        for around in AROUND[name]:
            begin = max(0, start - 160)
            before = around.before.search(text[begin:start])
            if before is not None and around.after.match(text, end) is not None:
                if not _of_another(text, start, own, others=around.about_others):
                    yield around.rank, Said(text[start:end], start, None), True
                break


def _known(text: str, terms: Mapping[str, str]) -> list[tuple[int, int]]:
    """Where words of the taxonomy stand, the longest at each place: up to `_LONGEST_TERM` words with spaces or hyphens between."""
    words = [(match.start(), match.end(), match[0].casefold().replace("’", "").replace("'", "")) for match in _WORD.finditer(text)]  # fmt: skip
    found, at = [], 0
    while at < len(words):
        for length in range(min(_LONGEST_TERM, len(words) - at), 0, -1):
            part = words[at : at + length]
            apart = all(text[one[1] : other[0]] in (" ", "-") for one, other in itertools.pairwise(part))
            if apart and (term := " ".join(word for _, _, word in part)) in terms and term not in _VAGUE:
                found.append((part[0][0], part[-1][1]))
                at += length - 1
                break
        at += 1
    return found


def _joined(text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places with nothing but "and", a comma or a slash between them as one: "Irish and Japanese"."""
    joined: list[tuple[int, int]] = []
    for start, end in places:
        if joined and _JOINT.fullmatch(text[joined[-1][1] : start]):
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def _matches(text: str, cue: Cue, own: str) -> Iterator[Said]:
    at = 0
    while (match := cue.pattern.search(text, at)) is not None:
        start, end = match.span("said")
        at = max(end, match.start() + 1)
        if end > start and not _of_another(text, start, own, others=cue.about_others):
            yield Said(text[start:end], start, None)


def _of_another(text: str, start: int, own: str, *, others: bool) -> bool:
    """Whether what stands before a value says that it is no statement about the person as they are now."""
    before = text[max(0, start - 160) : start]
    clause = _CLAUSE.split(before)[-1]
    near = clause[-_NEAR:]
    if _NOT.search(near) or _UNREAL.search(near):
        return True
    if others:
        return False
    kin = [match.end() for match in _KIN.finditer(clause)]
    if not kin:
        return False
    rest = clause[kin[-1] :]
    if _SELF.search(rest) or (own and own in rest):
        return False
    # "Her mother was a cook and works as a judge" goes on with the mother; "she lives with her wife and works as a judge" with her.
    return _KIN_FIRST.match(clause) is not None or _GOES_ON.search(rest) is None


def _by_pronouns(text: str, taxonomy: Taxonomy) -> Said | None:
    """The pronoun that the text uses of the person; None in the first person, and where pronouns are mixed."""
    firsts = len(_FIRST_PERSON.findall(text))
    hits: list[tuple[int, str, str]] = []
    for sentence in re.finditer(r"[^.!?\n]+", text):
        kin = _KIN.search(sentence[0])
        end = kin.start() if kin is not None else len(sentence[0])  # after a relative a pronoun may be theirs
        for word, pattern in PRONOUNS.items():
            hits += [
                (sentence.start() + match.start(), word, match[0]) for match in pattern.finditer(sentence[0][:end])
            ]
    counts = {word: sum(hit[1] == word for hit in hits) for word in PRONOUNS}
    most = max(counts, key=lambda word: counts[word])
    if not hits or firsts > len(hits) or counts[most] < _OWN_PRONOUNS * len(hits):
        return None
    start, word, said = min(hit for hit in hits if hit[1] == most)
    return Said(said, start, taxonomy.category("gender", word))


def _has(taxonomy: Taxonomy, name: str) -> bool:
    return any(attribute.name == name for attribute in taxonomy.attributes)


def _name(text: str, taxonomy: Taxonomy) -> Said | None:
    """The first name where one stands most plainly; what people are or where they are from is none."""
    peoples = taxonomy.known_terms("ethnicity") if _has(taxonomy, "ethnicity") else {}
    for pattern in _NAMED:
        for match in pattern.finditer(text):
            words = match["said"].rstrip(".,").split()
            while words and words[-1].casefold().strip(".,'’") in _NO_NAME:
                words.pop()
            plain = [word.casefold().strip(".,'’") for word in words]
            if words and _NO_NAME.isdisjoint(plain) and " ".join(plain) not in peoples:
                return Said(" ".join(words), match.start("said"), None)
    return None
