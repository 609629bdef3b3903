from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.service_in_process import Client
from vse_ens.annotator import Annotator


def grid(client: Client, label: str, **more: Any) -> Any:
    answer = client.get("/api/grid", params={"label": label, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(answer: Any) -> list[str]:
    return [one["image"] for one in answer["images"]]


def decide(client: Client, label: str, images: list[str], verdict: str = "accept") -> Any:
    events = [{"image": image, "label": label, "verdict": verdict} for image in images]
    answer = client.post("/api/feedback/batch", json={"events": events})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_grid_lists_images_for_a_label_surest_first(client: Client, model: Path) -> None:
    annotator = Annotator.load(model)
    answer = grid(client, "sea", limit=10)
    surest = sorted(annotator.search(["sea"], 1000), key=lambda one: -(one.confidence or 0.0))
    assert names(answer) == [one.image for one in surest[:10]]
    assert answer["scored"] == 1.0
    assert answer["images"][0]["labels"] == annotator.known_labels(answer["images"][0]["image"])
    assert names(grid(client, "sea", limit=5, offset=5)) == names(answer)[5:]
    confidences = [one["confidence"] for one in grid(client, "sea", limit=500)["images"]]
    for text, count in answer["above"].items():
        assert count == sum(confidence >= float(text) for confidence in confidences), text
        filtered = grid(client, "sea", limit=500, min_confidence=float(text))
        assert (filtered["total"], len(filtered["images"])) == (count, count)
    assert answer["total"] == len(confidences)


def test_wrong_labels_are_found_among_the_images_that_have_it(client: Client, model: Path) -> None:
    finding = Annotator.load(model).audit(1).wrong[0]
    answer = grid(client, finding.label, kind="wrong")
    assert names(answer)[0] == finding.image
    assert all(finding.label in one["labels"] for one in answer["images"])
    confidences = [one["confidence"] for one in answer["images"]]
    assert confidences == sorted(confidences, reverse=True)


def test_decided_images_leave_the_grid_and_return_with_an_undo(serve: Callable[..., Client]) -> None:
    client = serve()
    before = grid(client, "sea", limit=20)
    batch = decide(client, "sea", names(before)[:3])["batch"]
    decide(client, "sea", names(before)[4:5], "reject")
    after = grid(client, "sea", limit=16)
    assert names(after) == [names(before)[3], *names(before)[5:20]]
    assert after["total"] == before["total"] - 4
    for text, count in before["above"].items():
        decided = [one["confidence"] for one in (*before["images"][:3], before["images"][4])]
        assert after["above"][text] == count - sum(value >= float(text) for value in decided)
    undone = client.post("/api/feedback/undo", json={"batch": batch}).json()
    assert undone == {"batch": batch, "undone": 3, "skipped": 0}
    assert names(grid(client, "sea", limit=5)) == [*names(before)[:4], names(before)[5]]


def test_the_grid_shows_the_labels_of_now(serve: Callable[..., Client]) -> None:
    client = serve()
    first = grid(client, "sea", limit=1)["images"][0]
    removed = first["labels"][0]
    decide(client, "zeppelin", [first["image"]])
    decide(client, removed, [first["image"]], "reject")
    shown = {one["image"]: one["labels"] for one in grid(client, "sea", limit=500)["images"]}
    assert shown[first["image"]] == [*first["labels"][1:], "zeppelin"]


@pytest.mark.parametrize("which", ["model", "other_model"])
def test_a_verdict_on_another_label_moves_an_image_at_once(
    serve: Callable[..., Client], which: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(which)
    annotator = Annotator.load(path)
    client = serve(model=path)
    before = grid(client, "sea", limit=500)
    image, labels = before["images"][-1]["image"], before["images"][-1]["labels"]
    decide(client, "sand", [image])
    decide(client, labels[0], [image], "reject")
    after = grid(client, "sea", limit=500)
    assert names(after).index(image) < len(names(after)) - 1
    [shown] = [one for one in after["images"] if one["image"] == image]
    assert after["total"] == before["total"]
    assert [name for name in names(after) if name != image] == names(before)[:-1]
    for text, count in after["above"].items():
        assert count == sum(one["confidence"] >= float(text) for one in after["images"])
    number = annotator.known_.images.numbers([image])
    [[suggestion]] = annotator.annotate_numbers(number, [[*labels[1:], "sand"]], allow=["sea"])
    assert shown["confidence"] == (suggestion.confidence and pytest.approx(suggestion.confidence, abs=1e-5))
    # The grid of the label that is suggested first has the confidence that the image shows.
    [first] = client.get("/api/image", params={"id": image, "top": 1}).json()["suggestions"]
    [shown] = [one for one in grid(client, first["label"], limit=500)["images"] if one["image"] == image]
    assert shown["confidence"] == (first["confidence"] and pytest.approx(first["confidence"], abs=1e-5))


def test_a_verdict_on_another_label_counts_for_likely_mistakes(serve: Callable[..., Client], model: Path) -> None:
    finding = Annotator.load(model).audit(1).wrong[0]
    client = serve()
    before = grid(client, finding.label, kind="wrong", limit=500)
    assert names(before)[0] == finding.image
    [similar, *_] = client.get("/api/similar/labels", params={"label": finding.label}).json()["similar"]
    decide(client, similar["label"], [finding.image])
    after = grid(client, finding.label, kind="wrong", limit=500)
    confidences = {one["image"]: one["confidence"] for one in after["images"]}
    assert confidences.get(finding.image) != before["images"][0]["confidence"]
    assert {**confidences, finding.image: None} == {
        **{one["image"]: one["confidence"] for one in before["images"]},
        finding.image: None,
    }
    event = client.get("/api/image", params={"id": finding.image}).json()["labels"][-1]["event"]
    client.post("/api/feedback/undo", json={"event": event})
    assert grid(client, finding.label, kind="wrong", limit=500) == before


def test_a_large_batch_is_scored_again_in_the_background(
    serve: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vse_ens.service.rescoring._SECONDS", 0.0)
    monkeypatch.setattr("vse_ens.service.rescoring._BLOCK", 3)
    client = serve()
    images = names(grid(client, "sea", limit=60))
    decide(client, "library", images)
    deadline = time.monotonic() + 60
    while True:
        shown = {one["image"]: one["confidence"] for one in grid(client, "sea", limit=500)["images"]}
        states = [client.get("/api/image", params={"id": one, "top": 100}).json() for one in (images[0], images[-1])]
        expected = [
            next((found["confidence"] for found in one["suggestions"] if found["label"] == "sea"), 0.0)
            for one in states
        ]
        if [shown[images[0]], shown[images[-1]]] == pytest.approx(expected, abs=2e-3):
            break
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_queue_goes_by_gain_and_counts_what_is_done(serve: Callable[..., Client]) -> None:
    client = serve()
    queue = client.get("/api/queue", params={"limit": 10}).json()
    gains = [one["gain"] for one in queue["images"]]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 0
    images = client.get("/api/model").json()["images"]
    assert (queue["done"], queue["total"], queue["scored"]) == (0, images, 1.0)
    decide(client, "sea", names(queue)[:2])
    decide(client, "sea", ["unknown to the model"])
    later = client.get("/api/queue", params={"limit": 8}).json()
    assert (names(later), later["done"]) == (names(queue)[2:], 2)
    assert names(client.get("/api/queue", params={"limit": 3, "offset": 4}).json()) == names(queue)[6:9]


def test_a_random_queue_differs_each_time_without_repetition(serve: Callable[..., Client]) -> None:
    client = serve()
    drawn = [names(client.get("/api/queue", params={"order": "random", "limit": 30}).json()) for _ in range(2)]
    assert len(set(drawn[0])) == len(drawn[0]) == 30
    assert drawn[0] != drawn[1]
    decided = client.get("/api/images", params={"prefix": "", "limit": 100}).json()["images"]
    decide(client, "sea", decided)
    assert not set(names(client.get("/api/queue", params={"order": "random", "limit": 100}).json())) & set(decided)


def test_a_queue_of_images_whose_verdicts_tell_most(serve: Callable[..., Client]) -> None:
    client = serve()
    queue = client.get("/api/queue", params={"order": "verdicts", "limit": 100}).json()
    assert len(set(names(queue))) == len(names(queue)) == 100
    gains = [one["gain"] for one in queue["images"]]
    assert gains != sorted(gains, reverse=True)
    assert names(client.get("/api/queue", params={"order": "verdicts", "limit": 100}).json()) == names(queue)
    decide(client, "sea", names(queue)[:3])
    assert names(client.get("/api/queue", params={"order": "verdicts", "limit": 97}).json()) == names(queue)[3:]


def test_verdicts_correct_confidences_of_the_served_model(serve: Callable[..., Client]) -> None:
    client = serve()
    before = client.get("/api/model").json()["confidence"]
    assert (before["given"], before["verdicts"], before["used"]) == (False, 0, 0)
    assert 0.1 <= before["completeness"] <= 0.9
    images = names(client.get("/api/queue", params={"order": "verdicts", "limit": 60}).json())
    answers = client.post("/api/annotate", json={"images": images, "top": 1}).json()["results"]
    grid = client.get("/api/grid", params={"label": "sea", "limit": 1}).json()["images"][0]
    events = [
        {"image": one["image"], "label": best["label"], "verdict": "accept", "confidence": best["confidence"]}
        for one in answers
        for best in one["suggestions"]
    ]
    typed = [{"image": image, "label": "typed by hand", "verdict": "accept"} for image in images]
    client.post("/api/feedback/batch", json={"events": events + typed})
    deadline = time.monotonic() + 60
    while not (after := client.get("/api/model").json()["confidence"])["used"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert (after["used"], after["verdicts"]) == (len(events), len(events))
    later = client.get("/api/grid", params={"label": "sea", "limit": 500}).json()["images"]
    assert next(one["confidence"] for one in later if one["image"] == grid["image"]) > grid["confidence"]


def test_grid_and_queue_work_without_feedback_and_confidences(serve: Callable[..., Client], other_model: Path) -> None:
    client = serve(model=other_model, feedback=None)
    label = client.get("/api/labels", params={"prefix": "", "limit": 1}).json()["labels"][0]["label"]
    answer = grid(client, label, limit=5)
    assert [one["confidence"] for one in answer["images"]] == [None] * 5
    assert answer["above"] == {}
    queue = client.get("/api/queue").json()
    assert len(queue["images"]) == 20
    assert client.get("/api/grid", params={"label": "nowhere"}).status_code == 404


def test_another_service_on_the_same_file_is_seen_at_once(serve: Callable[..., Client]) -> None:
    one, other = serve(), serve()
    before = grid(one, "sea", limit=3)
    grid(other, "sea", limit=3)
    decide(other, "sea", names(before)[:1])
    assert names(grid(one, "sea", limit=2)) == names(before)[1:]


def test_a_search_leaves_out_verdicts_and_shows_current_labels(serve: Callable[..., Client]) -> None:
    client = serve()

    def search(**more: Any) -> Any:
        return client.post("/api/search", json={"labels": ["sea", "sand"], "top": 5, **more}).json()

    before = search()
    first, second = names(before)[:2]
    decide(client, "sea", [first])
    decide(client, "sand", [second], "reject")
    assert names(search())[:3] == names(before)[2:5]
    tagged = search(tagged=True, top=100)
    assert second not in names(tagged)
    assert "sea" in next(one["labels"] for one in tagged["images"] if one["image"] == first)


def test_several_images_are_described_together(serve: Callable[..., Client]) -> None:
    client = serve()
    images = names(grid(client, "sea", limit=3))
    states = [client.get("/api/image", params={"id": image, "top": 100}).json() for image in images]

    def together() -> Any:
        return client.post("/api/together", json={"images": [*images, images[0]], "top": 5}).json()

    answer = together()
    assert names(answer) == images
    counts = Counter(one["label"] for state in states for one in state["labels"])
    assert {one["label"]: one["images"] for one in answer["labels"]} == counts
    first = answer["suggestions"][0]
    found = {
        state["image"]: one["confidence"]
        for state in states
        for one in state["suggestions"]
        if one["label"] == first["label"]
    }
    lacking = [state["image"] for state in states if first["label"] not in [one["label"] for one in state["labels"]]]
    assert first["images"] == lacking
    assert first["confidence"] == pytest.approx(sum(found.values()) / len(lacking), abs=1e-5)
    shown = [one["confidence"] for one in answer["suggestions"]]
    assert shown == sorted(shown, reverse=True)
    decide(client, first["label"], first["images"][:1])
    decide(client, first["label"], first["images"][1:2], "reject")
    again = next((one for one in together()["suggestions"] if one["label"] == first["label"]), {"images": []})
    assert again["images"] == first["images"][2:]
    assert client.post("/api/together", json={"images": ["nobody"]}).status_code == 404
