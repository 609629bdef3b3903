from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import STRANGE_IMAGE, STRANGE_LABEL
from tests.support.service_in_process import Client
from vse_ens.annotator import Annotator
from vse_ens.service.suggest import MAX_REASONS


@pytest.fixture(scope="module")
def annotator(model: Path) -> Annotator:
    return Annotator.load(model)


def test_annotates_an_image_as_the_model_does(client: Client, annotator: Annotator) -> None:
    answer = client.post("/api/annotate", json={"images": ["img_0000001"], "top": 3}).json()
    assert answer["model"] == client.get("/ready").json()["model"]
    [result] = answer["results"]
    assert result["image"] == "img_0000001"
    assert result["labels"] == annotator.known_labels("img_0000001")
    expected = annotator.annotate("img_0000001", top=3)
    assert [(one["label"], one["score"], one["confidence"]) for one in result["suggestions"]] == [
        (one.label, pytest.approx(one.score, abs=1e-6), pytest.approx(one.confidence, abs=1e-6)) for one in expected
    ]
    assert all("because" not in one for one in result["suggestions"])


def test_a_batch_is_each_of_its_images(client: Client) -> None:
    images = ["img_0000003", STRANGE_IMAGE, "日本"]
    together = client.post("/api/annotate", json={"images": images}).json()["results"]
    alone = [client.post("/api/annotate", json={"images": [image]}).json()["results"][0] for image in images]
    assert together == alone
    assert [one["image"] for one in together] == images


def test_annotates_by_labels_with_reasons_that_add_up(client: Client) -> None:
    body = {"labels": [["sea", "sand"], []], "explain": True, "all_reasons": True, "top": 4}
    first, second = client.post("/api/annotate", json=body).json()["results"]
    assert (first["image"], first["labels"], len(second["suggestions"])) == (None, ["sea", "sand"], 4)
    for one in first["suggestions"]:
        assert one["label"] not in ("sea", "sand")
        assert sum(reason["share"] for reason in one["because"]) == pytest.approx(one["score"], rel=1e-3)
        assert {reason["source"] for reason in one["because"]} <= {"labels", "neighbors", "image", "bias"}
        images = [reason for reason in one["because"] if reason["source"] == "neighbors"]
        assert all(0 < len(reason["images"]) <= reason["count"] for reason in images)


def test_answers_have_the_first_reasons_unless_all_are_requested(serve: Callable[..., Client]) -> None:
    client = serve()
    image = client.get("/api/image", params={"id": "img_0000001", "all_reasons": True}).json()
    every = {one["label"]: one["because"] for one in image["suggestions"]}
    assert min(map(len, every.values())) > MAX_REASONS
    body: dict[str, Any] = {"images": ["img_0000001"], "top": 12, "explain": True}
    answers = {
        "annotate": client.post("/api/annotate", json=body).json()["results"][0],
        "image": client.get("/api/image", params={"id": "img_0000001"}).json(),
    }
    for route, answer in answers.items():
        reasons = {one["label"]: one["because"] for one in answer["suggestions"]}
        assert reasons == {label: some[:MAX_REASONS] for label, some in every.items()}, route
    [asked] = client.post("/api/annotate", json={**body, "all_reasons": True}).json()["results"]
    assert {one["label"]: one["because"] for one in asked["suggestions"]} == every
    body = {"image": "img_0000001", "label": image["suggestions"][0]["label"]}
    assert client.post("/api/explain", json=body).json()["because"] == image["suggestions"][0]["because"]
    body = {**body, "verdict": "accept"}
    click = client.post("/api/feedback", json=body).json()["state"]
    first = client.get("/api/queue", params={"top": 12}).json()["state"]
    assert MAX_REASONS <= 10
    for state in (click, first):
        assert {len(one["because"]) for one in state["suggestions"]} <= {*range(1, MAX_REASONS + 1)}


def test_the_answer_to_a_click_is_small(serve: Callable[..., Client]) -> None:
    """On the built-in data; with all reasons it had up to 70 kB."""
    client = serve()
    sizes = []
    for image in client.get("/api/queue", params={"limit": 20}).json()["images"]:
        state = client.get("/api/image", params={"id": image["image"]})
        body = {"image": image["image"], "label": state.json()["suggestions"][0]["label"], "verdict": "accept"}
        sizes += [len(state.content), len(client.post("/api/feedback", json=body).content)]
    assert max(sizes) < 10_000


def test_allow_deny_and_confidence_narrow_what_is_suggested(client: Client) -> None:
    def suggested(**how: Any) -> list[str]:
        body = {"images": ["img_0000002"], "top": 100, **how}
        [result] = client.post("/api/annotate", json=body).json()["results"]
        return [one["label"] for one in result["suggestions"]]

    best = suggested()
    assert suggested(deny=best[:1])[0] == best[1]
    assert suggested(allow=best[3:5]) == best[3:5]
    assert 0 < len(suggested(min_confidence=0.01)) < 100
    assert suggested(min_confidence=1.0) == []


def test_many_labels_are_answered_as_few_are(client: Client) -> None:
    """On a thread, where looking them up holds nobody up."""
    every = [one["label"] for one in client.get("/api/labels", params={"limit": 1000}).json()["labels"]]
    allowed = client.post("/api/annotate", json={"images": ["img_0000002"], "allow": every})
    assert allowed.json() == client.post("/api/annotate", json={"images": ["img_0000002"]}).json()
    unknown = client.post("/api/annotate", json={"images": ["img_0000002"], "allow": [*every, "seaa"]})
    assert (unknown.status_code, unknown.json()["nearest"][0]) == (404, "sea")


def test_an_unknown_id_is_told_with_the_nearest(client: Client) -> None:
    for path, body, nearest in (
        ("/api/annotate", {"images": ["img_0000001", "img-0000001"]}, "img_0000001"),
        ("/api/annotate", {"labels": [["seaa"]]}, "sea"),
        ("/api/annotate", {"images": ["img_0000001"], "allow": ["seaa"]}, "sea"),
        ("/api/annotate", {"images": ["img_0000001"], "deny": ["seaa"]}, "sea"),
        ("/api/search", {"labels": ["sea", "-beachh"]}, "beach"),
        ("/api/explain", {"image": "img_0000001", "label": "beachh"}, "beach"),
    ):
        answer = client.post(path, json=body)
        assert answer.status_code == 404, body
        assert nearest in answer.json()["nearest"]
        assert "unknown" in answer.json()["error"]
    assert client.get("/api/similar/labels", params={"label": "beachh"}).json()["nearest"][0] == "beach"
    assert client.get("/api/similar/images", params={"image": "日"}).status_code == 404


def test_searches_with_and_without(client: Client, annotator: Annotator) -> None:
    found = client.post("/api/search", json={"labels": ["beach", "-person"], "top": 7}).json()["images"]
    assert [one["image"] for one in found] == [one.image for one in annotator.search(["beach", "-person"], 7)]
    for one in found:
        assert one["labels"] == annotator.known_labels(one["image"])
        assert not {"beach", "person"} & set(one["labels"])
    tagged = client.post("/api/search", json={"labels": [STRANGE_LABEL], "tagged": True}).json()["images"]
    assert {STRANGE_IMAGE, "img_0000001"} <= {one["image"] for one in tagged}


def test_tells_what_is_like_what(client: Client, annotator: Annotator) -> None:
    answer = client.get("/api/similar/labels", params={"label": "beach", "top": 4}).json()
    assert answer["label"] == "beach"
    assert [one["label"] for one in answer["similar"]] == [one.id for one in annotator.similar_labels("beach", 4)]
    answer = client.get("/api/similar/images", params={"image": STRANGE_IMAGE, "top": 4}).json()
    assert answer["image"] == STRANGE_IMAGE
    assert [one["image"] for one in answer["similar"]] == [one.id for one in annotator.similar_images(STRANGE_IMAGE, 4)]
    assert all(one["labels"] == annotator.known_labels(one["image"]) for one in answer["similar"])


def test_explains_a_label_for_an_image_and_for_labels(client: Client) -> None:
    for body in ({"image": "日本", "label": "beach"}, {"labels": ["sand"], "label": "beach"}):
        answer = client.post("/api/explain", json=body).json()
        assert answer["label"] == "beach"
        assert {"labels": ["sand"]}.items() <= answer["because"][0].items()
        assert sum(one["share"] for one in answer["because"]) == pytest.approx(answer["score"], rel=1e-3)
        assert answer["left_out"] is False
    owned = client.post("/api/explain", json={"image": "日本", "label": "sand"}).json()
    assert (owned["left_out"], [one["source"] for one in owned["because"]]) == (True, ["frequency"])


def test_a_model_without_confidence_or_context_is_served_as_well(
    serve: Callable[..., Client], other_model: Path
) -> None:
    client = serve(model=other_model)
    image = client.get("/api/images").json()["images"][0]
    owned = [one["label"] for one in client.get("/api/image", params={"id": image}).json()["labels"]]
    by_image, by_labels = (
        client.post("/api/annotate", json=body).json()["results"][0]["suggestions"]
        for body in ({"images": [image]}, {"labels": [owned]})
    )
    assert len(by_image) == len(by_labels) == 5
    assert all(one["confidence"] is None for one in by_image)
    refused = client.post("/api/annotate", json={"images": [image], "min_confidence": 0.5})
    assert (refused.status_code, "no confidence" in refused.json()["error"]) == (422, True)


def test_annotate_respects_verdicts_on_an_image(serve: Callable[..., Client], annotator: Annotator) -> None:
    client = serve()
    image = next(one for one in annotator.known_.images if not {"flower", "man"} & set(annotator.known_labels(one)))

    def suggested() -> set[str]:
        body = {"images": [image], "allow": ["flower", "man", "sea"], "top": 100}
        return {one["label"] for one in client.post("/api/annotate", json=body).json()["results"][0]["suggestions"]}

    assert {"flower", "man"} <= suggested()
    for label, verdict in (("flower", "reject"), ("man", "accept")):
        client.post("/api/feedback", json={"image": image, "label": label, "verdict": verdict})
    assert not {"flower", "man"} & suggested()
