"""Releases while MLflow does not answer: what the ledger knows of them, for everything that only looks one up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from registry.releases import ModelRelease, Releases, UnknownReleaseError
from registry.stores import StoreUnreachableError

if TYPE_CHECKING:
    from registry.ledger.store import Ledger

T = TypeVar("T")

AWAY_FOR_S = 30.0  # how long a store that did not answer is not asked again


class KnownReleases:
    """The releases in an MLflow store; while it does not answer, the audited ones as the ledger has them.

    Only looking up falls back. Everything else, such as adding a release, is the registry's and needs MLflow.

    Parameters
    ----------
    registry : the releases that are registered in MLflow
    ledger : gives the ledger, which is opened when it is needed
    tell : takes the remark that the ledger answered
    clock : gives seconds; passed in so that tests can set it
    """

    def __init__(
        self,
        registry: Releases,
        ledger: Callable[[], Ledger],
        tell: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.registry = registry
        self._ledger, self._tell, self._clock = ledger, tell, clock
        self._away_until = -1.0
        self._told = False
        self.add = registry.add

    @property
    def away(self) -> bool:
        """Whether MLflow did not answer a short while ago, so that what is listed may lack new releases."""
        return self._clock() < self._away_until

    def families(self) -> tuple[str, ...]:
        """Names of all registered models, or of all audited ones."""
        return self._or(self.registry.families, lambda: tuple(sorted({one.family for one in self._audited()})))

    def list(self, family: str | None = None) -> tuple[ModelRelease, ...]:
        """All releases, or those of one family, by family and version."""
        return self._or(lambda: self.registry.list(family), lambda: self._listed(family))

    def find(self, reference: str) -> ModelRelease:
        """The release of a reference; a blessed one also by its alias."""
        return self._or(lambda: self.registry.find(reference), lambda: self._found(reference))

    def previous(self, release: ModelRelease) -> ModelRelease | None:
        """The release that ``release`` is compared with."""
        return self._or(lambda: self.registry.previous(release), lambda: self._before(release))

    def _or(self, ask: Callable[[], T], remember: Callable[[], T]) -> T:
        """What MLflow says, or the ledger while MLflow does not answer."""
        if self.away:
            return remember()
        try:
            return ask()
        except Exception as error:
            if not does_not_answer(error):
                raise
            self._away_until = self._clock() + AWAY_FOR_S
            found = remember()
            if not self._told:
                self._told = True
                self._tell(
                    "MLflow does not answer: releases are taken from the ledger, as they were when they were audited"
                )
            return found

    def _audited(self) -> tuple[ModelRelease, ...]:
        """Every audited release as its newest audit has it, by family and version."""
        return tuple(self._ledger().audited_releases())

    def _listed(self, family: str | None) -> tuple[ModelRelease, ...]:
        known = self._audited()
        if family is None:
            return known
        if not (own := tuple(one for one in known if one.family == family)):
            raise _unknown(f"no audited release of {family!r}", known)
        return own

    def _found(self, reference: str) -> ModelRelease:
        name = reference.removeprefix("models:").strip("/")
        family, slash, version = name.rpartition("/")
        if not slash:
            family, _, alias = name.rpartition("@")
            blessing = self._ledger().blessed(family, alias) if family and alias else None
            if blessing is None:
                raise _unknown(f"no blessing {name!r}; other aliases are in MLflow", self._audited())
            version = str(blessing.version)
        own = self._listed(family)
        for one in reversed(own):
            if version in ("latest", str(one.version)):
                return one
        raise _unknown(f"no audit of {reference!r}", own)

    def _before(self, release: ModelRelease) -> ModelRelease | None:
        if release.previous is not None:
            return self._found(f"{release.family}/{release.previous}")
        known = [one for one in self._audited() if one.family == release.family and one.version < release.version]
        return known[-1] if known else None


def _unknown(what: str, known: tuple[ModelRelease, ...]) -> UnknownReleaseError:
    names = ", ".join(one.uri for one in known[-20:]) or "no release"
    return UnknownReleaseError(
        f"MLflow does not answer, and the ledger has {what}; it knows {names}. Start MLflow first"
    )


def does_not_answer(error: Exception) -> bool:
    """Whether an error says that MLflow is away, rather than that it refused something."""
    if isinstance(error, StoreUnreachableError):
        return True
    code = str(getattr(error, "error_code", ""))
    return code in ("INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE", "DEADLINE_EXCEEDED") or isinstance(
        error, ConnectionError
    )
