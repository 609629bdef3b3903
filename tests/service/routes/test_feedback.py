from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.service.conftest import STRANGE_IMAGE, STRANGE_LABEL
from tests.support.service_in_process import Client
from vse_ens.annotator import Annotator


def judge(client: Client, image: str, label: str, verdict: str, **more: Any) -> Any:
    answer = client.post("/api/feedback", json={"image": image, "label": label, "verdict": verdict, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def suggested(state: Any) -> list[str]:
    return [one["label"] for one in state["suggestions"]]


def test_an_accepted_label_counts_at_once(serve: Callable[..., Client], model: Path) -> None:
    client = serve()
    before = client.get("/api/image", params={"id": "img_0000007"}).json()
    label = suggested(before)[0]
    answer = judge(client, "img_0000007", label, "accept", confidence=0.5, source="page")
    state = answer["state"]
    accepted = {"label": label, "source": "feedback", "event": answer["event"], "implied_by": None}
    assert accepted in state["labels"]
    known = [one["label"] for one in before["labels"]]
    annotator = Annotator.load(model)
    number = annotator.known_.images.numbers(["img_0000007"])
    [expected] = annotator.annotate_numbers(number, [[*known, label]], top=12)
    assert suggested(state) == [one.label for one in expected]
    assert client.get("/api/image", params={"id": "img_0000007"}).json() == state


def test_a_name_of_several_lines_is_refused(serve: Callable[..., Client]) -> None:
    client = serve()
    body = {"image": "img_0000007", "label": "sea", "verdict": "accept"}
    for name in ("anna%0Abob", "anna%0D%0AX: y", "%1B[2J"):
        answer = client.post("/api/feedback", json=body, headers={"X-VSE-User": name})
        assert (answer.status_code, "must be one line" in answer.json()["error"]) == (422, True)
    assert client.get("/api/feedback").json()["events"] == []


def test_a_deleted_feedback_file_is_reported(serve: Callable[..., Client], tmp_path: Path) -> None:
    client = serve()
    judge(client, "img_0000007", "sea", "accept")
    for file in tmp_path.glob("feedback.sqlite*"):
        file.unlink()
    answer = client.post("/api/feedback", json={"image": "img_0000007", "label": "sand", "verdict": "accept"})
    assert (answer.status_code, "was deleted" in answer.json()["error"]) == (503, True)
    assert client.get("/api/image", params={"id": "img_0000007"}).status_code == 200


def test_a_rejected_label_is_removed_and_never_suggested_again(
    serve: Callable[..., Client],
) -> None:
    client = serve()
    before = client.get("/api/image", params={"id": "img_0000007"}).json()
    first, owned = suggested(before)[0], before["labels"][0]["label"]
    judge(client, "img_0000007", first, "reject")
    answer = judge(client, "img_0000007", owned, "reject", source="audit")
    state = answer["state"]
    assert first not in suggested(state)
    assert owned not in suggested(state)
    assert owned not in [one["label"] for one in state["labels"]]
    assert {"label": owned, "event": answer["event"]} in state["rejected"]


def test_undo_brings_back_what_was(serve: Callable[..., Client]) -> None:
    client = serve()
    before = client.get("/api/image", params={"id": "img_0000007"}).json()
    answer = judge(client, "img_0000007", suggested(before)[0], "accept")
    undone = client.post("/api/feedback/undo", json={"event": answer["event"]}).json()
    assert undone["event"] > answer["event"]
    assert undone["state"] == before
    unknown = client.post("/api/feedback/undo", json={"event": 999})
    assert (unknown.status_code, unknown.json()["error"]) == (404, "unknown event '999'")
    twice = client.post("/api/feedback/undo", json={"event": undone["event"]})
    assert twice.status_code == 422


def test_who_said_what_about_which_model_is_told(serve: Callable[..., Client]) -> None:
    client = serve()
    who = {"X-VSE-User": quote("Jürgen ☂")}
    body = {"image": STRANGE_IMAGE, "label": "beach", "verdict": "accept", "confidence": 0.25, "source": "audit"}
    assert client.post("/api/feedback", json=body, headers=who).status_code == 200
    judge(client, "img_0000002", STRANGE_LABEL, "reject")
    first, second = client.get("/api/feedback").json()["events"]
    assert {
        **body,
        "by": "Jürgen ☂",
        "event": 1,
        "undoes": None,
        "model": client.get("/ready").json()["model"],
    }.items() <= (first.items())
    assert (second["label"], second["by"]) == (STRANGE_LABEL, "anonymous")
    assert client.get("/api/feedback", params={"after": 1, "limit": 1}).json() == {"events": [second], "next": 2}
    assert client.get("/api/feedback", params={"after": 2}).json() == {"events": [], "next": 2}
    long = client.post("/api/feedback", json=body, headers={"X-VSE-User": "x" * 101})
    assert (long.status_code, long.json()["error"].startswith("X-VSE-User")) == (422, True)


def test_accepted_pairs_are_streamed(serve: Callable[..., Client]) -> None:
    client = serve()
    judge(client, STRANGE_IMAGE, 'a "quoted", new\nlabel', "accept")
    judge(client, "img_0000002", "beach", "accept")
    judge(client, "img_0000002", "fog", "reject")
    answer = client.get("/api/feedback/pairs")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    header, *rows = csv.reader(io.StringIO(answer.text))
    assert header == ["image", "label", "by", "at", "model"]
    assert [row[:3] for row in rows] == [
        [STRANGE_IMAGE, 'a "quoted", new\nlabel', "anonymous"],
        ["img_0000002", "beach", "anonymous"],
    ]
    lines = client.get("/api/feedback/pairs", params={"format": "jsonl"}).text.splitlines()
    assert [json.loads(line)["image"] for line in lines] == [STRANGE_IMAGE, "img_0000002"]


@pytest.mark.parametrize("route", ["/api/feedback/pairs", "/api/export"])
def test_formulas_are_defused_on_request(serve: Callable[..., Client], route: str) -> None:
    client = serve()
    judge(client, "img_0000002", "=1+1", "accept")
    assert "img_0000002,=1+1," in client.get(route).text
    assert "img_0000002,'=1+1," in client.get(route, params={"defuse_formulas": True}).text


def test_unknown_images_and_labels_can_be_judged(serve: Callable[..., Client], model: Path) -> None:
    client = serve()
    state = judge(client, "new image", "sea", "accept")["state"]
    assert (state["known"], [one["label"] for one in state["labels"]]) == (False, ["sea"])
    assert suggested(state) == [one.label for one in Annotator.load(model).annotate(labels=["sea"], top=12)]
    state = judge(client, "new image", "never seen before", "accept")["state"]
    assert [one["label"] for one in state["labels"]] == ["sea", "never seen before"]
    assert client.get("/api/image", params={"id": "new image"}).json() == state
    for event in (1, 2):
        state = client.post("/api/feedback/undo", json={"event": event}).json()["state"]
    assert (state["known"], state["labels"], len(state["suggestions"])) == (False, [], 12)
    assert client.get("/api/image", params={"id": "new image"}).status_code == 404


def test_without_a_file_nothing_is_kept(client: Client) -> None:
    body = {"image": "img_0000001", "label": "beach", "verdict": "accept"}
    for answer in (
        client.post("/api/feedback", json=body),
        client.post("/api/feedback/undo", json={"event": 1}),
        client.get("/api/feedback"),
        client.get("/api/feedback/pairs"),
    ):
        assert (answer.status_code, "stores no feedback" in answer.json()["error"]) == (403, True)
