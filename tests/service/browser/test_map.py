"""Map: pan, zoom, hover, click, keys; and the same as a list."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

import pytest

pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")

from playwright.sync_api import Page, expect

Open = Callable[..., Page]


def drawn(page: Page) -> bytes:
    """What the canvas shows, when it has come to rest."""
    page.wait_for_selector(".map-canvas")
    before, now = b"", b"?"
    while before != now:
        before = now
        page.wait_for_timeout(60)
        now = page.locator(".map-canvas").screenshot()
    return now


def middle(page: Page) -> tuple[float, float]:
    box = page.locator(".map-canvas").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_flying_to_a_label_and_clicking_it_leads_to_its_images(page: Open) -> None:
    tab = page("#/map", reduced_motion="reduce")
    whole = drawn(tab)
    tab.get_by_role("combobox", name="Find a label on the map").fill("beac")
    tab.get_by_role("option", name="beach").click()
    expect(tab).to_have_url(re.compile("#/map/beach$"))
    assert drawn(tab) != whole
    tab.mouse.click(*middle(tab))
    expect(tab).to_have_url(re.compile("#/search/beach$"))
    tab.go_back()
    expect(tab.locator(".map-canvas")).to_be_visible()


def test_the_wheel_zooms_and_the_mouse_pans(page: Open) -> None:
    tab = page("#/map", reduced_motion="reduce")
    whole = drawn(tab)
    x, y = middle(tab)
    tab.mouse.move(x, y)
    tab.mouse.wheel(0, -400)
    closer = drawn(tab)
    assert closer != whole
    tab.mouse.down()
    tab.mouse.move(x + 120, y + 40, steps=4)
    tab.mouse.up()
    panned = drawn(tab)
    assert panned != closer
    expect(tab).to_have_url(re.compile("#/map$"))
    tab.get_by_role("button", name="Whole map").click()
    assert drawn(tab) != panned


def test_hovering_names_a_label(page: Open) -> None:
    tab = page("#/map/sea", reduced_motion="reduce")
    drawn(tab)
    tab.mouse.move(*middle(tab))
    expect(tab.locator(".map-canvas")).to_have_class(re.compile("on-label"))


def test_keys_move_zoom_and_open(page: Open) -> None:
    tab = page("#/map", reduced_motion="reduce")
    whole = drawn(tab)
    tab.get_by_role("button", name="Whole map").focus()
    tab.keyboard.press("Tab")
    expect(tab.locator(".map-canvas")).to_be_focused()
    tab.keyboard.press("+")
    tab.keyboard.press("+")
    tab.keyboard.press("ArrowRight")
    assert drawn(tab) != whole
    expect(tab.locator("#announcer")).not_to_be_empty()
    named = tab.locator("#announcer").inner_text()
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile("#/search/"))
    assert unquote(tab.url.rpartition("/")[2]) == named


def test_the_keys_need_no_focus(page: Open) -> None:
    tab = page("#/map", reduced_motion="reduce")
    whole = drawn(tab)
    tab.keyboard.press("+")
    closer = drawn(tab)
    assert closer != whole
    tab.keyboard.press("ArrowRight")
    moved = drawn(tab)
    assert moved != closer
    tab.get_by_role("button", name="Zoom in").click()
    tab.keyboard.press("0")
    assert drawn(tab) != moved
    tab.get_by_role("combobox", name="Find a label on the map").press("Enter")
    expect(tab).to_have_url(re.compile("#/map$"))
    tab.get_by_role("heading", level=1).focus()
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile("#/search/"))


def test_two_fingers_zoom(page: Open) -> None:
    tab = page("#/map", reduced_motion="reduce", has_touch=True, viewport={"width": 360, "height": 740})
    whole = drawn(tab)
    x, y = middle(tab)
    session = tab.context.new_cdp_session(tab)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        spots = [{"x": px, "y": py, "id": number} for number, (px, py) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    touch("touchStart", (x - 20, y), (x + 20, y))
    for apart in (40, 60, 90):
        touch("touchMove", (x - apart, y), (x + apart, y))
    touch("touchEnd")
    assert drawn(tab) != whole
    expect(tab).to_have_url(re.compile("#/map$"))


def test_the_same_as_a_list(page: Open) -> None:
    tab = page("#/map")
    drawn(tab)
    tab.get_by_text("Show as a list").click()
    expect(tab.locator(".map-list a")).to_have_count(200)
    tab.get_by_role("button", name=re.compile("^Show all")).click()
    tab.locator(".map-list").get_by_role("link", name=re.compile("^sea ")).click()
    expect(tab).to_have_url(re.compile("#/search/sea$"))
