"""Suggestions for one image are answered on the event loop, with the same bytes as on a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.service.conftest import STRANGE_IMAGE, STRANGE_LABEL
from tests.support.service_in_process import Client
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.service.schemas import AnnotateResponse

ONE: list[dict[str, Any]] = [
    {"images": ["img_0000001"]},
    {"images": [STRANGE_IMAGE], "top": 3, "min_confidence": 0.01},
    {"images": ["img_0000002"], "explain": True},
    {"images": ["img_0000002"], "allow": ["sea", STRANGE_LABEL], "deny": ["sea"]},
    {"labels": [["sea", "sand"]], "top": 2},
    {"labels": [[]], "explain": True},
]


@pytest.fixture
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a thread answered")

    monkeypatch.setattr("vse_ens.service.routes.predict.annotate_images", refuse)


@pytest.mark.usefixtures("without_threads")
@pytest.mark.parametrize("body", ONE)
def test_one_image_is_answered_without_a_thread_as_documented(client: Client, body: dict[str, Any]) -> None:
    answer = client.post("/api/annotate", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert "content-security-policy" in answer.headers
    suggestions = answer.json()["results"][0]["suggestions"]
    assert suggestions or "allow" in body
    assert all(("because" in one) == ("explain" in body) for one in suggestions)
    read = msgspec.json.decode(answer.content, type=AnnotateResponse)
    assert msgspec.json.encode(read) == answer.content


@pytest.mark.parametrize("body", ONE)
def test_a_thread_gives_the_same_bytes(client: Client, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any]) -> None:
    on_loop = client.post("/api/annotate", json=body).content
    monkeypatch.setattr("vse_ens.service.routes.predict.annotate_if_fast", lambda *_: None)
    assert client.post("/api/annotate", json=body).content == on_loop


def test_both_are_counted_and_logged_by_the_name_of_the_route(serve: Callable[..., Client]) -> None:
    client = serve()
    client.post("/api/annotate", json={"images": ["img_0000001"], "top": 4})
    client.post("/api/annotate", json={"images": ["img_0000001", "img_0000002"], "top": 4})
    text = client.get("/metrics").text
    assert 'vse_requests_total{route="/api/annotate",status="200"} 2.0' in text
    assert "vse_suggestions_total 12.0" in text


def test_similar_spellings_are_searched_on_a_thread(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes long: a worker thread does it."""
    searched: list[str] = []

    def nearest(_: Vocabulary, one: str, count: int = 3) -> list[str]:
        assert threading.current_thread() is not threading.main_thread()
        searched.append(one)
        return []

    monkeypatch.setattr(Vocabulary, "nearest", nearest)
    answer = client.post("/api/annotate", json={"images": ["img-0000001"]})
    assert (answer.status_code, searched) == (404, ["img-0000001"])
    answer = client.post("/api/annotate", json={"images": ["img_0000001"], "deny": ["seaa"]})
    assert (answer.status_code, searched) == (404, ["img-0000001", "seaa"])


def test_a_model_without_confidences_refuses_a_minimum(serve: Callable[..., Client], other_model: Path) -> None:
    client = serve(model=other_model)
    answer = client.post("/api/annotate", json={"images": ["img_0000001"], "min_confidence": 0.5})
    assert answer.status_code == 422
    assert "no confidences" in answer.json()["error"]
