"""The file channel: one JSON line per message, appended to a file in the home folder."""

from __future__ import annotations

import json
from pathlib import Path

from flows.channels.catalog import CHANNELS, ChannelOptions, DeliveryError
from flows.channels.message import Message

DEFAULT_FILE = "alerts.jsonl"


@CHANNELS.register("file")
class FileChannel:
    """Append messages to a JSON Lines file; a message that is in it already is not written again.

    ``path`` is the file, in the home folder unless it is absolute; made when missing.
    """

    def __init__(self, options: ChannelOptions) -> None:
        options.refuse_others("path")
        self.path = options.home / Path(options.settings.path or DEFAULT_FILE).expanduser()

    def send(self, message: Message) -> str:
        try:
            if message.id in self._sent():
                return f"it is in {self.path.name} already"
            self._append(message)
        except (OSError, UnicodeDecodeError) as error:
            raise DeliveryError(
                f"{self.path} cannot be written: {getattr(error, 'strerror', None) or error}"
            ) from error
        return f"written to {self.path.name}"

    def _append(self, message: Message) -> None:
        cut_off = self.path.exists() and self.path.stat().st_size > 0 and not self._ends_a_line()
        # ASCII only: what a model wrote cannot command the terminal of whoever looks at the file
        line = json.dumps(message.as_json(), ensure_ascii=True, allow_nan=False)
        with self.path.open("a", encoding="utf-8") as file:
            # a line that was cut off when a process died must not swallow this one
            file.write(("\n" if cut_off else "") + line + "\n")

    def _ends_a_line(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, 2)
            return file.read() == b"\n"

    def _sent(self) -> set[str]:
        if not self.path.exists():
            return set()
        ids = set()
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    ids.add(str(json.loads(line)["id"]))
                except (ValueError, KeyError, TypeError):
                    continue  # not a message that anybody could have read, or one of an older version
        return ids
