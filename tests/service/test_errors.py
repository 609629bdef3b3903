from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.service_in_process import Client
from vse_ens.service.routes import predict

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"images": ["img_0000001"], "min_confidence": NaN}',
        b'{"images": ["img_0000001"], "min_confidence": Infinity}',
        b'{"images": ["\\ud800"]}',
        b'{"images": ["\xff"]}',
        b"\xff\xfe{\x00}\x00",
        b"[" * 100_000,
        b'{"labels": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"images": ["img_0000001"],}',
        b"{'images': ['img_0000001']}",
    ],
)
def test_a_body_that_is_not_json_is_refused(client: Client, body: bytes) -> None:
    answer = client.post("/api/annotate", content=body, headers=JSON)
    assert answer.status_code == (400 if body else 422)
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].startswith("the body is not JSON: " if body else "body: ")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "give either images or labels"),
        ({"images": ["img_0000001"], "labels": [["sea"]]}, "give either images or labels"),
        ({"images": []}, "images"),
        ({"images": "img_0000001"}, "images"),
        ({"images": [1]}, "images.0"),
        ({"images": [None]}, "images.0"),
        ({"images": [""]}, "images.0"),
        ({"images": ["x" * 1_001]}, "images.0"),
        ({"images": ["img_0000001"] * 257}, "images"),
        ({"labels": ["sea"]}, "labels.0"),
        ({"labels": [["sea"] * 1_001]}, "labels.0"),
        ({"images": ["img_0000001"], "top": 0}, "top"),
        ({"images": ["img_0000001"], "top": 101}, "top"),
        ({"images": ["img_0000001"], "top": "5"}, "top"),
        ({"images": ["img_0000001"], "top": 2.5}, "top"),
        ({"images": ["img_0000001"], "top": True}, "top"),
        ({"images": ["img_0000001"], "top": 10**30}, "top"),
        ({"images": ["img_0000001"], "min_confidence": 1.5}, "min_confidence"),
        ({"images": ["img_0000001"], "min_confidence": 10**400}, "min_confidence"),
        ({"images": ["img_0000001"], "explain": "yes"}, "explain"),
        ({"images": ["img_0000001"], "tpo": 5}, "tpo"),
        ({"images": ["img_0000001"] * 256, "top": 100}, "split the request"),
        ([], "body"),
        (None, "body"),
        (5, "body"),
    ],
)
def test_an_invalid_field_is_named(client: Client, body: Any, named: str) -> None:
    answer = client.post("/api/annotate", content=json.dumps(body), headers=JSON)
    assert answer.status_code == 422, answer.text
    assert named in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    "query",
    [
        "/api/labels?limit=0",
        "/api/labels?limit=many",
        "/api/labels?limit=99999999999999999999999",
        "/api/image",
        "/api/image?id=",
        "/api/image?id=img_0000001&top=101",
        "/api/audit?kind=all",
        "/api/audit?offset=-1",
        "/api/similar/labels?label=sea&top=1e3",
        "/api/feedback?after=-1",
        "/api/feedback/pairs?format=xml",
    ],
)
def test_a_wrong_query_is_refused(client: Client, query: str) -> None:
    answer = client.get(query)
    assert (answer.status_code, set(answer.json())) == (422, {"error"})


def test_bytes_that_are_no_text_are_an_unknown_id(client: Client) -> None:
    assert client.get("/api/image?id=%ff%fe").status_code == 404
    assert client.get("/api/image?id=%00").status_code == 404


def test_a_wrong_method_is_told_which_are_right(client: Client) -> None:
    answer = client.get("/api/annotate")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json() == {"error": "this address does not accept this method"}


def test_a_failure_of_ours_shows_no_trace(
    serve: Callable[..., Client], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve()

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret of the inside")

    monkeypatch.setattr(predict, "_in_model", fail)
    answer = client.post("/api/search", json={"labels": ["sea"]})
    assert answer.status_code == 500
    assert answer.json() == {"error": "internal error; see the log of the service"}
    assert "content-security-policy" in answer.headers
    assert "a secret of the inside" in caplog.text
    assert client.get("/health").status_code == 200


def test_the_log_names_no_id(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        client.get("/api/image", params={"id": "img_0000001\nforged"})
        client.get("/img_0000001")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("vse_ens")]
    assert [line.rsplit(" ", 2)[0] for line in ours] == ["GET /api/image 404", "GET (none) 404"]
