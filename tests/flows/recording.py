"""Finished audits put straight into the ledger, as an import leaves them, without MLflow: for tests of what follows."""

from __future__ import annotations

from flows.concluding import closed
from flows.settings import Home
from flows.workspace import opened
from registry.audits.plan import Response
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from registry.ledger.bundles import work_for
from registry.releases import ModelRelease


def recorded(home, family, texts, *, version=1, model="nova-1", served="nova-1", per_call=20):
    """A finished audit of these answers; ``served`` is the model that answered, or several in turn."""
    models = [served] if isinstance(served, str) else served
    found = [Response(index=i, text=text, served_model=models[i % len(models)]) for i, text in enumerate(texts)]
    release = ModelRelease(family=family, version=version, model=model)
    with opened(Home(home)) as workspace:
        plan = PersonaBrainstorm().imported_plan(size=per_call * len(texts), per_call=per_call)
        audit = workspace.ledger.order(release, plan, work_for(found, per_call), source="imported")
        workspace.ledger.record_all(audit.id, found)
        return closed(workspace, audit)
