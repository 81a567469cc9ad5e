"""A receiver of webhooks on loopback that keeps what arrived and answers as it is told."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import threading
import time
from typing import Any, Self


class HookServer:
    """Use it as a context manager. ``answers`` : status codes for the next requests, then 204; ``redirect`` : Location."""

    def __init__(self, *answers: int, redirect: str = "", delay_s: float = 0.0) -> None:
        self.answers, self.redirect, self.delay_s = list(answers), redirect, delay_s
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hook"

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.bodies]

    def signed_with(self, secret: str) -> list[bool]:
        """Of each request, whether its signature is one over its time and body, and its time is now."""
        checked = []
        for headers, body in zip(self.headers, self.bodies, strict=True):
            parts = dict(part.split("=", 1) for part in headers["x-spiritlevel-signature"].split(","))
            wanted = hmac.new(secret.encode(), parts["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
            checked.append(hmac.compare_digest(wanted, parts["v1"]) and abs(time.time() - int(parts["t"])) < 60)
        return checked

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                time.sleep(owner.delay_s)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                owner.headers.append({name.lower(): value for name, value in self.headers.items()})
                owner.bodies.append(body)
                self.send_response(owner.answers.pop(0) if owner.answers else 204)
                if owner.redirect:
                    self.send_header("Location", owner.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)
