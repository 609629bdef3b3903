"""Browse: images with and without labels, tagged or not, and the labels beside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.service.browser.conftest import SCRIPT
from tests.support.browser_running import Running
from vse_ens.annotator import Annotator
from vse_ens.data.feedback.verdicts import Feedback

pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")

from playwright.sync_api import Page, expect

Open = Callable[..., Page]


def tags(page: Page) -> list[list[str]]:
    """The labels on each card."""
    page.wait_for_selector(".card")
    return page.locator(".card").evaluate_all(
        "cards => cards.map(card => [...card.querySelectorAll('.tags > *')].map(tag => tag.textContent))"
    )


def test_images_that_nobody_tagged_and_the_others(page: Open) -> None:
    tab = page("#/search/beach")
    assert not any("beach" in found for found in tags(tab))
    expect(tab.get_by_role("heading", level=1)).to_have_text("Images that may lack beach")
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
    first_name, second_name = (tab.locator(".card-link").nth(place).text_content() for place in (0, 1))
    tab.mouse.wheel(0, 150)
    tab.wait_for_function("() => scrollY >= 100 && history.state.top === scrollY")
    tab.locator(".choice").first.dblclick()
    expect(tab.get_by_role("heading", level=1)).to_have_text(first_name or "")
    assert tab.evaluate("scrollY") == 0
    expect(tab.locator(".where")).to_contain_text(re.compile(r"1 of \d+"))
    tab.get_by_role("button", name="Next image").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text(second_name or "")
    tab.go_back()
    tab.go_back()
    expect(tab.locator(".card-link").first).to_have_text(first_name or "")
    tab.wait_for_function("() => scrollY >= 100")


def test_without_feedback_cards_are_links(serve: Callable[..., Running], open_page: Open) -> None:
    tab = open_page(serve(feedback=None).address, "#/search/sea")
    link = tab.locator("a.card-link").first
    name = link.text_content()
    expect(tab.locator(".choice-bar")).to_have_count(0)
    link.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text(name or "")


def test_labels_used_alike_lead_on(page: Open) -> None:
    tab = page("#/search/sea")
    beside = tab.get_by_role("complementary", name="Similar labels")
    alike = beside.locator("li a").first.text_content() or ""
    beside.get_by_role("link", name=f"Add {alike} to the search").click()
    encoded = quote(alike, safe="!'()*")  # which encodeURIComponent leaves as they are
    expect(tab).to_have_url(re.compile(re.escape(f"#/search/sea,{encoded}") + "$"))


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


def images(page: Page) -> list[str]:
    page.wait_for_selector(".choice")
    return page.locator(".choice .card-link").all_text_contents()


def chosen(page: Page) -> list[str]:
    return page.locator(".choice[aria-selected=true] .card-link").all_text_contents()


def stored(tmp_path: Path) -> list[tuple[str, str, str]]:
    feedback = Feedback(tmp_path / "feedback.sqlite")
    events = [(one.verdict, one.image, one.label) for one in feedback.events(limit=1000)]
    feedback.close()
    return events


def test_a_label_of_many_images_is_decided_by_keys_and_undone(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page("#/search/sea")
    before = images(tab)
    requests: list[str] = []
    tab.on("request", lambda request: requests.append(request.url) if "/api/feedback" in request.url else None)
    tab.keyboard.press("ArrowDown")  # into the grid
    expect(tab.locator(".choice").first).to_be_focused()
    tab.keyboard.press("Space")
    tab.keyboard.press("Shift+ArrowRight")
    tab.keyboard.press("Shift+ArrowRight")
    assert chosen(tab) == before[:3]
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Space")
    assert chosen(tab) == [*before[:3], before[4]]
    tab.keyboard.press("a")
    expect(tab.locator(".card-link").first).to_have_text(before[3])
    expect(tab.locator("#announcer")).to_have_text("Accepted sea for 4 images.")
    expected = [("accept", image, "sea") for image in (*before[:3], before[4])]
    assert stored(tmp_path) == expected
    assert len(requests) == 1
    assert images(tab)[:50] == [before[3], *before[5:54]]
    expect(tab.locator(".choice").nth(1)).to_be_focused()  # the one that came after the last decided one
    tab.keyboard.press("r")
    expect(tab.locator("#announcer")).to_have_text(f"Rejected sea for {before[5]}.")
    tab.keyboard.press("u")
    expect(tab.locator("#announcer")).to_have_text(f"Undone: reject sea for {before[5]}.")
    tab.keyboard.press("u")
    expect(tab.locator("#announcer")).to_have_text("Undone: accept sea for 4 images.")
    # The message goes away by itself.
    free = tab.evaluate("""() => {
      const box = (name) => document.querySelector(name)?.getBoundingClientRect();
      return box(".notice") ? box(".notice").bottom <= box(".choice-bar").top : null;
    }""")
    assert free is not False
    expect(tab.locator(".card-link").first).to_have_text(before[0])
    assert images(tab)[:20] == before[:20]
    assert len(requests) == 4
    tab.keyboard.press("u")
    expect(tab.locator("#announcer")).to_have_text("Nothing to undo.")


def test_an_undo_leads_back_to_the_grid(fresh_page: Open) -> None:
    tab = fresh_page("#/search/sea")
    first = images(tab)[0]
    tab.locator(".choice").first.click()
    tab.get_by_role("button", name="Add sea").click()
    expect(tab.locator("#announcer")).to_have_text(f"Accepted sea for {first}.")
    tab.get_by_role("link", name="Annotate").click()
    tab.wait_for_selector(".suggestion")
    tab.keyboard.press("u")
    expect(tab).to_have_url(re.compile("#/search/sea$"))
    expect(tab.locator(".card-link").first).to_have_text(first)


def test_a_held_key_decides_once_in_the_grid(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page("#/search/sea")
    before = images(tab)
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Space")
    for _ in range(20):
        tab.keyboard.down("a")
    tab.keyboard.up("a")
    expect(tab.locator("#announcer")).to_have_text(f"Accepted sea for {before[0]}.")
    assert stored(tmp_path) == [("accept", before[0], "sea")]


def test_keys_work_without_focus_in_the_grid(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page("#/search/sea")
    before = images(tab)
    accept = tab.locator(".choice-bar .primary")
    expect(accept).to_be_disabled()
    paint = "button => [getComputedStyle(button).borderTopStyle, getComputedStyle(button).backgroundColor]"
    assert accept.evaluate(paint) == ["dashed", "rgba(0, 0, 0, 0)"]
    tab.keyboard.press("a")
    expect(tab.locator("#announcer")).to_have_text("Click or press Space to select; Ctrl+A selects all.")
    assert stored(tmp_path) == []
    tab.keyboard.press("Control+a")
    assert chosen(tab) == before
    assert tab.evaluate("String(getSelection())") == ""
    expect(accept).to_be_enabled()
    assert accept.evaluate(paint)[0] == "solid"
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("r")
    expect(tab.locator("#announcer")).to_have_text(f"Rejected sea for {len(before)} images.")
    assert stored(tmp_path) == [("reject", image, "sea") for image in before]
    # In a text box, the keys are its own.
    box = tab.get_by_role("combobox", name=re.compile("^Labels"))
    box.fill("ra")
    box.press("Control+a")
    assert chosen(tab) == []


def test_an_empty_grid_says_why(page: Open) -> None:
    tab = page("#/search/sea")
    images(tab)
    tab.locator("input[type=range]").evaluate(
        "input => { input.value = 0.95; input.dispatchEvent(new Event('input')); }"
    )
    expect(tab.locator(".none")).to_have_text(
        "No image has a confidence of 95\u202f% or more; move the slider to the left."
    )


def test_the_mouse_selects_too_and_shift_extends(page: Open) -> None:
    tab = page("#/search/sea")
    before = images(tab)
    cards = tab.locator(".choice")
    cards.nth(1).click()
    cards.nth(4).click(modifiers=["Shift"])
    assert chosen(tab) == before[1:5]
    expect(tab.locator(".choice-count")).to_have_text("4 selected")
    cards.nth(2).click()
    assert chosen(tab) == [before[1], before[3], before[4]]
    tab.keyboard.press("Escape")
    assert chosen(tab) == []


def test_the_slider_says_how_many_images_lie_above_it(page: Open) -> None:
    tab = page("#/search/sea")
    images(tab)
    slider = tab.get_by_role("slider", name="Confidence")
    total = int(re.sub(r"\D", "", tab.locator(".slider-count").inner_text()))
    slider.focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator(".slider-count")).to_have_text(re.compile(r"^5 % or more: [\d,]+ images?$"))
    count = int(re.sub(r"\D", "", tab.locator(".slider-count").inner_text().partition(":")[2]))
    assert 0 < count < total
    expect(tab.locator(".choice")).to_have_count(min(count, 60))
    assert slider.get_attribute("aria-valuetext") == tab.locator(".slider-count").inner_text()
    shares = [int(text.rstrip(" %") or 0) for text in tab.locator(".choice .card-share").all_text_contents()]
    assert shares == sorted(shares, reverse=True)


def test_labels_that_are_likely_wrong_are_removed_together(fresh_page: Open, tmp_path: Path, page_model: Path) -> None:
    finding = Annotator.load(page_model).audit(1).wrong[0]
    tab = fresh_page(f"#/search/{quote(finding.label, safe='')}?kind=wrong")
    expect(tab.locator(".card-link").first).to_have_text(finding.image)
    tab.locator(".choice").first.click()
    tab.get_by_role("toolbar").get_by_role("button", name="Remove").click()
    expect(tab.locator("#announcer")).to_have_text(f"Rejected {finding.label} for {finding.image}.")
    assert stored(tmp_path) == [("reject", finding.image, finding.label)]


def test_likely_mistakes_are_grouped_by_label(fresh_page: Open, page_model: Path) -> None:
    tab = fresh_page("#/search")
    tab.get_by_role("button", name="Find labels that images have by mistake").click()
    pills = tab.get_by_role("list", name="Labels with likely mistakes").get_by_role("link")
    expect(pills.first).to_be_visible()
    counts = [int(text) for text in pills.locator("span").all_text_contents()]
    assert counts == sorted(counts, reverse=True)
    findings = Annotator.load(page_model).audit(100).wrong
    assert sum(counts) == len(findings)
    pills.first.click()
    expect(tab).to_have_url(re.compile(r"kind=wrong$"))
    assert images(tab)


def test_search_results_are_decided_together(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page("#/search/sea,sand")
    before = images(tab)
    tab.locator(".choice").first.click()
    tab.locator(".choice").nth(1).click(modifiers=["Shift"])
    tab.keyboard.press("a")
    expect(tab.locator("#announcer")).to_have_text("Accepted sea, sand for 2 images.")
    assert stored(tmp_path) == [("accept", image, label) for image in before[:2] for label in ("sea", "sand")]
    expect(tab.locator(".card-link").first).to_have_text(before[2])


def test_a_batch_that_fails_is_told_and_its_images_are_back(fresh_page: Open, forgiven: list[str]) -> None:
    forgiven.append("503")
    tab = fresh_page("#/search/sea")
    before = images(tab)
    tab.route("**/api/feedback/batch", lambda route: route.fulfill(status=503, json={"error": "the disk is full"}))
    tab.locator(".choice").first.click()
    tab.keyboard.press("a")
    expect(tab.locator(".toast")).to_contain_text("The disk is full.")
    expect(tab.locator(".card-link").first).to_have_text(before[0])


def test_more_images_come_while_one_scrolls(page: Open) -> None:
    tab = page("#/search/sky?tagged=1")
    images(tab)
    tab.get_by_role("button", name="Show more").scroll_into_view_if_needed()
    expect(tab.locator(".choice")).to_have_count(100)
    tab.evaluate("hash => { location.hash = hash; }", "#/search/sky")
    expect(tab.get_by_role("heading", name="Images that may lack sky")).to_be_visible()
    tab.wait_for_selector(".choice")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("End")
    expect(tab.locator(".choice").nth(90)).to_be_attached()
