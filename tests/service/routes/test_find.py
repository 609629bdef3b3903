"""Completion by context, and the images of a label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.service.conftest import STRANGE_IMAGE, STRANGE_LABEL
from tests.support.service_in_process import Client
from vse_ens.annotator import Annotator


def completed(client: Client, **query: object) -> list[tuple[str, str]]:
    found = client.get("/api/complete", params=query).json()["labels"]
    return [(one["label"], one["why"]) for one in found]


def test_completes_by_the_labels_of_an_image(client: Client) -> None:
    alone = completed(client, text="s", limit=100)
    assert {why for _, why in alone} == {"frequency"}
    by_labels = completed(client, text="s", labels=["beach", "sea"], limit=100)
    assert by_labels[0][1] == "context"
    assert {label for label, _ in by_labels} == {label for label, _ in alone} - {"sea"}
    by_image = completed(client, text="", image=STRANGE_IMAGE, limit=100)
    assert not {"sea", STRANGE_LABEL} & {label for label, _ in by_image}
    assert completed(client, text="beahc", limit=1) == [("beach", "typo")]


def test_labels_that_only_feedback_has_are_offered(serve: Callable[..., Client]) -> None:
    client = serve()
    for number in (1, 2):
        body = {"image": f"img_000000{number}", "label": "seaplane base", "verdict": "accept"}
        event = client.post("/api/feedback", json=body).json()["event"]
    client.post("/api/feedback", json={"image": "not in the model", "label": "Zeppelin", "verdict": "accept"})
    client.post("/api/feedback", json={"image": "img_0000001", "label": "zebu", "verdict": "reject"})
    assert completed(client, text="zep")[0] == ("Zeppelin", "frequency")
    assert completed(client, text="zebu") == []
    assert completed(client, text="zepelin") == [("Zeppelin", "typo")]
    assert completed(client, text="zeppelin", new=False) == []
    assert completed(client, text="zep", image="img_0000002")[0] == ("Zeppelin", "frequency")
    assert completed(client, text="seaplane", image="img_0000002") == []
    assert client.get("/api/complete", params={"text": "base"}).json()["labels"][0]["images"] == 2
    client.post("/api/feedback/undo", json={"event": event})
    assert client.get("/api/complete", params={"text": "base"}).json()["labels"][0]["images"] == 1


def test_feedback_is_context_but_unknown_labels_are_not(serve: Callable[..., Client]) -> None:
    client = serve()
    for label, verdict in (("kitchen", "accept"), ("brand new", "accept"), ("sea", "reject")):
        client.post("/api/feedback", json={"image": STRANGE_IMAGE, "label": label, "verdict": verdict})
    labels = {label for label, _ in completed(client, text="", image=STRANGE_IMAGE, limit=100)}
    assert "kitchen" not in labels
    assert completed(client, text="sea", image=STRANGE_IMAGE)[0][0] == "sea"
    assert completed(client, text="k", labels=["nobody knows it"]) == completed(client, text="k")
    unknown = client.get("/api/complete", params={"text": "s", "image": "img_00000001"})
    assert (unknown.status_code, unknown.json()["nearest"][0]) == (404, "img_0000001")


def test_the_images_of_a_label_with_and_without_another(client: Client, model: Path) -> None:
    known = Annotator.load(model).known_

    def listed(**query: object) -> tuple[list[str], int]:
        answer = client.get("/api/label/images", params=query).json()
        assert all(one["labels"] == known.labels_of(one["image"]) for one in answer["images"])
        return [one["image"] for one in answer["images"]], answer["total"]

    sea = [image for image in known.images if "sea" in known.labels_of(image)]
    both = [image for image in sea if "beach" in known.labels_of(image)]
    assert listed(label="sea", limit=200) == (sea, len(sea))
    assert listed(label="sea", offset=2, limit=3) == (sea[2:5], len(sea))
    assert listed(label="sea", also="beach", limit=200) == (both, len(both))
    assert listed(label="sea", without="beach", limit=200)[0] == [image for image in sea if image not in both]
    assert client.get("/api/label/images", params={"label": "seaa"}).status_code == 404
