"""Human checks in the ledger: the same sheets are one record, and either audit leads to it."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import IntegrityError

from tests.registry.ledger.orders import ordered

KEY = "ab" * 32


def test_the_same_key_and_sheets_are_one_record_that_both_audits_lead_to(ledger):
    first, second, other = ordered(ledger), ordered(ledger), ordered(ledger)
    made = ledger.keep_human_check(KEY, ["b", "a"], (first.id, second.id), {"raters": 2})
    again = ledger.keep_human_check(KEY, ["a", "b"], (first.id, second.id), {"raters": 7})
    assert again == made
    assert (made.sheets, made.result, made.key) == (("a", "b"), {"raters": 2}, KEY)
    assert (made.first, made.second) == (first.release.uri, second.release.uri)
    more = ledger.keep_human_check(KEY, ["a", "b", "c"], (second.id, other.id), {"raters": 3})
    assert ledger.human_checks(first.id) == (made,)
    assert ledger.human_checks(second.id) == (made, more)


def test_a_record_of_an_audit_that_is_not_there_is_refused(ledger):
    with pytest.raises(IntegrityError):
        ledger.keep_human_check(KEY, ["a"], (7, 8), {})
