"""The budgets that bind an audit: its own, its family's of the month, and everybody's of the month.

All of them are kept from the ledger's own answers, and across workers: what calls may take is set aside in the ledger
before they are made, so that all workers together never pass a budget by more than calls that a killed one had made.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flows.budget import Budget, Granted
from flows.expenses import answer_tokens
from flows.ordering import is_embedded
from metrics.errors import BadInputError
from registry.ledger.spending import Bound, Room, stated_prices

if TYPE_CHECKING:
    from flows.collecting import Limits
    from flows.service_settings import BudgetSettings
    from flows.workspace import Workspace
    from registry.ledger.store import Ledger
    from registry.ledger.values import Audit
    from registry.releases import ModelRelease


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """A calendar month in UTC.

    >>> Month.of("2026-12-31T23:59:59.000Z").ends
    '2027-01-01'
    """

    name: str
    begins: str
    ends: str

    @classmethod
    def of(cls, moment: str) -> Month:
        day = dt.datetime.fromisoformat(moment).astimezone(dt.UTC).date().replace(day=1)
        ends = (day + dt.timedelta(days=32)).replace(day=1)
        return cls(name=f"{day:%Y-%m}", begins=day.isoformat(), ends=ends.isoformat())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """One budget and what is spent of it, for a person and for a page."""

    words: str
    room: Room
    ends: str = ""  # day (UTC) on which it begins anew; empty: never

    @property
    def used(self) -> str:
        """What is spent, of what."""
        bound, spent, parts = self.room.bound, self.room.spent, []
        if bound.tokens is not None:
            parts.append(f"{spent.charged_tokens:,} of {bound.tokens:,} tokens")
        if bound.usd is not None:
            parts.append(f"{'unknown' if spent.usd is None else f'{spent.usd:.4f}'} of {bound.usd:.4f} US dollars")
        aside = self.room.aside_tokens
        return f"{' and '.join(parts)} spent{f', {aside:,} tokens set aside by other workers' if aside else ''}"

    def why_reached(self, one_call_tokens: int) -> str:
        """Why there is no further call."""
        renewed = f"; it begins anew on {self.ends} at 00:00 UTC" if self.ends else ""
        return f"{self.words} is reached: {self.used}, and one more call may take {one_call_tokens:,} tokens{renewed}"


def budgets_of(workspace: Workspace, audit: Audit, limits: Limits) -> tuple[Budget, LedgerAllowance | None]:
    """What a collection counts with (prices, the size of a large call), and the budgets that bind it; None for none.

    Raises
    ------
    BadInputError : for a budget in money when a price is not known, before any call is made
    """
    service, release = workspace.home.service, audit.release
    family = service.family(release.family).budget
    prices = KnownPrices(workspace)
    allowance = LedgerAllowance(workspace.ledger, audit, limits, service.budget, family, prices)
    bounds = [bound for bound, _, _ in allowance.bounds(Month.of(workspace.ledger.moment()))]
    if in_money := any(bound.usd is not None for bound in bounds):
        prices.look_up([release.uri])
    price = (prices(release) if in_money else stated_prices(release)) or (None, None)
    # A large call: the largest of the audit so far, else what its prompt and its personas take. Two characters a token
    # is more than any tokenizer needs for the prompts of an audit.
    seen = workspace.ledger.spent(audit_id=audit.id).largest_tokens
    answer = audit.plan.sampling.max_tokens or answer_tokens(audit.plan)[0]
    prompt = max((len(text) for text in audit.plan.prompts.values()), default=0) // 2
    budget = Budget(first_call_tokens=max(seen, prompt + answer), price_input=price[0], price_output=price[1])
    allowance.uncounted_tokens = budget.first_call_tokens
    if in_money:
        allowance.refuse_unknown_prices()
    return budget, allowance if bounds else None


class KnownPrices:
    """Prices as an audit was ordered with them, else as the registry had them when it was asked; the embedded model is free.

    Prices are asked for inside the ledger's transactions, which must not wait for MLflow: only `look_up` asks the registry.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._found: dict[str, tuple[float, float] | None] = {}

    def __call__(self, release: ModelRelease) -> tuple[float, float] | None:
        if is_embedded(release):
            return 0.0, 0.0
        return stated_prices(release) or self._found.get(release.uri)

    def look_up(self, releases: Iterable[str]) -> bool:
        """Ask the registry for prices that were not asked for yet; whether one was found."""
        found = False
        for uri in set(releases) - self._found.keys():
            try:
                self._found[uri] = stated_prices(self._workspace.releases.find(uri))
            except BadInputError:
                self._found[uri] = None
            found = found or self._found[uri] is not None
        return found


class LedgerAllowance:
    """Budgets in the ledger as the `flows.budget.Allowance` of one worker."""

    def __init__(
        self,
        ledger: Ledger,
        audit: Audit,
        limits: Limits,
        month: BudgetSettings,
        family: BudgetSettings | None,
        prices: KnownPrices,
    ) -> None:
        self.ledger, self.audit, self.prices = ledger, audit, prices
        self.limits, self.month, self.family = limits, month, family
        self.uncounted_tokens = 0  # charged for a call without a count when its audit has none with one
        self.holder = uuid.uuid4().hex

    def bounds(self, month: Month) -> list[tuple[Bound, str, str]]:
        """The budgets that bind, each with its name in words and the day on which it begins anew."""
        audit, name = self.audit, self.audit.release.family
        found = []
        if self.limits.budget_tokens is not None or self.limits.budget_usd is not None:
            tokens, usd = self.limits.budget_tokens, self.limits.budget_usd
            own = Bound(scope=f"audit {audit.id}", audit_id=audit.id, tokens=tokens, usd=usd)
            found.append((own, f"the budget of audit {audit.id}", ""))
        for settings, family, words in (
            (self.family, name, f"the budget of family {name} for {month.name}"),
            (self.month, None, f"the budget of all families for {month.name}"),
        ):
            if settings is None or (settings.tokens_per_month is None and settings.usd_per_month is None):
                continue
            monthly = Bound(
                scope=f"{month.name} {family}" if family else month.name,
                since=month.begins,
                family=family,
                tokens=settings.tokens_per_month,
                usd=settings.usd_per_month,
            )
            found.append((monthly, words, month.ends))
        return found

    def states(self) -> list[BudgetState]:
        """The budgets that bind and what is spent of each; sets nothing aside."""
        states = []
        for bound, words, ends in self.bounds(Month.of(self.ledger.moment())):
            spent = self.ledger.spent(
                bound.since,
                bound.family,
                audit_id=bound.audit_id,
                prices=self.prices,
                uncounted_tokens=self.uncounted_tokens,
            )
            room = Room(bound=bound, spent=spent, aside_tokens=0, aside_usd=0.0)
            states.append(BudgetState(words=words, room=room, ends=ends))
        return states

    def refuse_unknown_prices(self) -> None:
        """Refuse a budget in money that nobody could keep."""
        states = self.states()
        if self._looked_up([state.room for state in states]):
            states = self.states()
        for state in states:
            if state.room.bound.usd is None:
                continue
            unpriced = set(state.room.spent.unpriced)
            if self.prices(self.audit.release) is None:
                unpriced.add(self.audit.release.uri)
            if unpriced:
                raise BadInputError(
                    f"{state.words} is in US dollars, and the price of {', '.join(sorted(unpriced))} is not known, so nobody "
                    f"can tell what is spent; set spiritlevel.price_input and spiritlevel.price_output (dollars per "
                    f"million tokens) on its version, or set a budget in tokens"
                )

    def renew(self, tokens: int, usd: float, one_call_tokens: int) -> Granted:
        """Set aside what the next calls may take."""
        bounds = self.bounds(Month.of(self.ledger.moment()))
        granted = self._set_aside(bounds, tokens, usd)
        if self._looked_up(granted[2]):  # somebody else began to audit a release without a stated price
            granted = self._set_aside(bounds, tokens, usd)
        tokens, usd, rooms = granted
        states = [
            BudgetState(words=words, room=room, ends=ends) for (_, words, ends), room in zip(bounds, rooms, strict=True)
        ]
        tightest = min(states, key=_left)
        return Granted(tokens=tokens, usd=usd, why=tightest.why_reached(one_call_tokens))

    def _set_aside(
        self, bounds: Sequence[tuple[Bound, str, str]], tokens: int, usd: float
    ) -> tuple[int, float, list[Room]]:
        return self.ledger.set_aside(
            self.holder,
            [bound for bound, _, _ in bounds],
            tokens,
            usd,
            prices=self.prices,
            uncounted_tokens=self.uncounted_tokens,
        )

    def _looked_up(self, rooms: Sequence[Room]) -> bool:
        """Ask the registry for prices that budgets in money lack, outside of any transaction; whether one was found."""
        return self.prices.look_up(uri for room in rooms if room.bound.usd is not None for uri in room.spent.unpriced)

    def close(self) -> None:
        """Give back what is set aside."""
        self.ledger.release_allowance(self.holder)


def _left(state: BudgetState) -> float:
    """The share of a budget that is left, of its tightest part."""
    bound, room = state.room.bound, state.room
    parts = [
        0.0 if not limit else (left or 0.0) / limit
        for limit, left in ((bound.tokens, room.tokens), (bound.usd, room.usd))
        if limit is not None
    ]
    return min(parts, default=1.0)
