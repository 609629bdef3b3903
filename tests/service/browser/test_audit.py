"""Audit: a queue worked through with a few keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.service.browser.fake_rules import install
from tests.support.browser_running import Running
from vse_ens.data.feedback.verdicts import Feedback

pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")

from playwright.sync_api import Page, expect

Open = Callable[..., Page]
DUPLICATES = {
    "kind": "duplicates",
    "state": "ready",
    "total": 2,
    "findings": [
        {"label": "sand", "other": "beach", "kind": "alike", "reason": "on 40 and 45 images, 3 in common"},
        {"label": "sea", "other": "beach", "kind": "same", "reason": "same stem"},
    ],
}


def front(page: Page) -> tuple[str, str]:
    """The label and the image in front."""
    page.wait_for_selector(".finding")
    return page.locator(".finding h2 em").first.inner_text(), page.locator(".finding-image > a").inner_text()


def queued(page: Page, place: int) -> str:
    return page.locator(".queue-row").nth(place).get_attribute("data-mark") or ""


def test_a_queue_by_keyboard(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page("#/audit/missing")
    first = front(tab)
    expect(tab.locator(".finding h2")).to_have_text(f"Is {first[0]} in this image?")
    expect(tab.get_by_role("button", name=f"Add {first[0]}", exact=True)).to_be_visible()
    expect(tab.get_by_role("button", name="Not there", exact=True)).to_be_visible()
    expect(tab.locator(".confidence")).to_contain_text(re.compile(r"\d+ % likely to be missing"))
    expect(tab.locator(".finding-why")).to_contain_text(re.compile(r"[+−]\d"))
    expect(tab.locator(".finding .tags li").first).to_be_visible()
    tab.keyboard.press("a")
    second = front(tab)
    assert second != first
    tab.keyboard.press("r")
    tab.keyboard.press("Space")
    expect(tab.locator(".tally")).to_have_text(re.compile("^2 of "))
    assert [queued(tab, place) for place in range(4)] == ["agreed", "disagreed", "skipped", "open"]
    tab.keyboard.press("k")
    tab.keyboard.press("ArrowUp")
    assert front(tab) == second
    tab.keyboard.press("j")
    tab.keyboard.press("u")
    expect(tab.locator(".tally")).to_have_text(re.compile("^1 of "))
    assert front(tab) == second
    kept = Feedback(tmp_path / "feedback.sqlite")
    assert [(one.label, one.image, one.verdict, one.source) for one in kept.events()[:2]] == [
        (*first, "accept", "audit"),
        (*second, "reject", "audit"),
    ]
    assert [(one.image, one.label) for one in kept.changes(0)[1]] == [(first[1], first[0])]
    kept.close()
    tab.reload()
    assert front(tab) == second


def test_buttons_say_what_happens_and_remove_a_wrong_label(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page("#/audit/wrong")
    label, image = front(tab)
    expect(tab.locator(".doubted")).to_have_text(label)
    expect(tab.locator(".finding h2")).to_have_text(f"Is {label} really in this image?")
    expect(tab.get_by_role("button", name=f"Keep {label}", exact=True)).to_be_visible()
    tab.get_by_role("button", name=f"Remove {label}", exact=True).click()
    expect(tab.locator(".tally")).to_have_text(re.compile("^1 of "))
    tab.locator(".queue-row").first.click()
    tab.locator(".finding-image > a").click()
    expect(tab.get_by_role("button", name=f"Undo: reject {label}")).to_be_visible()
    expect(tab.get_by_role("heading", level=1)).to_have_text(image)


def test_all_reasons_of_a_doubted_label_are_those_of_the_others(page: Open) -> None:
    tab = page("#/audit/wrong")
    label, _ = front(tab)
    tab.get_by_text("All reasons").click()
    expect(tab.locator(".all-reasons .aside")).to_have_text(f"The score of {label}, by the other labels:")
    expect(tab.locator(".all-reasons .reasons li").first).to_be_visible()
    names = tab.locator(".all-reasons .reason-name").all_inner_texts()
    assert all(label not in name.split(" with ") for name in names)


def test_duplicates_show_both_labels_and_a_merge_is_a_rule(page: Open) -> None:
    tab = page("#/about")
    rules = install(tab)
    tab.route(re.compile("/api/audit.kind=duplicates"), lambda route: route.fulfill(json=DUPLICATES))
    tab.get_by_role("link", name="Audit", exact=True).click()
    tab.get_by_role("link", name="Duplicates").click()
    expect(tab.locator(".finding h2")).to_have_text("Used alike: are sand and beach the same?")
    expect(tab.locator(".finding")).not_to_contain_text("%")
    expect(tab.locator(".pair-side")).to_have_count(2)
    for side, label in enumerate(("sand", "beach")):
        expect(tab.locator(".pair-side").nth(side).locator(".pair-name")).to_have_text(label)
        expect(tab.locator(".pair-side").nth(side).locator(".example").first).to_be_visible()
    expect(tab.locator(".queue-share")).to_have_text(["used alike", "the same"])
    tab.get_by_role("button", name="Merge sand into beach").click()
    expect(tab.locator(".finding h2")).to_have_text("Are sea and beach the same?")
    with tab.expect_response("**/api/rules"):
        tab.keyboard.press("r")
    expect(tab.locator(".tally")).to_have_text(re.compile("^2 of 2"))
    assert [(one["kind"], one["label"], one["other"]) for one in rules] == [
        ("alias", "sand", "beach"),
        ("rejected", "sea", "beach"),
    ]
    assert tab.evaluate("Object.keys(localStorage)") == []
    tab.get_by_role("link", name="Missing").click()
    front(tab)
    tab.get_by_role("link", name="Duplicates").click()
    expect(tab.locator(".tally")).to_have_text(re.compile("^2 of 2"))
    tab.locator(".queue-row").first.click()
    with tab.expect_response("**/api/rules"):
        tab.keyboard.press("r")
    expect(tab.locator(".queue-row").first).to_have_attribute("data-mark", "disagreed")
    tab.get_by_role("link", name="see all").click()
    expect(tab.locator(".rule")).to_have_count(2)
    assert [(one["kind"], one["label"]) for one in rules] == [("rejected", "sea"), ("rejected", "sand")]


def test_the_kinds_are_links(page: Open) -> None:
    tab = page("#/audit")
    front(tab)
    tab.get_by_role("navigation", name="Kinds of findings").get_by_role("link", name="Wrong").click()
    expect(tab).to_have_url(re.compile("#/audit/wrong$"))
    expect(tab.get_by_role("heading", level=1)).to_have_text("Labels that may be wrong")
    tab.go_back()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Labels that may be missing")


def test_while_the_service_works_there_is_a_bar(service: Running, open_page: Open) -> None:
    tab = open_page(service.address, "#/about")
    working = True

    def slowly(route: object) -> None:
        if working:
            route.fulfill(status=202, json={"state": "working", "done": 0.31})  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    tab.route("**/api/audit*", slowly)
    tab.get_by_role("link", name="Audit").click()
    expect(tab.get_by_role("progressbar")).to_have_attribute("value", "0.31")
    expect(tab.locator(".working")).to_contain_text("31 %")
    working = False
    front(tab)


def test_the_rest_of_the_queue_is_fetched_on_the_way(page: Open) -> None:
    tab = page("#/audit/missing")
    front(tab)
    expect(tab.locator(".queue-row")).to_have_count(50)
    tab.locator(".queue-row").nth(45).click()
    expect(tab.locator(".queue-row")).to_have_count(100)
    names = tab.locator(".queue-name").all_inner_texts()
    assert len(set(names)) == 100
