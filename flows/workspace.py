"""The opened home folder: ledger, model registry and MLflow, each opened when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flows.settings import Home
from registry.audits.protocols import PROTOCOLS

if TYPE_CHECKING:
    from flows.tracking import Tracking
    from registry.ledger.store import Ledger
    from registry.releases import ModelRelease, Releases


class Workspace:
    """Everything a step needs of the outside world.

    Parameters
    ----------
    home : where state lives; its folder is made when missing
    tell : takes remarks for the user
    """

    def __init__(self, home: Home, tell: Callable[[str], None] = lambda _: None) -> None:
        home.make()
        home.prepare_environment()
        self.home = home
        self.tell = tell
        self.readings: dict[tuple[int, int], Any] = {}  # answers read once per command: (audit, attempts) -> Reading

    @cached_property
    def ledger(self) -> Ledger:
        from registry.ledger.store import Ledger

        return Ledger(self.home.ledger_url)

    @cached_property
    def releases(self) -> Releases:
        from registry.releases import Releases

        releases = Releases(self.home.tracking_uri, self.home.artifact_root)
        self._restore(releases)
        return releases

    def _restore(self, releases: Releases) -> None:
        """Register the ledger's releases again when the model registry was lost: none of its families is there.

        Only families whose versions are all in the ledger come back, for MLflow numbers versions by itself.
        """
        known: dict[str, dict[int, ModelRelease]] = {}
        for audit in self.ledger.audits():
            known.setdefault(audit.release.family, {})[audit.release.version] = audit.release
        if not known or set(known) & set(releases.families()):
            return
        for family, versions in known.items():
            if sorted(versions) != list(range(1, len(versions) + 1)):
                self.tell(
                    f"the model registry was lost, and {family} cannot be restored: not all its versions were audited"
                )
                continue
            for version in sorted(versions):
                old = versions[version]
                releases.add(
                    family,
                    old.model,
                    base_url=old.base_url,
                    api_key_env=old.api_key_env,
                    released=old.released,
                    previous=old.previous,
                    price_input=old.price_input,
                    price_output=old.price_output,
                )
            self.tell(
                f"the model registry was lost: registered {len(versions)} releases of {family} again from the ledger"
            )

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
def opened(home: Home, tell: Callable[[str], None] = lambda _: None) -> Iterator[Workspace]:
    """A workspace that is closed at the end."""
    workspace = Workspace(home, tell)
    try:
        yield workspace
    finally:
        workspace.close()
