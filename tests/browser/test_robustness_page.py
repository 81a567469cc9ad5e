"""The page on robustness in a real browser: its pictures are there in both widths and both schemes, and nobody is kept out."""

from __future__ import annotations

import pytest

from flows.cli import exit_code
from tests.browser.barriers import barriers
from tests.flows.robust_home import robust_home


@pytest.fixture(scope="module")
def robust_page(migrated_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("robust-page")
    home = robust_home(migrated_home, folder / "home")
    path = folder / "robust.html"
    assert exit_code(["robustness", "nova", "--sizes", "50", "--html", str(path), "--home", str(home)]) == 0
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "shown", "hidden"), [(1280, "wide", "narrow"), (400, "narrow", "wide")])
def test_every_picture_is_shown_in_its_width_says_its_numbers_and_keeps_nobody_out(
    robust_page, watched, axe, scheme, width, shown, hidden
):
    seen = watched(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = seen.open(robust_page)
    charts = page.locator(f"figure.picture .{shown} svg.chart")
    titles = [one.locator("title").first.text_content() for one in charts.all()]
    assert titles == [
        *(f"Scores of nova/{version} under each prompt" for version in (1, 2, 3)),
        *(
            f"Agreement with the plain prompt: {words}"
            for words in ("prompt variant debias", "prompt variant role-play", "the same prompt asked again")
        ),
    ]
    for chart in charts.all():
        assert chart.is_visible()
        assert "95 % interval" in chart.locator("desc").first.text_content()
    assert not page.locator(f"figure.picture .{hidden} svg.chart").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(axe, page) == []
    assert (seen.errors, seen.outside) == ([], [])
