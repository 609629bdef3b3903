from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.service_in_process import Client
from vse_ens.service import openapi
from vse_ens.service.keys import Key
from vse_ens.service.routes import TOPICS


@pytest.fixture(scope="module")
def document(client: Client) -> Any:
    return client.get("/openapi.json").json()


def operations(document: Any) -> list[tuple[str, Any]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_says_what_it_is(document: Any) -> None:
    tags = {one["name"] for one in document["tags"]}
    for name, operation in operations(document):
        assert operation["description"], name
        assert set(operation["tags"]) <= tags, name


def test_every_schema_says_what_it_is(document: Any) -> None:
    undocumented = [name for name, schema in document["components"]["schemas"].items() if not schema.get("description")]
    assert undocumented == []


def test_errors_have_one_form(document: Any) -> None:
    for name, operation in operations(document):
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                schema = answer["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorResponse"}, (name, status)


def test_bodies_have_examples_that_work(client: Client, document: Any) -> None:
    asked = 0
    for name, operation in operations(document):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        for example in content.get("examples", {}).values():
            answer = client.post(name.split()[1], json=example["value"])
            expected = 403 if "feedback" in name or "rules" in name else 200
            assert answer.status_code == expected, (name, example, answer.text)
            asked += 1
    assert asked >= 6


def test_the_key_is_told_where_there_is_one(document: Any, serve: Callable[..., Client]) -> None:
    assert "securitySchemes" not in document["components"]
    with_key = serve(keys=(Key("a-key-nobody-guesses"),)).get("/openapi.json").json()
    assert with_key["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
    assert with_key["security"] == [{"key": []}]
    free = {name for name, operation in operations(with_key) if operation.get("security") == []}
    assert free == {"GET /health", "GET /ready"}


def test_the_document_is_encoded_once(serve: Callable[..., Client], monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve(feedback=None)
    first = client.get("/openapi.json")
    assert first.headers["content-type"] == "application/json"
    monkeypatch.setattr("vse_ens.service.openapi.make_document", lambda *_, **__: pytest.fail("made again"))
    assert client.get("/openapi.json").content == first.content


def test_the_document_needs_no_outside_address(document: Any) -> None:
    assert "http://" not in json.dumps(document).replace("http://HOST", "")


def test_every_example_and_fixed_response_belongs_to_an_operation() -> None:
    fixed = tomllib.loads((Path(openapi.__file__).parent / "openapi.toml").read_text(encoding="utf-8"))
    paths = {one.path for topic in TOPICS for one in topic.operations}
    assert {*fixed["examples"], *fixed["responses"]} <= paths
