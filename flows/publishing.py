"""Publication to MLflow: the ledger's outbox is emptied, each thing once, and no audit fails or waits long for it.

What is to be published is put into the outbox by the step that stores it. Publishing takes a lease per family, finds what is
there by its tags, and marks a row as done when MLflow has all of it: it may be killed anywhere, and repeated by anybody.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flows import outbox
from flows.redaction import without_secrets
from flows.scoring import scored, scoring_version_of
from flows.stores import Tracking
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.audits.plan import content_hash
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import Owner
from registry.ledger.publications import Publication
from registry.stores import HandedOverError, StoreDamagedError, StoreUnreachableError, without_passwords

Tell = Callable[[str], None]

LEASE_S = 300.0  # longer than MLflow's client tries one request
MOST_TOLD = 5  # refused things that are told one by one
PATIENCE_S = 60.0  # spent waiting for MLflow before the rest is left for later
_OF_ONE_THING = (
    "INVALID_PARAMETER_VALUE",
    "BAD_REQUEST",
    "RESOURCE_DOES_NOT_EXIST",
    "RESOURCE_ALREADY_EXISTS",
    "RESOURCE_CONFLICT",
    "INVALID_STATE",
)
_UNWELCOME = ("UNAUTHENTICATED", "CUSTOMER_UNAUTHORIZED", "PERMISSION_DENIED")

_log = logging.getLogger(__name__)


class StoreSlowError(BadInputError):
    """MLflow answers, but so slowly that the rest is left for later."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PublishReport:
    """What became of the outbox.

    Parameters
    ----------
    published : what is in MLflow now and was not before
    waiting : how many rows still wait
    busy : another process, or thread of this one, was publishing the same; it publishes what waits, which is no trouble
    trouble : why something waits, a sentence each; none when nothing went wrong
    """

    published: tuple[Publication, ...] = ()
    waiting: int = 0
    busy: bool = False
    trouble: tuple[str, ...] = ()


class Patience:
    """Bounds the time that is spent waiting for MLflow, and renews the lease between requests.

    Parameters
    ----------
    limit_s : seconds in requests, all together; None is no bound
    clock : gives seconds; passed in so that tests can set it
    """

    def __init__(self, limit_s: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit_s, self._clock, self._spent_s = limit_s, clock, 0.0
        self._renew: Callable[[], bool] | None = None
        self._renewed = 0.0

    @contextmanager
    def holding(self, renew: Callable[[], bool]) -> Iterator[None]:
        """Renew this lease for as long as the block lasts."""
        self._renew, self._renewed = renew, self._clock()
        try:
            yield
        finally:
            self._renew = None

    @contextmanager
    def request(self) -> Iterator[None]:
        """One request.

        Raises
        ------
        StoreSlowError : the time is used up
        HandedOverError : the lease was lost, because a request took longer than it lasted or this process slept
        """
        if self._limit_s is not None and self._spent_s >= self._limit_s:
            raise StoreSlowError(f"MLflow is slow: {self._spent_s:.0f} s were spent waiting for it")
        if self._renew is not None and self._clock() - self._renewed > LEASE_S / 5:
            if not self._renew():
                raise HandedOverError
            self._renewed = self._clock()
        began = self._clock()
        try:
            yield
        finally:
            self._spent_s += self._clock() - began


def publish_at_once(workspace: Workspace, tell: Tell, family: str) -> None:
    """Publish what waits of a family, where that is not left to 'spiritlevel publish' and the service."""
    if workspace.home.configuration.publish.at_once:
        for sentence in publish_waiting(workspace, tell, family=family, everything=True).trouble:
            tell(sentence)


def publish_waiting(
    workspace: Workspace,
    tell: Tell,
    *,
    family: str | None = None,
    everything: bool = False,
    patience_s: float | None = PATIENCE_S,
) -> PublishReport:
    """Publish what waits in the outbox, of one family or of all.

    Parameters
    ----------
    tell : takes remarks; what could not be published is for the caller to tell, in the report's `trouble`
    everything : also what failed a short while ago; a sweep leaves that until its time comes
    patience_s : seconds to wait for MLflow in all; None is no bound
    """
    ledger = workspace.ledger
    ledger.adopt_publications()
    if family is not None:
        _rescored(workspace, family)
    if not ledger.has_publications(family):
        return PublishReport()
    patience = Patience(patience_s)
    store = dataclasses.replace(workspace.tracking, around=patience.request)
    drain = _Drain(workspace, store, patience, everything)
    if drain.recognised(tell):
        for name in dict.fromkeys(row.family for row in ledger.waiting_publications(family, due=not everything)):
            if not drain.family(name):
                break
    left = ledger.waiting_publications(family)
    return PublishReport(
        published=tuple(drain.published), waiting=len(left), busy=drain.busy, trouble=_trouble_with(drain, left)
    )


def _trouble_with(drain: _Drain, left: list[Publication]) -> tuple[str, ...]:
    """Why these rows wait: one sentence when MLflow is away, else what it refused, now or before."""
    if drain.away:
        many = f"{len(left):,} {'results wait' if len(left) != 1 else 'result waits'} in the ledger"
        later = f"; {many}: the next command, 'spiritlevel publish' or the service publishes what waits" if left else ""
        return (f"{drain.away}{later}",)
    refused = [row for row in left if row.detail]
    said = [drain.refused] if drain.refused else []
    said += [_not_published(outbox.in_words(row), row.detail) for row in refused[:MOST_TOLD]]
    if len(refused) > MOST_TOLD:
        said.append(f"{len(refused) - MOST_TOLD:,} more were not published: see 'spiritlevel publish --json'")
    return tuple(said)


def _not_published(what: str, why: str) -> str:
    return f"{what} is stored but was not published to MLflow: {why}"


def _rescored(workspace: Workspace, family: str) -> None:
    """Score what is not of today's scoring version, or was never scored; each then waits to be published."""
    ledger = workspace.ledger
    for protocol in ledger.protocols(family):
        behind = ledger.unscored(family, protocol, scoring_version_of(workspace, family, protocol))
        for audit in ledger.audits_of(behind).values():
            scored(workspace, audit)


class _Drain:
    """One emptying of the outbox: what was published, whether MLflow went away, and whether others publish."""

    def __init__(self, workspace: Workspace, store: Tracking, patience: Patience, everything: bool) -> None:
        self.workspace, self.store, self.patience = workspace, store, patience
        self.everything = everything
        self.published: list[Publication] = []
        self.busy = False
        self.away = ""
        self.refused = ""  # before any row was tried; a row keeps its own reason
        self._tried: set[tuple[int, str]] = set()

    def recognised(self, tell: Tell) -> bool:
        """Whether MLflow answers and nobody is restoring it; one that was lost and made anew gets everything again."""
        ledger = self.workspace.ledger
        try:
            anew = ledger.publish_to(self.store.identity())
            if not anew and self._lost_a_run():
                ledger.publish_again()
                anew = True
            # Before anything is published: it goes under the runs that registering a release makes.
            fresh = anew or ledger.newest_run() is None
            if fresh and not self.workspace.restore(self.store.releases()):
                self.busy = True  # another process registers the releases again, and then publishes what waits
                return False
        except Exception as error:
            self._note(error, None)
            return not self.away
        if anew:
            tell(
                "this MLflow store is not the one that results were published to: they are published again from the ledger"
            )
        return True

    def _lost_a_run(self) -> bool:
        """Whether the store does not know the run that was published last: it was put back from an older copy."""
        from mlflow.exceptions import MlflowException

        run_id = self.workspace.ledger.newest_run()
        if run_id is None:
            return False
        try:
            self.store.client().get_run(run_id)
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return True
            raise
        return False

    def family(self, family: str) -> bool:
        """Publish what waits of a family; False when MLflow went away.

        Who holds the lease looks once more after giving it back: what another process put into the outbox meanwhile, and
        could not publish because the lease was taken, is not left behind.
        """
        ledger = self.workspace.ledger
        name = f"publish/{family}" if len(family) <= 200 else f"publish/{content_hash(family)}"
        while True:
            with ledger.lease(name, Owner.this_process(), seconds=LEASE_S) as renew:
                if renew is None:
                    self.busy = True
                    return True
                with self.patience.holding(renew):
                    kept = self._empty(family)
            if self.away or not kept or not self._next(family):
                return not self.away

    def _next(self, family: str) -> Publication | None:
        waiting = self.workspace.ledger.waiting_publications(family, due=not self.everything)
        return next((row for row in waiting if (row.id, row.content) not in self._tried), None)

    def _empty(self, family: str) -> bool:
        """Publish one row after another; False when another process took over, for this one was silent for too long."""
        while not self.away and (row := self._next(family)) is not None:
            self._tried.add((row.id, row.content))
            try:
                if outbox.published(self.workspace, self.store, row, redrawn=lambda: self._draw_again(family)):
                    self.published.append(row)
                    _log.info("%s was published to MLflow", outbox.in_words(row), extra={"family": family})
            except HandedOverError:
                self.busy = True
                return False
            except LedgerError:
                raise
            except Exception as error:
                self._note(error, row)
        return True

    def _draw_again(self, family: str) -> None:
        ledger = self.workspace.ledger
        ledger.draw_again(family)
        timelines = {row.id for row in ledger.waiting_publications(family) if row.kind == "timeline"}
        self._tried = {key for key in self._tried if key[0] not in timelines}

    def _note(self, error: Exception, row: Publication | None) -> None:
        """Remember why something was not published. One thing that MLflow refuses must not keep the others back."""
        store, why = _trouble(error)
        why = without_secrets(why)
        what = outbox.in_words(row) if row is not None else "what is new"
        _log.warning("%s was not published to MLflow: %s", what, why)
        if row is not None:
            self.workspace.ledger.publication_failed(row, why)
        if store:
            self.away = why
        elif row is None:
            self.refused = _not_published(what, why)


def _trouble(error: Exception) -> tuple[bool, str]:
    """Whether MLflow as a whole is in trouble, and what is the matter in words without a secret."""
    kind = type(error).__name__
    if isinstance(error, StoreUnreachableError | StoreDamagedError | StoreSlowError):
        return True, without_passwords(str(error))
    if isinstance(error, ValueError):  # BadInputError, and what cannot be published as it is
        return False, without_passwords(str(error))
    code = str(getattr(error, "error_code", ""))
    status = getattr(getattr(error, "response", None), "status_code", None)
    if code in _UNWELCOME or status in (401, 403):
        return True, (
            "MLflow refused who is publishing; check MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or "
            "MLFLOW_TRACKING_TOKEN"
        )
    # MLflow's messages quote addresses and requests, so of its troubles only the first words are repeated.
    first = without_passwords(" ".join(str(error).split()))[:200]
    if code in _OF_ONE_THING or status in (400, 404, 409, 413):
        return False, f"{kind} {code or status}: {first}"
    if code or isinstance(error, OSError) or type(error).__module__.split(".")[0] in ("sqlalchemy", "alembic"):
        return True, f"MLflow is in trouble ({kind} {code})".replace(" )", ")")
    return False, f"{kind}: {first}"
