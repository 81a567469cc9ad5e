"""The opened home folder: ledger, model registry and MLflow, each opened when it is first used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flows.settings import Home
from registry.audits.protocols import PROTOCOLS

if TYPE_CHECKING:
    from flows.tracking import Tracking
    from registry.ledger.store import Ledger
    from registry.releases import Releases


class Workspace:
    """Everything a step needs of the outside world.

    Parameters
    ----------
    home : where state lives; its folder is made when missing
    """

    def __init__(self, home: Home) -> None:
        home.make()
        home.prepare_environment()
        self.home = home
        self.readings: dict[tuple[int, int], Any] = {}  # answers read once per command: (audit, attempts) -> Reading

    @cached_property
    def ledger(self) -> Ledger:
        from registry.ledger.store import Ledger

        return Ledger(self.home.ledger_url)

    @cached_property
    def releases(self) -> Releases:
        from registry.releases import Releases

        return Releases(self.home.tracking_uri, self.home.artifact_root)

    @cached_property
    def tracking(self) -> Tracking:
        from flows.tracking import Tracking

        return Tracking(uri=self.home.tracking_uri, artifact_root=self.home.artifact_root)

    def protocol(self, name: str) -> Any:
        """A new instance of the protocol of that name."""
        import registry.audits.protocols.persona_brainstorm  # noqa: F401  (registers itself)

        return PROTOCOLS[name]()

    def close(self) -> None:
        """Close what was opened."""
        if "ledger" in self.__dict__:
            self.ledger.close()


@contextmanager
def opened(home: Home) -> Iterator[Workspace]:
    """A workspace that is closed at the end."""
    workspace = Workspace(home)
    try:
        yield workspace
    finally:
        workspace.close()
