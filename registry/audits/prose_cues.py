"""The words by which English prose states an attribute of a person: patterns alone, in the order in which they count.

A cue says where a value may stand (the group ``said``); whether what stands there is one is asked of the taxonomy by
`registry.audits.prose`. Cues are about wording and know no category.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

CUES_VERSION = "1"
"""Part of the scoring version of brainstorms that are read as prose: raised whenever a cue below changes."""

KIN = (
    "mother|father|mom|mum|dad|parents?|stepmother|stepfather|brothers?|sisters?|siblings?|twin|sons?|daughters?|kids?|child|children|"
    "grandmothers?|grandfathers?|grandparents?|grandma|grandpa|aunts?|uncles?|cousins?|nephews?|nieces?|wife|husband|spouse|"
    "girlfriend|boyfriend|fianc[eé]e?|partner|ex|friends?|roommates?|flatmates?|neighbou?rs?|boss|colleagues?|coworkers?|mentors?|"
    "clients?|customers?|patients?|pupils|students|teachers|dogs?|cats?|puppy|kitten|family|household"
)
_PERSON = (
    "woman|women|man|men|person|female|male|guy|girl|boy|lady|gentleman|individual|professional|student|mother|father|mom|mum|dad|"
    "parent|grandmother|grandfather|widow|widower|bachelor|teen|teenager|adult|immigrant|entrepreneur|resident|native|citizen|"
    "retiree|artist|millennial|lad|lass|bloke|fella|academic|kid"
)
_IS = r"(?:\b(?:is|am|was|as|be|being)\b|\bthey\s+(?:are|were)\b|['’](?:s|m)\b|\bidentif(?:y|ies|ied|ying)(?:\s+as)?\b|\bdescribes?\s+\w+sel(?:f|ves)\s+as\b)"
_NOW = (
    r"(?:\b(?:is|am|has been|have been|remains)\b|['’](?:s|m)\b|\bthey\s+are\b)"  # what somebody was is no occupation
)
_ADVERBS = r"(?:(?:openly|proudly|proud|ethnically|racially|mostly|happily|quietly|now|also|currently|still|a|an|the|out|both|very|firmly|solidly|fairly|comfortably)\s+){0,3}"
_BEFORE = r"(?:[\w'’-]+,?\s+){0,6}?"  # other words between an article and the person
_START = rf"(?:{_IS}|^|[,;:—–(]|\bmeet\b(?:\s+[\w.'’-]+){{1,4}},?|\band\b)\s*"
_WHO = rf"(?:{_NOW}|^|[,;:—–(]|\bmeet\b(?:\s+[\w.'’-]+){{1,4}},?)\s*"
_AFTER_PERSON = rf"(?=(?:[\s,-]+[\w'’-]+){{0,4}}?[\s-]+(?:{_PERSON})\b)"


class Cue(NamedTuple):
    """A pattern with the value as group ``said``.

    ``rank`` : 0 is looked at before 1; listed : what stands there counts only when the taxonomy has a category for it, which
    keeps "is a warm person" from being an occupation; about_others : a relative before it does not matter ("the son of Korean parents")
    """

    rank: int
    pattern: re.Pattern[str]
    listed: bool = True
    about_others: bool = False


def _cue(rank: int, pattern: str, *, listed: bool = True, about_others: bool = False) -> Cue:
    return Cue(rank, re.compile(pattern, re.IGNORECASE | re.MULTILINE), listed, about_others)


_SPAN = r"(?P<said>(?:[\w&'’/+.-]+\s+){0,7}?[\w&'’/+-]+)"  # a few words, as few as lead to an end
_END = (
    r"(?=\s+(?:at|in|for|with|who|whose|and|but|from|on|by|near|where|while|when|specializ\w+|specialis\w+|since|after|before|outside|"
    r"around|because|so|though|based|during|that|which|through|until|attending|studying|living|born|raised|working|ever)\b|\s*[,.;:!?()—–\n]|\s+-\s|\s*$)"
)
_INTEREST_END = r"(?=\s+(?:and|but|as|with|who|which|that|when|while|at|on|in|after|during|because|every|whenever|since|from|for|to|around|outside|whether)\b|\s*[,.;:!?()—–\n]|\s+-\s|\s*$)"
_FEW = r"(?P<said>(?:[\w&'’/+-]+\s+){0,5}?[\w&'’/+-]+)"

_TRANS = (
    r"trans(?:gender)?[\s-]?(?:woman|man|girl|guy)|non-?\s?binary|enby|gender-?\s?(?:queer|fluid|nonconforming|non-conforming)|agender|bigender|"
    r"two-?spirit|hijra|kathoey|muxe|demi-?(?:girl|boy)|transmasculine|transfeminine|androgynous"
)
GENDER = (
    _cue(0, rf"\b(?P<said>{_TRANS})\b(?!\s+(?:rights|youth|community|people|issues|kids|teens|students|patients|clients|friends))"),
    _cue(0, r"\bpronouns?\b(?:\s+(?:are|is))?[\s:(]*(?P<said>(?:she|he|they|ze|xe)(?:/\w+){1,2})"),
    _cue(0, r"\b(?:uses?|using|goes by|prefers?)\s+(?P<said>they/them(?:/theirs)?|they and them)\b"),
    _cue(0, r"(?:^|[(,.;—–])\s*(?P<said>(?:she|he|they)/\w+(?:/\w+)?)\s*[),.;]"),
    _cue(1, r"(?:^|[,.;(])\s*(?:(?:cis|straight|white|black|single|gay|bi)\s+)?(?P<said>woman|man|female|male)\s*[,.;)]"),
    _cue(1, rf"{_START}(?:an?\s+|the\s+){_BEFORE}(?P<said>woman|man|lady|gentleman|guy|girl|boy|bloke|lad|lass|widow|widower|grandmother|grandfather|mother|father|mom|mum|dad)\b(?!['’]s)"),
    _cue(1, rf"{_START}(?:an?\s+)?(?:[\w'’-]+,?\s+){{0,5}}?(?P<said>female|male)\b(?!\s+(?:colleagues|dominated|students|friends|patients|leaders|clients))"),
)  # fmt: skip
PRONOUNS = {"she": re.compile(r"\b(?:she|her|hers|herself)\b", re.IGNORECASE), "he": re.compile(r"\b(?:he|him|his|himself)\b", re.IGNORECASE)}  # fmt: skip

_DESCENT = r"descent|heritage|ancestry|extraction|origins?|ethnicity|lineage|ancestors|roots|background|blood"
_HOME = r"family|household|parents?|immigrants?|upbringing|refugees?|migrants?|diaspora|mother|father|couple"
_NO_STEP = r"(?!(?:at|in|of|for|with|on|from|to|by|who|whose|that|which|about|into|than|like)\b)"  # a word that leads elsewhere
_STEPS = rf"(?:{_NO_STEP}[\w'’-]+,?\s+){{0,6}}?"
_NO_PEOPLE = (
    r"food|foods|cuisine|restaurants?|cooking|dish(?:es)?|recipes?|literature|history|languages?|studies|music|musicians|dances?|dancing|art|arts|medicine|films?|cinema|"
    r"translat\w+|interpret\w+|teachers?|professor|scholar|lessons?|class(?:es)?|poetry|novels?|culture|drama|dramas|market|grocery|takeaway|bakery|shop|tea|coffee|wine|whisky|"
    r"football|league|cinema|opera|embassy|company|firm|bank|news|press|sabbath|belt|friday|board|box|hole|hat|market|house|collar|noise|water"
)


class Around(NamedTuple):
    """What stands right before and right after a word of the taxonomy where it is said of a person."""

    rank: int
    before: re.Pattern[str]
    after: re.Pattern[str]
    about_others: bool = False


def _around(rank: int, before: str, after: str, *, about_others: bool = False) -> Around:
    return Around(
        rank, re.compile(f"(?:{before})$", re.IGNORECASE | re.MULTILINE), re.compile(after, re.IGNORECASE), about_others
    )


_GO_ON = rf"(?!\s+(?:{_NO_PEOPLE})\b)"
AROUND_ETHNICITY = (
    _around(0, rf"{_START}(?:an?\s+|the\s+)?{_STEPS}", rf"{_GO_ON}(?:[\s,-]+{_NO_STEP}(?!(?:{_NO_PEOPLE})\b)[\w'’-]+){{0,3}}?[\s,-]+(?:{_PERSON})\b"),
    _around(0, rf"{_IS}\s+{_ADVERBS}(?:half[\s-]|part[\s-]|mixed[\s-])?", r"\s*(?:[,.;)(\n]|\b(?:and|but|by|with|who|from|on|through)\b|$)"),
    _around(0, r"\b(?:of|with|her|his|their|my|from|an?|mixed|strong|proud|and)[\s-]+", rf"(?:(?:,|\s+and|\s*/|\s*-)?\s*[\w-]+){{0,3}}?\s+(?:{_DESCENT})\b"),
    _around(0, r"\b(?:ethnicity|race|ethnically|racially)(?:\s+is|:)?\s+", r""),
    _around(0, r"(?:^|[\s,(—–])", rf"[\s-]American\b{_GO_ON}"),
    _around(1, r"\b(?:son|daughter|child|grandson|granddaughter|kid|eldest|youngest|born)\s+(?:\w+\s+){0,2}?(?:of|to)\s+(?:an?\s+)?(?:[\w-]+\s+)?", r"\s+[\w-]+", about_others=True),
    _around(1, r"\b(?:an?|her|his|their|my|with|of|from|by)\s+(?:[\w-]+\s+){0,3}?", rf"\s+(?:[\w-]+\s+){{0,2}}?(?:{_HOME})\b", about_others=True),
    _around(1, r"\bof\s+(?:[\w-]+\s+)?", r"\s+(?:stock|extraction|blood|birth)\b"),
    _around(1, r"(?:^|[.,;:(—–]|\band)\s*", r"(?:\s+(?:by|on|through)\s+\w+|\s+and\s+proud|\s+British)?\s*[,.;:)—–]"),
    _around(2, rf"(?:{_START}|(?:^|[.!?]\s+))(?:an?\s+|the\s+){_STEPS}", rf"{_GO_ON}(?=\s+[\w-]+)(?!\s+[\w-]+\s+(?:{_NO_PEOPLE})\b)"),
)  # fmt: skip

_NOT_OF_ONE = (
    r"(?!['’]s)(?![\s-]+(?:rights|bars?|clubs?|pride|communit\w+|scene|icons?|marriage|films?|cinema|literature|history|issues|activis[tm]|advoca\w+|"
    r"youth|people|couples?|friends?|teens?|teenagers?|night|novels?|romance|romances|fiction|magazine|choir|chorus|book|books|theory|studies|support|"
    r"brother|sister|son|daughter|uncle|aunt|cousin|neighbou?rs?|roommate|parents?|dads|mums|moms|owned|friendly|a\b|a\s|as\b|forward|away|up\b|out\b|to\b|through|hair|talk\w*|face|edge\w*|line\w*|answers?))"
)
_ORIENTATIONS = r"bisexual|bi|lesbian|gay|queer|straight|heterosexual|homosexual|pansexual|pan|asexual|ace|demisexual|aromantic|same-?gender-?loving"
ORIENTATION = (
    _cue(0, rf"\bidentif(?:y|ies|ied|ying)\s+(?:\w+\s+){{0,6}}?(?:as\s+)?{_ADVERBS}(?P<said>{_ORIENTATIONS})\b{_NOT_OF_ONE}"),
    _cue(0, rf"{_IS}\s+{_ADVERBS}(?:[\w'’-]+,?\s+(?:and\s+)?){{0,3}}?(?P<said>{_ORIENTATIONS})\b{_NOT_OF_ONE}"),
    _cue(0, rf"(?:\b(?:an?|out|openly|proud|proudly|came out as|coming out as)|[,(;—–/])\s+(?:[\w'’-]+,?\s+){{0,4}}?(?P<said>{_ORIENTATIONS})\b{_NOT_OF_ONE}"),
    _cue(0, r"\b(?:sexual\s+)?orientation(?:\s+is|:)?\s+(?:as\s+)?(?P<said>[\w-]+)"),
    _cue(1, rf"\b(?P<said>bisexual|lesbian|heterosexual|homosexual|pansexual|asexual|demisexual)\b{_NOT_OF_ONE}"),
    _cue(1, rf"\b(?P<said>gay|queer|straight)(?=,|\.|;|\s+and\s|\s+but\s|\s*\)|[\s-]+(?:{_PERSON})\b)"),
)  # fmt: skip

_CLASS = (
    r"(?:(?:lower|upper|solid(?:ly)?|firmly|comfortably|high)[\s-]+(?:to[\s-]+(?:upper|lower)[\s-]+)?)?(?:middle|working|upper|lower|professional|under)[\s-]?class"
    r"|(?:low|middle|high|lower|upper|moderate)[\s-]income|blue[\s-]collar|white[\s-]collar|old[\s-]money|upper[\s-]crust"
)
_MEANS = r"wealthy|affluent|rich|poor|impoverished|privileged|well[\s-]off|well[\s-]to[\s-]do|aristocratic|underprivileged|disadvantaged|elite|working[\s-]poor"
_PLACE = r"family|background|household|home|house|upbringing|childhood|roots|parents|neighbou?rhood|suburb|estate|community|origins|circumstances|life|lifestyle|stock|town|area|street|district|lineage"
SOCIAL_CLASS = (
    _cue(0, rf"(?:{_IS}|\bbelongs?\s+to|\bconsiders?\s+\w+sel(?:f|ves)|\b(?:now|part|member|live[sd]?|living|leads?|enjoys?))\s+(?:of\s+)?(?:(?:the|an?|firmly|solidly|now|comfortably|as|in)\s+){{0,3}}(?P<said>{_CLASS})\b(?!\s+(?:{_PLACE})\b)"),
    _cue(0, rf"{_START}(?:an?\s+|the\s+)?{_BEFORE}(?P<said>{_CLASS}){_AFTER_PERSON}"),
    _cue(0, rf"{_IS}\s+{_ADVERBS}(?P<said>{_MEANS})(?=\s*(?:[,.;]|\band\b|\bbut\b|$)|[\s-]+(?:{_PERSON})\b)"),
    _cue(0, rf"\b(?P<said>{_CLASS})\s+(?:life|lifestyle|existence|living|salary|income)\b"),
    _cue(1, rf"\b(?P<said>{_CLASS})\b(?!\s+(?:clients?|students|customers|readers|voters|families|people|patients|women|men|kids|children|communities))", about_others=True),
    _cue(1, r"\b(?:of|member of|belongs? to|born into)\s+the\s+(?:\w+\s+)?(?P<said>elite|landed gentry|gentry|aristocracy|nobility|upper crust|bourgeoisie)\b"),
    _cue(2, rf"\b(?P<said>{_MEANS})\s+(?:\w+\s+)?(?:{_PLACE})\b", about_others=True),
    _cue(2, r"\b(?:grew up|raised|born|brought up)\s+(?:very\s+|quite\s+)?(?:in\s+|into\s+)?(?P<said>poor|poverty|rich|wealthy|wealth|privilege|money|hardship)\b"),
)  # fmt: skip

_DEGREE = (
    r"ph\.?\s?d\.?|doctorate|doctoral degree|doctor of [\w ]{3,25}|d\.?phil\.?|master['’]?s(?:\s+degree)?|master of (?!ceremonies)[\w ]{3,25}|m\.?b\.?a\.?|m\.?sc\.?|m\.?f\.?a\.?|"
    r"m\.?a\.?(?=\s+in\b)|m\.?phil\.?|law degree|medical degree|j\.d\.|m\.d\.|mbbs|postgraduate (?:degree|diploma|certificate|qualification)|graduate degree|advanced degree|professional degree|"
    r"bachelor['’]?s(?:\s+degree)?|bachelor of [\w ]{3,25}|undergraduate degree|college degree|university degree|honou?rs degree|first[\s-]class degree|four-year degree|"
    r"b\.?a\.?(?=\s+(?:in|from|degree)\b)|b\.?sc\.?|b\.?tech\.?|b\.?eng\.?|b\.?com\.?|b\.?s\.?(?=\s+in\b)|ll\.?b\.?|"
    r"associate['’]?s?(?:\s+degree)|associate['’]?s(?=\s+in\b)|foundation degree|two-year degree|"
    r"(?:vocational|trade|technical|nursing|cosmetology|culinary)\s+(?:school|training|certificate|certification|diploma|college|qualification|degree|course|program)|"
    r"hnd|hnc|btec|nvq|(?:professional\s+|tafe\s+)?certificate|polytechnic diploma|(?:national\s+|college\s+|art school\s+|two-year\s+)?diploma|coding bootcamp|apprenticeship|"
    r"secondary (?:school )?(?:certificate|education|diploma)|ged|high[\s-]school (?:diploma|education|degree|equivalency)|secondary[\s-]school (?:certificate|education|diploma)|a[\s-]levels|gcses?|secondary education|"
    r"some (?:college|university|high school)|(?:no|little) (?:formal )?(?:schooling|education)|primary[\s-]school education|(?:(?!(?:no|any|an?|the|his|her|their|my|this|that)\s)[a-z]+\s+)?degree|matric|o[\s-]levels|"
    r"(?:ma|ba|msc|bsc|bs|ms)(?=\s+in\b)|(?:bachelor|master)(?=\s+in\b)|bachelor degree|master degree"
)
EDUCATION = (
    _cue(0, rf"(?<![\w'’-])(?P<said>(?:{_DEGREE}))(?![\w-])(?!\s+of\s+(?:ceremonies|respect|comfort|certainty|difficulty))"),
    _cue(0, r"\b(?P<said>(?:college|university|high[\s-]school|law[\s-]school|medical[\s-]school|grad(?:uate)?[\s-]school|secondary[\s-]school)[\s-](?:graduate|grad|educated|dropout))\b"),
    _cue(0, r"\bgraduated?\s+(?:\w+\s+){0,2}?(?:from|of)\s+(?:an?\s+|the\s+|her\s+|his\s+|their\s+)?(?:\w+\s+){0,3}?(?P<said>high school|secondary school|community college|technical college|law school|medical school|business school|university|college|polytechnic)\b"),
    _cue(0, r"\b(?P<said>dropped out of (?:high school|college|university|school)|left (?:high )?school (?:at|early|after)(?:\s+\w+){0,2})\b", listed=False),
    _cue(0, r"\b(?:completed|finished|completing|finishing|attended|attending)\s+(?:only\s+|the\s+|a\s+|an\s+)?(?:local\s+|\w+\s+){0,2}?(?P<said>(?:medical|law|business|graduate|culinary|nursing|barber|beauty|art|trade|vocational|technical|high|secondary|primary|elementary|middle|grade|boarding)[\s-](?:school|college))\b"),
    _cue(0, r"\b(?:completed|finished|finish|left|leaving|finishing|completing|only)\s+(?:(?:his|her|their|my|only|just)\s+)?(?P<said>high school|secondary school|primary school|sixth form|middle school|secondary education)\b"),
    _cue(0, r"(?:^|[.,;:]\s*)(?P<said>(?:high|secondary|primary|middle|trade|art|law|medical|culinary)[\s-]school)(?:\s+(?:only|graduate|diploma))?\s*(?=[.,;])"),
    _cue(1, r"\b(?P<said>(?:pursuing|working (?:towards?|on)|studying (?:for|towards?)|finishing|completing)\s+(?:an?|his|her|their|my)\s+(?:[\w-]+\s+)?(?:ph\.?d\.?|doctorate|master['’]?s(?: degree)?|bachelor['’]?s(?: degree)?|mba|law degree|medical degree|associate['’]?s(?: degree)?|degree))"),
    _cue(1, r"\b(?P<said>(?:ph\.?d\.?|doctoral|master['’]?s|graduate|grad|law|medical|undergraduate|university|college|high[\s-]school)[\s-](?:student|candidate|freshman|sophomore|junior|senior)|college freshman|freshman|sophomore|(?:first|second|third|final)-year undergraduate)\b"),
    _cue(2, r"\b(?:studied|read|studies|studying|majored in|majoring in|educated|trained|degree)\b[^.;\n]{0,50}?\b(?:at|from)\s+(?:an?\s+|the\s+)?(?:[\w]+\s+){0,4}?(?P<said>university|college|polytechnic|law school|medical school|art school|culinary school|drama school|film school)\b"),
    _cue(2, r"\b(?:attended|went to|attends)\s+(?:an?\s+|the\s+)?(?:\w+\s+){0,2}?(?P<said>community college|university|college|trade school|vocational school|technical school|law school|medical school|culinary school|art school|boarding school)\b"),
)  # fmt: skip

OCCUPATION = (
    _cue(0, rf"\b(?:works?|working|employed|practi[sc]es|jobs?|career|position|living|income|wage|money|keep|trade|days|has worked|have worked)\s+(?:for\s+\w+\s+years\s+)?(?:\w+ly\s+|full[\s-]time\s+|part[\s-]time\s+|now\s+|today\s+|nights\s+|days\s+|freelance\s+)?as\s+(?:an?\s+|the\s+|her\s+|his\s+|their\s+)?{_SPAN}{_END}", listed=False),
    _cue(0, rf"\b(?:by profession|by trade|by day)\b,?\s+(?:(?:she|he|they|i)\s+)(?:is|am|are|works as|['’]m|['’]s)?\s*(?:an?\s+|the\s+)?{_SPAN}{_END}"),
    _cue(0, rf"(?:{_NOW}\s+(?:an?\s+|the\s+)?|[,—–]\s*an?\s+){_SPAN}(?=\s+by\s+(?:trade|profession|day))"),
    _cue(0, rf"\b(?:occupation|profession|(?:day\s+)?job)(?:\s+is|:)\s+(?:an?\s+|the\s+)?{_SPAN}{_END}", listed=False),
    _cue(1, rf"(?:{_NOW}|\bbecame|\bremains)\s+(?:now\s+|currently\s+|also\s+|today\s+|still\s+)?(?:an?|the|one of the)\s+{_SPAN}{_END}"),
    _cue(1, rf"{_NOW}\s+(?:an?|the)\s+(?:[\w'’-]+(?:,|\s+and)\s+){{1,2}}{_SPAN}{_END}"),
    _cue(1, rf"\b(?:serves?|serving|role|post|moonlights?)\s+as\s+(?:an?\s+|the\s+|her\s+|his\s+|their\s+)?{_SPAN}{_END}"),
    _cue(1, rf"(?:^|\bmeet\s+)[A-Z][\w.'’-]+(?:\s+[A-Z][\w.'’-]+){{0,3}}\s*[,(—–-]+\s*(?:\d\d,?\s+(?:is\s+)?(?:an?\s+)?|an?\s+){_SPAN}{_END}"),
    _cue(1, rf"\b(?:works?|working)\s+(?:\w+ly\s+)?(?:as\s+)?(?P<said>(?:in|for|at)\s+(?:an?\s+|the\s+)?(?:[\w&'’-]+\s+){{0,3}}?[\w&'’-]+){_END}"),
    _cue(1, r"\b(?P<said>retired(?:\s+[\w'’-]+){1,3}?(?=\s+(?:who|from|with|in|at|and|living)\b|\s*[,.;])|retired|unemployed|stay[\s-]at[\s-]home (?:mom|mum|mother|dad|father|parent)|homemaker|housewife|househusband|between jobs|out of work|jobless|full[\s-]time (?:mother|mom|mum|carer|caregiver|parent)|(?:undergraduate|university|college|graduate|ph\.?d\.?|medical|law|nursing|high[\s-]school) student|freshman|sophomore|(?:first|second|third|final)-year (?:student|undergraduate))\b(?!\s+(?:loan|debt|union))"),
    _cue(2, r"\b(?P<said>(?:drives|cleans|installs|repairs|sells|runs|lectures|farms|bakes|teaches(?=\s+(?:[\w'’-]+\s+){0,3}?(?:at|in|to)\b))(?:\s+(?!(?:at|in|on|for|to|and|through|by|near|every)\b)[\w'’-]+){0,4})(?=\s|[,.;])"),
    _cue(2, rf"\b(?:runs?|owns|manages?|operates?)\s+(?:an?|the|her|his|their|my|two)\s+(?:own\s+|small\s+|family\s+|little\s+|successful\s+|busy\s+)?{_SPAN}{_END}"),
    _cue(2, r"\b(?P<said>(?:drives?|repairs?|fixes|designs?|writes?|builds?|sells?|bakes?|cleans?|farms?|nurses|codes|programs|develops?|delivers?|cooks?|installs?)\s+(?:(?:an?|the)\s+)?(?:[\w'’-]+\s+){0,2}?[\w'’-]+)\s+(?:for a living|professionally|for work|full[\s-]time|by day)\b"),
    _cue(2, rf"[,—–(]\s*(?:and\s+)?(?:an?|our|their)\s+{_SPAN}{_END}"),
    _cue(3, rf"{_WHO}(?:an?\s+)(?:[\w'’-]+,?\s+){{0,6}}?(?P<said>(?:[\w'’-]+\s+){{0,2}}[\w'’-]+){_END}"),
)  # fmt: skip

_TIME = r"(?:(?:free|spare|down|leisure|off)[\s-]?(?:time|hours)|weekends?|evenings?|downtime|days off|off[\s-]duty|outside (?:of )?work|when not (?:working|at work)|after work|nights|mornings|sundays?|saturdays?|rainy days?)"
INTEREST = (
    _cue(0, rf"\b(?:top|main|greatest|biggest|favou?rite|primary|true|first|chief|real|deepest|one|great|only|guilty|number one|consuming|(?:most|best)[\s-]\w+)\s+(?:personal\s+|private\s+|unshakable\s+)?(?:interests?|passions?|hobb(?:y|ies)|pastimes?|loves?|pleasures?|joys?|obsession|thing|indulgence|escape|habit|way)(?:\s+(?:in (?:the world|life)|to (?:do|spend \w+ \w+ \w+|relax|unwind)|outside (?:of )?(?:work|the \w+|\w+)|by far|of all|these days))?\s*(?:is|are|remains|lies in|:|—|–|,)\s*(?:the\s+|her\s+|his\s+|their\s+|my\s+|for\s+|always\s+)?{_FEW}{_INTEREST_END}", listed=False),
    _cue(0, rf"\b(?:passions?|hobby|hobbies|obsession|heart|thing)\s+(?:is|are|lies? (?:in|with)|belongs to)\s+(?:the\s+)?{_FEW}{_INTEREST_END}", listed=False),
    _cue(0, rf"\b(?:hobby|hobbies|passions?|interests?|loves|likes)\s*:\s*{_FEW}{_INTEREST_END}", listed=False),
    _cue(0, r"\b(?P<said>(?:[\w'’-]{1,40}\s+){0,3}?[\w'’-]{1,40})\s+(?:is|are|remains|being)\s+(?:what\s+)?(?:\w+\s+)?(?:her|his|their|my|the)\s+(?:\w+\s+){0,2}?(?:passions?|love|hobby|pastime|obsession|joy|escape|interest|vice|calling|life|pleasure|favou?rite thing)\b"),
    _cue(0, rf"\bwhat\s+(?:she|he|they|i)\s+(?:really\s+)?(?:loves?|enjoys?|cares? about|treasures?)\s+(?:most|best|above all)(?:\s+of all)?,?(?:\s+though,|\s+however,)?\s+(?:is|are)\s+{_FEW}{_INTEREST_END}", listed=False),
    _cue(0, r"\b(?P<said>(?:[\w'’-]{1,40}\s+){0,3}?[\w'’-]{1,40})\s+is\s+(?:what|the (?:one )?thing)\s+(?:that\s+)?(?:(?:she|he|they)\s+(?:loves? most|loves? best|lives for|looks? forward to|would never give up)|fills|keeps|recharges|calms|makes (?:her|him|them) happiest)\b"),
    _cue(0, rf"\b(?:nothing|few things)\s+(?:makes?|interests?|calms?|pleases?|delights?)\s+[^.;,\n]{{0,30}}?\bthan\s+{_FEW}{_INTEREST_END}"),
    _cue(1, rf"\b(?:devotes?|pours?|puts?|gives?|dedicates?)\s+(?:(?:most|much|all|almost all|nearly all|what is left)\s+of\s+)?(?:her|his|their|the)(?:\s+[\w'’-]+){{0,4}}?\s+(?:to|into)\s+{_FEW}{_INTEREST_END}"),
    _cue(1, rf"\b(?:loses (?:her|him|them)sel(?:f|ves) in|devotes (?:her|him|them)sel(?:f|ves) to|(?:revolves|turns|built) around|time belongs to|absorbed in(?: an?)?|proudest of (?:her|his|their))\s+{_FEW}{_INTEREST_END}"),
    _cue(1, r"\b(?P<said>(?:jazz|football|soccer|baseball|basketball|opera|film|movie|music|hockey|cricket|theat(?:er|re)|comics?|chess|science fiction)\s+fan)\b"),
    _cue(1, rf"\b(?:passionate\s+about|passion\s+for|obsessed\s+with|lives?\s+for|crazy\s+about|mad\s+(?:about|for)|hooked\s+on|love\s+(?:of|for)|enthusiasm\s+for|fond\s+of|(?:keen|deep|lifelong|strong|great|particular|abiding|personal)\s+interest\s+in|interested\s+in|addicted\s+to|devoted\s+to)\s+(?:the\s+|all\s+things\s+|her\s+|his\s+|their\s+|my\s+)?{_FEW}{_INTEREST_END}"),
    _cue(1, rf"\b(?:avid|keen(?!\s+on)|passionate(?!\s+about)|amateur|enthusiastic|competitive|lifelong|hobby|ardent|obsessive|self-taught|voracious|die-hard|diehard)\s+{_FEW}{_INTEREST_END}"),
    _cue(1, rf"\b(?:loves?|adores?|enjoys?|relishes)\s+(?:nothing more than\s+|to\s+|going\s+(?:to\s+)?|the\s+|her\s+|his\s+|their\s+|my\s+|a\s+|a good\s+)?{_FEW}{_INTEREST_END}"),
    _cue(1, rf"\b{_TIME}\b[^.;\n]{{0,25}}?\b(?:(?:are|is|go(?:es)?)\s+(?:spent|for|devoted to|reserved for|to|given to)?\s*|(?:she|he|they|i)\s+(?:\w+ly\s+)?|find (?:her|him|them|me)\s+|['’](?:s|ll|d)\s+)(?:can be found\s+|is\s+|loves?\s+|enjoys?\s+|to\s+|often\s+|usually\s+|mostly\s+){{0,2}}{_FEW}{_INTEREST_END}"),
    _cue(1, rf"\bspen(?:ds?|t|ding)\s+(?:[\w'’-]+\s+){{0,6}}?(?:time|hours?|weekends?|evenings?|sundays?|saturdays?|mornings?|nights?|afternoons?|days|holidays|evening|weekend|hour)\s+(?:(?:with|on|at|in)\s+)?(?:the\s+|her\s+|his\s+|their\s+|my\s+)?{_FEW}{_INTEREST_END}"),
    _cue(2, r"\b(?P<said>(?:plays|collects|paints|sings|knits|surfs|climbs|dances|hikes|gardens|crochets|sculpts)(?:\s+(?!(?:and|or|but|in|on|with)\b)[\w'’-]+){0,3}?)(?=\s+(?:and|at|in|on|with|every|for|after|when|to|by)\b|\s*[,.;!—–]|\s*$)"),
    _cue(2, r"\b(?P<said>[\w'’-]{1,40}\s+(?:enthusiast|lover|buff|fanatic|aficionado|nerd|geek|hobbyist))\b"),
)  # fmt: skip

CUES: Mapping[str, tuple[Cue, ...]] = {
    "gender": GENDER,
    "ethnicity": (),  # by the taxonomy's own words alone: AROUND_ETHNICITY
    "sexual_orientation": ORIENTATION,
    "social_class": SOCIAL_CLASS,
    "education_level": EDUCATION,
    "occupation": OCCUPATION,
    "top_personal_interest": INTEREST,
}
AROUND: Mapping[str, tuple[Around, ...]] = {"ethnicity": AROUND_ETHNICITY}
