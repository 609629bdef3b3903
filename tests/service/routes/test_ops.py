from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.service_in_process import Client


def test_lives_and_is_ready(client: Client) -> None:
    assert client.get("/health").json() == {"status": "UP", "model_class": "vse-ens"}
    ready = client.get("/ready").json()
    assert ready["ready"] is True
    assert len(ready["model"]) == 12
    for path in ("/health", "/ready"):
        probe = client.run(client.http.head(path))
        assert (probe.status_code, probe.content) == (200, b"")


def test_requests_suggestions_and_events_are_counted(serve: Callable[..., Client]) -> None:
    client = serve()
    client.post("/api/annotate", json={"images": ["img_0000001", "img_0000002"], "top": 4})
    client.post("/api/feedback", json={"image": "img_0000001", "label": "beach", "verdict": "reject"})
    client.get("/no/such/thing")
    text = client.get("/metrics").text
    assert 'vse_requests_total{route="/api/annotate",status="200"} 1.0' in text
    assert 'vse_requests_total{route="(none)",status="404"} 1.0' in text
    assert 'vse_request_seconds_count{route="/api/annotate"} 1.0' in text
    assert "vse_suggestions_total 20.0" in text  # 2 x 4, and 12 of the image after the event
    assert 'vse_feedback_events_total{verdict="reject"} 1.0' in text
    assert "vse_requests_in_flight 1.0" in text  # this one
    assert f'vse_model_info{{fingerprint="{client.get("/ready").json()["model"]}"}} 1.0' in text


def test_two_services_count_for_themselves(serve: Callable[..., Client]) -> None:
    one, other = serve(feedback=None), serve(feedback=None)
    one.get("/health")
    assert 'route="/health"' not in other.get("/metrics").text


def test_a_model_is_swapped_in_and_a_broken_one_is_not(
    serve: Callable[..., Client], model: Path, other_model: Path, tmp_path: Path
) -> None:
    place = tmp_path / "served"
    shutil.copytree(model, place)
    client = serve(model=place)
    first = client.get("/ready").json()["model"]
    refused = client.post("/api/reload")
    assert (refused.status_code, "X-VSE-Reload" in refused.json()["error"]) == (403, True)

    (place / "model.json").write_text("{}")
    broken = client.post("/api/reload", headers={"X-VSE-Reload": "yes"})
    assert broken.status_code == 503
    assert broken.json()["error"].startswith("still serving the old model: ")
    assert "model.json" in broken.json()["error"]
    assert client.get("/ready").json()["model"] == first
    assert client.post("/api/annotate", json={"images": ["img_0000001"]}).json()["model"] == first

    shutil.rmtree(place)
    shutil.copytree(other_model, place)
    swapped = client.post("/api/reload", headers={"X-VSE-Reload": "yes"})
    assert swapped.status_code == 200
    second = swapped.json()["model"]
    assert second != first
    assert client.get("/api/model").json()["preset"] == "vse-ens"
    text = client.get("/metrics").text
    assert "vse_model_swaps_total 1.0" in text
    assert "vse_model_loading_failures_total 1.0" in text
    assert f'vse_model_info{{fingerprint="{second}"}} 1.0' in text
    assert first not in text


def test_a_request_keeps_the_model_it_began_with(serve: Callable[..., Client], model: Path, tmp_path: Path) -> None:
    """The audit of a model that is no longer served gives up, and that of the new one begins anew."""
    client = serve()
    old = client.service.models.loaded
    assert old is not None
    client.post("/api/reload", headers={"X-VSE-Reload": "yes"})
    assert client.service.models.loaded is not old
    assert old.annotator.annotate("img_0000001")
