from __future__ import annotations

import asyncio
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.service_in_subprocess import serving
from vse_ens.annotator import Annotator
from vse_ens.errors import ModelError
from vse_ens.service import models as models_module
from vse_ens.service.errors import ApiError
from vse_ens.service.models import ModelManager, ServedModel
from vse_ens.service.settings import Settings
from vse_ens.service.state import Service
from vse_ens.service.telemetry import ServiceMetrics


def test_requests_wait_for_the_first_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    load = ServedModel.load

    def slowly(path: Path, **how: Any) -> ServedModel:
        gate.wait(300)
        return load(path, **how)

    monkeypatch.setattr(ServedModel, "load", slowly)

    async def ask() -> None:
        models = ModelManager(model, ServiceMetrics(), timeout=300)
        loading = asyncio.create_task(models.load())
        waiting = [asyncio.create_task(models.current()) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert models.loaded is None
        assert not any(one.done() for one in waiting)
        gate.set()
        assert await asyncio.gather(*waiting) == [await loading] * 3

    asyncio.run(ask())


def test_requests_wait_for_a_model_up_to_the_limit_only(tmp_path: Path) -> None:
    async def ask() -> None:
        models = ModelManager(tmp_path / "nowhere", ServiceMetrics(), timeout=0.05)
        with pytest.raises(ApiError, match="still loading"):
            await models.current()
        with pytest.raises(ModelError, match="there is no model"):
            await models.load()
        with pytest.raises(ApiError, match="there is no model"):
            await models.current()

    asyncio.run(ask())


def test_two_who_ask_at_once_load_one_after_the_other(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, most = 0, 0
    load = ServedModel.load

    def counted(path: Path, **how: Any) -> ServedModel:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        found = load(path, **how)
        under_way -= 1
        return found

    monkeypatch.setattr(ServedModel, "load", counted)

    async def ask() -> None:
        models = ModelManager(model, ServiceMetrics(), timeout=300)
        served = await asyncio.gather(*(models.load() for _ in range(3)))
        assert models.loaded is served[-1]

    asyncio.run(ask())
    assert most == 1


def test_a_fingerprint_is_that_of_the_model_that_was_loaded(
    model: Path, other_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another model takes its place while it is being loaded."""
    place = tmp_path / "served"
    place.symlink_to(model)
    load = Annotator.load

    def replaced(path: Path, *, verify: bool, in_memory: bool) -> Annotator:
        found = load(path, verify=verify, in_memory=in_memory)
        if place.resolve() == model:
            place.unlink()
            place.symlink_to(other_model)
        return found

    monkeypatch.setattr(Annotator, "load", replaced)
    served = ServedModel.load(place, verify=True)
    assert (served.annotator.preset, served.name) == ("vse-ens", "other")
    assert served.fingerprint == models_module._fingerprint(other_model) != models_module._fingerprint(model)


def test_a_damaged_model_is_neither_served_nor_swapped_in(model: Path, tmp_path: Path) -> None:
    place = tmp_path / "served"
    shutil.copytree(model, place)
    models = ModelManager(place, ServiceMetrics(), timeout=1)
    served = asyncio.run(models.load())
    files = [file for file in place.iterdir() if file.name != "model.json"]
    assert len(files) >= 3
    for file in files:
        whole = file.read_bytes()
        for position in (len(whole) // 2, len(whole) - 1):
            bytes_there = bytearray(whole)
            bytes_there[position] ^= 4
            file.unlink()  # the old model is mapped
            file.write_bytes(bytes_there)
            with pytest.raises(ModelError, match=file.name):
                ServedModel.load(place, verify=True)
            with pytest.raises(ModelError, match=file.name):
                asyncio.run(models.load())
            assert models.loaded is served
        file.write_bytes(whole)
    assert asyncio.run(models.load()) is not served


def test_a_huge_model_may_be_served_unread(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    load = Annotator.load

    def noted(path: Path, *, verify: bool, in_memory: bool) -> Annotator:
        asked.append((verify, in_memory))
        return load(path, verify=verify, in_memory=in_memory)

    monkeypatch.setattr(Annotator, "load", noted)
    for verify in (False, True):
        service = Service(Settings(model, verify=verify))
        asyncio.run(service.models.load())
        service.close()
    assert asked == [(False, False), (True, True)]


@pytest.mark.unhurried
def test_a_served_model_truncated_in_place_still_answers(model: Path, tmp_path: Path) -> None:
    """In a process of its own: where a model is mapped, the next answer ends the process (SIGBUS)."""
    place = tmp_path / "served"
    shutil.copytree(model, place)
    with serving(place, "--feedback", str(tmp_path / "feedback.sqlite")) as process:
        before = process.http.post("/api/annotate", json={"images": ["img_0000017"]}).json()
        for file in place.iterdir():
            os.truncate(file, 0)
        asked = [{"images": [f"img_{number:07d}"]} for number in range(400)]
        answers = [process.http.post("/api/annotate", json=body) for body in asked]
        assert {answer.status_code for answer in answers} == {200}
        assert answers[17].json() == before
        assert process.http.post("/api/search", json={"labels": ["sea"]}).status_code == 200
        assert process.http.post("/api/reload", headers={"X-VSE-Reload": "yes"}).status_code == 503
        assert process.http.post("/api/annotate", json=asked[17]).json() == before


def test_an_unexpected_error_leaves_the_old_model_too(
    model: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask() -> None:
        models = ModelManager(model, ServiceMetrics(), timeout=1)
        first = await models.load()

        def fail(_: Path, **how: Any) -> ServedModel:
            raise ZeroDivisionError("unforeseen")

        monkeypatch.setattr(ServedModel, "load", fail)
        with pytest.raises(ModelError, match="unforeseen"):
            await models.load()
        assert await models.current() is first

    asyncio.run(ask())
    assert "still serving the old model" in caplog.text
    assert "Traceback" in caplog.text
