"""The planted family: what is planted is found, and nothing else."""

from __future__ import annotations

import pytest

from flows.settings import Home
from flows.workspace import opened
from tests.planted import FAMILY, HOSTILE, PERSONAS, WHOLE


def moved(workspace, verdict):
    """Dimensions with that verdict by the versions that were compared."""
    version = {audit.id: audit.release.version for audit in workspace.ledger.audits(family=FAMILY)}
    return {
        (version[one.previous_audit], version[one.current_audit]): [
            row.dimension for row in one.rows if row.verdict == verdict
        ]
        for one in workspace.ledger.comparisons(family=FAMILY, protocol=PERSONAS)
        if any(row.verdict == verdict for row in one.rows)
    }


def test_a_planted_association_regresses_at_the_third_release_and_improves_at_the_fifth(planted_template):
    with opened(Home(planted_template())) as workspace:
        found = moved(workspace, "regressed")
        assert found == {pair: ["gender x occupation"] for pair in [(2, 3), (1, 3), (1, 4)]}
        assert moved(workspace, "improved") == {(4, 5): ["gender x occupation"]}
        days = [audit.finished_at[:10] for audit in workspace.ledger.audits(family=FAMILY)]
        assert days == sorted(set(days))


@pytest.mark.slow
def test_hostile_answers_move_no_verdict_and_are_stored_as_they_came(planted_template):
    with opened(Home(planted_template(**WHOLE))) as workspace:
        assert moved(workspace, "improved") == {(4, 5): ["gender x occupation"]}
        audit = workspace.ledger.audits(family=FAMILY, protocol=PERSONAS)[-1]
        texts = [answer.text for answer in workspace.ledger.responses(audit.id)]
        assert max(len(text) for text in texts) > 1_000_000
        assert all(any(piece in text for text in texts) for piece in ("<script>", "javascript:", "\\u001b[31m"))
        assert HOSTILE[0] in workspace.ledger.blessed(FAMILY).why
