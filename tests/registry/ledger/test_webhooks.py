from __future__ import annotations

import threading

import sqlalchemy as sa

from registry.ledger.service_tables import received_webhooks


def test_a_delivery_is_received_once(ledger):
    assert ledger.receive_webhook("first")
    assert not ledger.receive_webhook("first")
    assert ledger.receive_webhook("second")


def test_of_many_that_receive_one_delivery_at_once_one_does(ledger):
    got = []
    threads = [threading.Thread(target=lambda: got.append(ledger.receive_webhook("same"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]


def test_deliveries_that_can_not_come_again_are_forgotten(ledger):
    assert ledger.receive_webhook("first")
    with ledger.engine.begin() as connection:
        connection.execute(received_webhooks.update().values(received_at="2026-10-01T00:00:00.000Z"))
    assert ledger.receive_webhook("second")
    with ledger.engine.connect() as connection:
        assert connection.execute(sa.select(received_webhooks.c.delivery)).scalars().all() == ["second"]
