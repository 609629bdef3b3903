"""Chromium, a model with ids that would break a careless page, and pages that must stay without fault."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import pytest

from tests.support.browser_running import Running
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.service.settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

SCRIPT = "<script>alert(1)</script>"
UNICODE_IMAGE = "fotos/été 2026/plage n°1 – 日本.jpg"
LONG_IMAGE = "archive/" + "a-very-long-folder-name/" * 6 + "IMG_20260704_173045_edited-final-2.jpeg"
PLANTED = [
    *((UNICODE_IMAGE, label) for label in ("beach", "sea", "sand", SCRIPT)),
    *((LONG_IMAGE, label) for label in ("kitchen", "table")),
    ("one-label", "dog"),
]

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDE: ViewportSize = {"width": 1280, "height": 900}
_PATIENCE = 120_000  # milliseconds, for hangs only: shared machines stall


@pytest.fixture(scope="session")
def page_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scenes, with a label that is a script and ids with slashes and other alphabets."""
    path = tmp_path_factory.mktemp("page") / "scenes"
    made = scenes(images=500)
    seaside = made.to_frame("polars").filter(made.to_frame("polars")["label"].is_in(["beach", "sea", "sand"]))
    scripted = [(image, SCRIPT) for image in seaside["image"].unique(maintain_order=True)[:30]]
    Annotator(epochs=8, dimensions=32).fit(made.joined(Annotations.from_pairs([*PLANTED, *scripted]))).save(path)
    return path


@pytest.fixture(scope="session")
def plain_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model without confidences."""
    path = tmp_path_factory.mktemp("page") / "plain"
    Annotator(epochs=2, dimensions=8, validate=False).fit(scenes(images=100)).save(path)
    return path


# Not for the whole session: while it runs, nothing else in this process can run an event loop.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A real browser, or a skip where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"no browser (install one of {', '.join(_NAMES)})")
    playwright.expect.set_options(timeout=_PATIENCE)
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def serve(page_model: Path, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start a service with the given settings in place of the usual ones, and no feedback yet."""
    started: list[Running] = []

    def start(**settings: object) -> Running:
        given = {"model": page_model, "feedback": tmp_path / "feedback.sqlite", **settings}
        started.append(Running(Settings(**given)).start())  # type: ignore[arg-type]
        return started[-1]

    yield start
    for service in started:
        service.stop()


@pytest.fixture
def service(serve: Callable[..., Running]) -> Running:
    """The usual one, for this test alone."""
    return serve()


@pytest.fixture
def forgiven() -> list[str]:
    """What a browser may complain about: patterns that a test adds when it asks for something that is not there."""
    return []


class Tab:
    """A tab in a browser profile of its own, and what it complained about and asked for since it was last cleared."""

    def __init__(self, browser: Browser, context: dict[str, object]) -> None:
        self.context = browser.new_context(**context)  # type: ignore[arg-type]
        self.page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE)
        self.complaints: list[str] = []
        self.requested: list[str] = []
        self.page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))
        self._protocol = self.context.new_cdp_session(self.page)

    def clear(self) -> None:
        """Forget all that a page can leave behind, so that the next one finds a new profile."""
        page = self.page
        page.unroute_all(behavior="ignoreErrors")
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        page.goto("about:blank")
        page.mouse.move(0, 0)
        page.emulate_media(color_scheme="light")
        self.context.clear_cookies()
        self._protocol.send("Network.clearBrowserCache")
        self._protocol.send("Page.resetNavigationHistory")
        self.complaints.clear()
        self.requested.clear()


@pytest.fixture(scope="package")
def idle_tabs() -> list[Tab]:
    """Tabs to use again: a new profile takes four times the work of the page that a test opens in it."""
    return []


@pytest.fixture
def open_page(browser: Browser, idle_tabs: list[Tab], forgiven: list[str]) -> Iterator[Callable[..., Page]]:
    """Open an address in a browser profile of its own; at the end nothing may have gone wrong or gone out."""
    opened: list[tuple[Tab, str, bool]] = []

    def start(address: str, hash_: str = "", viewport: ViewportSize = WIDE, **context: object) -> Page:
        tab = idle_tabs.pop() if idle_tabs and not context else Tab(browser, {"viewport": viewport, **context})
        opened.append((tab, address, not context))
        tab.page.set_viewport_size(viewport)
        tab.page.goto(address + hash_)
        return tab.page

    yield start
    complaints, outside = [], []
    for tab, address, is_plain in opened:
        complaints += [one for one in tab.complaints if not any(re.search(pattern, one) for pattern in forgiven)]
        outside += [url for url in tab.requested if urlsplit(url).scheme != "blob" and not url.startswith(address)]
        if is_plain and not tab.page.is_closed():
            tab.clear()
            idle_tabs.append(tab)
        else:
            tab.context.close()
    assert complaints == []
    assert outside == []


@pytest.fixture(scope="package")
def shared(page_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service for tests that keep nothing in it."""
    running = Running(Settings(page_model, feedback=tmp_path_factory.mktemp("shared") / "feedback.sqlite")).start()
    yield running
    running.stop()


@pytest.fixture
def page(shared: Running, open_page: Callable[..., Page]) -> Callable[..., Page]:
    """A page to look at, at a hash."""
    return lambda hash_="", **context: open_page(shared.address, hash_, **context)


@pytest.fixture
def fresh_page(service: Running, open_page: Callable[..., Page]) -> Callable[..., Page]:
    """A page to judge on: of a service that nobody has told anything yet."""
    return lambda hash_="", **context: open_page(service.address, hash_, **context)


def image_hash(image: str) -> str:
    """The address of an image on the page."""
    return f"#/image/{quote(image, safe='')}"
