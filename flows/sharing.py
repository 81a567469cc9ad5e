"""One process's share of an audit: which requests it has claimed, and what it does when others hold the last ones."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterator

from flows.collection import CollectionReport, Progress
from flows.workspace import Workspace
from registry.audits.plan import Request, Response
from registry.ledger.claims import TakenOverError, Worker
from registry.ledger.opening import LedgerError
from registry.ledger.ownership import BEAT_EVERY_S
from registry.ledger.values import Audit, OpenWork

WAIT_S = 1.0  # between two looks at what other workers have left
LOOK_EVERY_S = 2.0  # between two counts of what other workers have brought in
BLOCK = 2  # requests that are claimed at a time, for each call under way


class Share:
    """The part of an audit that one process has.

    Parameters
    ----------
    worker : as which the ledger knows it
    concurrency : calls under way; says how many requests are claimed at a time
    work : what was open when it began: says from which request to which, and whether failures are asked again
    """

    def __init__(
        self,
        workspace: Workspace,
        audit: Audit,
        worker: Worker,
        concurrency: int,
        work: OpenWork,
    ) -> None:
        self.workspace, self.ledger, self.audit, self.worker = workspace, workspace.ledger, audit, worker
        self.between, self.failed = (work.first, work.last), work.again
        self.size, self.block = work.size, BLOCK * concurrency
        self.attempts: dict[tuple[int, int], int] = {}
        self.lost: list[Response] = []
        self.stored = self.late = self.of_others = 0
        self.stored_before = self.ledger.answers_stored(audit.id)
        self._looked = time.monotonic()
        self.taken_over = ""
        self._show: Callable[[], None] = lambda: None

    def requests(self) -> Iterator[Request]:
        """Open requests, claimed in blocks as they are asked; ends when nothing is free."""
        while not self.taken_over:
            try:
                block = self.ledger.claim(self.worker, self.block, between=self.between)
            except TakenOverError as error:
                self.taken_over = str(error)
                return
            if not block:
                return
            self._look()
            for request, attempt in block:
                self.attempts[request.index, request.repeat] = attempt
                yield request

    def store(self, response: Response) -> None:
        """Store one answer; one whose request got its answer from another worker meanwhile is counted only."""
        if response.extra.get("lost"):
            self.lost.append(response)  # not an outcome of this request, which stays open for the next run
            return
        attempt = self.attempts.pop((response.index, response.repeat))
        if self.ledger.record(self.audit.id, dataclasses.replace(response, attempt=attempt)):
            self.stored += 1
        else:
            self.late += 1

    def shown(self, progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """A callback that shows the progress of all workers together."""

        def show(own: Progress) -> None:
            self._show = lambda: show(own)
            done = own.done + self.of_others
            rate = done / own.elapsed_s if own.elapsed_s > 0 else own.rate_per_s
            left = max(0, own.total - done) / rate if own.total is not None and rate > 0 else None
            progress(dataclasses.replace(own, done=done, rate_per_s=rate, eta_s=left, of_others=self.of_others))

        return show

    def _look(self) -> None:
        """Count what others have brought in since this process began; not at every block, for all answers are counted."""
        if time.monotonic() - self._looked < LOOK_EVERY_S:
            return
        self._looked = time.monotonic()
        self.of_others = max(0, self.ledger.answers_stored(self.audit.id) - self.stored_before - self.stored)

    async def beat(self, stop: asyncio.Event) -> None:
        """Show that this process lives, also while calls are slow; stop it when its requests were given to others."""
        while True:
            await asyncio.sleep(BEAT_EVERY_S)
            with contextlib.suppress(LedgerError):  # while the database is away nobody can take over
                if not await asyncio.to_thread(self.ledger.beat, self.worker):
                    self.taken_over = str(TakenOverError.of(self.worker))
                    stop.set()
                    return

    async def more_to_do(self) -> bool:
        """Wait while others have the last requests; True when some are free, for their worker stopped or died."""
        told = False
        while True:
            left = self.ledger.left(self.worker, self.between, failed=self.failed)
            if left.free or not left.held_by:
                return left.free
            if not told:
                told = True
                names = ", ".join(f"process {other.owner.pid} on {other.owner.name}" for other in left.held_by)
                self.workspace.tell(f"audit {self.audit.id}: waiting for the last calls of {names}")
            await asyncio.sleep(WAIT_S)
            self._look()
            self._show()

    def told(self, report: CollectionReport) -> CollectionReport:
        """The report of this share, with what happened between this worker and others."""
        if self.late:
            self.workspace.tell(
                f"{self.late} answers came when their requests had one already: this process had been given up "
                f"meanwhile. The first answer that is stored counts"
            )
        if self.taken_over:
            return dataclasses.replace(report, stopped_by="taken over", why=self.taken_over)
        if self.lost and not report.stopped_by:
            why = f"the provider was lost for {len(self.lost)} calls; the last: {self.lost[-1].detail}"
            return dataclasses.replace(report, stopped_by="failures", why=why)
        return report


def together(first: CollectionReport, then: CollectionReport) -> CollectionReport:
    """One report of two collections, one after the other."""
    done, elapsed = first.done + then.done, first.elapsed_s + then.elapsed_s
    busy = first.mean_in_flight * first.elapsed_s + then.mean_in_flight * then.elapsed_s
    unknown = first.cost_usd is None or then.cost_usd is None
    return dataclasses.replace(
        then,
        done=done,
        outcomes=dict(Counter(first.outcomes) + Counter(then.outcomes)),
        served_models=dict(Counter(first.served_models) + Counter(then.served_models)),
        retries=first.retries + then.retries,
        elapsed_s=elapsed,
        rate_per_s=done / elapsed if elapsed > 0 else 0.0,
        mean_in_flight=busy / elapsed if elapsed > 0 else 0.0,
        peak_in_flight=max(first.peak_in_flight, then.peak_in_flight),
        prompt_tokens=first.prompt_tokens + then.prompt_tokens,
        completion_tokens=first.completion_tokens + then.completion_tokens,
        without_count=first.without_count + then.without_count,
        cost_usd=None if unknown else (first.cost_usd or 0.0) + (then.cost_usd or 0.0),
    )
