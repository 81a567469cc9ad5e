"""A service for tests: a home folder with a configuration, and looks of the duty clock at the test's own time."""

from __future__ import annotations

import datetime as dt

from flows.duty_clock import swept
from flows.duty_runs import performed
from flows.settings import Home
from flows.workspace import opened

DAILY = """\
families:
  nova:
    audits:
      - {protocol: persona-brainstorm, personas: 100, cron: "0 3 * * *", zone: Europe/Madrid, grace: 1h}
"""
PROTOCOL = "persona-brainstorm"
NAME = "nova/persona-brainstorm"
DAY = dt.timedelta(days=1)


def audited(workspace, audit, limits, tell):
    """As in the service, but nothing is published: that takes longer than everything else together."""
    from flows.alerts import alerted
    from flows.collecting import collect_answers, place_of
    from flows.concluding import closed, concluded

    with place_of(workspace, audit.release, tell) as place:
        report = collect_answers(workspace, audit, workspace.ledger.open_work(audit.id), place, limits)
    audit = closed(workspace, workspace.ledger.audit(audit.id))
    if audit.state == "open":
        return report
    made = concluded(workspace, audit, tell=tell, publish=False)
    alerted(workspace, made)
    return made


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


SUNDAY = utc("2026-11-01T12:00")
DUE = utc("2026-11-02T02:00")  # 03:00 in Madrid


class Service:
    """A home folder with a configuration, and looks of the clock at the test's own time."""

    def __init__(self, home, url="http://127.0.0.1:9/v1"):
        self.home, self.url = home, url
        self.handed: list[str] = []

    def configure(self, text=DAILY):
        (self.home / "spiritlevel.yaml").write_text(text, encoding="utf-8")

    def release(self, model="stub-1", **more):
        with self.open() as workspace:
            return workspace.releases.add("nova", model, base_url=self.url, **more)

    def open(self):
        return opened(Home(self.home))

    def look(self, now, start=None, publish=False):
        """One look; a run that is due is only written down unless ``start`` does more."""

        def note(workspace, run):
            self.handed.append(f"{run.kind} {run.slot}")
            return "somebody"

        with self.open() as workspace:
            report = swept(workspace, now, start=start or note, publish=publish)
        assert not report.trouble
        return report

    def work(self, now):
        """One look that performs what is due, in this process."""
        return self.look(now, lambda workspace, run: performed(workspace, run.id, now=now, audited=audited) and None)

    def runs(self, *wanted):
        with self.open() as workspace:
            return workspace.ledger.runs(states=wanted)

    def incidents(self, kind):
        with self.open() as workspace:
            return workspace.ledger.incidents(kind=kind)
