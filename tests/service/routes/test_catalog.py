from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.conftest import STRANGE_IMAGE, STRANGE_LABEL
from tests.support.service_in_process import Client
from vse_ens import __version__
from vse_ens.annotator import Annotator


def wait_for(client: Client, path: str, **query: object) -> Any:
    """The answer when the work behind it is done."""
    shares = []
    for _ in range(6_000):
        answer = client.get(path, params=query)
        if answer.status_code == 200:
            assert shares == sorted(shares)
            return answer.json()
        assert (answer.status_code, answer.json()["state"]) == (202, "working")
        assert answer.headers["retry-after"] == "1"
        shares.append(answer.json()["done"])
        time.sleep(0.05)
    raise AssertionError(f"{path} is never done")


def test_the_card_says_what_is_served(client: Client, model: Path) -> None:
    card = client.get("/api/model").json()
    annotator = Annotator.load(model)
    known = annotator.known_
    assert (card["images"], card["labels"], card["pairs"]) == (len(known.images), len(known.labels), known.pairs)
    assert (card["name"], card["preset"], card["version"]) == ("model", "context", __version__)
    assert datetime.fromisoformat(card["saved_at"]).utcoffset() == timedelta(0)
    assert card["config"] == annotator.config_.to_dict()
    assert card["training"] == annotator.training_
    assert card["validation"] == annotator.validation_
    assert (card["has_confidence"], card["feedback"], card["image_url"]) == (True, False, None)
    assert card["limits"]["top"] == 100
    assert card["fingerprint"] == client.get("/ready").json()["model"]


def test_completeness_changes_every_confidence_until_it_is_estimated_again(client: Client) -> None:
    def state() -> tuple[Any, float, float]:
        card = client.get("/api/model").json()["confidence"]
        first = client.get("/api/image", params={"id": "img_0000001"}).json()["suggestions"][0]
        label = {"label": first["label"], "kind": "missing", "image": "img_0000001"}
        [suggested] = client.post("/api/annotate", json={"images": ["img_0000001"], "top": 1}).json()["results"]
        assert suggested["suggestions"][0]["confidence"] == first["confidence"], label
        return card, first["confidence"], first["hit"]

    before = state()
    assert not before[0]["given"]
    answer = client.post("/api/completeness", json={"completeness": 0.3})
    assert (answer.status_code, answer.json()["completeness"], answer.json()["given"]) == (200, 0.3, True)
    card, confidence, hit = state()
    assert card == answer.json()
    assert confidence > before[1]
    assert hit == before[2]
    client.post("/api/reload", headers={"X-VSE-Reload": "yes"})  # the same for a model that is loaded later
    assert state() == (card, confidence, hit)
    for wrong in (0, 1.5, "0.5"):
        assert client.post("/api/completeness", json={"completeness": wrong}).status_code == 422
    assert client.post("/api/completeness", json={"completeness": None}).json() == before[0]
    assert state() == before


def test_labels_are_completed(client: Client) -> None:
    answer = client.get("/api/labels", params={"prefix": "SEA", "limit": 2}).json()
    assert answer["labels"][0]["label"] == "sea"
    assert answer["labels"][0]["images"] > answer["labels"][1]["images"]
    assert answer["total"] >= 2
    everything = client.get("/api/labels", params={"limit": 1}).json()
    assert everything["total"] == client.get("/api/model").json()["labels"]
    assert client.get("/api/labels", params={"prefix": "<SCRIPT"}).json()["labels"][0]["label"] == STRANGE_LABEL


def test_images_are_completed(client: Client) -> None:
    answer = client.get("/api/images", params={"prefix": "img_000001", "limit": 3}).json()
    assert answer == {"images": ["img_0000010", "img_0000011", "img_0000012"], "total": 10}
    assert client.get("/api/images", params={"prefix": "../"}).json() == {"images": [STRANGE_IMAGE], "total": 1}
    assert client.get("/api/images", params={"prefix": "nowhere"}).json() == {"images": [], "total": 0}


def test_an_image_as_it_stands(serve: Callable[..., Client], model: Path) -> None:
    client = serve(image_url="https://pictures.example/a/{image}.jpg?size=1")
    state = client.get("/api/image", params={"id": STRANGE_IMAGE, "top": 2}).json()
    assert (state["image"], state["known"], state["rejected"]) == (STRANGE_IMAGE, True, [])
    assert [(one["label"], one["source"], one["event"]) for one in state["labels"]] == [
        (STRANGE_LABEL, "data", None),
        ("sea", "data", None),
    ]
    expected = Annotator.load(model).annotate(STRANGE_IMAGE, top=2)
    assert [one["label"] for one in state["suggestions"]] == [one.label for one in expected]
    assert state["suggestions"][0]["because"]
    assert state["url"].startswith("https://pictures.example/a/../img%20%3Cb%3E%26amp%3B%20%C3%BCn%C3%AF")
    assert client.get("/api/model").json()["image_url"] == "https://pictures.example/a/{image}.jpg?size=1"


def test_an_image_nobody_knows_is_not_found(client: Client) -> None:
    answer = client.get("/api/image", params={"id": "img_00000001"})
    assert (answer.status_code, answer.json()["nearest"][0]) == (404, "img_0000001")


def test_the_audit_is_made_once_and_told_in_pages(serve: Callable[..., Client]) -> None:
    client = serve()
    first = wait_for(client, "/api/audit", kind="missing", limit=5)
    assert (first["kind"], first["state"], len(first["findings"])) == ("missing", "ready", 5)
    assert first["total"] > 5
    second = client.get("/api/audit", params={"offset": 3, "limit": 2}).json()
    assert second["findings"] == first["findings"][3:]
    top = first["findings"][0]
    assert set(top) == {"image", "label", "confidence", "reason", "because", "url"}
    assert top["confidence"] >= first["findings"][-1]["confidence"]
    wrong = client.get("/api/audit", params={"kind": "wrong"}).json()
    assert wrong["kind"] == "wrong"
    twins = client.get("/api/audit", params={"kind": "duplicates"}).json()
    assert all(set(one) == {"label", "other", "kind", "reason"} for one in twins["findings"])

    judged = {"image": top["image"], "label": top["label"], "verdict": "accept", "source": "audit"}
    assert client.post("/api/feedback", json=judged).status_code == 200
    after = client.get("/api/audit", params={"limit": 4}).json()
    assert after["findings"] == first["findings"][1:]
    assert after["total"] == first["total"] - 1


def test_the_page_and_its_parts_are_served(client: Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-cache"
    script = client.get("/static/app.js")
    assert script.headers["content-type"].startswith("text/javascript")
    unchanged = client.get("/static/app.js", headers={"If-None-Match": script.headers["etag"]})
    assert unchanged.status_code == 304


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/../../annotator.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/" + "a" * 5_000,
        "/static/",
        "/static",
        "/etc/passwd",
        "/../../../etc/passwd",
        "/docs",
        "/redoc",
    ],
)
def test_no_path_leads_out_of_the_page(client: Client, path: str) -> None:
    url = httpx.URL("http://127.0.0.1:8765").copy_with(raw_path=path.encode())
    answer = client.run(client.http.send(httpx.Request("GET", url)))
    assert answer.status_code in (404, 405)
    assert set(answer.json()) == {"error"}
