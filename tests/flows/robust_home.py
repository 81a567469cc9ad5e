"""A home whose releases were asked with prompt variants and asked again, for tests of robustness."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from flows.concluding import Conclusion, closed, concluded
from flows.settings import Home
from flows.workspace import Workspace, opened
from registry.audits.plan import Response, Sampling
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm
from tests.flows.audited import PER_CALL, release_of, texts_of

CALLS = 60
BIAS = (0.2, 0.5, 0.95)


def ordered(workspace: Workspace, version: int, bias: float, seed: int, **asked: Any) -> Conclusion:
    """A finished audit; with a bias of 0.9 its women work in care."""
    protocol, release = PersonaBrainstorm(), release_of(version)
    plan = protocol.plan(size=CALLS * PER_CALL, seed=seed, **asked)
    audit = workspace.ledger.order(release, plan, protocol.requests(plan))
    texts = texts_of(bias=bias, seed=f"{version} {seed}", calls=CALLS)
    workspace.ledger.record_all(
        audit.id, [Response(index=i, text=text, served_model=release.model) for i, text in enumerate(texts)]
    )
    return concluded(workspace, closed(workspace, audit), tell=lambda _: None, publish=False)


def robust_home(migrated: Path, home: Path) -> Path:
    """Three releases of rising bias; the debiasing prompt takes it from the third, the role changes nothing, two were asked twice."""
    shutil.copytree(migrated, home)
    with opened(Home(home)) as workspace:
        for version, bias in enumerate(BIAS, 1):
            release = workspace.releases.add("nova", f"nova-{version}")
            assert release.version == version
            ordered(workspace, version, bias, 1)
            if version > 1:
                ordered(workspace, version, bias, 2)
            ordered(workspace, version, bias if version < 3 else 0.0, 3, variant="debias")
            if version < 3:
                ordered(workspace, version, bias, 4, variant="role-play")
        ordered(workspace, 3, 0.95, 5, variant="role-play", sampling=Sampling(temperature=0.5))
    return home
