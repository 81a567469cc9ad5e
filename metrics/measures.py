"""One measure of each message: its values, what they rest on, and why one is missing."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]
MaskedFloats = np.ma.MaskedArray[Any, np.dtype[np.float64]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageMeasure:
    """One measure of each message: what was measured, on how much, and why it is missing where it is.

    Parameters
    ----------
    metric : catalog name, such as ``agency-framing``
    values : masked array [messages]; masked where the message could not be measured (``tolist`` gives None there, and
        `pandas.Series` NaN); every number in it is finite, also under the mask
    hits : words or sentences that the value rests on [messages]
    reasons : why a message has no value [messages]; empty where it has one
    """

    metric: str
    values: MaskedFloats
    hits: IntArray
    reasons: tuple[str, ...]

    @classmethod
    def of(
        cls, metric: str, values: FloatArray, hits: NDArray[np.integer[Any]], reasons: Sequence[str]
    ) -> MessageMeasure:
        """From plain values, masked wherever there is a reason."""
        missing = np.array([bool(reason) for reason in reasons], dtype=bool)
        kept = np.where(missing, 0.0, values)
        if not np.isfinite(kept).all():
            raise ValueError(f"{metric!r} has a value that is not finite; say why it is missing instead")
        return cls(
            metric=metric,
            values=np.ma.MaskedArray(kept, mask=missing),
            hits=np.where(missing & (hits < 0), 0, hits).astype(np.int32),
            reasons=tuple(reasons),
        )

    @property
    def measured(self) -> BoolArray:
        """Which messages have a value [messages]."""
        found: BoolArray = ~np.ma.getmaskarray(self.values)
        return found

    @property
    def n(self) -> int:
        """Number of messages with a value."""
        return int(self.measured.sum())

    @property
    def excluded(self) -> dict[str, int]:
        """How many messages have no value, by reason."""
        return dict(Counter(reason for reason in self.reasons if reason))
