"""A real Chromium that reaches this machine only; tests are skipped, with the reason, where there is none."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

HERE = {"", "localhost", "127.0.0.1", "::1"}
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclasses.dataclass
class Watched:
    """A page, and what it did that it should not: errors and dialogs, and addresses outside this machine that it asked for."""

    page: Any
    errors: list[str] = dataclasses.field(default_factory=list)
    outside: list[str] = dataclasses.field(default_factory=list)

    def open(self, address: str) -> Any:
        """Go to an address and return the page once it is loaded."""
        self.page.goto(address, wait_until="load")
        return self.page


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser, started once a module: until it is stopped, its event loop counts as running in this thread."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def axe() -> Any:
    """axe-core, which looks for barriers."""
    return pytest.importorskip("axe_playwright_python.sync_playwright").Axe()


@pytest.fixture
def watched(chromium: Any) -> Iterator[Callable[..., Watched]]:
    """Opens a page in a fresh profile, with the options of Playwright's contexts (``color_scheme="dark"``)."""
    contexts = []

    def fresh(**options: Any) -> Watched:
        context = chromium.new_context(**options)
        contexts.append(context)
        made = Watched(context.new_page())
        made.page.on("console", lambda said: made.errors.append(said.text) if said.type == "error" else None)
        made.page.on("pageerror", lambda error: made.errors.append(str(error)))
        made.page.on("dialog", lambda dialog: (made.errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))

        def ask(route: Any) -> None:
            address = urlsplit(route.request.url)
            if address.scheme in {"http", "https", "ws", "wss"} and address.hostname not in HERE:
                made.outside.append(route.request.url)
                route.abort()
            else:
                route.continue_()

        made.page.route("**/*", ask)
        return made

    yield fresh
    for context in contexts:
        context.close()
