"""A real Label Studio connects to the service: see `tests.support.real_label_studio`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_label_studio import PASSWORD, PROGRAM, USER, Server, running
from tests.support.service_in_subprocess import Process, serving
from vse_ens.annotator import Annotator
from vse_ens.data.datasets.scenes import scenes

CHOICES = ("sea", "sand", "beach", "mountain", "street", "car", "forest", "kitchen")
CONFIG = (
    '<View><Image name="image" value="$image"/><Choices name="labels" toName="image" choice="multiple">'
    + "".join(f'<Choice value="{one}"/>' for one in CHOICES)
    + "</Choices></View>"
)
IMAGE = "img_0000038"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.label_studio,
    pytest.mark.skipif(PROGRAM is None, reason="Label Studio is not installed; see tests/support/real_label_studio.py"),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Path]]:
    """The service with a small model, which it may replace."""
    folder = tmp_path_factory.mktemp("served")
    Annotator(epochs=2, dimensions=16).fit(scenes(images=500)).save(folder / "model")
    with serving(folder / "model") as process:
        yield process, folder


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # Otherwise it refuses addresses of its own machine: of models by the first setting, of webhooks by the second.
    local = {"ML_BLOCK_LOCAL_IP": "false", "SSRF_PROTECTION_ENABLED": "false"}
    with running(tmp_path_factory.mktemp("studio"), **local) as started:
        yield started


def call(studio: Server, method: str, path: str, **body: Any) -> Any:
    return json.loads(studio.call(method, path, json.dumps(body).encode() if body else None) or b"null")


def until(ready: Callable[[], Any]) -> Any:
    """Wait for what another process does."""
    for _ in range(600):
        found = ready()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError("nothing happened within two minutes")


def predictions(studio: Server, project: int, task: int) -> Any:
    """Let Label Studio ask for predictions, and return the newest that it keeps."""
    everything = {"all": True, "excluded": []}
    call(studio, "POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", selectedItems=everything)
    found = call(studio, "GET", f"/api/tasks/{task}")["predictions"]
    return max(found, key=lambda one: one["id"]) if found else None


def selected(prediction: Any) -> set[str]:
    return {choice for result in prediction["result"] for choice in result["value"]["choices"]}


def test_label_studio_shows_our_predictions_and_teaches_the_model(
    studio: Server, served: tuple[Process, Path], tmp_path: Path
) -> None:
    process, folder = served
    address = f"http://127.0.0.1:{process.port}"
    tasks = [{"data": {"image": f"{address}/pictures/{IMAGE}.jpg"}}]
    project = studio.project(CONFIG, json.dumps(tasks).encode())
    [task] = [one["id"] for one in studio.tasks(project)]

    # It connects, and keeps our predictions with the version of the model.
    call(studio, "POST", "/api/ml", url=address, project=project, title="vse-ens")
    [backend] = call(studio, "GET", f"/api/ml?project={project}")
    assert backend["state"] == "CO"
    first = until(lambda: predictions(studio, project, task))
    known = {one["label"] for one in process.http.get("/api/image", params={"id": IMAGE}).json()["labels"]}
    assert first["model_version"].endswith(process.http.get("/ready").json()["model"])
    assert known & set(CHOICES) <= selected(first)

    _check_page(studio, project, task, selected(first), tmp_path)

    # An annotation comes back by the webhook that it made by itself.
    new = next(one for one in CHOICES if one not in known)
    result = [{"from_name": "labels", "to_name": "image", "type": "choices", "value": {"choices": [new]}}]
    call(studio, "POST", f"/api/tasks/{task}/annotations", result=result)
    [event] = until(lambda: process.http.get("/api/feedback").json()["events"])
    assert (event["image"], event["label"], event["verdict"], event["source"]) == (IMAGE, new, "accept", "label-studio")
    assert event["by"]

    # A model that learnt it is served, and Label Studio gets predictions of the new version.
    command = [sys.executable, "-m", "vse_ens", "update", "model", "model.feedback.sqlite", "--out", "model"]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)
    assert process.http.post("/api/reload", headers={"X-VSE-Reload": "yes"}).status_code == 200
    version = process.http.get("/ready").json()["model"]
    assert not first["model_version"].endswith(version)
    second = until(lambda: (found := predictions(studio, project, task))["model_version"].endswith(version) and found)
    assert new in selected(second)


def _check_page(studio: Server, project: int, task: int, choices: set[str], folder: Path) -> None:
    """Open the task in the page of Label Studio; the choices of the prediction are ticked."""
    sync_api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.set_default_timeout(120_000)
        tab.goto(f"{studio.address}/user/login")
        tab.fill("input[name=email]", USER)
        tab.fill("input[name=password]", PASSWORD)
        tab.click("button[type=submit]")
        tab.wait_for_url("**/projects**")
        tab.goto(f"{studio.address}/projects/{project}/data?task={task}")
        ticked = tab.locator("label:has(input[type=checkbox]:checked)")
        ticked.first.wait_for()
        shown = {text.strip().rstrip("0123456789[] ").strip() for text in ticked.all_inner_texts()}
        tab.screenshot(path=str(folder / "label-studio.png"))
        browser.close()
    assert choices <= shown
