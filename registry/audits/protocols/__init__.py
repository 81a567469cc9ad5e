"""The audit protocols, one module each; `PROTOCOLS` is their catalog, and `AuditProtocol` what each of them can do."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from metrics.catalog import Catalog
from registry.audits.plan import AuditPlan, Decoding, Record, Request, Response, Sampling

if TYPE_CHECKING:
    import pandas as pd

    from metrics.baseline import DimensionEstimate
    from metrics.instrument import SteadyCheck
    from metrics.results import Comparison, Score
    from metrics.verdicts import Policy
    from registry.audits.channels import Channels

PROTOCOLS: Catalog[type[Any]] = Catalog("audit protocol", group="spiritlevel.protocols")

LARGEST_SEED = 2**31 - 1  # what every provider and database takes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What an audit asks where its order says nothing.

    Parameters
    ----------
    sizes : how many, as arguments of the protocol's plan; an order that names a size replaces all of them
    options : further arguments of the plan; sampling, decoding, decoding_spec : how it is asked
    """

    sizes: Mapping[str, int]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    sampling: Sampling = dataclasses.field(default_factory=Sampling)
    decoding: Decoding = Decoding.FREE_TEXT
    decoding_spec: str | None = None


class Dimension(Protocol):
    """What a verdict is given on: an axis and what depends on it, ``gender x occupation``."""

    @property
    def title(self) -> str: ...
    @property
    def by_name(self) -> bool: ...


class Reading(Protocol):
    """An audit's answers as read: one row of ``frame`` a record, and what came back besides."""

    @property
    def frame(self) -> pd.DataFrame: ...
    @property
    def channels(self) -> Channels: ...


class AuditProtocol(Protocol):
    """An instrument: what it asks, how it reads answers, what it measures, and how it compares two releases.

    Attributes
    ----------
    name, version, title : catalog name, version of the question, name for people
    unit : what is counted, in the plural (``"personas"``)
    options : the arguments of `plan` that are its own
    headline : the metric with a severity that verdicts are given on; mean : of it over dimensions
    categories : whether records fall into categories, so that single cells can move
    freezes_names : whether a family's first comparison freezes a list, which is then part of the scoring version; such a protocol has
        ``listed(reading, names)``: how many records the list covers, and how many a list of the audit's own would
    """

    name: str
    version: str
    title: str
    unit: str
    options: tuple[str, ...]
    headline: str
    mean: str
    categories: bool
    freezes_names: bool

    def defaults(self) -> Choices:
        """What is asked of a provider's model."""

    def embedded(self) -> Choices:
        """What is asked of the small model that the product brings along."""

    def plan(self, **values: Any) -> AuditPlan:
        """The plan of ``size``, ``seed``, ``sampling``, ``decoding``, ``decoding_spec`` and own options."""

    def requests(self, plan: AuditPlan) -> Iterator[Request]:
        """The requests of a plan, always the same ones, each with a seed of its own."""

    def records(self, request: Request, response: Response) -> list[Record]:
        """What an answer holds, or one record with the reason why it cannot be used."""

    def read(
        self,
        requests: Sequence[Request],
        responses: Sequence[Response],
        *,
        requested_model: str | None = None,
        price_input: float | None = None,
        price_output: float | None = None,
    ) -> Any:
        """An audit's answers as a `Reading`."""

    def names(self, frames: Sequence[pd.DataFrame]) -> tuple[str, ...]:
        """What a family freezes at its first comparison, pooled over these audits; empty when it freezes nothing."""

    def scoring_parts(self, names: Sequence[str]) -> dict[str, str]:
        """Everything that turns answers into scores, by name."""

    def scoring_version(self, names: Sequence[str]) -> str:
        """Hash of `scoring_parts`: two audits compare only when it is equal."""

    def dimensions(self, plan: AuditPlan | None = None) -> Sequence[Any]:
        """What verdicts on audits of a plan (None: the default one) are given on, each a `Dimension`, in the order of tables."""

    def scores(self, reading: Any, names: Sequence[str], *, seed: int = 0) -> list[Score]:
        """All scores of an audit."""

    def compare(
        self, previous: Any, current: Any, names: Sequence[str], policy: Policy
    ) -> tuple[list[Comparison], str | None]:
        """One comparison a dimension, and why they are withheld as a whole, if they are."""

    def pooled(self, readings: Sequence[Any]) -> Any:
        """Several audits of one release read as one."""

    def split_check(
        self, reading: Any, names: Sequence[str], policy: Policy, *, alpha: float, in_order: bool
    ) -> SteadyCheck:
        """Whether an audit's own halves differ."""

    def baseline(self, readings: Sequence[Any], names: Sequence[str], policy: Policy) -> dict[str, Any]:
        """What the audits of a watch's baseline have in common, as plain values."""

    def estimates(
        self, reading: Any, names: Sequence[str], vocabulary: Mapping[str, Any]
    ) -> tuple[DimensionEstimate, ...]:
        """What one audit shows in the terms of a watch's baseline."""

    def summarized(self, reading: Any, names: Sequence[str]) -> dict[str, Any]:
        """What cards and lists show of an audit's answers besides the scores, as plain values."""

    def record_table(self, reading: Any) -> pd.DataFrame:
        """One row a record, for a file: what became of it, what it says, and what was made of that."""

    def tables(self, reading: Any) -> dict[str, Any]:
        """Tables beside the scores, for MLflow and the card."""
