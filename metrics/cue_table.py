"""Answers to people known by different cues, as sums: the frame that every statistic of persona cues works on.

One row stands for all answers to one prompt: a question (of a task), put by a persona (of an axis) who became known by a cue, in one
of the cue's variants (wording x what fills it). It holds how many answers have a number, their total and the total of their
squares, and how many have none. A million answers are a few hundred thousand rows, and nothing below loops over rows.

Without a persona (cue ``no-persona``) axis and persona are empty.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.errors import BadInputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

KEYS = ("task", "cue", "axis", "persona", "question", "variant")
SUMS = ("n", "total", "squares", "excluded")
COLUMNS = (*KEYS, *SUMS)
"""Columns of the frame: what was asked, then counts and sums of the result metric."""

NO_PERSONA = "no-persona"
HISTORY_HUMAN = "history-human"

_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CueCells:
    """Sums of one task, axis and cue by persona, question and variant; 0 where nothing was asked [personas, questions, variants].

    The questions are all of the task, in one order for every axis and cue.
    """

    task: str
    axis: str
    cue: str
    personas: tuple[str, ...]
    questions: tuple[str, ...]
    variants: tuple[str, ...]
    n: FloatArray
    total: FloatArray
    squares: FloatArray
    excluded: FloatArray

    @property
    def title(self) -> str:
        """How the combination is written: ``"salary x gender, name-user"``."""
        return f"{self.task} x {self.axis}, {self.cue}" if self.axis else f"{self.task}, {self.cue}"

    @property
    def means(self) -> FloatArray:
        """Mean answer to each prompt; NaN where there is none. Not for output."""
        result: FloatArray = np.where(self.n > 0, self.total / np.maximum(self.n, 1), np.nan)
        return result

    @property
    def answers(self) -> FloatArray:
        """Answers with a number, by persona."""
        result: FloatArray = self.n.sum(axis=(1, 2))
        return result

    @property
    def excluded_answers(self) -> FloatArray:
        """Answers without a number, by persona."""
        result: FloatArray = self.excluded.sum(axis=(1, 2))
        return result

    def variance(self, personas: Sequence[int] | None = None) -> float:
        """Variance of answers within a persona, pooled, with as many degrees of freedom as answers less personas; 0 without."""
        chosen = list(range(len(self.personas))) if personas is None else list(personas)
        n, total = self.answers[chosen], self.total[chosen].sum(axis=(1, 2))
        squares = self.squares[chosen].sum(axis=(1, 2))
        free = float(n.sum()) - len(chosen)
        inside = float((squares - total**2 / np.maximum(n, 1)).sum())
        return max(inside, 0.0) / free if free > 0 else 0.0

    def of(self, personas: Sequence[str]) -> CueCells:
        """The cells of some personas, in the given order."""
        if unknown := [persona for persona in personas if persona not in self.personas]:
            known = ", ".join(self.personas)
            raise BadInputError(f"{self.title} has no persona {', '.join(unknown)}; its personas are {known}")
        places = [self.personas.index(persona) for persona in personas]
        sums = {name: getattr(self, name)[places] for name in SUMS}
        return dataclasses.replace(self, personas=tuple(personas), **sums)


def _checked(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame's columns as strings and numbers, or a refusal in one sentence."""
    if missing := [column for column in COLUMNS if column not in frame.columns]:
        known = ", ".join(map(str, frame.columns)) or "none"
        raise BadInputError(f"a frame of cue sums has no column {', '.join(missing)}; its columns are {known}")
    keys = {key: frame[key].astype("object").where(frame[key].notna(), "").astype("str") for key in KEYS}
    sums = {}
    for name in SUMS:
        values = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        if not np.isfinite(values).all():
            place = int(np.flatnonzero(~np.isfinite(values))[0])
            raise BadInputError(f"column {name!r} must hold finite numbers, got {frame[name].iloc[place]!r}")
        sums[name] = values
    _check_sums(sums)
    found = pd.DataFrame({**keys, **sums})
    alone = (found["cue"] == NO_PERSONA).to_numpy()
    named = ((found["axis"] != "") & (found["persona"] != "")).to_numpy()
    empty = ((found["axis"] == "") & (found["persona"] == "")).to_numpy()
    if (wrong := np.flatnonzero(~np.where(alone, empty, named))).size:
        row = found.iloc[int(wrong[0])]
        raise BadInputError(
            f"cue {row['cue']!r} of task {row['task']!r} has axis {row['axis']!r} and persona {row['persona']!r}: "
            f"every cue names both, and only {NO_PERSONA!r} neither"
        )
    return found


def _check_sums(sums: Mapping[str, FloatArray]) -> None:
    for name in ("n", "excluded"):
        if ((wrong := sums[name]) < 0).any() or (wrong != np.floor(wrong)).any():
            raise BadInputError(f"column {name!r} counts answers and must hold whole numbers of 0 or more")
    n, total, squares = sums["n"], sums["total"], sums["squares"]
    least = total**2 / np.maximum(n, 1)
    impossible = (squares < least * (1 - _ROUNDING) - _ROUNDING) | ((n == 0) & ((total != 0) | (squares != 0)))
    if impossible.any():
        place = int(np.flatnonzero(impossible)[0])
        raise BadInputError(
            f"{n[place]:g} answers cannot have the total {total[place]:g} and squares {squares[place]:g}: "
            "squares are at least total squared over n"
        )


class CueTable:
    """A frame of cue sums, checked and put in order once, from which any combination is cut without a search.

    Raises
    ------
    BadInputError : a missing column, no number where one belongs, sums that no answers have, a prompt twice, a persona
        without an axis

    >>> frame = pd.DataFrame(
    ...     [("salary", "name-user", "gender", persona, "q1", "0", 2, 3.0, 5.0, 1) for persona in ("female", "male")],
    ...     columns=COLUMNS,
    ... )
    >>> table = CueTable(frame)
    >>> table.combinations
    (('salary', 'gender', 'name-user'),)
    >>> table.cells("salary", "gender", "name-user").means.tolist()
    [[[1.5]], [[1.5]]]
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = _checked(frame)
        codes = {key: pd.factorize(self.frame[key], sort=True) for key in KEYS}
        self._labels = {key: tuple(map(str, labels)) for key, (_, labels) in codes.items()}
        self._codes = {key: np.asarray(code, dtype=np.int64) for key, (code, _) in codes.items()}
        self._sums = {name: self.frame[name].to_numpy(dtype=np.float64) for name in SUMS}
        order = np.lexsort(tuple(self._codes[key] for key in ("variant", "question", "persona", "cue", "axis", "task")))
        self._codes = {key: code[order] for key, code in self._codes.items()}
        self._sums = {name: values[order] for name, values in self._sums.items()}
        self._refuse_twice(order)
        combined = np.stack([self._codes[key] for key in ("task", "axis", "cue")], axis=1)
        fresh = np.r_[True, (combined[1:] != combined[:-1]).any(axis=1)][: len(combined)]
        starts = np.flatnonzero(fresh)
        ends = [*starts[1:], len(combined)][: len(starts)]
        self._slices = {
            (
                self._labels["task"][combined[start, 0]],
                self._labels["axis"][combined[start, 1]],
                self._labels["cue"][combined[start, 2]],
            ): slice(int(start), int(end))
            for start, end in zip(starts, ends, strict=True)
        }

    def _refuse_twice(self, order: IntArray) -> None:
        keys = np.stack([self._codes[key] for key in KEYS], axis=1)
        twice = np.flatnonzero((keys[1:] == keys[:-1]).all(axis=1))
        if twice.size:
            row = self.frame.iloc[int(order[int(twice[0])])]
            named = ", ".join(f"{key} {row[key]!r}" for key in KEYS)
            raise BadInputError(f"a prompt must stand in one row of cue sums, but two have {named}: add them up")

    @property
    def combinations(self) -> tuple[tuple[str, str, str], ...]:
        """Every task, axis and cue with a persona, in order."""
        return tuple(key for key in self._slices if key[2] != NO_PERSONA)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, sorted."""
        return self._labels["task"]

    @cached_property
    def _questions(self) -> dict[str, IntArray]:
        """Codes of the questions of each task."""
        pairs = np.unique(np.stack([self._codes["task"], self._codes["question"]], axis=1), axis=0)
        return {task: pairs[pairs[:, 0] == place, 1] for place, task in enumerate(self._labels["task"])}

    def questions(self, task: str) -> tuple[str, ...]:
        """The questions of a task in the order of all its cells."""
        return tuple(self._labels["question"][code] for code in self._questions[task])

    def cells(self, task: str, axis: str, cue: str) -> CueCells:
        """Sums of one combination; a combination that was not asked is refused with those that were."""
        key = (task, axis, cue)
        if key not in self._slices:
            known = "; ".join(" x ".join(filter(None, one)) for one in self._slices) or "none"
            raise BadInputError(f"there are no answers of {task} x {axis}, {cue}; there are {known}")
        rows = self._slices[key]
        personas, persona = np.unique(self._codes["persona"][rows], return_inverse=True)
        variants, variant = np.unique(self._codes["variant"][rows], return_inverse=True)
        question = np.searchsorted(self._questions[task], self._codes["question"][rows])
        shape = (len(personas), len(self._questions[task]), len(variants))
        sums = {}
        for name in SUMS:
            filled = np.zeros(shape)
            filled[persona, question, variant] = self._sums[name][rows]
            sums[name] = filled
        return CueCells(
            task=task,
            axis=axis,
            cue=cue,
            personas=tuple(self._labels["persona"][code] for code in personas),
            questions=self.questions(task),
            variants=tuple(self._labels["variant"][code] for code in variants),
            **sums,
        )

    def baseline(self, task: str) -> CueCells | None:
        """Sums of a task without a persona, or None when it was not asked so."""
        return self.cells(task, "", NO_PERSONA) if (task, "", NO_PERSONA) in self._slices else None


def cue_table(frame: pd.DataFrame | CueTable) -> CueTable:
    """The table of a frame; a table is given back."""
    return frame if isinstance(frame, CueTable) else CueTable(frame)


def pooled(frames: Iterable[pd.DataFrame], *, weights: str = "releases") -> pd.DataFrame:
    """Cue sums of several releases or families as one frame.

    Parameters
    ----------
    frames : one for each release; they asked the same
    weights : ``releases``: in every prompt each release counts the same, and a prompt that one release did not answer counts as not
        answered, since a mean over other releases there would be another mean. ``answers``: sums are added, as the
        paper does

    >>> one = pd.DataFrame([("salary", "name-user", "gender", "male", "q1", "0", 1, 4.0, 16.0, 2)], columns=COLUMNS)
    >>> two = pd.DataFrame([("salary", "name-user", "gender", "male", "q1", "0", 3, 6.0, 12.0, 0)], columns=COLUMNS)
    >>> pooled([one, two])[[*SUMS]].values.tolist(), pooled([one, two], weights="answers")[[*SUMS]].values.tolist()
    ([[4.0, 12.0, 40.0, 2.0]], [[4.0, 10.0, 28.0, 2.0]])
    """
    if weights not in ("releases", "answers"):
        raise BadInputError(f"releases are pooled by 'releases' or by 'answers', got {weights!r}")
    parts = [CueTable(frame).frame for frame in frames]
    if not parts:
        raise BadInputError("pooling needs the sums of at least one release, got none")
    stacked = pd.concat(parts, ignore_index=True)
    if weights == "releases":
        each = stacked["n"].clip(lower=1)
        stacked = stacked.assign(mean=stacked["total"] / each, square=stacked["squares"] / each, has=stacked["n"] > 0)
    added = stacked.groupby(list(KEYS), sort=True, as_index=False).sum()
    if weights == "answers":
        return added[list(COLUMNS)]
    whole = (added["has"] == len(parts)).to_numpy()
    n = added["n"].to_numpy(dtype=np.float64)
    return added.assign(
        n=np.where(whole, n, 0.0),
        total=np.where(whole, n * added["mean"] / len(parts), 0.0),
        squares=np.where(whole, n * added["square"] / len(parts), 0.0),
        excluded=added["excluded"] + np.where(whole, 0.0, n),
    )[list(COLUMNS)]
