"""An audit of persona cues as read: sums of answers by prompt, and what came back besides. Single answers are not in it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from registry.audits.channels import Channels, cost_usd
from registry.audits.cue_facts import NameCell
from registry.audits.plan import Outcome

if TYPE_CHECKING:
    import pandas as pd

    from metrics.results import Score

LABELS = ("task", "cue", "axis", "persona", "question", "variant")
SUMS = ("n", "total", "squares", "excluded")
_OK = str(Outcome.OK)
_GROUPED = ("task", "cue", "persona")  # parts of a cell that outcomes are counted by


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Answers to a plan's requests, summed: one entry for each request and outcome.

    Parameters
    ----------
    index, outcome : which; n, total, squares : answers, their values summed, and the squares of these
    """

    index: Sequence[int]
    outcome: Sequence[str]
    n: Sequence[int]
    total: Sequence[float]
    squares: Sequence[float]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What calls came back with besides their answers.

    Parameters
    ----------
    asked, put, answered : requests, those with an answer or failure, those with a text
    repeats : samples of each prompt
    served_models, fingerprints, prompt_tokens, completion_tokens : as of `registry.audits.channels.Channels`
    """

    asked: int
    put: int
    answered: int
    repeats: int
    served_models: Mapping[str, int]
    fingerprints: Mapping[str, int]
    prompt_tokens: int | None
    completion_tokens: int | None


@dataclasses.dataclass(eq=False)
class CueReading:
    """An audit's answers as sums.

    Parameters
    ----------
    frame : one row a prompt: `LABELS`, then `SUMS`, as `metrics.cue_table` takes them
    outcomes : answers by task, cue, persona and outcome, one row each with ``n``
    fillers : what filled each variant: cue, axis, persona, variant, ``filler``, ``held``; of names also ``cell_names``, how many the cell
        has, and ``age_known``, the share of the name's bearers whom its mean age is known of
    channels : what came back besides the scores
    options : of the plan
    judge : how far the judge can be relied on that rated texts; empty where none did
    """

    frame: pd.DataFrame
    outcomes: pd.DataFrame
    fillers: pd.DataFrame
    channels: Channels
    options: Mapping[str, Any]
    judge: tuple[Score, ...] = ()


def cue_reading(
    cells: Mapping[int, Mapping[str, str]],
    sums: Sums,
    calls: Calls,
    options: Mapping[str, Any],
    *,
    names: Sequence[NameCell] = (),
    judge: tuple[Score, ...] = (),
    requested_model: str | None = None,
    price_input: float | None = None,
    price_output: float | None = None,
) -> CueReading:
    """Put sums and cells together.

    Parameters
    ----------
    cells : index of a request -> its cell; names : the cells of names that the plan tells; judge : of `Ratings.quality`
    """
    import pandas as pd

    known = pd.DataFrame(
        [[cell.get(name, "") for name in (*LABELS, "filler", "held")] for cell in cells.values()],
        columns=[*LABELS, "filler", "held"],
        index=pd.Index(list(cells), dtype="int64"),
    )
    known["variant"] = known["variant"].replace("", "0")
    told = pd.DataFrame({name: getattr(sums, name) for name in ("index", "outcome", "n", "total", "squares")})
    usable = told[told["outcome"] == _OK].set_index("index")[["n", "total", "squares"]]
    excluded = told[told["outcome"] != _OK].groupby("index")["n"].sum()
    frame = known[list(LABELS)].join(usable).fillna({"n": 0, "total": 0.0, "squares": 0.0})
    frame["excluded"] = excluded.reindex(frame.index, fill_value=0)
    fillers = known[known["filler"] != ""][["cue", "axis", "persona", "variant", "filler", "held"]].drop_duplicates()
    fillers = _with_cells(fillers.reset_index(drop=True), names)
    outcomes = _outcomes(known, told, calls)
    channels = _channels(outcomes, calls, requested_model, price_input, price_output)
    return CueReading(frame.reset_index(drop=True), outcomes, fillers, channels, options, judge)


def _with_cells(fillers: pd.DataFrame, names: Sequence[NameCell]) -> pd.DataFrame:
    """The fillers with how thin the cell of each name is; None for what is no name, and where the plan does not tell."""
    told = {
        (cell.axis, cell.persona, ", ".join(f"{name} {value}" for name, value in cell.held.items()), name): (
            cell.names,
            known,
        )
        for cell in names
        for name, known in cell.used
    }
    keys = zip(fillers["axis"], fillers["persona"], fillers["held"], fillers["filler"], strict=True)
    found = [told.get(key, (None, None)) for key in keys]
    import pandas as pd

    columns = {"cell_names": [n for n, _ in found], "age_known": [known for _, known in found]}
    return fillers.assign(**{name: pd.Series(values, dtype="object") for name, values in columns.items()})


def _outcomes(known: pd.DataFrame, told: pd.DataFrame, calls: Calls) -> pd.DataFrame:
    """Answers by task, cue, persona and outcome; requests that were never put count as ``not asked``."""
    import pandas as pd

    put = told.groupby("index")["n"].sum().reindex(known.index, fill_value=0)
    rest = pd.DataFrame({"index": known.index, "outcome": "not asked", "n": (calls.repeats - put).clip(lower=0)})
    every = pd.concat([told[["index", "outcome", "n"]], rest[rest["n"] > 0]], ignore_index=True)
    labelled = every.join(known[list(_GROUPED)], on="index")
    whole: pd.DataFrame = labelled.groupby([*_GROUPED, "outcome"], as_index=False)[["n"]].sum()
    return whole


def _channels(
    outcomes: pd.DataFrame,
    calls: Calls,
    requested_model: str | None,
    price_input: float | None,
    price_output: float | None,
) -> Channels:
    counts: Counter[str] = Counter()
    groups: dict[str, Counter[str]] = {}
    for row in outcomes.to_dict("records"):
        counts[row["outcome"]] += int(row["n"])
        for part in _GROUPED:
            if row[part]:
                groups.setdefault(f"{part} = {row[part]}", Counter())[row["outcome"]] += int(row["n"])
    usable = counts.get(_OK, 0)
    strangers = sum(n for name, n in calls.served_models.items() if requested_model not in (None, name))
    return Channels(
        calls=calls.asked,
        answered=calls.answered,
        call_outcomes=dict(counts),
        expected=calls.asked,
        usable=usable,
        shortfall=calls.asked - usable,
        outcomes=dict(counts),
        formats={"text": calls.answered},
        duplicates=0,
        served_models=dict(calls.served_models),
        fingerprints=dict(calls.fingerprints),
        requested_model=requested_model,
        prompt_tokens=calls.prompt_tokens,
        completion_tokens=calls.completion_tokens,
        cost_usd=cost_usd(calls.prompt_tokens, calls.completion_tokens, price_input, price_output),
        groups={group: dict(found) for group, found in sorted(groups.items())},
        substituted=strangers,
    )
