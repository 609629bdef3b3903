"""Nothing on the page moves while it loads: the sum of the browser's layout shifts is small in every view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.service.browser.conftest import LONG_IMAGE, image_hash
from tests.support.browser_running import Running

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

VIEWS = {
    "start": "#/",
    "image": image_hash("img_0000017"),
    "long id": image_hash(LONG_IMAGE),
    "labels": "#/labels/sea,sand",
    "together": "#/together/img_0000001,img_0000002",
    "browse": "#/search",
    "label": "#/search/sea",
    "likely wrong": "#/search/person?kind=wrong",
    "search": "#/search/sea,-person?tagged=1",
    "audit": "#/audit/missing",
    "audit wrong": "#/audit/wrong",
    "duplicates": "#/audit/duplicates",
    "vocabulary": "#/vocabulary",
    "implications": "#/vocabulary/implications",
    "aliases": "#/vocabulary/aliases",
    "rules": "#/vocabulary/rules",
    "about": "#/about",
}
WIDTHS = (1400, 360)
MOST = 0.02  # up to 0.1 is called good

_READ = """() => new Promise((done) => {
  const shifts = [];
  const observer = new PerformanceObserver((list) => shifts.push(...list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  // Buffered entries are delivered in a task of their own.
  setTimeout(() => done(shifts.filter((one) => !one.hadRecentInput).map((one) => [
    one.value,
    one.sources.map((source) => source.node?.className ?? String(source.node)),
  ])), 100);
})"""
_SETTLED = """() => !document.querySelector("[aria-busy=true], .working, .placeholder")
  && [...document.images].every((one) => one.complete || one.loading === "lazy")"""


def test_no_view_shifts_while_it_loads(serve: Callable[..., Running], open_page: Callable[..., Page]) -> None:
    service = serve(images="drawn")
    # The audit and the proposals are computed on first use; a page that waits for them is another test.
    warm = open_page(service.address, "#/audit")
    warm.get_by_role("heading", level=2).first.wait_for()
    while warm.request.get(f"{service.address}api/rules/proposals").status == 202:
        warm.wait_for_timeout(100)
    shifted = {}
    for width in WIDTHS:
        page = open_page(service.address, viewport={"width": width, "height": 900})
        # As on a first visit, all is asked for: what is kept comes sooner and moves less.
        protocol = page.context.new_cdp_session(page)
        protocol.send("Network.setCacheDisabled", {"cacheDisabled": True})
        # One after another: on a busy machine, pages that load at the same time wait for each other.
        for name, hash_ in VIEWS.items():
            page.goto("about:blank")
            page.goto(service.address + hash_, wait_until="networkidle")
            page.wait_for_function(_SETTLED)
            found = page.evaluate(_READ)
            if sum(value for value, _ in found) >= MOST:
                shifted[width, name] = found
        protocol.detach()
    assert not shifted, "\n".join(map(str, shifted.items()))


def test_a_list_that_comes_late_moves_nothing(serve: Callable[..., Running], open_page: Callable[..., Page]) -> None:
    page = open_page(serve().address)

    def late(route: Route) -> None:
        page.wait_for_timeout(400)  # after 150 ms the page says that it is working
        route.continue_()

    page.route("**/api/rules/proposals*", late)
    page.evaluate("hash => { location.hash = hash; }", VIEWS["aliases"])
    page.locator(".finding").wait_for()
    assert sum(value for value, _ in page.evaluate(_READ)) < MOST
