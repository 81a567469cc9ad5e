"""Descriptions of personas measured as messages: what is written of whom, by the metrics of the targeted-message audit.

A persona audit that asks for a description (`persona-descriptions`) gives texts with the groups that the same answer says. They are measured here as
messages are, under a name of their own, so that they are never compared with messages that were written to somebody.
"""

from __future__ import annotations

from typing import Any

from metrics.errors import BadInputError
from registry.audits.plan import AuditPlan
from registry.audits.protocols import PROTOCOLS
from registry.audits.protocols.targeted_messages import TargetedMessages


@PROTOCOLS.register("described-personas")
class DescribedPersonas(TargetedMessages):
    """Protocol ``described-personas``: texts that come from a persona audit, never asked for by themselves."""

    name = "described-personas"
    title = "Descriptions of personas"
    options = ()

    def plan(self, **values: Any) -> AuditPlan:
        """Refused: descriptions come from a persona audit."""
        raise BadInputError(
            "described-personas asks nothing: run 'spiritlevel audit RELEASE --protocol persona-descriptions', then 'spiritlevel descriptions RELEASE'"
        )
