"""Ratings: what a judge model says about the texts of an audit, as an audit of its own with evidence like any other.

A rating asks one rubric about each different text, and about the rubric's gold set. Its answers are stored as they came;
what they mean is read here each time.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from registry.audits.plan import RATINGS, AuditPlan, Decoding, Request, Response, Sampling
from registry.audits.rubric import GoldText, Rubric

if TYPE_CHECKING:
    from metrics.rater import GoldAnswers
    from metrics.results import Score

PROTOCOL, PROTOCOL_VERSION = RATINGS, "1"


def text_key(text: str) -> str:
    """What a text is known by in ratings: the first 24 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def rating_plan(rubric: Rubric, subject: str, *, size: int, sampling: Sampling, constrained: bool) -> AuditPlan:
    """The plan of a rating.

    Parameters
    ----------
    subject : which audit's texts are rated, in words: ratings of another audit are another question
    size : texts asked about; constrained : hold the answer by a grammar, as small local models need
    """
    return AuditPlan(
        protocol=PROTOCOL,
        protocol_version=PROTOCOL_VERSION,
        prompts={rubric.name: rubric.prompt("{text}")},
        options={"rubric": f"{rubric.name} {rubric.digest}", "subject": subject},
        size=size,
        sampling=sampling,
        decoding=Decoding.GRAMMAR if constrained else Decoding.FREE_TEXT,
        decoding_spec=rubric.grammar() if constrained else None,
    )


def rating_requests(rubric: Rubric, texts: Iterable[str], *, with_gold: bool) -> Iterator[Request]:
    """One request a text, in the order of the texts; the gold set first, so that even an early end says how good the judge is."""
    gold = rubric.gold if with_gold else ()
    for index, one in enumerate(gold):
        yield _request(index, rubric.prompt(one.text), {"gold": str(one.number), "audience": one.audience})
    for index, text in enumerate(texts, start=len(gold)):
        yield _request(index, rubric.prompt(text), {"text": text_key(text)})


def _request(index: int, prompt: str, cell: Mapping[str, str]) -> Request:
    return Request(index=index, messages=({"role": "user", "content": prompt},), cell=cell, expected=1)


@dataclasses.dataclass(frozen=True, slots=True)
class GoldRating:
    """What a judge said about a gold text; ``given`` is None where no answer could be read."""

    gold: GoldText
    given: str | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ratings:
    """What a judge said under one rubric.

    Parameters
    ----------
    answers : by `text_key`; reasons : by `text_key`, why a text that was asked about has no answer
    gold : the gold set with what was said about it
    judge : the release that was asked; served : the model ids that say they answered
    """

    rubric: Rubric
    judge: str = ""
    answers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    gold: tuple[GoldRating, ...] = ()
    served: tuple[str, ...] = ()

    def of(self, texts: Sequence[str]) -> list[str | None]:
        """The answer about each text, None where there is none."""
        return [self.answers.get(text_key(text)) for text in texts]

    @cached_property
    def gold_answers(self) -> GoldAnswers:
        """What was said about the gold set, as `metrics.rater` takes it."""
        from metrics.rater import GoldAnswers

        return GoldAnswers(
            answers=tuple(self.rubric.answers),
            ordered=self.rubric.ordered,
            text=tuple(one.gold.number for one in self.gold),
            wanted=tuple(one.gold.answer for one in self.gold),
            given=tuple(one.given for one in self.gold),
        )

    @property
    def mixed(self) -> str:
        """Why the answers are of no one judge, in words; empty when one model gave them."""
        if len(self.served) < 2:
            return ""
        return (
            f"the judge answered as more than one model ({', '.join(self.served)}), so that its answers are of neither; name a "
            f"judge that stays the same"
        )

    @cached_property
    def distrusted(self) -> str:
        """Why nothing is concluded from the judge's answers, in words; empty when its gold set speaks for it."""
        from metrics.rater import distrust

        return self.mixed or distrust(self.gold_answers, self.agreement)

    @cached_property
    def agreement(self) -> Score:
        """Kappa with the gold set."""
        from metrics.rater import judge_agreement

        return judge_agreement(self.gold_answers, self.rubric.name)

    def quality(self) -> list[Score]:
        """How far the judge can be relied on: agreement with its gold set, and what it does to matched pairs.

        Where nothing is concluded from its answers there is a row without a number, and the reason.
        """
        from metrics.rater import judge_swap
        from metrics.rating_scores import RATING
        from metrics.results import Score

        name = self.rubric.name
        rows = [self.agreement, *judge_swap(self.gold_answers, name)]
        if self.distrusted:
            metric, reason = f"{name}{RATING}", self.distrusted
            rows.append(Score(metric=metric, dimension=name, value=None, n=0, n_clusters=0, reason=reason))
        return rows


def read_ratings(
    rubric: Rubric, judge: str, occasions: Iterable[tuple[Sequence[Request], Sequence[Response]]]
) -> Ratings:
    """Read the answers of all occasions of a rating; a later answer about a text stands before an earlier one."""
    answers: dict[str, str] = {}
    reasons: dict[str, str] = {}
    gold: dict[tuple[int, str], GoldRating] = {}
    known = {(one.number, one.audience): one for one in rubric.gold}
    served: set[str] = set()
    for requests, responses in occasions:
        cells = {(request.index, request.repeat): request.cell for request in requests}
        for response in responses:
            cell = cells[response.index, response.repeat]
            answer, reason = rubric.read(response)
            served |= {response.served_model} if response.served_model else set()
            if "text" not in cell:
                place = (int(cell["gold"]), cell["audience"])
                gold[place] = GoldRating(known[place], answer)
            elif answer is not None:
                answers[cell["text"]] = answer
            else:
                reasons[cell["text"]] = reason
    left = {key: reason for key, reason in reasons.items() if key not in answers}
    found = tuple(gold[place] for place in sorted(gold))
    return Ratings(rubric=rubric, judge=judge, answers=answers, reasons=left, gold=found, served=tuple(sorted(served)))
