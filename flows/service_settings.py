"""What the service is to do: the file ``spiritlevel.yaml``, checked. It names secrets by their variable, never by value.

Families with their audits and times, alert channels, limits of providers, budgets, and where the service listens. What is
about one home's storage and judgement stays in ``spiritlevel.toml``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from flows.configuration_file import FieldsOf, checked, nearest, text_of, yaml_value
from flows.service_text import SERVICE_TEXT as SERVICE_TEXT
from flows.setting_types import NEWEST as NEWEST
from flows.setting_types import (
    AuditName,
    Cron,
    FamilyName,
    FindingKind,
    Length,
    Moment,
    Money,
    ProviderName,
    Rate,
    ReleaseName,
    Severity,
    Tokens,
    VariableName,
    WallTime,
    Zone,
    variable_name,
)
from flows.setting_types import length_of_time as length_of_time
from flows.settings import GateSettings, PolicySettings
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.ordering import Order

_SECRET_FIELD = re.compile(r"(secret|token|password|passwd|api_?key)s?$", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(
    r"(?:^|[^a-z]|access|api|auth|client)(?:token|key|secret|password|passwd|pwd|sig|signature)$", re.IGNORECASE
)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AuditBudget(_Table):
    """What one audit may spend; None is no bound."""

    usd: Money | None = None
    tokens: Tokens | None = None


class BudgetSettings(_Table):
    """What a calendar month (UTC) may cost; None is no bound."""

    usd_per_month: Money | None = None
    tokens_per_month: Tokens | None = None


class OptionSettings(_Table):
    """How an audit asks, where it is not the protocol's own way: the fields of `flows.ordering.Order`."""

    seed: int | None = Field(None, ge=0)
    per_call: int | None = Field(None, ge=1, le=1000)
    domain: str | None = None
    audiences: tuple[str, ...] | None = None
    modes: tuple[str, ...] | None = None
    cells: int | None = Field(None, ge=1)
    repeats: int | None = Field(None, ge=1)
    tasks: tuple[str, ...] | None = None
    axes: tuple[str, ...] | None = None
    cues: tuple[str, ...] | None = None
    questions: int | None = Field(None, ge=1)
    variants: int | None = Field(None, ge=1)
    samples: int | None = Field(None, ge=1)
    files: dict[str, str] | None = None
    paper: bool | None = None
    temperature: float | None = Field(None, ge=0, le=10)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1)
    extra: dict[str, Any] = {}
    decoding: str | None = None
    decoding_spec: str | None = None


class AuditSettings(_Table):
    """One recurring audit of a family: what is asked, and when.

    ``name`` tells two audits of one protocol apart; it is the protocol's name by default. ``anchor``: the steps of ``every``
    are counted from it in both directions, so that one in the future delays nothing. ``grace``: a run that begins
    later than this says so. ``share``: workers that may work on one audit together.
    """

    protocol: str
    name: AuditName | None = None
    personas: int | None = Field(None, ge=1)
    cron: Cron | None = None
    every: Length | None = None
    zone: Zone = "UTC"
    anchor: Moment | None = None
    grace: Length = "1h"
    options: Annotated[dict[str, Any], FieldsOf(OptionSettings)] = {}
    concurrency: int = Field(8, ge=1, le=1000)
    share: int = Field(1, ge=1, le=100)
    budget: AuditBudget | None = None

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if (self.cron is None) == (self.every is None):
            came = "both" if self.cron else "neither"
            raise ValueError(
                f"an audit has either cron ('0 3 * * 1') or every ('7d'); {self.title!r} has {came}. Without a time "
                f"it would never run"
            )
        if self.anchor is not None and self.every is None:
            raise ValueError("anchor is where the steps of 'every' begin; cron times need none")
        return self

    @property
    def title(self) -> str:
        return self.name or self.protocol

    @property
    def limits(self) -> dict[str, Any]:
        """Fields of `flows.collecting.Limits`: how hard to try, and what one audit may spend."""
        budget = self.budget or AuditBudget()
        return {"concurrency": self.concurrency, "budget_tokens": budget.tokens, "budget_usd": budget.usd}

    def order(self, *, again: bool = True) -> Order:
        """The order of one run of this audit."""
        from flows.ordering import Order

        options = dict(self.options)
        extra = tuple(sorted(options.pop("extra", {}).items()))
        return Order(protocol=self.protocol, size=self.personas, again=again, extra=extra, **options)


class QuietHours(_Table):
    """When nobody is told, but for what is at least ``except_severity``. It may reach over midnight."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    from_: WallTime = Field(alias="from")
    to: WallTime
    zone: Zone = "UTC"
    except_severity: Severity | None = "high"


class AlertSettings(_Table):
    """What is told to whom. ``channels`` None is all; ``severities`` changes the severity of a kind of finding."""

    channels: tuple[str, ...] | None = None
    at_least: Severity = "low"
    severities: dict[FindingKind, Severity] = {}
    renotify: Length | None = "7d"
    quiet_hours: QuietHours | None = None
    replicate: bool = True


class ChannelSettings(BaseModel):
    """One alert channel; fields of its own kind are allowed and checked by the channel."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    url_env: VariableName | None = None
    secret_env: VariableName | None = None
    url: str | None = None
    path: str | None = None
    headers: dict[str, str] = {}

    @model_validator(mode="after")
    def _no_secret(self) -> Self:
        if self.url is not None and _holds_secret(self.url):
            raise ValueError(
                "url holds a user, a password or what looks like a secret (not repeated here), and files are copied and "
                "shared; give the address without them, or name the variable that holds the address as url_env"
            )
        for name, value in (self.model_extra or {}).items():
            if name.endswith("_env"):
                if not isinstance(value, str):
                    raise ValueError(f"{name} is the name of an environment variable")
                variable_name(value)
            elif _SECRET_FIELD.search(name):
                raise ValueError(
                    f"{name} would put a secret into this file; name the variable that holds it as {name}_env"
                )
        return self


def _holds_secret(url: str) -> bool:
    """Whether an address has a user or password in it, a parameter that is named like a secret, or what looks like a key.

    >>> _holds_secret("https://example.org/hook?access_token=1"), _holds_secret("https://example.org/hook?team=token")
    (True, False)
    """
    from flows.redaction import looks_like_key

    try:
        parts = urlsplit(url)
        given = parts.username or parts.password
    except ValueError:  # no address; the channel says so
        return "@" in url or looks_like_key(url)
    named = [name for name, _ in parse_qsl(f"{parts.query}&{parts.fragment}")]
    return bool(given) or any(map(_SECRET_PARAMETER.search, named)) or looks_like_key(url)


class ProviderSettings(_Table):
    """Limits of one provider, over all workers together; None is found out from its answers."""

    concurrency: int | None = Field(None, ge=1, le=10_000)
    calls_per_minute: Rate | None = None
    tokens_per_minute: Rate | None = None


class EndpointSettings(_Table):
    """Where the service listens for webhooks and health checks, and how often it looks what is due."""

    host: str = "127.0.0.1"
    port: int = Field(8321, ge=0, le=65535)
    poll: Length = "60s"
    webhook_secret_env: VariableName = "SPIRITLEVEL_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable


class LinkSettings(_Table):
    """Addresses under which readers of an alert reach MLflow and the cards."""

    mlflow: str | None = None
    cards: str | None = None


class FamilySettings(_Table):
    """One model family: its audits, which of its releases they are of, and how it is judged.

    ``releases``: 'newest', '@alias' or a version, each audited at the times of every audit. ``on_new_version``: a newly
    registered version is audited at once; ``audit_previous``: and before it the previous one, when there is nothing to
    compare with. ``policy`` and ``gate`` say what differs from ``spiritlevel.toml``.
    """

    audits: tuple[AuditSettings, ...] = ()
    releases: tuple[ReleaseName, ...] = (NEWEST,)
    on_new_version: bool = True
    audit_previous: bool = True
    policy: Annotated[dict[str, Any], FieldsOf(PolicySettings)] = {}
    gate: GateSettings | None = None
    alerts: AlertSettings | None = None
    budget: BudgetSettings | None = None

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        titles = [audit.title for audit in self.audits]
        for title in titles:
            if titles.count(title) > 1:
                raise ValueError(f"two audits are called {title!r}; give one of them a name")
        if len(set(self.releases)) < len(self.releases):
            raise ValueError("a release stands twice in 'releases'")
        return self


class ServiceSettings(_Table):
    """The file ``spiritlevel.yaml``."""

    families: dict[FamilyName, FamilySettings] = {}
    channels: dict[str, ChannelSettings] = {}
    alerts: AlertSettings = AlertSettings()
    providers: dict[ProviderName, ProviderSettings] = {}
    budget: BudgetSettings = BudgetSettings()
    service: EndpointSettings = EndpointSettings()
    work_pool: str = "spiritlevel"
    links: LinkSettings = LinkSettings()

    @model_validator(mode="after")
    def _channels_are_there(self) -> Self:
        named = {"alerts": self.alerts} | {f"families.{name}.alerts": one.alerts for name, one in self.families.items()}
        for place, alerts in named.items():
            for channel in (alerts.channels or ()) if alerts is not None else ():
                if channel not in self.channels:
                    raise ValueError(
                        f"{place} names the channel {channel!r}, which is not there{nearest(channel, self.channels)} "
                        f"Channels here: {', '.join(self.channels) or 'none'}"
                    )
        return self

    def family(self, name: str) -> FamilySettings:
        """What is said about a family; the defaults, with no audit, for one that is not named."""
        return self.families.get(name, _NOTHING)

    def alerts_of(self, family: str) -> AlertSettings:
        """How alerts of a family go out: the general settings with those that the family says otherwise."""
        own = self.family(family).alerts
        if own is None:
            return self.alerts
        return self.alerts.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})


_NOTHING = FamilySettings()


def service_settings(path: Path, *, required: bool = False) -> ServiceSettings:
    """The service's configuration from a file; nothing is configured where there is none.

    Raises
    ------
    BadInputError
        When the file is not YAML, says what nobody knows, or is ``required`` and missing.
    """
    text = text_of(path)
    if text is None:
        if required:
            raise BadInputError(f"SPIRITLEVEL_CONFIG names {path}, which is not there")
        return ServiceSettings()
    value = yaml_value(path, text)
    if isinstance(value, dict):  # a heading with nothing but comments under it says nothing
        value = {name: part for name, part in value.items() if part is not None or name not in _TABLES}
    return checked(ServiceSettings, {} if value is None else value, path, table="{}")


_TABLES = frozenset({"families", "channels", "alerts", "providers", "budget", "service", "links"})
