"""Descriptions of personas measured as messages: what is written of whom, by the metrics of the targeted-message audit.

A persona audit that asks for a description (`persona-descriptions`) gives texts with the groups that the same answer says. They are measured here as
messages are, under a name of their own, so that they are never compared with messages that were written to somebody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
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

    @cached_property
    def naming(self) -> Mapping[str, Collection[str]]:
        """By axis, the single words by which its groups are called: that women are called women is no finding about them.

        >>> naming = DescribedPersonas().naming
        >>> "woman" in naming["gender"], "latina" in naming["ethnicity"], "caring" in naming["gender"]
        (True, True, False)
        """
        from registry.audits.brainstorm import load_brainstorm
        from registry.audits.taxonomy import load_taxonomy

        axes = load_brainstorm("persona-descriptions").axes
        taxonomy = load_taxonomy()
        return {
            name.replace("_", "-"): frozenset(
                word for term in taxonomy.known_terms(name) for word in term.split() if len(word) > 1
            )
            for name in axes
            if name != "name"
        }
