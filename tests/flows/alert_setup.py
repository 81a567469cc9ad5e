"""What tests of alerts share: a configuration with two channels, and findings to raise."""

from __future__ import annotations

import json

from flows.finding_kinds import Finding, key_of
from registry.ledger.leases import later

NOW = "2026-11-02T12:00:00.000Z"
SECRET = "hook-secret-5f0c1b"


def at(hours):
    return later(NOW, 3600 * hours)


def configured(home, text):
    (home / "spiritlevel.yaml").write_text(text)


def both_channels(hook, more=""):
    return f"""
channels:
  log: {{kind: file, path: alerts.jsonl}}
  hook: {{kind: webhook, url: "{hook.url}", secret_env: HOOK_SECRET}}
{more}
"""


def lines_of(home, name="alerts.jsonl"):
    path = home / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def finding(name="regression", *, family="nova", kind="regression", title="models:/nova/2 regressed", **options):
    return Finding(
        key=key_of(kind, family, name), kind=kind, family=family, version=2, title=title, why="more", **options
    )
