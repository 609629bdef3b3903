"""What the tests print about themselves."""

from __future__ import annotations

from tests.conftest import skipped_line


def test_skipped_tests_are_one_line_with_how_to_run_them() -> None:
    data = ("tests/a.py", 3, "Skipped: no real data sets in x (set VSE_ENS_SHARED_DATA to their folder)")
    browser = ("tests/b.py", 9, "Skipped: no browser (install one of chromium)")
    assert skipped_line([data, browser, data]) == (
        "not run: 2 tests, no real data sets in x (set VSE_ENS_SHARED_DATA to their folder); "
        "1 tests, no browser (install one of chromium)"
    )
    assert skipped_line([]) == ""
