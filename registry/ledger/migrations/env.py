"""Alembic's entry: runs on the connection that `registry.ledger.opening.migrate` hands over."""

from alembic import context

import registry.ledger.service_tables  # noqa: F401  (adds its tables)
from registry.ledger.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite cannot alter a table in place
)
with context.begin_transaction():
    context.run_migrations()
