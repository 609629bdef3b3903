"""Suggestions for one image are answered without the routes, with the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import STRANGE_IMAGE, STRANGE_LABEL
from tests.support.service_in_process import Client
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.service.middleware.direct import DirectMiddleware
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
def without_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a route answered")

    monkeypatch.setattr("vse_ens.service.routes.predict.annotate_request", refuse)


@pytest.mark.usefixtures("without_routes")
@pytest.mark.parametrize("body", ONE)
def test_one_image_is_answered_without_a_route_in_the_form_of_the_schema(client: Client, body: dict[str, Any]) -> None:
    answer = client.post("/api/annotate", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert "content-security-policy" in answer.headers
    suggestions = answer.json()["results"][0]["suggestions"]
    assert suggestions or "allow" in body
    assert all(("because" in one) == ("explain" in body) for one in suggestions)
    read = AnnotateResponse.model_validate_json(answer.content)
    assert read.model_dump_json(exclude_unset=True).encode() == answer.content


@pytest.mark.parametrize("body", ONE)
def test_a_route_gives_the_same_bytes(client: Client, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any]) -> None:
    direct = client.post("/api/annotate", json=body).content
    monkeypatch.setattr(DirectMiddleware, "_annotate", lambda *_: None)
    assert client.post("/api/annotate", json=body).content == direct


def test_both_are_counted_and_logged_by_the_name_of_the_route(serve: Callable[..., Client]) -> None:
    client = serve()
    client.post("/api/annotate", json={"images": ["img_0000001"], "top": 4})
    client.post("/api/annotate", json={"images": ["img_0000001", "img_0000002"], "top": 4})
    text = client.get("/metrics").text
    assert 'vse_requests_total{route="/api/annotate",status="200"} 2.0' in text
    assert "vse_suggestions_total 12.0" in text


def test_similar_spellings_of_an_unknown_id_are_not_searched_here(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes long: the route does it on a worker thread."""
    searched: list[str] = []
    monkeypatch.setattr(Vocabulary, "nearest", lambda _, one, count=3: searched.append(one) or [])
    answer = client.post("/api/annotate", json={"images": ["img-0000001"]})
    assert (answer.status_code, searched) == (404, ["img-0000001"])
    answer = client.post("/api/annotate", json={"images": ["img_0000001"], "deny": ["seaa"]})
    assert (answer.status_code, searched) == (404, ["img-0000001", "seaa"])


def test_a_model_without_confidences_refuses_a_minimum_by_the_route(
    serve: Callable[..., Client], other_model: Path
) -> None:
    client = serve(model=other_model)
    answer = client.post("/api/annotate", json={"images": ["img_0000001"], "min_confidence": 0.5})
    assert answer.status_code == 422
    assert "no confidences" in answer.json()["error"]
