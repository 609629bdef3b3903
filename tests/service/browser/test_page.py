"""What every view shares: the key, the name, the theme, help, errors, narrow screens, names of controls, contrast."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.service.browser.conftest import LONG_IMAGE, SCRIPT, UNICODE_IMAGE, WIDE, Tab, image_hash
from tests.service.browser.fake_rules import install
from tests.support.browser_running import Running
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.service.keys import Key

pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")

from playwright.sync_api import Browser, Page, expect

Open = Callable[..., Page]
IMAGE = image_hash("img_0000017")
# A view, and what shows that it is there.
VIEWS = {
    image_hash(UNICODE_IMAGE): ".suggestion",
    image_hash(LONG_IMAGE): ".below .card",
    f"#/labels/sea,{quote(SCRIPT, safe='')},-person": ".suggestion",
    "#/search": ".pill",
    "#/search/sea,-person": ".similar li",
    "#/audit/missing": ".finding .tags li",
    "#/audit/wrong": ".finding .tags li",
    "#/audit/duplicates": ".finding",
    "#/vocabulary/labels/sea": ".label-detail .example",
    "#/vocabulary/implications": ".finding .example",
    "#/vocabulary/rules": ".vocabulary-body .none",
    "#/about": ".facts",
}


def visit(tab: Page, hash_: str) -> None:
    """Go to a view and wait until it is there."""
    tab.evaluate("hash => { location.hash = hash; }", hash_)
    tab.wait_for_selector(VIEWS[hash_])


def test_the_key_is_asked_for_once(serve: Callable[..., Running], open_page: Open, forgiven: list[str]) -> None:
    forgiven.append("401")
    service = serve(keys=(Key("a key that is long enough"),))
    tab = open_page(service.address, IMAGE)
    box = tab.get_by_label("API key", exact=True)
    box.fill("not this one")
    box.press("Enter")
    expect(tab.get_by_role("dialog")).to_contain_text("That key is not valid")
    tab.get_by_label("API key", exact=True).fill("a key that is long enough")
    tab.get_by_role("button", name="Continue").click()
    expect(tab.locator(".suggestion").first).to_be_visible()
    tab.reload()
    expect(tab.locator(".suggestion").first).to_be_visible()
    expect(tab.get_by_role("dialog")).to_have_count(0)
    assert tab.evaluate("localStorage.getItem('vse-key')") is None


def test_without_the_key_the_page_says_what_it_needs(
    serve: Callable[..., Running], open_page: Open, forgiven: list[str]
) -> None:
    forgiven.append("401")
    tab = open_page(serve(keys=(Key("a key that is long enough"),)).address, "#/about")
    expect(tab.get_by_label("API key", exact=True)).to_be_focused()
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("main")).to_contain_text("This service requires an API key")


def test_the_name_is_typed_once_and_kept_with_every_verdict(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page(IMAGE)
    tab.get_by_role("button", name="Your name: anonymous").click()
    tab.get_by_label("Name", exact=True).fill("Žofie 100 % Ковалёва")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("button", name="Your name: Žofie 100 % Ковалёва")).to_be_focused()
    tab.reload()
    tab.locator(".accept").first.click()
    expect(tab.locator(".label-chip.new")).to_have_count(1)
    kept = Feedback(tmp_path / "feedback.sqlite")
    assert [one.by for one in kept.events()] == ["Žofie 100 % Ковалёва"]
    kept.close()


def test_the_theme_follows_the_system_until_one_is_chosen(page: Open) -> None:
    tab = page("#/about", color_scheme="dark")
    paper = "getComputedStyle(document.querySelector('.bar')).backgroundColor"
    dark = tab.evaluate(paper)
    tab.get_by_role("button", name="Light theme").click()
    light = tab.evaluate(paper)
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    tab.reload()
    assert tab.evaluate(paper) == light
    tab.get_by_role("button", name="Dark theme").click()
    assert tab.evaluate(paper) == dark


def test_help_opens_and_closes_by_key(page: Open) -> None:
    tab = page("#/about")
    tab.wait_for_selector(".facts")
    tab.keyboard.press("?")
    expect(tab.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("accept the suggestion")
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("dialog")).to_have_count(0)


def test_an_address_that_leads_nowhere(page: Open) -> None:
    tab = page("#/nowhere")
    expect(tab.get_by_role("main")).to_contain_text("This page does not exist.")
    tab.get_by_role("link", name="Start page").click()
    expect(tab).to_have_url(re.compile("#/image/"))


def test_the_page_outlives_its_service(service: Running, open_page: Open, forgiven: list[str]) -> None:
    forgiven.append("ERR_")
    tab = open_page(service.address, IMAGE)
    tab.wait_for_selector(".suggestion")
    service.stop()
    label = tab.locator(".suggestion-name").first.inner_text()
    tab.locator(".accept").first.click()
    expect(tab.locator(".toast")).to_contain_text("nothing was saved")
    expect(tab.locator(".suggestion-name").first).to_have_text(label)
    expect(tab.locator("#banner")).to_contain_text("does not respond")
    tab.get_by_role("link", name="About").click()
    service.start()
    expect(tab.locator(".facts").first).to_be_visible()
    expect(tab.locator("#banner")).to_be_empty()


def test_an_error_is_a_sentence_and_the_page_lives_on(fresh_page: Open, forgiven: list[str]) -> None:
    forgiven.append("500")
    tab = fresh_page(IMAGE)
    tab.wait_for_selector(".suggestion")
    tab.route("**/api/feedback", lambda route: route.fulfill(status=500, json={"error": "the disk is full"}))
    tab.locator(".accept").first.click()
    expect(tab.locator(".toast")).to_contain_text("The disk is full.")
    tab.unroute("**/api/feedback")
    tab.locator(".accept").first.click()
    expect(tab.locator(".label-chip.new")).to_have_count(1)


def test_about_is_a_page_to_read(page: Open) -> None:
    tab = page("#/about")
    expect(tab.locator(".about-lead")).to_contain_text(re.compile(r"learned from the labels of \d+ images alone"))
    expect(tab.locator(".about-lead")).to_contain_text(re.compile(r"Trained on \d+ \w+ \d{4}\."))
    expect(tab.locator(".bars li").first).to_contain_text(re.compile("% of hidden labels are among its first 5"))
    assert "`" not in tab.locator("main").inner_text()
    expect(tab.get_by_text("learning rate", exact=True)).not_to_be_visible()
    tab.get_by_text("All settings and measurements").click()
    expect(tab.get_by_text("learning rate", exact=True)).to_be_visible()


def test_accepted_pairs_are_downloaded(fresh_page: Open) -> None:
    tab = fresh_page(IMAGE)
    tab.locator(".accept").first.click()
    expect(tab.locator(".label-chip.new")).to_have_count(1)
    tab.get_by_role("link", name="About").click()
    with tab.expect_download() as started:
        tab.get_by_role("button", name="Download as CSV").click()
    assert "img_0000017" in Path(started.value.path()).read_text(encoding="utf-8")


def test_nothing_is_wider_than_a_narrow_screen(page: Open) -> None:
    tab = page(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    install(tab)
    for hash_ in VIEWS:
        visit(tab, hash_)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, hash_
        if "image" in hash_:
            expect(tab.locator(".suggestion-why").first).to_be_visible()


@pytest.mark.parametrize("hash_", [image_hash(UNICODE_IMAGE), "#/search/sea,-person", "#/audit/missing"])
def test_nothing_jumps_while_a_view_appears(page: Open, hash_: str) -> None:
    tab = page(hash_, viewport={"width": 360, "height": 740})
    tab.wait_for_selector(VIEWS[hash_])
    # Below 0.1 is good: https://web.dev/articles/cls
    assert tab.evaluate(_JUMPED) < 0.1


def test_every_control_has_a_name_and_every_view_its_landmarks(page: Open) -> None:
    tab = page()
    install(tab)
    for hash_ in VIEWS:
        visit(tab, hash_)
        assert tab.evaluate(_NAMELESS) == [], hash_
        for landmark in ("banner", "main"):
            assert tab.get_by_role(landmark).count() == 1, hash_
        assert tab.get_by_role("heading", level=1).count() == 1, hash_
        assert tab.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size") == tab.evaluate(
            "document.querySelectorAll('[id]').length"
        ), hash_
        assert "vse-ens" in tab.title()


def test_text_stands_out_from_what_is_behind_it_in_both_themes(page: Open) -> None:
    tab = page()
    install(tab)
    for hash_ in VIEWS:
        visit(tab, hash_)
        for theme in ("light", "dark"):
            tab.emulate_media(color_scheme=theme)
            assert tab.evaluate(_FAINT) == [], (hash_, theme)


def test_the_skip_link_leads_past_the_navigation(page: Open) -> None:
    tab = page("#/about")
    tab.wait_for_selector(".facts")
    tab.keyboard.press("Tab")
    skip = tab.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("main")).to_be_focused()
    expect(tab).to_have_url(re.compile("#/about$"))


# How much of the window moved how far, all in all.
_JUMPED = """() => new Promise(resolve => {
  new PerformanceObserver(list => resolve(list.getEntries().reduce((sum, entry) => sum + entry.value, 0)))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(resolve, 1000, 0);
})"""

# Controls that a screen reader would call by their kind alone.
_NAMELESS = """() => [...document.querySelectorAll("a, button, input, select, canvas, progress, img, summary")]
  .filter(e => e.checkVisibility())
  .filter(e => {
    const name = e.getAttribute("aria-label") || e.textContent.trim() || e.getAttribute("alt") || e.title
      || [...(e.labels ?? [])].map(label => label.textContent).join("");
    return !name && !(e.tagName === "IMG" && e.hasAttribute("alt"));
  })
  .map(e => e.outerHTML)"""

# Text whose contrast is below 4.5 to 1, or 3 to 1 where it is large (WCAG 2.2, 1.4.3).
_FAINT = """() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = color => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  // Every color that can be behind an element: its own, or those of a gradient, or its parent's.
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      const stops = style.backgroundImage.match(/rgba?\\([^)]*\\)/g);
      if (stops && !e.matches("progress, .meter")) return stops.map(rgba);
      const own = rgba(style.backgroundColor);
      if (own[3] === 255) return [own];
    }
    return [[255, 255, 255, 255]];
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const passed = !element.checkVisibility() || element.closest(".visually-hidden, :disabled, script");
    if (passed || !node.textContent.trim()) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    for (const color of behind(element)) {
      const contrast = ratio(rgba(style.color), color);
      if (contrast < (large ? 3 : 4.5)) faint.push(`${node.textContent} ${contrast.toFixed(2)}`);
    }
  }
  return faint;
}"""


def test_a_tab_used_again_knows_nothing_of_the_page_before(browser: Browser, shared: Running) -> None:
    tab = Tab(browser, {"viewport": WIDE})
    tab.page.route("**/api/**", lambda route: route.abort())
    tab.page.goto(shared.address)
    tab.page.evaluate("() => { document.cookie = localStorage.kept = sessionStorage.kept = 'kept'; console.error(1); }")
    tab.clear()
    assert (tab.complaints, tab.requested) == ([], [])
    assert tab.page.goto(shared.address + "api/model").ok  # type: ignore[union-attr]
    read = "() => [document.cookie, localStorage.length, sessionStorage.length, history.length, document.referrer]"
    assert tab.page.evaluate(read) == ["", 0, 0, 2, ""]
    tab.context.close()
