"""Schemathesis: requests that the document allows, and requests that it forbids; none may break the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.service_in_process import Client
from vse_ens.service.settings import Limits, Settings

pytestmark = pytest.mark.slow
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# For each operation and mode.
EXAMPLES = 12


@pytest.fixture(scope="module")
def client(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    feedback = tmp_path_factory.mktemp("fuzz") / "feedback.sqlite"
    with closing(Client(Settings(model, feedback=feedback))) as started:
        yield started


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_answer_is_one_the_document_tells(client: Client, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            nonlocal asked
            how = case.as_transport_kwargs(base_url="http://127.0.0.1:8765")
            how.pop("cookies", None)
            # The server refuses a longer head before the application sees it; clients have limits of their own.
            assume(len(how["url"]) + len(urlencode(how.get("params") or {}, doseq=True)) < Limits().head_bytes)
            if isinstance(how.get("data"), bytes):
                how["content"] = how.pop("data")
            answer = client.run(client.http.request(**how))
            case.validate_response(answer, checks=CHECKS)
            asked += 1

        with suppress(Unsatisfiable):  # what takes no parameter cannot be asked wrongly
            ask()
    assert asked > 50
