"""``spiritlevel directions`` in text: the surest gaps first, every sign with its size, the rest behind an option."""

from __future__ import annotations

from flows.commands.directions import MOST_ROWS, directions_details, directions_text
from flows.directions import GapDirections
from metrics.directions import direction_table
from metrics.samples import Estimate

RELEASES = tuple(f"models:/family-{letter}/1" for letter in "abcdef")


def estimate(value: float | None, error: float = 0.1, n: int = 100) -> Estimate:
    """The gap of one release; None was not measured."""
    bounds = {} if value is None else {"low": value - 2 * error, "high": value + 2 * error}
    return Estimate(name="words", groups=("male", "female"), value=value, standard_error=error, n=n, clusters=20,
                    n_excluded=0, reason="" if value is not None else "a group has no message", **bounds)  # fmt: skip


def gap(dimension: str, *values: float | None, **sizes: int) -> GapDirections:
    """One gap over as many releases as there are values."""
    names = RELEASES[: len(values)]
    gaps = {name: estimate(value, **sizes) for name, value in zip(names, values, strict=True)}
    return GapDirections(dimension=dimension, metric="words", groups="male - female", releases=names,
                         table=direction_table(gaps))  # fmt: skip


def rows(text: str) -> list[list[str]]:
    """The lines of the table, without names that have spaces."""
    body = text.split("-" * 30)[-1].splitlines()[1:]
    return [line.split() for line in body if line.startswith("gender")]


def test_each_gap_has_its_signs_its_size_and_both_tests_and_the_surest_stand_first():
    text = directions_text((gap("gender-b", 0.3, -0.3), gap("gender-a", 0.3, 0.05)))
    assert text.startswith("1: models:/family-a/1\n2: models:/family-b/1\n")
    assert rows(text) == [
        ["gender-a", "male", "-", "female", "+*", "+", "100", "0.500", "0.077"],
        ["gender-b", "male", "-", "female", "+*", "-*", "100", "1.000", "<", "0.001"],
    ]
    assert "2 gaps in 2 releases: in 1 all signs agree, in 0 of these every gap is shown by itself" in text
    assert "1 are shown in both directions" in text


def test_what_so_few_releases_cannot_show_is_said_once_and_what_many_show_is_counted():
    few = directions_text(tuple(gap(f"gender-{at}", 0.3, 0.3, 0.3) for at in range(4)))
    assert (
        few.count("so few releases cannot show a common direction: with 3 equal signs the sign test has p = 0.25") == 1
    )
    many = directions_text((gap("gender-a", *[0.3] * 6), gap("gender-b", *[0.3, -0.3] * 3)))
    assert "the sign test is at 0.05 or below in 1" in many
    assert rows(many)[0][-2:] == ["0.031", "1.000"]


def test_a_long_table_is_cut_and_the_option_that_has_the_rest_is_named():
    found = tuple(gap(f"gender-{at:02}", 0.3, 0.1) for at in range(MOST_ROWS + 7))
    text = directions_text(found)
    assert len(rows(text)) == MOST_ROWS
    assert "7 more gaps: --details prints all" in text
    assert max(len(line) for line in text.splitlines()) < 130
    assert (
        directions_details(found).count("\n  1: +0.300 (+0.100 to +0.500), n 100 in 20 prompt cells") == MOST_ROWS + 7
    )


def test_a_release_without_a_number_is_a_dot_in_its_place_and_has_its_reason_in_the_details():
    found = (gap("gender-a", 0.3, None, -0.3, n=400),)
    assert rows(directions_text(found))[0][4:8] == ["+*", ".", "-*", "400"]
    details = directions_details(found)
    assert "  2: not measured: a group has no message" in details
    assert "male above female in 1, below in 1 of 2" in details
    assert "together" not in details  # Cochran's Q says that they differ
    assert "  together: +0.200 (" in directions_details((gap("gender-a", 0.25, 0.15),))
