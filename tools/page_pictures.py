"""Pictures of the web page for the documentation.

python -m tools.page_pictures            write docs/page*.png and docs/page.gif
python -m tools.page_pictures --out DIR  write them elsewhere

Trains a model of `scenes`, serves it with an empty cache, and drives Chromium.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from vse_ens.annotator import Annotator
from vse_ens.data.datasets.scenes import scenes

_DOCS = Path(__file__).parents[1] / "docs"
_IMAGES = 3000
_IMAGE = "img_0002501"
_LABEL = "beach"
_WIDE = (1400, 900)
_FILM = (900, 680)
_MOVE_STEPS = 7
_MOVE, _PRESS, _READ = 60, 140, 1100  # milliseconds that a frame is shown

_READY = """() => !document.querySelector("[aria-busy], .working")
  && [...document.images].every((one) => one.getBoundingClientRect().top > innerHeight
    || (one.complete && one.naturalWidth > 0))"""

# Screenshots do not show the pointer of the system.
_POINTER = """() => {
  const pointer = document.createElement("div");
  pointer.id = "film-pointer";
  pointer.style.cssText = "position:fixed;z-index:99;width:22px;height:22px;pointer-events:none;left:450px;top:560px";
  pointer.innerHTML = `<svg viewBox="0 0 22 22"><path d="M2 1v17l4.6-4.2 3 6.7 3-1.3-3-6.6h6.4z" fill="#111"
    stroke="#fff" stroke-width="1.5" stroke-linejoin="round"/></svg>`;
  document.body.append(pointer);
}"""
_PLACE = """([x, y, pressed]) => {
  const { style } = document.getElementById("film-pointer");
  style.left = `${x}px`;
  style.top = `${y}px`;
  style.scale = pressed ? "0.8" : "1";
}"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Train a model, serve it from `folder`, and yield the address."""
    model = folder / "scenes"
    Annotator(seed=0).fit(scenes(images=_IMAGES)).save(model)
    command = [sys.executable, "-m", "vse_ens", "serve", str(model), "--port", "0", "--images", "drawn"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as service:
        try:
            assert service.stdout is not None
            found = filter(None, (re.search(r"http://\S+", line) for line in service.stdout))
            yield next(found).group()
        finally:
            service.terminate()


def opened(browser: Browser, address: str, size: tuple[int, int], theme: str = "light") -> Page:
    """Open an address; its pictures are loaded when this returns."""
    width, height = size
    scheme: Any = theme
    page = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    ).new_page()
    page.goto(address)
    settle(page)
    return page


def settle(page: Page) -> None:
    """Wait until all answers and all visible pictures are there."""
    page.wait_for_load_state("networkidle")
    page.wait_for_function(_READY)


def save(page: Page, path: Path) -> None:
    """Write a screenshot as a PNG file with a palette."""
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shot.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


class Film:
    """Screenshots of a page, with a pointer that moves and clicks."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._frames: list[tuple[Image.Image, int]] = []
        self._at = (450.0, 560.0)
        page.evaluate(_POINTER)

    def show(self, milliseconds: int) -> None:
        """Add the page as it is now."""
        shot = Image.open(io.BytesIO(self._page.screenshot())).convert("RGB")
        self._frames.append((shot, milliseconds))

    def click(self, target: Locator) -> None:
        """Move the pointer to an element and click it; the page is settled afterwards."""
        box = target.bounding_box()
        assert box is not None
        end = (box["x"] + min(box["width"] / 2, 90), box["y"] + box["height"] / 2)
        start = self._at
        for step in range(1, _MOVE_STEPS + 1):
            share = step / _MOVE_STEPS
            share = share * share * (3 - 2 * share)
            self._place(start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
            self.show(_MOVE if step < _MOVE_STEPS else 6 * _MOVE)
        self._place(*end, pressed=True)
        self.show(_PRESS)
        self._page.mouse.click(*end)
        self._place(*end)
        settle(self._page)
        self.show(_READ)

    def _place(self, x: float, y: float, *, pressed: bool = False) -> None:
        self._at = (x, y)
        self._page.mouse.move(x, y)
        settle(self._page)
        self._page.evaluate(_PLACE, [x, y, pressed])

    def save(self, path: Path) -> None:
        """Write the frames as a GIF file with one palette, so that still parts stay the same in all frames."""
        width, height = self._frames[0][0].size
        longest = [shot for shot, milliseconds in self._frames if milliseconds == _READ]
        together = Image.new("RGB", (width, height * len(longest)))
        for number, shot in enumerate(longest):
            together.paste(shot, (0, number * height))
        palette = together.quantize(255, dither=Image.Dither.NONE)
        frames = [shot.quantize(palette=palette, dither=Image.Dither.NONE) for shot, _ in self._frames]
        durations = [milliseconds for _, milliseconds in self._frames]
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)


def record(page: Page, path: Path) -> None:
    """Accept two suggestions, each of which ranks the list again, and continue with the next image."""
    film = Film(page)
    film.show(_READ)
    for place in (0, 1):
        film.click(page.locator(".suggestion .accept").nth(place))
    film.click(page.get_by_role("button", name="Next image"))
    film.save(path)


def write_all(browser: Browser, address: str, out: Path) -> None:
    """Write every picture into a folder."""
    page = opened(browser, f"{address}#/image/{_IMAGE}", _WIDE)
    page.locator(".suggestion .accept").first.hover()
    page.locator(".why-label").wait_for()
    settle(page)
    save(page, out / "page.png")

    page = opened(browser, f"{address}#/search/{_LABEL}", _WIDE)
    for place in (0, 1, 2, 5):
        page.locator(".choice").nth(place).click(position={"x": 100, "y": 80})
    page.mouse.move(0, 0)
    settle(page)
    save(page, out / "page-browse.png")

    save(opened(browser, f"{address}#/audit/missing", _WIDE, "dark"), out / "page-dark.png")

    page = opened(browser, f"{address}#/search/{_LABEL}", _FILM)
    page.locator(".choice").first.dblclick()  # "next" then continues in this grid
    page.locator(".suggestion .accept").first.wait_for()
    settle(page)
    record(page, out / "page.gif")


def main() -> None:
    """Parse the arguments and write the pictures."""
    parser = argparse.ArgumentParser(prog="python -m tools.page_pictures", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=_DOCS, help="folder of the pictures")
    out = parser.parse_args().out
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no browser: install chromium")
    with (
        TemporaryDirectory(prefix="vse-pictures-") as folder,
        served(Path(folder)) as address,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        write_all(browser, address, out)
        browser.close()
    for path in sorted(out.glob("page*")):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
