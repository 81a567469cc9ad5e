"""What no file can tell by itself: whether the service can do what its configuration says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows.ordering import is_embedded
from flows.service_settings import ServiceSettings
from flows.settings import Home
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.ledger.spending import stated_prices
from registry.releases import ModelRelease


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
    settings = refuse_unknown(workspace)

    def newest(family: str) -> ModelRelease | None:
        known = workspace.releases.list(family) if family in workspace.releases.families() else ()
        return known[-1] if known else None  # what is not registered yet cannot be asked; its first audit looks again

    refuse_unpriced(settings, workspace.home.service_file, newest)
    return settings


def refuse_unpriced(settings: ServiceSettings, file: Path, newest: Callable[[str], ModelRelease | None]) -> None:
    """Refuse a budget in money that nobody could keep.

    Parameters
    ----------
    newest : gives the newest release of a family; called for those with such a budget
    """
    for family, said in settings.families.items():
        if not said.audits or not (budget := _budget_in_money(settings, family)):
            continue
        release = newest(family)
        if release is None or is_embedded(release) or stated_prices(release) is not None:
            continue
        raise BadInputError(
            f"{file}: {budget} is a budget in money, but {release.uri} has no prices, so nobody can tell what is spent; "
            f"register them (spiritlevel.price_input and spiritlevel.price_output on its version), or set a budget in "
            f"tokens"
        )


def refuse_unknown(workspace: Workspace) -> ServiceSettings:
    """The service's settings, when every protocol and kind of channel in them is known; asks nobody."""
    from flows.channels.catalog import CHANNELS, load_channels

    load_channels()
    settings, file = workspace.home.service, workspace.home.service_file
    for name, channel in settings.channels.items():
        _known(lambda kind=channel.kind: CHANNELS[kind], f"{file}: channels.{name}")
    for family, said in settings.families.items():
        for index, audit in enumerate(said.audits):
            _known(lambda name=audit.protocol: workspace.protocol(name), f"{file}: families.{family}.audits.{index}")
    return settings


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
