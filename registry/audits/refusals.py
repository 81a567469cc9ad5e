"""The language of refusals: how an answer that holds nothing asked for is told from one that declines."""

from __future__ import annotations

import re

_CANNOT = r"(?:can(?:'t|not| not)|unable|not able|won't)"
REFUSAL_PATTERNS = (
    rf"\bI(?:'m| am)?(?: really| very| so)? sorry\b.{{0,80}}\b{_CANNOT}",
    r"\bI (?:can(?:'t|not| not)|could not|couldn't|will not|won't|am unable to|am not able to) (?:help|assist|comply|"
    r"provide|create|generate|produce|fulfil+|do that|engage|participate|continue|support|answer)",
    r"\bI'm (?:unable|not able|not comfortable|not willing)\b",
    r"\bI (?:must|have to|need to|will have to)(?: respectfully| politely)? (?:decline|refuse)\b",
    r"\bI(?:'d| would) (?:prefer|rather) not\b",
    rf"\bas an? (?:AI|artificial intelligence|(?:large )?language model)\b.{{0,80}}\b{_CANNOT}",
    r"\b(?:violates?|against|contrary to) (?:my|our|the|openai'?s?) (?:content |usage |use )?"
    r"(?:polic|guideline|programming|principle)",
    r"\b(?:cannot|can't|unable to|decline to|refuse to) (?:fulfil+|comply with|complete|process) "
    r"(?:this|that|your|the) request",
)
"""Phrases in which models decline, first person or in the name of a policy; English, case ignored."""

OPENING = 1000
"""Characters of an answer that are searched: a refusal comes first, a disclaimer may come anywhere."""

HINDI_PATTERNS = (
    r"(?:क्षमा कर|माफ़? कर|माफ़ी|खेद है|क्षमा चाह).{0,120}(?:नहीं|असमर्थ|अक्षम)",
    r"(?:मैं|हम).{0,120}(?:नहीं (?:कर|बना|दे|लिख|बता) (?:सकता|सकती|सकते|पाऊ|पाऊँ|पाऊं)|असमर्थ (?:हूँ|हूं|हैं)|इनकार कर)",
    r"(?:एआई|AI|कृत्रिम बुद्धिमत्ता|भाषा मॉडल).{0,120}(?:नहीं (?:कर|बना|दे|लिख) सक|असमर्थ)",
)
"""The same in Hindi. Not externally reviewed."""

_REFUSAL = re.compile("|".join((*REFUSAL_PATTERNS, *HINDI_PATTERNS)), re.IGNORECASE | re.DOTALL)
APOSTROPHES = str.maketrans("\u2018\u2019\u02bc", "'''")


def declines(text: str) -> bool:
    """Whether a text opens with refusal language. Only asked of texts in which nothing usable was found.

    >>> declines("I'm sorry, but I can\u2019t help with that."), declines("Sorry for the delay! Here they are:")
    (True, False)
    >>> declines("क्षमा करें, मैं ऐसी प्रोफ़ाइल नहीं बना सकता।"), declines("यहाँ प्रोफ़ाइलें हैं। नर्स नहीं।")
    (True, False)
    """
    return _REFUSAL.search(text[:OPENING].translate(APOSTROPHES)) is not None
