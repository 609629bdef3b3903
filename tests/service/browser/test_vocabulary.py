"""Labels: search, rename, merge, proposed rules with their images, and the cleaned data set."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.browser.fake_rules import install
from tests.support.browser_running import Running
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations

pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")

from playwright.sync_api import Page, Response, expect

Open = Callable[..., Page]
Vocabulary = Callable[..., tuple[Page, list[dict[str, Any]]]]


@pytest.fixture
def vocabulary(page: Open) -> Vocabulary:
    """A page with the routes of rules, at a part of the vocabulary."""

    def start(part: str, **context: object) -> tuple[Page, list[dict[str, Any]]]:
        tab = page("#/about", **context)
        rules = install(tab)
        tab.evaluate("hash => { location.hash = hash; }", f"#/vocabulary/{part}")
        return tab, rules

    return start


def test_labels_are_filtered_sorted_and_shown_with_images(vocabulary: Vocabulary) -> None:
    tab, _ = vocabulary("labels")
    expect(tab.locator(".label-row .label-name")).to_have_text(["sea", "beach", "place|harbour", "boat"])
    expect(tab.locator(".label-row").nth(2)).to_contain_text("place")
    tab.get_by_label("Order").select_option("By name")
    expect(tab.locator(".label-row .label-name").first).to_have_text("beach")
    tab.get_by_label("Filter labels").fill("sea")
    expect(tab.locator(".label-row")).to_have_count(1)
    expect(tab.locator(".tally")).to_have_text("1 label")
    tab.locator(".label-row").click()
    expect(tab.get_by_role("heading", level=2, name="sea")).to_be_visible()
    expect(tab.locator(".label-detail .example").first).to_be_visible()
    expect(tab.locator(".label-row")).to_have_attribute("aria-current", "true")
    expect(tab).to_have_url(re.compile("#/vocabulary/labels/sea$"))


def test_renaming_and_merging_are_rules(vocabulary: Vocabulary) -> None:
    tab, rules = vocabulary("labels/sea")
    tab.get_by_role("button", name="Rename").click()
    tab.get_by_label("New name", exact=True).fill("ocean")
    tab.keyboard.press("Enter")
    expect(tab.locator(".label-detail")).to_contain_text("Renamed sea to ocean: 12 images.")
    tab.get_by_role("button", name="Merge into").click()
    tab.get_by_role("combobox", name="Label to merge into").fill("beac")
    tab.get_by_role("option", name="beach").click()
    expect(tab.locator(".label-detail")).to_contain_text("Merged sea into beach: 12 images.")
    assert [(one["kind"], one["label"], one["other"]) for one in rules] == [
        ("rename", "sea", "ocean"),
        ("alias", "sea", "beach"),
    ]
    tab.get_by_role("link", name="Undo it under Rules").click()
    expect(tab.locator(".rule")).to_have_count(2)
    tab.get_by_role("button", name="Undo: sea is merged into beach").click()
    expect(tab.locator(".rule")).to_have_count(1)
    tab.get_by_role("button", name="Undo: sea is renamed ocean").click()
    expect(tab.locator(".none")).to_contain_text("No rules yet.")
    assert rules == []


def test_an_implication_shows_both_sides_and_is_accepted_by_key(vocabulary: Vocabulary) -> None:
    tab, rules = vocabulary("implications")
    expect(tab.locator(".finding h2")).to_have_text("beach implies sea?")
    expect(tab.locator(".finding-why")).to_contain_text("97 % of 210 images with beach have sea, 7 exceptions.")
    both, without = tab.locator(".pair-side").nth(0), tab.locator(".pair-side").nth(1)
    expect(both.locator(".example-labels").first).to_contain_text(re.compile("beach.*sea|sea.*beach"))
    expect(without.locator(".example-labels").first).to_contain_text("beach")
    expect(without.locator(".example-labels").first).not_to_contain_text("sea")
    with tab.expect_request(re.compile("without=sea.*limit=60|limit=60.*without=sea")):
        tab.get_by_role("button", name="List the 7 exceptions").click()
    expect(without.locator(".example").first).to_be_visible()
    tab.keyboard.press("a")
    expect(tab.locator(".finding h2")).to_have_text("kitchen implies table?")
    with tab.expect_response(_is_rejection):
        tab.keyboard.press("r")
    expect(tab.locator(".tally")).to_have_text("2 of 2 reviewed")
    assert [(one["kind"], one["label"], one["other"]) for one in rules] == [
        ("implication", "beach", "sea"),
        ("rejected", "kitchen", "table"),
    ]
    tab.keyboard.press("u")
    tab.keyboard.press("u")
    expect(tab.locator(".tally")).to_have_text("0 of 2 reviewed")
    assert rules == []


def _is_rejection(response: Response) -> bool:
    return '"rejected"' in (response.request.post_data or "")


def test_a_rejected_proposal_stays_away_until_undone_in_rules(
    serve: Callable[..., Running], open_page: Open, tmp_path: Path
) -> None:
    places = {"dalmatian": range(100), "dog": range(3, 390), "sea": range(400, 1_500)}
    data = Annotations.from_pairs((f"i{n:04}", label) for label, numbers in places.items() for n in numbers)
    Annotator(epochs=1, dimensions=4, validate=False).fit(data).save(tmp_path / "model")
    address = serve(model=tmp_path / "model").address
    tab = open_page(address, "#/vocabulary/implications")
    expect(tab.locator(".finding h2")).to_have_text("dalmatian implies dog?")
    with tab.expect_response(_is_rejection) as answered:
        tab.get_by_role("button", name="Not a rule").click()
    assert answered.value.json() == {"rule": 1, "changed": 0}
    tab.reload()
    expect(tab.locator(".stage")).to_have_text("Nothing left to review: every finding has a verdict.")
    tab.get_by_role("link", name="Rules", exact=True).click()
    expect(tab.locator(".none")).to_contain_text("No rules yet.")
    expect(tab.get_by_role("heading", level=2, name="Not proposed again")).to_be_visible()
    tab.get_by_role("button", name="Undo: no rule between dalmatian and dog").click()
    expect(tab.locator(".rule")).to_have_count(0)
    tab.get_by_role("navigation", name="Parts of the vocabulary").get_by_role("link", name="Implications").click()
    expect(tab.locator(".finding h2")).to_have_text("dalmatian implies dog?")


def test_an_alias_is_merged(vocabulary: Vocabulary) -> None:
    tab, rules = vocabulary("aliases")
    expect(tab.locator(".finding-why")).to_have_text("Hardly ever on one image.")
    tab.locator(".queue-row").nth(1).click()
    tab.get_by_role("button", name="Merge sand into beach").click()
    expect(tab.locator(".tally")).to_have_text("1 of 2 reviewed")
    assert [(one["kind"], one["label"]) for one in rules] == [("alias", "sand")]


def test_the_cleaned_data_set_is_downloaded(vocabulary: Vocabulary) -> None:
    tab, _ = vocabulary("labels")
    with tab.expect_download() as started:
        tab.get_by_role("button", name="Download the cleaned data set").click()
    assert started.value.suggested_filename == "clean.csv"
    assert Path(started.value.path()).read_text(encoding="utf-8").splitlines()[0] == "image,label"


@pytest.mark.parametrize("part", ["labels/sea", "implications", "aliases", "rules"])
def test_nothing_is_wider_than_a_narrow_screen(vocabulary: Vocabulary, part: str) -> None:
    tab, _ = vocabulary(part, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    expect(tab.locator(".label-detail .example, .pair-side .example, .none").first).to_be_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
