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


@pytest.fixture(scope="module")
def connected(studio: Server, served: tuple[Process, Path]) -> tuple[int, int, Any]:
    """A project that is connected to the service, its only task, and the prediction for it."""
    process, _ = served
    address = f"http://127.0.0.1:{process.port}"
    tasks = [{"data": {"image": f"{address}/pictures/{IMAGE}.jpg"}}]
    project = studio.project(CONFIG, json.dumps(tasks).encode())
    [task] = [one["id"] for one in studio.tasks(project)]
    call(studio, "POST", "/api/ml", url=address, project=project, title="vse-ens")
    [backend] = call(studio, "GET", f"/api/ml?project={project}")
    assert backend["state"] == "CO"
    return project, task, until(lambda: predictions(studio, project, task))


def known_labels(process: Process) -> set[str]:
    return {one["label"] for one in process.http.get("/api/image", params={"id": IMAGE}).json()["labels"]}


def test_label_studio_keeps_predictions_and_the_model_version(
    served: tuple[Process, Path], connected: tuple[int, int, Any]
) -> None:
    process, _ = served
    prediction = connected[2]
    assert prediction["model_version"].endswith(process.http.get("/ready").json()["model"])
    assert known_labels(process) & set(CHOICES) <= selected(prediction)


def test_its_page_shows_our_predictions(studio: Server, connected: tuple[int, int, Any], tmp_path: Path) -> None:
    """The choices of the prediction are ticked when the task is opened."""
    sync_api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium")
    project, task, prediction = connected
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1400, "height": 1000})
        tab.set_default_timeout(120_000)
        try:
            tab.goto(f"{studio.address}/user/login", wait_until="domcontentloaded")
            tab.fill("input[name=email]", USER)
            tab.fill("input[name=password]", PASSWORD)
            tab.click("button[type=submit]")
            tab.wait_for_url(lambda url: "/user/login" not in url, wait_until="domcontentloaded")
            tab.goto(f"{studio.address}/projects/{project}/data?task={task}", wait_until="domcontentloaded")
            ticked = tab.locator("input[type=checkbox]:checked")
            ticked.first.wait_for(state="attached")
            shown = {tab.evaluate("box => box.closest('label').innerText", box) for box in ticked.element_handles()}
        finally:
            tab.screenshot(path=str(tmp_path / "label-studio.png"))
            browser.close()
    assert all(any(choice in text for text in shown) for choice in selected(prediction)), shown


def test_annotations_come_back_and_a_learnt_model_is_noticed(
    studio: Server, served: tuple[Process, Path], connected: tuple[int, int, Any]
) -> None:
    process, folder = served
    project, task, first = connected
    new = next(one for one in CHOICES if one not in known_labels(process))
    result = [{"from_name": "labels", "to_name": "image", "type": "choices", "value": {"choices": [new]}}]
    call(studio, "POST", f"/api/tasks/{task}/annotations", result=result)
    # By the webhook that Label Studio made by itself.
    [event] = until(lambda: process.http.get("/api/feedback").json()["events"])
    assert (event["image"], event["label"], event["verdict"], event["source"]) == (IMAGE, new, "accept", "label-studio")
    assert event["by"]

    command = [sys.executable, "-m", "vse_ens", "update", "model", "model.feedback.sqlite", "--out", "model"]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)
    assert process.http.post("/api/reload", headers={"X-VSE-Reload": "yes"}).status_code == 200
    version = process.http.get("/ready").json()["model"]
    assert not first["model_version"].endswith(version)
    second = until(lambda: (found := predictions(studio, project, task))["model_version"].endswith(version) and found)
    assert new in selected(second)
