"""The essential flows of Annotate and Browse in Firefox."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.browser_running import Running
from tests.support.firefox import Firefox, FirefoxPage, running_firefox
from vse_ens.data.feedback.verdicts import Feedback

IMAGE = "#/image/img_0000017"
SETTLED = "() => document.querySelector('.suggestion') && !document.querySelector('.suggestion.fresh')"


@pytest.fixture(scope="module")
def firefox() -> Iterator[Firefox]:
    with running_firefox() as browser:
        yield browser


@pytest.fixture
def open_tab(firefox: Firefox, service: Running) -> Iterator[Callable[[str], FirefoxPage]]:
    opened: list[FirefoxPage] = []

    def start(hash_: str) -> FirefoxPage:
        opened.append(firefox.open(service.address + hash_))
        return opened[-1]

    yield start
    for tab in opened:
        tab.close()


def verdicts(tmp_path: Path) -> list[tuple[str, str, str]]:
    feedback = Feedback(tmp_path / "feedback.sqlite")
    events = [(one.verdict, one.image, one.label) for one in feedback.events(limit=1000)]
    feedback.close()
    return events


def test_a_held_key_decides_once_and_undo_returns_to_the_image(
    open_tab: Callable[[str], FirefoxPage], tmp_path: Path
) -> None:
    tab = open_tab(IMAGE)
    tab.wait(SETTLED)
    first, second = tab.texts(".suggestion-name")[:2]
    tab.press("ArrowDown")
    tab.press("a", times=30)
    tab.wait_text("#announcer", f"Accepted {first}.")
    assert verdicts(tmp_path) == [("accept", "img_0000017", first)]
    tab.wait(SETTLED)
    third = tab.texts(".suggestion-name")[1]
    tab.press("Shift+2")
    tab.wait_text("#announcer", f"Rejected {third}.")
    tab.press("n")
    tab.wait("() => !document.querySelector('h1').textContent.includes('img_0000017')")
    tab.press("u")
    tab.wait_text("#announcer", f"Undone: reject {third} for img_0000017.")
    tab.wait_text("h1", "img_0000017")
    tab.press("u")
    tab.wait_text("#announcer", f"Undone: accept {first} for img_0000017.")
    tab.press("u")
    tab.wait_text("#announcer", "Nothing to undo.")
    assert second


def test_a_label_is_decided_for_many_images(open_tab: Callable[[str], FirefoxPage], tmp_path: Path) -> None:
    tab = open_tab("#/search/sea")
    tab.wait("() => document.querySelector('.choice')")
    before = tab.texts(".choice .card-link")
    tab.press("ArrowDown")
    tab.press("Space")
    tab.press("Shift+ArrowRight")
    tab.press("Shift+ArrowRight")
    assert tab.texts(".choice[aria-selected=true] .card-link") == before[:3]
    tab.press("a")
    tab.wait_text("#announcer", "Accepted sea for 3 images.")
    tab.wait("image => document.querySelector('.card-link').textContent === image", before[3])
    assert verdicts(tmp_path) == [("accept", image, "sea") for image in before[:3]]
    tab.click(".choice:nth-child(2)")
    tab.click(".choice:nth-child(4)", shift=True)
    assert tab.texts(".choice[aria-selected=true] .card-link") == before[4:7]
    tab.press("r")
    tab.wait_text("#announcer", "Rejected sea for 3 images.")
    tab.press("u")
    tab.wait_text("#announcer", "Undone: reject sea for 3 images.")
    tab.press("u")
    tab.wait("image => document.querySelector('.card-link').textContent === image", before[0])
    tab.run("() => document.querySelector('.slider input').focus()")
    tab.press("ArrowRight")
    tab.wait_text(".slider-count", "5 % or more")


def test_the_queue_and_several_images_together(open_tab: Callable[[str], FirefoxPage], tmp_path: Path) -> None:
    tab = open_tab("")
    tab.wait(SETTLED)
    tab.wait_text(".queue-count", "images reviewed")
    image = tab.text("h1")
    tab.press("1")
    tab.wait_text("#announcer", "Accepted")
    assert [one[1] for one in verdicts(tmp_path)] == [image]
    tab.go("#/together/img_0000017,img_0000018")
    tab.wait_text("h1", "2 images")
    tab.wait(SETTLED)
    label = tab.text(".suggestion-name")
    tab.press("1")
    tab.wait_text("#announcer", f"Accepted {label} for")
    tab.press("u")
    tab.wait_text("#announcer", f"Undone: accept {label} for")


def test_the_audit_and_the_labels_by_key(open_tab: Callable[[str], FirefoxPage], tmp_path: Path) -> None:
    tab = open_tab("#/audit/missing")
    tab.wait("() => document.querySelector('.finding h2 em')")
    label, image = tab.text(".finding h2 em"), tab.text(".finding-image > a")
    tab.wait_text(".verdicts .primary", f"Add {label}")
    tab.press("a", times=5)
    tab.wait_text(".tally", "1 of ")
    assert verdicts(tmp_path) == [("accept", image, label)]
    tab.press("u")
    tab.wait_text(".tally", "0 of ")
    tab.go("#/vocabulary/labels/sea")
    tab.wait("() => document.querySelector('.label-detail .example')")
    assert tab.texts(".label-row[aria-current]")[0].startswith("sea")
