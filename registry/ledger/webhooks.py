"""Which webhook deliveries were received: each is acted on once."""

from __future__ import annotations

import sqlalchemy as sa

from registry.ledger.connection import LedgerConnection
from registry.ledger.leases import later
from registry.ledger.service_tables import received_webhooks as table

KEPT_S = 24 * 3600.0  # far longer than a delivery's own time stamp lets it be repeated


class Webhooks(LedgerConnection):
    """Deliveries by their id."""

    def receive_webhook(self, delivery: str) -> bool:
        """Note a delivery; False when it was received before. Those that can not come again are forgotten."""
        now = self.moment()
        try:
            with self._writing() as connection:
                connection.execute(table.delete().where(table.c.received_at < later(now, -KEPT_S)))
                connection.execute(table.insert().values(delivery=delivery, received_at=now))
        except sa.exc.IntegrityError:
            return False
        return True
