"""Is everything as it should be: each part of a setup looked at by itself, in parallel, with a bound on the time.

Nothing is changed, but for one small file that is put into MLflow's artifact store and taken away again; no model is asked. A
key goes where it belongs, to its endpoint, and is not shown. It is meant to work when nothing else does.
"""

from __future__ import annotations

import dataclasses
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from flows.redaction import without_secrets

if TYPE_CHECKING:
    from flows.settings import Home

State = Literal["ok", "warning", "failed"]
PATIENCE_S = 20.0


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """What one look found.

    Parameters
    ----------
    check : what was looked at; state : ok, warning or failed
    said : what was found, in words; todo : what to do about it, empty when it is ok
    """

    check: str
    state: State
    said: str
    todo: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Examination:
    """All findings, in the order of the checks."""

    findings: tuple[Finding, ...]

    @property
    def state(self) -> State:
        """The worst of all."""
        states = {finding.state for finding in self.findings}
        return "failed" if "failed" in states else "warning" if "warning" in states else "ok"


Check = Callable[["Home"], Iterable[Finding]]


def checks() -> dict[str, Check]:
    """Every check by its name, in the order in which they are shown."""
    from flows import doctor_keys
    from flows import doctor_services as services
    from flows import doctor_setup as setup

    return {
        "versions": setup.versions,
        "configuration": setup.configuration,
        "home": setup.home_folder,
        "disk": setup.disk_space,
        "telemetry": setup.telemetry,
        "time zones": setup.time_zones,
        "ledger": services.ledger,
        "outbox": services.outboxes,
        "duties": services.duties,
        "mlflow": services.mlflow,
        "prefect": services.prefect,
        "budgets": doctor_keys.budgets,
        "keys": doctor_keys.keys,
        "endpoints": doctor_keys.endpoints,
    }


def examined(home: Home, *, patience_s: float = PATIENCE_S, only: Iterable[str] | None = None) -> Examination:
    """Look at everything at the same time; what does not come back within the patience is itself a finding."""
    wanted = {name: check for name, check in checks().items() if only is None or name in set(only)}
    results: queue.SimpleQueue[tuple[str, tuple[Finding, ...]]] = queue.SimpleQueue()
    for name, check in wanted.items():
        # Daemons, for one that hangs in a library must not keep the command from ending.
        threading.Thread(
            target=lambda name=name, check=check: results.put((name, _looked(name, check, home))), daemon=True
        ).start()
    found: dict[str, tuple[Finding, ...]] = {}
    deadline = time.monotonic() + patience_s
    while len(found) < len(wanted):
        try:
            name, findings = results.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        found[name] = findings
    for name in wanted.keys() - found.keys():
        said = f"no answer within {patience_s:.0f} s"
        found[name] = (Finding(name, "failed", said, "see whether what it needs is reachable from this machine"),)
    return Examination(tuple(finding for name in wanted for finding in found[name]))


def _looked(name: str, check: Check, home: Home) -> tuple[Finding, ...]:
    """The findings of one check; whatever goes wrong in it is a finding."""
    try:
        findings = tuple(check(home))
    except Exception as error:
        first = str(error).splitlines()[0] if str(error) else ""
        told = isinstance(error, ValueError)  # of ours, a whole sentence with the way out
        said = first if told else f"{type(error).__name__}: {first}"
        findings = (Finding(name, "failed", said, "" if told else "the sentence says what was refused; correct that"),)
    return tuple(
        dataclasses.replace(one, said=without_secrets(one.said), todo=without_secrets(one.todo)) for one in findings
    )
