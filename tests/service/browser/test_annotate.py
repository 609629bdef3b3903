"""Annotate: find, accept, reject, undo, by mouse and by keys; the list changes at once and says why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from tests.service.browser.conftest import LONG_IMAGE, SCRIPT, UNICODE_IMAGE, image_hash
from tests.support.browser_running import Running
from vse_ens.data.feedback.verdicts import Feedback

pytest.importorskip("playwright.sync_api", reason="no browser driver (pip install playwright)")

from playwright.sync_api import Page, expect

Open = Callable[..., Page]
IMAGE = image_hash("img_0000017")


def names(page: Page) -> list[str]:
    """The suggested labels, the best first."""
    page.wait_for_selector(".suggestion")
    return page.locator(".suggestion-name").all_text_contents()


def settled(page: Page) -> None:
    """Wait until verdicts on all suggestions count."""
    page.wait_for_function(
        "() => document.querySelector('.suggestion') && !document.querySelector('.suggestion.fresh')"
    )


def held(page: Page) -> list[str]:
    return page.get_by_role("list", name="Labels of this image").locator("li > a").all_text_contents()


def accept(page: Page, label: str) -> None:
    page.get_by_role("button", name=re.compile(f"^Accept {re.escape(label)}( |$)")).click()
    expect(page.get_by_role("button", name=f"Undo: accept {label}")).to_be_visible()


def test_a_new_person_accepts_a_suggestion_with_the_first_click(fresh_page: Open) -> None:
    tab = fresh_page()
    expect(tab).to_have_url(re.compile("#/image/"))
    expect(tab.locator(".hint")).to_contain_text("Click a label to accept it")
    first = names(tab)[0]
    accept(tab, first)
    assert first in held(tab)
    expect(tab.locator(".hint")).to_be_empty()


def test_accepting_changes_the_list_at_once_and_says_so(fresh_page: Open) -> None:
    tab = fresh_page(IMAGE)
    before = names(tab)
    accept(tab, before[0])
    after = names(tab)
    assert before[0] not in after
    assert after != before[1:]
    expect(tab.locator("#announcer")).to_contain_text(f"Accepted {before[0]}. Top suggestion: {after[0]}")


def test_an_accepted_label_is_kept_and_can_be_undone(fresh_page: Open) -> None:
    tab = fresh_page(IMAGE)
    before, labels = names(tab), held(tab)
    accept(tab, before[1])
    tab.reload()
    tab.get_by_role("button", name=f"Undo: accept {before[1]}").click()
    expect(tab.locator(".suggestion-name")).to_have_text(before)  # polls until the list is ranked again
    assert held(tab) == labels


def test_rejected_labels_are_listed_and_can_be_undone(fresh_page: Open) -> None:
    tab = fresh_page(IMAGE)
    before = names(tab)
    tab.get_by_role("button", name=f"Reject {before[0]}", exact=True).click()
    undo = tab.get_by_role("button", name=f"Undo: reject {before[0]}")
    expect(undo).to_be_visible()
    assert before[0] not in names(tab)
    tab.get_by_role("button", name=f"Accept {before[2]}").click(modifiers=["Shift"])
    expect(tab.get_by_role("button", name=f"Undo: reject {before[2]}")).to_be_visible()
    undo.click()
    expect(undo).to_have_count(0)
    assert before[0] in names(tab)


def test_a_label_of_the_data_can_be_taken_off_and_another_put_on(fresh_page: Open) -> None:
    tab = fresh_page(image_hash(UNICODE_IMAGE))
    names(tab)
    tab.get_by_role("button", name="Remove sand").click()
    expect(tab.get_by_role("button", name="Undo: reject sand")).to_be_visible()
    assert "sand" not in held(tab)
    tab.get_by_role("combobox", name="Add another label").fill("umbrel")
    tab.get_by_role("option", name="umbrella").click()
    expect(tab.get_by_role("button", name="Undo: accept umbrella")).to_be_visible()
    tab.get_by_role("combobox", name="Add another label").fill("zeppelin of 1931")
    tab.get_by_role("option", name="zeppelin of 1931 new label").click()
    expect(tab.get_by_role("button", name="Undo: accept zeppelin of 1931")).to_be_visible()


def test_the_reason_shows_on_hover_and_focus_covering_nothing(page: Open) -> None:
    tab = page(IMAGE)
    names(tab)
    chip = tab.locator(".suggestion").nth(1)
    why = tab.locator(".why")
    chip.hover()
    expect(why).to_contain_text(re.compile(r"because of.*[+−]\d+\.\d", re.DOTALL))
    tab.mouse.move(0, 0)
    expect(why).to_be_empty()
    before = chip.bounding_box()
    tab.keyboard.press("ArrowDown")
    expect(why).to_contain_text("because of")
    assert chip.bounding_box() == before
    covered = """() => [...document.querySelectorAll('.suggestion')].filter(chip => {
        const {left, top, width, height} = chip.getBoundingClientRect();
        return !chip.contains(document.elementFromPoint(left + width / 3, top + height / 2));
    }).length"""
    settled(tab)
    assert tab.evaluate(covered) == 0
    tab.keyboard.press("Escape")
    expect(why).to_be_empty()
    described = chip.get_by_role("button", name="Accept").evaluate(
        "button => document.getElementById(button.getAttribute('aria-describedby')).textContent"
    )
    assert re.match(r"because of: .+ [+−]\d", described)


def test_the_keyboard_alone_is_enough(fresh_page: Open) -> None:
    tab = fresh_page(IMAGE)
    start = names(tab)
    tab.keyboard.press("/")
    tab.keyboard.type("img_0000023")
    expect(tab.get_by_role("option", name="img_0000023")).to_be_visible()
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", name="img_0000023", level=1)).to_be_visible()
    tab.keyboard.press("Escape")
    expect(tab.locator(".suggestion-name").first).not_to_have_text(start[0])
    first, second, third = names(tab)[:3]
    tab.keyboard.press("ArrowDown")
    expect(tab.get_by_role("button", name=f"Accept {first}")).to_be_focused()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    expect(tab.get_by_role("button", name=f"Accept {third}")).to_be_focused()
    tab.keyboard.press("ArrowLeft")
    settled(tab)
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("button", name=f"Undo: accept {second}")).to_be_visible()
    expect(tab.locator(".accept").nth(1)).to_be_focused()
    now = names(tab)[1]
    settled(tab)
    tab.keyboard.press("x")
    expect(tab.get_by_role("button", name=f"Undo: reject {now}")).to_be_visible()
    tab.keyboard.press("u")
    expect(tab.get_by_role("button", name=f"Undo: reject {now}")).to_have_count(0)
    tab.keyboard.press("u")
    expect(tab.get_by_role("button", name=f"Undo: accept {second}")).to_have_count(0)
    tab.keyboard.press("n")
    expect(tab.get_by_role("heading", name="img_0000023", level=1)).to_have_count(0)
    expect(tab.locator(".accept").first).to_be_focused()
    tab.keyboard.press("p")
    expect(tab.get_by_role("heading", name="img_0000023", level=1)).to_be_visible()


def hold(page: Page, key: str, repeats: int) -> None:
    """Hold a key: the browser repeats it until it is let go."""
    for _ in range(repeats + 1):
        page.keyboard.down(key)
    page.keyboard.up(key)


def verdicts(tmp_path: Path) -> list[tuple[str, str, str]]:
    """The stored events: verdict, image, label."""
    feedback = Feedback(tmp_path / "feedback.sqlite")
    events = [(one.verdict, one.image, one.label) for one in feedback.events(limit=1000)]
    feedback.close()
    return events


@pytest.mark.parametrize("key", ["a", "x", "r", "Enter", "2", "Shift+Digit3"])
def test_a_held_key_decides_once(fresh_page: Open, tmp_path: Path, key: str) -> None:
    tab = fresh_page(IMAGE)
    names(tab)
    tab.keyboard.press("ArrowDown")
    settled(tab)
    shift, _, name = key.rpartition("+")
    if shift:
        tab.keyboard.down(shift)
    hold(tab, name, 30)
    if shift:
        tab.keyboard.up(shift)
    expect(tab.locator(".label-chip.new, .label-chip.rejected")).to_have_count(1)
    tab.keyboard.press("u")  # waits for what was sent before it
    expect(tab.locator("#announcer")).to_contain_text("Undone")
    assert [verdict for verdict, _, _ in verdicts(tmp_path)][1:] == ["undo"]


def test_a_verdict_counts_only_for_a_suggestion_that_was_seen(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page("#/about")
    tab.wait_for_selector(".facts")
    tab.evaluate("hash => { window.clock = 0; performance.now = () => window.clock; location.hash = hash; }", IMAGE)
    first, second, third, *_ = before = names(tab)
    tab.evaluate("() => { document.querySelector('.suggestion .accept').focus(); window.clock = 149; }")
    for key in ("a", "x", "1", "Enter"):
        tab.keyboard.press(key)
    tab.evaluate("() => { document.querySelector('.suggestion .accept').click(); window.clock = 150; }")
    tab.keyboard.press("3")
    expect(tab.get_by_role("button", name=f"Undo: accept {third}")).to_be_visible()
    assert verdicts(tmp_path) == [("accept", "img_0000017", third)]
    # What was there before and is still there was seen; what came in its place was not.
    assert {first, second} <= set(names(tab))
    best = names(tab)[0]
    assert best in before
    tab.keyboard.press("a")
    expect(tab.get_by_role("button", name=f"Undo: accept {best}")).to_be_visible()


def test_numbers_mean_what_was_shown_beside_them(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page(IMAGE)
    before = names(tab)
    settled(tab)
    tab.evaluate("() => { window.clock = performance.now(); performance.now = () => window.clock; }")
    for number, key in enumerate(("1", "2", "Shift+Digit4"), start=1):
        tab.keyboard.press(key)  # faster than anyone reads: the clock stands still, and all mean the list as it was
        expect(tab.locator(".label-chip.new, .label-chip.rejected")).to_have_count(number)
    said = [(verdict, label) for verdict, _, label in verdicts(tmp_path)]
    assert said == [("accept", before[0]), ("accept", before[1]), ("reject", before[3])]
    tab.keyboard.press("1")  # it is decided already
    tab.evaluate("() => { window.clock += 150; }")
    now = names(tab)[0]
    tab.keyboard.press("1")
    expect(tab.get_by_role("button", name=f"Undo: accept {now}")).to_be_visible()
    assert len(verdicts(tmp_path)) == 4


def test_undo_returns_to_the_image_and_says_what_it_undid(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page(IMAGE)
    names(tab)
    tab.keyboard.press("u")
    expect(tab.locator(".notice")).to_have_text("Nothing to undo.")
    expect(tab.locator("#announcer")).to_have_text("Nothing to undo.")
    first = names(tab)[0]
    accept(tab, first)
    tab.keyboard.press("n")
    expect(tab.get_by_role("heading", name="img_0000017", level=1)).to_have_count(0)
    second = names(tab)[0]
    accept(tab, second)
    other = tab.get_by_role("heading", level=1).inner_text()
    tab.get_by_role("link", name="About").click()
    tab.get_by_role("link", name="Annotate").click()
    tab.keyboard.press("n")
    expect(tab.get_by_role("heading", name=other, level=1)).to_have_count(0)
    tab.reload()  # the stack lives as long as the tab
    names(tab)
    tab.keyboard.press("u")
    expect(tab.locator("#announcer")).to_have_text(f"Undone: accept {second} for {other}.")
    expect(tab.get_by_role("heading", name=other, level=1)).to_be_visible()
    tab.keyboard.press("u")
    expect(tab.locator("#announcer")).to_have_text(f"Undone: accept {first} for img_0000017.")
    expect(tab.get_by_role("heading", name="img_0000017", level=1)).to_be_visible()
    expect(tab.locator(".label-chip.new")).to_have_count(0)
    expect(tab.locator("#announcer")).to_contain_text("Undone")
    tab.keyboard.press("u")
    expect(tab.locator("#announcer")).to_have_text("Nothing to undo.")
    assert [verdict for verdict, _, _ in verdicts(tmp_path)] == ["accept", "accept", "undo", "undo"]


def test_tab_leads_to_one_chip_and_on(page: Open) -> None:
    tab = page(IMAGE)
    names(tab)
    assert tab.locator(".suggestion button[tabindex='0']").count() == 2


def test_quick_clicks_are_all_kept(fresh_page: Open) -> None:
    tab = fresh_page(IMAGE)
    labels = names(tab)[:4]
    for _ in labels:
        tab.locator(".accept").first.click(no_wait_after=True)
    expect(tab.locator(".label-chip.new")).to_have_count(4)


def test_labels_instead_of_an_image(page: Open) -> None:
    tab = page("#/labels/sea,sand")
    before = names(tab)
    tab.get_by_role("button", name=f"Accept {before[0]}").click()
    expect(tab).to_have_url(re.compile(f"#/labels/sea,sand,{re.escape(quote(before[0], safe='()'))}$"))
    expect(tab.get_by_role("button", name=f"Remove {before[0]}")).to_be_visible()
    expect(tab.get_by_role("button", name=f"Accept {before[0]}")).to_have_count(0)
    rejected = names(tab)[0]
    tab.get_by_role("button", name=f"Reject {rejected}", exact=True).click()
    expect(tab.get_by_role("button", name=f"Undo: reject {rejected}")).to_be_visible()
    tab.go_back()
    expect(tab.get_by_role("button", name=f"Accept {rejected}")).to_be_visible()
    tab.keyboard.press("u")
    expect(tab).to_have_url(re.compile("#/labels/sea,sand$"))


def test_labels_are_typed_with_completion(page: Open) -> None:
    tab = page(IMAGE)
    names(tab)
    tab.get_by_role("combobox", name="Find an image or a label").fill("sail")
    tab.get_by_role("option", name="sailing boat").click()
    expect(tab).to_have_url(re.compile("#/labels/sailing%20boat$"))
    tab.get_by_role("combobox", name="Add a label").fill("sk")
    tab.get_by_role("option", name=re.compile("^sky ")).click()
    expect(tab).to_have_url(re.compile("#/labels/sailing%20boat,sky$"))
    expect(tab.get_by_role("combobox", name="Add a label")).to_be_focused()


def test_a_label_that_is_a_script_stays_text(page: Open) -> None:
    tab = page(image_hash(UNICODE_IMAGE))
    expect(tab.get_by_role("heading", name=UNICODE_IMAGE, level=1)).to_be_visible()
    names(tab)
    assert SCRIPT in held(tab)
    tab.goto(tab.url.partition("#")[0] + "#/labels/sea,sand,beach")
    accept_script = tab.get_by_role("button", name=f"Accept {SCRIPT}")
    expect(accept_script).to_be_visible()
    accept_script.hover()
    accept_script.click()
    expect(tab.get_by_role("button", name=f"Remove {SCRIPT}")).to_be_visible()
    assert tab.evaluate("document.querySelectorAll('main script').length") == 0


def test_a_random_image_and_the_way_back(page: Open) -> None:
    tab = page(IMAGE)
    names(tab)
    tab.get_by_role("button", name="Random image").click()
    expect(tab.get_by_role("heading", name="img_0000017", level=1)).to_have_count(0)
    tab.get_by_role("button", name="Previous image").click()
    expect(tab.get_by_role("heading", name="img_0000017", level=1)).to_be_visible()


def test_annotate_leads_back_to_the_image_one_was_at(page: Open) -> None:
    tab = page(IMAGE)
    names(tab)
    tab.get_by_role("link", name="About").click()
    tab.get_by_role("link", name="Annotate").click()
    expect(tab.get_by_role("heading", name="img_0000017", level=1)).to_be_visible()


def test_an_unknown_image_offers_known_ones(page: Open, forgiven: list[str]) -> None:
    forgiven.append("404")
    tab = page("#/image/img_000001")
    expect(tab.locator(".subject")).to_contain_text("Unknown image")
    tab.locator(".subject").get_by_role("link").first.click()
    names(tab)


def test_pictures_appear_where_the_service_knows_them(serve: Callable[..., Running], open_page: Open) -> None:
    # Our own icon stands in for the pictures: nothing is fetched from outside.
    service = serve(image_url="/static/favicon.svg?{image}")
    tab = open_page(service.address, image_hash(LONG_IMAGE))
    picture = tab.get_by_role("img", name=f"Picture {LONG_IMAGE}")
    expect(picture).to_be_visible()
    tab.wait_for_function("image => image.naturalWidth > 0", arg=picture.element_handle())
    expect(tab.locator(".below .picture img").first).to_be_visible()


def test_a_picture_that_is_not_there_leaves_the_card(
    serve: Callable[..., Running], open_page: Open, forgiven: list[str]
) -> None:
    forgiven.append("404")
    tab = open_page(serve(image_url="/static/none/{image}.jpg").address, IMAGE)
    expect(tab.locator(".subject .picture")).to_have_text("No picture")
    assert names(tab)


def test_without_confidence_there_are_labels_and_no_percents(
    serve: Callable[..., Running], open_page: Open, plain_model: object
) -> None:
    tab = open_page(serve(model=plain_model).address, IMAGE)
    assert names(tab)
    expect(tab.locator(".suggestion-share")).to_have_count(0)


def test_without_feedback_the_page_says_so(serve: Callable[..., Running], open_page: Open, forgiven: list[str]) -> None:
    forgiven.append("403")
    tab = open_page(serve(feedback=None).address, IMAGE)
    expect(tab.locator(".hint")).to_contain_text("does not store verdicts")
    first = names(tab)[0]
    tab.locator(".accept").first.click()
    expect(tab.locator(".toast")).to_contain_text("stores no feedback")
    assert names(tab)[0] == first


def test_the_first_image_and_the_next_come_from_the_queue(service: Running, open_page: Open, tmp_path: Path) -> None:
    with urlopen(f"{service.address}api/queue?limit=3") as answer:
        queue = [one["image"] for one in json.load(answer)["images"]]
    tab = open_page(service.address)
    heading = tab.get_by_role("heading", level=1)
    expect(heading).to_have_text(queue[0])
    expect(tab.locator(".queue-count")).to_have_text(re.compile(r"^0 of [\d,]+ images reviewed$"))
    settled(tab)
    tab.keyboard.press("1")
    expect(tab.locator(".label-chip.new")).to_have_count(1)
    expect(tab.locator(".queue-count")).to_have_text(re.compile(r"^1 of "))
    tab.keyboard.press("2")
    expect(tab.locator(".label-chip.new")).to_have_count(2)
    expect(tab.locator(".queue-count")).to_have_text(re.compile(r"^1 of "))
    tab.keyboard.press("u")
    expect(tab.locator(".label-chip.new")).to_have_count(1)
    tab.keyboard.press("u")
    expect(tab.locator(".queue-count")).to_have_text(re.compile(r"^0 of "))
    settled(tab)
    tab.keyboard.press("1")
    expect(tab.locator(".queue-count")).to_have_text(re.compile(r"^1 of "))
    tab.keyboard.press("n")
    expect(heading).to_have_text(queue[1])
    tab.get_by_role("combobox", name="Order of images").select_option("random")
    tab.reload()
    expect(tab.get_by_role("combobox", name="Order of images")).to_have_value("random")
    tab.goto(service.address)
    expect(tab.locator(".queue-count")).to_have_text(re.compile(r"^1 of "))


def test_the_page_goes_on_by_itself_if_wished_and_undo_returns(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page(IMAGE)
    names(tab)
    tab.get_by_role("combobox", name="When to advance").select_option("verdict")
    tab.keyboard.press("Escape")
    tab.locator("h1").focus()
    settled(tab)
    first = names(tab)[0]
    tab.keyboard.press("1")
    expect(tab.get_by_role("heading", name="img_0000017", level=1)).to_have_count(0)
    assert verdicts(tmp_path) == [("accept", "img_0000017", first)]
    names(tab)
    tab.keyboard.press("u")
    expect(tab.get_by_role("heading", name="img_0000017", level=1)).to_be_visible()


def test_suggestions_are_grouped_by_namespace(page: Open) -> None:
    tab = page("#/about")
    tab.wait_for_selector(".facts")
    labels = ["place|beach", "sea", "character:alice", "place|coast", "16:9", "sand"]
    body = {"model": "m", "results": [{"image": None, "labels": [], "suggestions": []}]}
    body["results"][0]["suggestions"] = [  # type: ignore[index]
        {"label": label, "score": 1.0, "confidence": 0.9 - place / 10} for place, label in enumerate(labels)
    ]
    tab.route("**/api/annotate", lambda route: route.fulfill(json=body))
    tab.evaluate("() => { location.hash = '#/labels/sky'; }")
    expect(tab.locator(".suggestion-group h3")).to_have_text(["place", "other labels", "character"])
    assert names(tab) == ["place|beach", "place|coast", "sea", "16:9", "sand", "character:alice"]
    assert tab.locator(".suggestion-number").all_text_contents() == ["1", "2", "3", "4", "5", "6"]
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("End")
    expect(tab.get_by_role("button", name="Accept character:alice")).to_be_focused()


def test_several_images_are_labeled_together(fresh_page: Open, tmp_path: Path) -> None:
    tab = fresh_page("#/search/sea")
    tab.wait_for_selector(".choice")
    images = tab.locator(".choice .card-link").all_text_contents()[:3]
    tab.locator(".choice").first.click()
    tab.locator(".choice").nth(2).click(modifiers=["Shift"])
    tab.get_by_role("button", name="Label together").click()
    expect(tab.get_by_role("heading", name="3 images", level=1)).to_be_visible()
    first = names(tab)[0]
    settled(tab)
    tab.keyboard.press("1")
    expect(tab.locator("#announcer")).to_contain_text(re.compile(f"^Accepted {re.escape(first)} for \\d images?\\.$"))
    events = verdicts(tmp_path)
    assert events
    assert {(verdict, label) for verdict, _, label in events} == {("accept", first)}
    assert {image for _, image, _ in events} <= set(images)
    tab.keyboard.press("u")
    expect(tab.locator("#announcer")).to_contain_text("Undone")
    assert names(tab)[0] == first


def test_a_long_id_and_long_labels_stay_within_a_narrow_page(fresh_page: Open, service: Running) -> None:
    tab = fresh_page(image_hash(LONG_IMAGE), viewport={"width": 360, "height": 740})
    names(tab)
    for hash_, there in (
        (image_hash(LONG_IMAGE), ".below .card"),
        ("#/search/kitchen?tagged=1", ".choice"),
        ("#/search", ".pill"),
        (f"#/together/{quote(LONG_IMAGE, safe='')},one-label", ".together .card"),
    ):
        tab.evaluate("hash => { location.hash = hash; }", hash_)
        tab.wait_for_selector(there)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, hash_


def test_the_first_suggestions_need_few_requests(service: Running, open_page: Open) -> None:
    tab = open_page(service.address, "#/about")
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url.removeprefix(service.address)))
    tab.goto(service.address)
    names(tab)
    assert len([url for url in asked if not url.startswith("api/similar")]) <= 9, asked


def test_the_page_says_when_the_model_is_newer(fresh_page: Open, service: Running) -> None:
    tab = fresh_page(IMAGE)
    names(tab)
    settled(tab)
    swap = "() => fetch('api/reload', {method: 'POST', headers: {'X-VSE-Reload': 'yes'}}).then(() => undefined)"
    tab.evaluate(swap)  # the same model: nothing to say
    tab.keyboard.press("1")
    expect(tab.locator("#announcer")).to_contain_text("Accepted")
    expect(tab.locator(".notice")).to_have_count(0)
    tab.route("**/api/image?*", lambda route: route.fulfill(json={**route.fetch().json(), "model": "another"}))
    tab.keyboard.press("n")
    expect(tab.locator(".notice")).to_have_text("The model is newer: it has learnt from the verdicts so far.")


def test_percentages_say_what_they_assume_and_change_with_one_choice(fresh_page: Open) -> None:
    tab = fresh_page(IMAGE)
    choice = tab.get_by_role("combobox", name="How complete the labels are")
    expect(choice).to_have_value("")
    expect(choice.locator("option:checked")).to_have_text(re.compile(r"^\d+\s%, estimated$"))
    names(tab)
    before = tab.locator(".suggestion").first.inner_text()
    choice.select_option("0.3")
    expect(choice).to_have_value("0.3")
    expect(choice.locator("option").first).to_have_text("estimated")
    expect(tab.locator(".suggestion").first).not_to_have_text(before, use_inner_text=True)
    choice.select_option("")
    expect(choice.locator("option:checked")).to_contain_text("estimated")
    expect(tab.locator(".suggestion").first).to_have_text(before, use_inner_text=True)
