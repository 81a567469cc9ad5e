"""The site in a real browser: no error, nothing asked of the world, nothing hostile runs, readable by keyboard and screen reader."""

from __future__ import annotations

import pytest

from dashboards.sites.paths import folder
from flows.settings import Home
from flows.sites.serving import LiveSite, serving
from flows.workspace import opened
from tests.browser.barriers import barriers
from tests.planted import MESSAGES, PERSONAS, WHOLE

OCCUPATION = folder("gender x occupation")
KINDS = {
    "all families": "index.html",
    "family": "nova/index.html",
    "release": "nova/3/index.html",
    "card": f"nova/5/{PERSONAS}/card.html",
    "card of messages": f"nova/3/{MESSAGES}/card.html",
    "drill-down": f"nova/3/{PERSONAS}/index.html",
    "answers": f"nova/3/{PERSONAS}/answers-00001.html",
    "two releases": "nova/compare/2-4.html",
    "compared": "nova/compare/2-3.html",
    "dimension": f"nova/dimensions/{PERSONAS}/{OCCUPATION}.html",
    "distributions": f"nova/drift/2-3-{PERSONAS}.html",
}


@pytest.mark.parametrize(("scheme", "kinds"), [("light", tuple(KINDS)), ("dark", ("family", "release", "drill-down"))])
def test_no_page_has_an_error_a_request_outside_or_a_barrier(site, watched, axe, scheme, kinds):
    seen = watched(color_scheme=scheme)
    for kind in kinds:
        page = seen.open((site / KINDS[kind]).as_uri())
        assert seen.errors == []
        assert barriers(axe, page) == [], kind
    assert seen.outside == []


def test_nothing_that_a_model_wrote_became_an_element(site, watched):
    seen = watched()
    for path in KINDS.values():
        page = seen.open((site / path).as_uri())
        assert (
            page.locator("script, img, iframe, object, form, [onerror], [onload], a[href^='javascript:']").count() == 0
        )
    answers = seen.open((site / KINDS["answers"]).as_uri())
    assert "<script>alert(1)</script>" in answers.locator("main").inner_text()
    assert seen.errors == []


def test_a_keyboard_reaches_the_results_and_goes_from_family_to_the_answer_behind_a_term(site, watched):
    page = watched().open((site / "index.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    for link in (
        "a[href='nova/index.html']",
        "a[href='3/index.html']",
        f"a[href='{PERSONAS}/index.html']",
        "text=Nurse 56",
    ):
        page.locator(link).first.focus()
        with page.expect_navigation():
            page.keyboard.press("Enter")
    assert "/answers-0" in page.url
    place = page.url.rpartition("#")[2]
    assert "Nurse" in page.locator(f"section:has(#{place})").inner_text()


def test_a_narrow_screen_shows_the_narrow_charts_and_nothing_wider_than_itself(site, watched):
    page = watched(viewport={"width": 360, "height": 740}).open((site / "nova/index.html").as_uri())
    assert page.locator(".narrow svg.chart").first.is_visible()
    assert not page.locator(".wide svg.chart").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_chart_has_a_title_and_says_its_numbers_in_words(site, watched):
    page = watched().open((site / "nova/index.html").as_uri())
    for chart in page.locator(".wide svg.chart").all():
        assert chart.locator("title").first.text_content()
        assert any(character.isdigit() for character in chart.locator("desc").first.text_content())


def test_on_paper_there_is_no_navigation_and_no_dark_page(site, watched):
    page = watched(color_scheme="dark").open((site / "nova/3/index.html").as_uri())
    page.emulate_media(media="print")
    assert not page.locator(".trail").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_the_live_view_works_under_its_own_policy(planted_template, watched):
    seen = watched()
    with opened(Home(planted_template(**WHOLE))) as workspace, serving(LiveSite(workspace), "127.0.0.1", 0) as address:
        page = seen.open(f"{address}/nova/3/index.html")
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).fontWeight") == "700"
        assert page.evaluate("document.styleSheets.length") == 1
        page.get_by_role("link", name="nova", exact=True).click()
        page.wait_for_url(f"{address}/nova/index.html")
    assert seen.errors == []
