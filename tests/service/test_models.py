from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from vse_ens.annotator import Annotator
from vse_ens.errors import ModelError
from vse_ens.service import models as models_module
from vse_ens.service.errors import ApiError
from vse_ens.service.models import ModelManager, ServedModel
from vse_ens.service.telemetry import ServiceMetrics


def test_requests_wait_for_the_first_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    load = ServedModel.load

    def slowly(path: Path) -> ServedModel:
        gate.wait(300)
        return load(path)

    monkeypatch.setattr(ServedModel, "load", slowly)

    async def ask() -> None:
        models = ModelManager(model, ServiceMetrics(), timeout=300)
        loading = asyncio.create_task(models.load())
        waiting = [asyncio.create_task(models.current()) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert models.ready is None
        assert not any(one.done() for one in waiting)
        gate.set()
        assert await asyncio.gather(*waiting) == [await loading] * 3

    asyncio.run(ask())


def test_nobody_waits_longer_than_the_patience_or_for_a_model_that_is_broken(tmp_path: Path) -> None:
    async def ask() -> None:
        models = ModelManager(tmp_path / "nowhere", ServiceMetrics(), timeout=0.05)
        with pytest.raises(ApiError, match="still being loaded"):
            await models.current()
        with pytest.raises(ModelError, match="there is no model"):
            await models.load()
        with pytest.raises(ApiError, match="there is no model"):
            await models.current()

    asyncio.run(ask())


def test_two_who_ask_at_once_load_one_after_the_other(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, most = 0, 0
    load = ServedModel.load

    def counted(path: Path) -> ServedModel:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        found = load(path)
        under_way -= 1
        return found

    monkeypatch.setattr(ServedModel, "load", counted)

    async def ask() -> None:
        models = ModelManager(model, ServiceMetrics(), timeout=300)
        served = await asyncio.gather(*(models.load() for _ in range(3)))
        assert models.ready is served[-1]

    asyncio.run(ask())
    assert most == 1


def test_a_fingerprint_is_that_of_the_model_that_was_loaded(
    model: Path, other_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another model takes its place while it is being loaded."""
    place = tmp_path / "served"
    place.symlink_to(model)
    load = Annotator.load

    def replaced(path: Path, *, verify: bool) -> Annotator:
        found = load(path, verify=verify)
        if place.resolve() == model:
            place.unlink()
            place.symlink_to(other_model)
        return found

    monkeypatch.setattr(Annotator, "load", replaced)
    served = ServedModel.load(place)
    assert (served.annotator.preset, served.name) == ("vse-ens", "other")
    assert served.fingerprint == models_module._fingerprint(other_model) != holding._fingerprint(model)


def test_what_goes_wrong_in_an_unknown_way_leaves_the_old_model_too(
    model: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask() -> None:
        models = ModelManager(model, ServiceMetrics(), timeout=1)
        first = await models.load()

        def fail(_: Path) -> ServedModel:
            raise ZeroDivisionError("unforeseen")

        monkeypatch.setattr(ServedModel, "load", fail)
        with pytest.raises(ModelError, match="unforeseen"):
            await models.load()
        assert await models.current() is first

    asyncio.run(ask())
    assert "the old model goes on serving" in caplog.text
    assert "Traceback" in caplog.text
