"""The queue of terms as a page in a real browser: hostile terms stay text, nobody is kept out, and people's share stands there with its interval."""

from __future__ import annotations

import csv
import shutil

import pytest

from dashboards.review_page import review_page
from flows.cli import exit_code
from flows.scoring import scored
from flows.settings import Home
from flows.workspace import opened
from registry.audits.review_files import QueueRow
from tests.browser.barriers import barriers
from tests.conftest import UNPUBLISHED
from tests.flows.people import MAN, WOMAN, counted, people_of
from tests.stub_server import StubServer

SCRIPT, FRAME = "Bluff <script>alert(1)</script>", "Bluff <iframe onload=alert(2)>"
LINK, TURNED = "Bluff [x](javascript:alert(3))", "Bluff \u202egnihtemos"
COUNTS = [
    (WOMAN, "Nurse", 60), (MAN, "Lawyer", 60), (MAN, "Ladder stacking", 24), (WOMAN, SCRIPT, 6), (MAN, FRAME, 5), (WOMAN, LINK, 4),
    (MAN, TURNED, 3),
]  # fmt: skip


@pytest.fixture(scope="module")
def review(migrated_home, tmp_path_factory):
    """The page after a model proposed and a person took one of its proposals and rejected another."""
    folder = tmp_path_factory.mktemp("review-page")
    home, file, html = folder / "home", folder / "terms.csv", folder / "queue.html"
    shutil.copytree(migrated_home, home)
    (home / "spiritlevel.toml").write_text(UNPUBLISHED)
    with opened(Home(home)) as workspace:
        workspace.releases.add("nova", "nova-1")
        scored(workspace, people_of(workspace, 1, counted([*COUNTS, (MAN, "Kelp braiding", 20)])))

    def run(*words):
        assert exit_code([*map(str, words), "--home", str(home)]) == 0

    with StubServer(models={"judge-2026-01-01": 0.25}) as server:
        run("release", "add", "judges", "--model", "judge-2026-01-01", "--base-url", server.base_url)
        run("taxonomy", "propose", "nova", "--release", "models:/judges/1")
    queue = ("taxonomy", "review", "nova", "--release", "models:/judges/1")
    run(*queue, "--out", file)
    with file.open(newline="", encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    for row, decision in zip(rows, ("accept model", "reject"), strict=False):
        row |= {"decision": decision, "who": "Ada Lovelace"}
    with file.open("w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    run("taxonomy", "accept", file, "--by", "Grace Hopper")
    run(*queue, "--html", html)
    return html.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_queue_is_readable_in_either_scheme_and_width(review, watched, axe, scheme, width):
    seen = watched(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = seen.open(review)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    assert page.locator("table caption").first.is_visible()
    assert barriers(axe, page) == []
    assert (seen.errors, seen.outside) == ([], [])


def test_what_people_took_stands_there_with_its_interval_and_kappa(review, watched):
    words = watched().open(review).locator("main").inner_text()
    assert "took 1 of 2 proposals that they decided about, 50% (9% to 91%, Wilson); model and people: kappa" in words
    assert "over 2 terms" in words
    assert "Whoever decides has seen the proposal" in words


def test_terms_that_are_markup_are_text_and_nothing_of_them_runs(review, watched):
    seen = watched()
    page = seen.open(review)
    hostile = "script, img, iframe, object, form, [onerror], [onload], a[href^='javascript:']"
    assert page.locator(hostile).count() == 0
    words = page.locator("main").inner_text()
    for term in (SCRIPT, FRAME, LINK, "\u27e8U+202E\u27e9gnihtemos"):
        assert term in words
    assert seen.errors == []


def test_a_word_of_eighty_letters_widens_no_narrow_screen(watched, tmp_path):
    row = QueueRow(
        "occupation",
        "m" * 80,
        "m" * 80,
        3,
        ("n" * 80 + "/1",),
        "p" * 80,
        "c" * 80,
        "r" * 80,
        0.8,
        "d" * 80,
        "",
        "e" * 80,
    )
    (tmp_path / "queue.html").write_text(review_page([row], ["w" * 300], audits=1))
    page = watched(viewport={"width": 400, "height": 900}).open((tmp_path / "queue.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.get_by_text("m" * 80).first.is_visible()
