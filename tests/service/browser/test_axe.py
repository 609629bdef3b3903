"""axe-core on every view, light and dark: nothing serious."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

import pytest

from tests.service.browser.conftest import LONG_IMAGE, image_hash

pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")
pytest.importorskip("axe_playwright_python", reason="no axe-core (pip install axe-playwright-python)")

from playwright.sync_api import Page

Open = Callable[..., Page]
# A view, what shows that it is there, and keys that bring it into a state.
VIEWS = {
    "image": (image_hash("img_0000017"), ".below .card", ("ArrowDown",)),
    "long id": (image_hash(LONG_IMAGE), ".below .card", ()),
    "label first": ("#/search/sea", ".choice", ("ArrowDown", "Space", "Shift+ArrowRight")),
    "likely wrong": ("#/search/tree?kind=wrong", ".choice:visible, .none:visible", ()),
    "search results": ("#/search/sea,-person?tagged=1", ".choice", ()),
    "frequent labels": ("#/search", ".pill", ()),
    "together": ("#/together/img_0000017,img_0000018", ".together .card", ()),
    "labels only": ("#/labels/sea,sand", ".suggestion", ()),
    "audit": ("#/audit/wrong", ".finding .tags li", ("a",)),
    "duplicates": ("#/audit/duplicates", ".pair-side .example", ()),
    "vocabulary": ("#/vocabulary/labels/sea", ".label-detail .example", ()),
    "implications": ("#/vocabulary/implications", ".finding .example, .stage .none", ()),
    "rules": ("#/vocabulary/rules", ".vocabulary-body .none", ()),
    "about": ("#/about", ".facts", ()),
    "help": ("#/search/sea", ".choice", ("?",)),
}
CHECK = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
    .filter(one => ['serious', 'critical'].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => node.html).join(' | ')}`)"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Open, scheme: str) -> None:
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    tab = page("#/about", color_scheme=scheme)
    tab.wait_for_selector("main h1")
    tab.evaluate(axe)
    found = {}
    for name, (hash_, there, keys) in VIEWS.items():
        tab.evaluate("hash => { location.hash = hash; }", hash_)
        tab.wait_for_selector(there)
        for key in keys:
            tab.keyboard.press(key)
        # Old results are faded until the new ones are there.
        tab.wait_for_function("() => !document.querySelector('[aria-busy]')")
        tab.wait_for_function("() => document.getAnimations().every(one => one.playState !== 'running')")
        found[name] = tab.evaluate(CHECK)
        tab.keyboard.press("Escape")
    assert {name: said for name, said in found.items() if said} == {}
