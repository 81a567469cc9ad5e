"""Variants of the persona prompt: the two of the paper, sealed by hash, and wordings of a user's own.

A variant is asked to see whether a wording changes what an audit finds, not to judge a release: its collection key is another one, and
lists, cards and comparisons of releases leave it out.

Method: arXiv 2602.00044, section 5.2 (role-play: the model "is instructed to act as an expert UX researcher"; the sentence is ours, for the
paper does not print it) and 5.3 (the debiasing instruction is printed there and taken to the letter). Where it stands in the prompt is not
said: the role goes before the prompt and the instruction behind it, so that the prompt itself stays whole.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from metrics.errors import BadInputError

PROMPTS = Path(__file__).parent / "prompts"
ROLE_PLAY, DEBIAS = "role-play", "debias"
SHIPPED = (ROLE_PLAY, DEBIAS)
LONGEST_PROMPT = 20_000

SEALS: Mapping[str, str] = {
    "persona_role_play": "36a3a274b789525d651d270e917192c2d0c6627681243d183647f5d815f624ac",
    "persona_debias_20": "f5341524577df000848c7a4d4784f564fc4bf96651f18027331a32d2f9cf2e40",
    "persona_debias_1": "66f4c5f25b940ed5c6b1ab0405e497ece98659e9d52050089702ce858c7f190a",
}
"""SHA-256 of the added sentences. That for one persona a call is the project's own, with the number taken out."""

_TAKEN = ("plain", "again")  # what robustness calls the protocol's own prompt, and that prompt asked twice
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")


def variant_of(options: Mapping[str, object]) -> str:
    """The prompt variant of a plan's options; empty for the protocol's own prompt.

    >>> variant_of({"per_call": 20, "variant": "debias"}), variant_of({"per_call": 20})
    ('debias', '')
    """
    return str(options.get("variant") or "")


def variant_prompt(plain: str, per_call: int, variant: str | None, prompt: str | None) -> tuple[str, str]:
    """Name and text of what is asked instead of the plain prompt.

    Parameters
    ----------
    variant : ``role-play`` or ``debias``, or the name of a prompt of the user's own; prompt : its text, as it is sent

    Raises
    ------
    BadInputError : an unknown variant, one's own prompt without a name or under a shipped one, or a text that is none
    """
    if prompt is None:
        if variant == ROLE_PLAY:
            return ROLE_PLAY, f"{_sealed('persona_role_play')} {plain}"
        if variant == DEBIAS:
            return DEBIAS, f"{plain} {_debias(per_call)}"
        raise BadInputError(
            f"a prompt variant is {' or '.join(SHIPPED)}, or a text file of your own that --prompt names; got {variant!r}"
        )
    if not variant or not _NAME.fullmatch(variant) or variant.casefold() in {*SHIPPED, *_TAKEN}:
        raise BadInputError(
            f"a prompt of your own is named by its file: up to 40 letters, digits, '-', '_' and '.', and not {', '.join([*_TAKEN, *SHIPPED])}; "
            f"got {variant!r}. Rename the file"
        )
    return variant, _checked(prompt)


def _checked(prompt: str) -> str:
    """The text of a prompt without the line break that ends a file."""
    text = prompt.replace("\r\n", "\n").strip("\n")
    if not text.strip() or len(text) > LONGEST_PROMPT:
        raise BadInputError(f"a prompt has 1 to {LONGEST_PROMPT:,} characters, this one has {len(text.strip()):,}")
    if wrong := [character for character in text if not character.isprintable() and character not in "\n\t"]:
        raise BadInputError(
            f"a prompt is plain text; this one has the hidden character U+{ord(wrong[0]):04X}, take it out"
        )
    return text


def _debias(per_call: int) -> str:
    """The paper's instruction for 20 personas; for another number only the number is another."""
    if per_call == 1:
        return _sealed("persona_debias_1")
    return _sealed("persona_debias_20").replace("20 user profiles", f"{per_call} user profiles")


def _sealed(name: str) -> str:
    text = (PROMPTS / f"{name}.txt").read_text(encoding="utf-8")
    seal = hashlib.sha256(text.encode()).hexdigest()
    if seal != SEALS[name]:
        raise ValueError(f"the sentence {name} was changed: its SHA-256 is {seal}")
    return text
