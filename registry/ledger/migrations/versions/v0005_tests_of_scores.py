"""The second degrees of freedom of a test and its adjusted p, beside the score that they belong to."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("df_error", "qvalue"):
        op.add_column("scores", sa.Column(name, sa.Float(), nullable=True))
