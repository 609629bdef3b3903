"""What the signature of a handler makes of a request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.service_in_process import Client

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("query", "status"),
    [("true", 200), ("1", 200), ("Yes", 200), ("on", 200), ("FALSE", 200), ("off", 200), ("maybe", 422), ("", 422)],
)
def test_flags_of_a_query(client: Client, query: str, status: int) -> None:
    assert client.get(f"/api/image?id=img_0000001&all_reasons={query}").status_code == status


def test_the_last_value_counts_and_unknown_names_do_not(client: Client) -> None:
    assert len(client.get("/api/labels?limit=7&limit=3&zzz=1").json()["labels"]) == 3


def test_a_list_of_a_query_has_every_value(client: Client) -> None:
    found = client.get("/api/complete?text=s&labels=sea&labels=sand").json()["labels"]
    assert found
    assert not {"sea", "sand"} & {one["label"] for one in found}


def test_an_id_may_look_like_json(client: Client) -> None:
    for name in ("null", "true", "1"):
        assert client.get("/api/image", params={"id": name}).json()["error"].startswith(f"unknown image '{name}'")


def test_a_header_is_not_read_from_the_query(serve: Callable[..., Client]) -> None:
    client = serve()
    body = {"image": "img_0000001", "label": "sea", "verdict": "accept"}
    assert client.post("/api/feedback?X-VSE-User=bob&by=bob", json=body).status_code == 200
    assert client.get("/api/feedback").json()["events"][0]["by"] == "anonymous"


@pytest.mark.parametrize(
    ("path", "body", "error"),
    [
        ("/api/feedback", b'{"image": "a"}', "label: field required"),
        ("/api/feedback/undo", b'{"event": "1"}', "event: expected an integer or null, got a string"),
        ("/api/annotate", b'{"images": ["a"], "top": 101}', "top: expected an integer <= 100"),
        (
            "/api/feedback",
            b'{"image": "a", "label": "b", "verdict": "?"}',
            "one of accept, reject, got",
        ),
        ("/api/feedback/batch", b'{"events": [{"image": "a", "label": "b", "verdict": 1}]}', "events.0.verdict: "),
        ("/api/feedback/batch", b'{"events": [{"x": 1}]}', "events.0.x: unknown field"),
        ("/api/feedback/undo", b'{"event": 9223372036854775808}', "event: "),
        ("/predict", b'{"tasks": [{"a": 1e400}], "label_config": ""}', "number out of range"),
    ],
)
def test_errors_name_the_field(client: Client, path: str, body: bytes, error: str) -> None:
    answer = client.post(path, content=body, headers=JSON)
    assert (answer.status_code, error in answer.json()["error"]) == (422, True), answer.text


def test_a_choice_of_a_query_is_named(client: Client) -> None:
    answer = client.get("/api/picture?image=img_0000001&size=100")
    assert answer.json()["error"] == "size: must be one of 160, 320, 640, 1280, got 100"


@pytest.mark.parametrize("body", [b'{"a": "\xff"}', b'{"a": NaN}', b'{"a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"])
def test_fields_that_are_ignored_are_json_as_well(client: Client, body: bytes) -> None:
    answer = client.post("/setup", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["error"][:22]) == (400, "the body is not JSON: ")
