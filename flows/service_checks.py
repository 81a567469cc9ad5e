"""What no file can tell by itself: whether the service can do what its configuration says."""

from __future__ import annotations

import difflib
from typing import Any

from flows.service_settings import AlertSettings, ServiceSettings
from flows.settings import Home
from flows.workspace import Workspace
from metrics.errors import BadInputError


def refuse_unconfigured(home: Home) -> None:
    """Refuse to look at duties where none can be declared."""
    if not home.service_file.exists():
        raise BadInputError(
            f"the service is configured by {home.service_file}, which is not there; 'spiritlevel init' "
            f"writes a commented one, or name another with SPIRITLEVEL_CONFIG"
        )


def refuse_unworkable(workspace: Workspace) -> ServiceSettings:
    """The service's settings, when every audit in them can be made; asks the model registry about prices.

    Raises
    ------
    BadInputError
        For a protocol or a kind of channel that nobody registered, and a budget in money for a family whose releases
        have no prices: it could not be kept.
    """
    settings, file = refuse_unknown(workspace), workspace.home.service_file
    for family, said in settings.families.items():
        if said.audits and (budget := _budget_in_money(settings, family)):
            _refuse_unpriced(workspace, family, f"{file}: {budget}")
    return settings


def refuse_unknown(workspace: Workspace) -> ServiceSettings:
    """The service's settings, when every protocol and kind of channel in them is known; asks nobody."""
    import flows.channels.file  # noqa: F401  (registers itself)
    from flows.alerts import CHANNELS

    settings, file = workspace.home.service, workspace.home.service_file
    for name, channel in settings.channels.items():
        _known(lambda kind=channel.kind: CHANNELS[kind], f"{file}: channels.{name}")
    for place, alerts in {"alerts": settings.alerts, **_alerts_of_families(settings)}.items():
        for kind in alerts.severities if alerts is not None else ():
            _known(lambda kind=kind: _refuse_unknown_kind(kind), f"{file}: {place}.severities")
    for family, said in settings.families.items():
        for index, audit in enumerate(said.audits):
            _known(lambda name=audit.protocol: workspace.protocol(name), f"{file}: families.{family}.audits.{index}")
    return settings


def _alerts_of_families(settings: ServiceSettings) -> dict[str, AlertSettings | None]:
    return {f"families.{family}.alerts": said.alerts for family, said in settings.families.items()}


def _refuse_unknown_kind(kind: str) -> None:
    from flows.finding_kinds import KINDS

    if kind not in KINDS:
        near = difflib.get_close_matches(kind, list(KINDS), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise BadInputError(f"no kind of finding is named {kind!r}{hint} Known: {', '.join(KINDS)}")


def _known(look: Any, where: str) -> None:
    try:
        look()
    except BadInputError as error:
        raise BadInputError(f"{where}: {error}") from error


def _budget_in_money(settings: ServiceSettings, family: str) -> str:
    """Which setting bounds the family's money; empty for none."""
    said = settings.families[family]
    for index, audit in enumerate(said.audits):
        if audit.budget is not None and audit.budget.usd is not None:
            return f"families.{family}.audits.{index}.budget.usd"
    if said.budget is not None and said.budget.usd_per_month is not None:
        return f"families.{family}.budget.usd_per_month"
    return "budget.usd_per_month" if settings.budget.usd_per_month is not None else ""


def _refuse_unpriced(workspace: Workspace, family: str, budget: str) -> None:
    if family not in workspace.releases.families():
        return  # not registered yet: nothing of it can be asked, and its first audit looks again
    releases = workspace.releases.list(family)
    if releases and (releases[-1].price_input is None or releases[-1].price_output is None):
        raise BadInputError(
            f"{budget} is a budget in money, but {releases[-1].uri} has no prices, so nobody can tell what is spent; "
            f"register them (spiritlevel.price_input and spiritlevel.price_output on its version), or set a budget in "
            f"tokens"
        )
