"""Learning while people work: enough decisions start an update in another process; the trained model stays."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.service_in_process import Client
from tests.support.service_in_subprocess import serving
from vse_ens.annotator import Annotator
from vse_ens.errors import ConfigError
from vse_ens.service.settings import Settings


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    """The model in a folder of its own: the updated one is written beside it."""
    return Path(shutil.copytree(model, tmp_path / "model"))


def learning(client: Client) -> Any:
    return client.get("/api/model").json()["learning"]


def finish(client: Client) -> Any:
    """Wait for the update that is running."""

    async def wait() -> None:
        learner = client.service.learner
        while learner is not None and (task := learner._task) is not None:
            await asyncio.wait([task])

    client.run(wait())
    return learning(client)


def decide(client: Client, images: list[str], label: str) -> None:
    events = [{"image": image, "label": label, "verdict": "accept"} for image in images]
    assert client.post("/api/feedback/batch", json={"events": events}).status_code == 200


@pytest.mark.unhurried
def test_enough_verdicts_update_the_model_beside_the_trained(serve: Callable[..., Client], copy: Path) -> None:
    client = serve(model=copy, learn_after=5)
    trained = {path.name: path.read_bytes() for path in copy.iterdir()}
    before = client.get("/ready").json()["model"]
    decide(client, ["new_1", "new_2", "new_3", "img_0000001"], "zeppelin")
    assert learning(client) == {"after": 5, "decisions": 4, "running": False, "updates": 0, "failure": None}
    body = {"image": "new_1", "label": "sea", "verdict": "accept"}
    assert client.post("/api/feedback", json=body).status_code == 200
    assert learning(client)["running"]
    # Answers continue while it runs, and what is decided meanwhile counts for the next one.
    assert client.get("/api/image", params={"id": "img_0000007"}).json()["model"] == before
    decide(client, ["img_0000002"], "zeppelin")
    assert finish(client) == {"after": 5, "decisions": 1, "running": False, "updates": 1, "failure": None}
    state = client.get("/api/image", params={"id": "new_2"}).json()
    assert state["known"]
    assert state["model"] == client.get("/ready").json()["model"] != before
    assert "zeppelin" in Annotator.load(copy.with_name("model.learnt")).known_labels("new_2")
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == trained
    # The feedback is as it was, and still in force.
    assert len(client.get("/api/feedback").json()["events"]) == 6
    assert client.post("/api/reload", headers={"X-VSE-Reload": "yes"}).json()["model"] == before


@pytest.mark.unhurried
def test_an_update_that_fails_is_told_and_the_old_model_stays(serve: Callable[..., Client], copy: Path) -> None:
    client = serve(model=copy, learn_after=1)
    before = client.get("/ready").json()["model"]
    copy.with_name("model.learnt").write_text("in the way")
    decide(client, ["img_0000002"], "zeppelin")
    state = finish(client)
    assert state["updates"] == 0
    assert "model.learnt" in state["failure"]
    assert client.get("/ready").json()["model"] == before
    assert len(client.get("/api/feedback").json()["events"]) == 1
    copy.with_name("model.learnt").unlink()
    decide(client, ["img_0000003"], "zeppelin")
    assert finish(client)["updates"] == 1


@pytest.mark.unhurried
def test_a_real_service_learns_and_goes_on_answering(copy: Path) -> None:
    with serving(copy, "--learn-after", "1") as process:
        before = process.http.get("/ready").json()["model"]
        body = {"image": "img_0000002", "label": "zeppelin", "verdict": "accept"}
        assert process.http.post("/api/feedback", json=body).status_code == 200
        while process.http.get("/ready").json()["model"] == before:
            learner = process.http.get("/api/model").json()["learning"]
            assert learner["failure"] is None
        labels = process.http.get("/api/labels", params={"prefix": "zeppelin"}).json()["labels"]
        assert labels == [{"label": "zeppelin", "images": 1}]


def test_learning_is_off_by_default_and_needs_feedback(serve: Callable[..., Client], model: Path) -> None:
    assert learning(serve()) is None
    with pytest.raises(ConfigError, match="--learn-after needs a feedback file"):
        Settings(model, learn_after=5)
    with pytest.raises(ConfigError, match="--learn-after must be at least 0, got -1"):
        Settings(model, feedback=Path("f.sqlite"), learn_after=-1)
