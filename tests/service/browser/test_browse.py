"""Browse: images with and without labels, tagged or not, and the labels beside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.service.browser.conftest import SCRIPT

pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")

from playwright.sync_api import Page, expect

Open = Callable[..., Page]


def tags(page: Page) -> list[list[str]]:
    """The labels on each card."""
    page.wait_for_selector(".card")
    return [card.locator(".tags li").all_text_contents() for card in page.locator(".card").all()]


def test_images_that_nobody_tagged_and_the_others(page: Open) -> None:
    tab = page("#/search/beach")
    assert not any("beach" in found for found in tags(tab))
    tab.get_by_role("link", name="Include tagged").click()
    expect(tab).to_have_url(re.compile(r"#/search/beach\?tagged=1$"))
    expect(tab.locator(".tags .marked").first).to_have_text("beach")
    assert any("beach" in found for found in tags(tab))


def test_with_and_without(page: Open) -> None:
    tab = page("#/search/sea,-person?tagged=1")
    expect(tab.get_by_role("heading", level=1)).to_have_text("Images with sea, without person")
    assert not any("person" in found for found in tags(tab))


def test_a_query_is_built_with_completion(page: Open) -> None:
    tab = page("#/search")
    tab.locator(".pill", has_text=re.compile("^sky")).click()
    expect(tab).to_have_url(re.compile("#/search/sky$"))
    box = tab.get_by_role("combobox", name=re.compile("^Labels"))
    box.fill("-perso")
    tab.get_by_role("option", name=re.compile("^person ")).click()
    expect(tab).to_have_url(re.compile("#/search/sky,-person$"))
    expect(box).to_be_focused()
    tab.get_by_role("button", name="without person").click()
    expect(tab).to_have_url(re.compile("#/search/sky,person$"))
    box.press("Backspace")
    expect(tab).to_have_url(re.compile("#/search/sky$"))


def test_a_card_leads_to_its_image_and_through_the_others(page: Open) -> None:
    tab = page("#/search/sea?tagged=1", viewport={"width": 360, "height": 740})
    first, second = (tab.locator(".card-link").nth(place) for place in (0, 1))
    first_name, second_name = first.text_content(), second.text_content()
    tab.mouse.wheel(0, 150)
    tab.wait_for_function("() => scrollY >= 100 && history.state.top === scrollY")
    first.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text(first_name or "")
    assert tab.evaluate("scrollY") == 0
    expect(tab.locator(".where")).to_have_text(re.compile(r"^1 of \d+$"))
    tab.get_by_role("button", name="Next image").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text(second_name or "")
    tab.go_back()
    tab.go_back()
    expect(tab.locator(".card-link").first).to_have_text(first_name or "")
    tab.wait_for_function("() => scrollY >= 100")


def test_labels_used_alike_lead_on(page: Open) -> None:
    tab = page("#/search/sea")
    beside = tab.get_by_role("complementary", name="Similar labels")
    alike = beside.locator("li a").first.text_content() or ""
    beside.get_by_role("link", name=f"Add {alike} to the search").click()
    expect(tab).to_have_url(re.compile(f"#/search/sea,{quote(alike, safe='')}$"))


def test_a_label_that_is_a_script(page: Open) -> None:
    tab = page(f"#/search/{quote(SCRIPT, safe='')}?tagged=1")
    expect(tab.get_by_role("heading", level=1)).to_have_text(f"Images with {SCRIPT}")
    assert any(SCRIPT in found for found in tags(tab))
    assert tab.evaluate("document.querySelectorAll('main script').length") == 0


def test_an_unknown_label_offers_known_ones(page: Open, forgiven: list[str]) -> None:
    forgiven.append("404")
    tab = page("#/search/beech")
    tab.get_by_role("list", name="Did you mean").get_by_role("link", name="beach").click()
    expect(tab).to_have_url(re.compile("#/search/beach$"))


def test_more_images_are_shown_on_demand(page: Open) -> None:
    tab = page("#/search/sky?tagged=1")
    expect(tab.locator(".card")).to_have_count(24)
    tab.get_by_role("button", name="Show more").click()
    expect(tab.locator(".card")).to_have_count(96)
