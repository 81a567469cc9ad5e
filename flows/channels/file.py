"""The file channel: one JSON line per alert, appended to a file in the home folder."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from flows.alerts import CHANNELS, Alert


@CHANNELS.register("file")
class FileChannel:
    """Append alerts to a JSON Lines file; an alert that is in it already is not written again.

    Parameters
    ----------
    path : of the file; made when missing
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def send(self, alert: Alert) -> None:
        if alert.key in self._sent():
            return
        cut_off = self.path.exists() and not self.path.read_bytes().endswith(b"\n")
        with self.path.open("a", encoding="utf-8") as file:
            # a line that was cut off when a process died must not swallow this one
            file.write(("\n" if cut_off else "") + json.dumps(dataclasses.asdict(alert)) + "\n")

    def _sent(self) -> set[str]:
        if not self.path.exists():
            return set()
        keys = set()
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                keys.add(json.loads(line)["key"])
            except (ValueError, KeyError, TypeError):
                continue  # not an alert that anybody could have read
        return keys
