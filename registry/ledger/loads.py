"""What one provider takes from all workers together: the limit that its answers showed, and each worker's share of it."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from registry.ledger.connection import LedgerConnection, insert_new, moment_text
from registry.ledger.leases import later
from registry.ledger.ownership import Owner
from registry.ledger.service_tables import provider_limits, provider_shares

SILENT_S = 15.0  # a worker that was not seen for so long has no share any more
FORGOTTEN_S = 600.0  # what nobody used for so long is found out anew
TURN_S = 10.0  # what cannot be divided goes round at this pace

Rule = Callable[[float | None, float | None, float, float], tuple[float, float | None]]
"""The limit after what was learned, from the limit (None: nothing is known), when it fell, the time now, and the most
that it may be; times are seconds. Gives the limit and when it fell."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one worker needs of a provider.

    Parameters
    ----------
    wanted, in_flight : calls that it would have under way if it might, and has
    concurrency, calls_per_minute, tokens_per_minute : of the provider, as configured; None is no bound
    pause_s : seconds from now for which the provider asked to wait
    """

    wanted: int
    in_flight: int
    concurrency: int | None = None
    calls_per_minute: float | None = None
    tokens_per_minute: float | None = None
    pause_s: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProviderShare:
    """What one worker may do until it looks again.

    Parameters
    ----------
    concurrency : calls under way; fair : what it will be when the others have given back what they have too much
    limit, workers : over all workers, and how many they are
    calls_per_minute, tokens_per_minute : None is no bound; paused_s : seconds for which nobody may begin a call
    """

    concurrency: int
    fair: int
    limit: float
    workers: int
    calls_per_minute: float | None
    tokens_per_minute: float | None
    paused_s: float


def fair_shares(total: int, wanted: Mapping[str, int], turn: int = 0) -> dict[str, int]:
    """Divide a number of calls: nobody gets more than it wants, and what one does not want the others have.

    The first in ``turn`` get what cannot be divided, and at another turn others do: with fewer calls than workers
    nobody waits for ever.

    >>> fair_shares(8, {"a": 8, "b": 2, "c": 8})
    {'a': 3, 'b': 2, 'c': 3}
    >>> fair_shares(1, {"a": 4, "b": 4}, turn=0), fair_shares(1, {"a": 4, "b": 4}, turn=1)
    ({'a': 1, 'b': 0}, {'a': 0, 'b': 1})
    """
    names = sorted(wanted)
    start = turn % len(names) if names else 0
    order = names[start:] + names[:start]
    shares = dict.fromkeys(names, 0)
    left = min(total, sum(wanted.values()))
    while left > 0:
        hungry = [name for name in order if shares[name] < wanted[name]]
        each = max(1, left // len(hungry))
        for name in hungry:
            given = min(each, wanted[name] - shares[name], left)
            shares[name] += given
            left -= given
    return shares


class Loads(LedgerConnection):
    """Limits of providers and the shares of the workers. Nothing here waits for a database that is away."""

    def share_provider(
        self, provider: str, holder: str, demand: Demand, rule: Rule, owner: Owner | None = None
    ) -> ProviderShare:
        """Say what a worker needs, tell what it learned, and get its share, in one short transaction.

        All shares together never pass the limit: a worker that comes new gets at first only what nobody has.

        Parameters
        ----------
        provider : host and port of the endpoint; holder : any name that no other worker has
        rule : moves the limit by what this worker learned; see `Rule`
        owner : the process of the worker; this one by default
        """
        me = owner or Owner.this_process()
        with self._writing() as connection:
            limit = self._locked_limit(connection, provider)
            now = self._now(connection)
            forget_the_gone(connection, provider_shares, me, later(now, -SILENT_S))
            shares = provider_shares
            rows = connection.execute(
                sa.select(shares).where(shares.c.provider == provider, shares.c.holder != holder)
            ).mappings()
            others = {row["holder"]: dict(row) for row in rows}
            wanted = {name: row["wanted"] for name, row in others.items()} | {holder: demand.wanted}
            value = self._moved(connection, limit, now, demand, sum(wanted.values()), rule)
            turn = int(_seconds(now) // TURN_S)
            fair = fair_shares(int(value + 1e-9), wanted, turn)[holder]
            taken = sum(max(row["granted"], row["in_flight"]) for row in others.values())
            part = max(1, demand.wanted) / sum(max(1, calls) for calls in wanted.values())
            share = ProviderShare(
                concurrency=min(fair, max(0, int(value + 1e-9) - taken)),
                fair=fair,
                limit=value,
                workers=len(wanted),
                calls_per_minute=None if demand.calls_per_minute is None else demand.calls_per_minute * part,
                tokens_per_minute=None if demand.tokens_per_minute is None else demand.tokens_per_minute * part,
                paused_s=max(0.0, self._pause(connection, limit, now, demand)),
            )
            values = _share_row(demand, share, me) | {"seen_at": now}
            statement = insert_new(connection, shares).values(provider=provider, holder=holder, **values)
            connection.execute(statement.on_conflict_do_update(index_elements=["provider", "holder"], set_=values))
        return share

    def leave_provider(self, provider: str, holder: str) -> None:
        """Give a share back; the others have it when they look again."""
        with self._writing() as connection:
            mine = (provider_shares.c.provider == provider, provider_shares.c.holder == holder)
            connection.execute(provider_shares.delete().where(*mine))

    def provider_loads(self) -> list[dict[str, Any]]:
        """Limits of the providers that were used of late, with the workers seen and the calls that they have under way."""
        now = self.moment()
        seen = sa.and_(
            provider_shares.c.provider == provider_limits.c.provider, provider_shares.c.seen_at >= later(now, -SILENT_S)
        )
        query = (
            sa.select(
                provider_limits,
                sa.func.count(provider_shares.c.holder).label("workers"),
                sa.func.coalesce(sa.func.sum(provider_shares.c.in_flight), 0).label("in_flight"),
            )
            .select_from(provider_limits.outerjoin(provider_shares, seen))
            .where(provider_limits.c.changed_at >= later(now, -FORGOTTEN_S))
            .group_by(*provider_limits.c)
            .order_by(provider_limits.c.provider)
        )
        return self._all(query)

    def _locked_limit(self, connection: Connection, provider: str) -> dict[str, Any]:
        """The row of a provider, locked until the transaction ends, so that workers come one after another."""
        query = sa.select(provider_limits).where(provider_limits.c.provider == provider).with_for_update()
        found = connection.execute(query).mappings().first()
        if found is None:
            values = {"provider": provider, "concurrency": 0.0, "changed_at": ""}
            connection.execute(insert_new(connection, provider_limits).values(**values).on_conflict_do_nothing())
            found = connection.execute(query).mappings().one()
        return dict(found)

    def _moved(
        self, connection: Connection, limit: Mapping[str, Any], now: str, demand: Demand, wanted: int, rule: Rule
    ) -> float:
        """Move the limit by the rule and keep it."""
        known = limit["concurrency"] > 0 and limit["changed_at"] >= later(now, -FORGOTTEN_S)
        fell_at = _seconds(limit["lowered_at"]) if known and limit["lowered_at"] else None
        most = demand.concurrency or max(1, wanted, int(limit["concurrency"]) if known else 1)
        value, fell = rule(limit["concurrency"] if known else None, fell_at, _seconds(now), float(most))
        values = {
            "concurrency": value,
            "lowered_at": None if fell is None else moment_text(dt.datetime.fromtimestamp(fell, dt.UTC)),
            "changed_at": now,
        }
        connection.execute(
            provider_limits.update().where(provider_limits.c.provider == limit["provider"]).values(**values)
        )
        return value

    def _pause(self, connection: Connection, limit: Mapping[str, Any], now: str, demand: Demand) -> float:
        """Seconds for which nobody may begin a call; a longer pause than the known one is kept."""
        known = _seconds(limit["paused_until"]) - _seconds(now) if limit["paused_until"] else 0.0
        if demand.pause_s > known:
            connection.execute(
                provider_limits.update()
                .where(provider_limits.c.provider == limit["provider"])
                .values(paused_until=later(now, demand.pause_s))
            )
        return max(known, demand.pause_s)


def forget_the_gone(connection: Connection, table: sa.Table, me: Owner, before: str) -> None:
    """Remove rows whose worker was silent since ``before``, or whose process is gone from this host."""
    connection.execute(table.delete().where(table.c.seen_at < before))
    here = sa.select(table.c.pid, table.c.started).where(table.c.host == me.host).distinct()
    for pid, started in connection.execute(here).all():
        if not Owner(me.host, pid, started).alive_here():
            connection.execute(
                table.delete().where(table.c.host == me.host, table.c.pid == pid, table.c.started == started)
            )


def _share_row(demand: Demand, share: ProviderShare, me: Owner) -> dict[str, Any]:
    return {
        "host": me.host,
        "pid": me.pid,
        "started": me.started,
        "wanted": demand.wanted,
        "in_flight": demand.in_flight,
        "granted": share.concurrency,
    }


def _seconds(moment: str) -> float:
    return dt.datetime.fromisoformat(moment).timestamp()
