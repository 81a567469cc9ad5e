"""The opened home folder: ledger, model registry and MLflow, each opened when it is first used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flows.logs import log_to
from flows.settings import Home
from registry.audits.protocols import PROTOCOLS

if TYPE_CHECKING:
    from flows.known_releases import KnownReleases
    from flows.tracking import Tracking
    from registry.ledger.store import Ledger
    from registry.releases import ModelRelease, Releases

Measuring = Callable[[str, str], AbstractContextManager[Callable[[int, int], None]]]

_RESTORING = "restoring releases"
_restoring = threading.Lock()


class Workspace:
    """Everything a step needs of the outside world.

    Parameters
    ----------
    home : where state lives; its folder is made when missing
    tell : takes remarks for the user
    measuring : shows how far something is that is counted, such as the messages of a release that are measured: called with
        both in words, opened, and then called with what is done and what there is in all
    """

    def __init__(self, home: Home, tell: Callable[[str], None] = lambda _: None) -> None:
        home.make()
        home.prepare_environment()
        log_to(home)
        self.home = home
        self.tell = tell
        self.measuring: Measuring | None = None
        self.readings: dict[tuple[int, int], Any] = {}  # answers read once per command: (audit, attempts) -> Reading

    @cached_property
    def ledger(self) -> Ledger:
        from registry.ledger.store import Ledger

        return Ledger(self.home.ledger_url, tell=lambda text: self.tell(text))

    @cached_property
    def releases(self) -> KnownReleases:
        from flows.known_releases import KnownReleases, does_not_answer
        from flows.secret_values import take_credentials
        from registry.releases import Releases

        take_credentials()
        registry = Releases(self.home.tracking_uri, self.home.artifact_root)
        try:
            self.restore(registry)
        except Exception as error:
            if not does_not_answer(error):
                raise
        return KnownReleases(registry, lambda: self.ledger, lambda text: self.tell(text))

    def restore(self, releases: Releases) -> bool:
        """Register the ledger's releases again when the model registry was lost: none of its families is there.

        Only families whose versions are all in the ledger come back, for MLflow numbers versions by itself. One that was
        interrupted is taken up again. Returns whether all that can be there is there: False while another process does it.
        """
        known: dict[str, dict[int, ModelRelease]] = {}
        for release in self.ledger.audited_releases():
            known.setdefault(release.family, {})[release.version] = release

        def lost() -> bool:
            return bool(known and (not set(known) & set(releases.families()) or self.ledger.fact(_RESTORING)))

        if not lost():
            return True
        from registry.ledger.ownership import Owner

        # A lease knows only processes, so threads of this one are kept apart by the lock.
        with _restoring, self.ledger.lease(_RESTORING, Owner.this_process()) as renew:
            if not lost():
                return True
            if renew is None:
                return False
            self.ledger.set_fact(_RESTORING, "under way")
            there = set(releases.families())
            for family, versions in known.items():
                done = [one.version for one in releases.list(family)] if family in there else []
                self._register_again(releases, family, versions, done)
                renew()
            self.ledger.set_fact(_RESTORING, "")
        return True

    def _register_again(
        self, releases: Releases, family: str, versions: Mapping[int, ModelRelease], done: Sequence[int]
    ) -> None:
        if sorted(versions) != list(range(1, len(versions) + 1)) or list(done) != sorted(versions)[: len(done)]:
            self.tell(
                f"the model registry was lost, and {family} cannot be restored: not all its versions were audited"
            )
            return
        for version in sorted(versions)[len(done) :]:
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
        self.tell(f"the model registry was lost: registered {len(versions)} releases of {family} again from the ledger")

    @cached_property
    def tracking(self) -> Tracking:
        from flows.secret_values import take_credentials
        from flows.tracking import Tracking

        take_credentials()
        return Tracking(uri=self.home.tracking_uri, artifact_root=self.home.artifact_root)

    def protocol(self, name: str) -> Any:
        """A new instance of the protocol of that name."""
        import registry.audits.protocols.brainstorms
        import registry.audits.protocols.described_personas
        import registry.audits.protocols.persona_cues
        import registry.audits.protocols.targeted_messages  # noqa: F401  (they register themselves)
        from flows.brainstorms import own_brainstorms

        PROTOCOLS.keep_files(own_brainstorms(self.home))
        made = PROTOCOLS[name]
        if getattr(made, "takes_accepted", False):
            from flows.taxonomies import accepted_of

            return made(lambda: accepted_of(self.home))
        if not getattr(made, "rubrics", ()):
            return made()
        from flows.lexicons import message_lexicons
        from flows.rating import judge_parts

        if not getattr(made, "takes_lexicons", False):
            return made(judge_parts(self.home, made.rubrics))

        # lexicons are read when something is measured
        return made(lambda: message_lexicons(self.home), judge_parts(self.home, made.rubrics))

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
