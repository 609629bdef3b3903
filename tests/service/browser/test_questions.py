"""Twenty questions, by keyboard and by mouse; the answers are in the address."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")

from playwright.sync_api import Page, expect

Open = Callable[..., Page]


def asked(tab: Page) -> str:
    """The label that the page asks about."""
    expect(tab.locator(".results")).not_to_have_attribute("aria-busy", "true")
    return tab.locator(".question h1 em").inner_text()


def left(tab: Page) -> int:
    return int(tab.locator(".questions-left strong").inner_text().replace(",", ""))


def test_answers_by_key_narrow_the_images(page: Open) -> None:
    tab = page("#/search")
    tab.get_by_role("link", name="Twenty questions").click()
    first, every = asked(tab), left(tab)
    tab.keyboard.press("y")
    expect(tab.get_by_label("Your answers")).to_contain_text(first)
    second = asked(tab)
    assert second != first
    assert left(tab) < every
    expect(tab.locator(".card").first.locator(".marked")).to_have_text(first)
    tab.keyboard.press("n")
    expect(tab.locator(".label-chip.without")).to_have_text(second)
    third = asked(tab)
    tab.keyboard.press("s")
    expect(tab).to_have_url(re.compile("skipped="))
    expect(tab.locator(".question h1 em")).not_to_have_text(third)
    tab.keyboard.press("u")
    expect(tab.locator(".label-chip.without")).to_have_count(0)
    assert asked(tab) == second
    tab.get_by_role("button", name=f"Remove the answer yes to {first}").click()
    expect(tab.locator(".question .label-chip")).to_have_count(0)


def test_the_answers_survive_a_reload_and_a_card_opens_the_image(page: Open) -> None:
    tab = page("#/questions/beach,-person")
    label = asked(tab)
    tab.reload()
    assert asked(tab) == label
    tab.get_by_role("button", name="Yes", exact=True).click()
    expect(tab.get_by_label("Your answers").locator("li")).to_have_count(3)
    image = tab.locator(".card-link").first.inner_text()
    tab.locator(".card-link").first.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text(image)


def test_completion_offers_what_suits_the_other_terms(page: Open) -> None:
    tab = page("#/search/beach")
    box = tab.get_by_role("combobox", name=re.compile("^Labels to search for"))
    box.fill("s")
    expect(tab.get_by_role("option").first).to_contain_text("suits")
    box.fill("persn")
    expect(tab.get_by_role("option").first).to_contain_text("person")
