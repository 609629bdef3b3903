"""Files that were written are imported into a real Label Studio.

Label Studio's pins do not fit into this environment. The test uses the program that VSE_LABEL_STUDIO names, or that is
on the PATH:

    python -m venv /tmp/ls-venv && /tmp/ls-venv/bin/pip install label-studio
    VSE_LABEL_STUDIO=/tmp/ls-venv/bin/label-studio python -m pytest -m label_studio
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.data.collections.label_studio import LabelStudioCollection

PROGRAM = os.environ.get("VSE_LABEL_STUDIO") or shutil.which("label-studio")
TOKEN = "0123456789abcdef0123456789abcdef01234567"
CONFIG = """
<View>
  <Image name="image" value="$image"/>
  <Choices name="choice" toName="image" choice="multiple">
    <Choice value="sea"/><Choice value="sand"/><Choice value="dog"/>
  </Choices>
  <RectangleLabels name="label" toName="image"><Label value="ball"/></RectangleLabels>
</View>
"""
FIRST, SECOND = "https://example.com/a.jpg", "https://example.com/b.jpg"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.label_studio,
    pytest.mark.skipif(PROGRAM is None, reason="Label Studio is not installed; see the top of this file"),
]


class Server:
    """A running Label Studio."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}"

    def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._address + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            content: bytes = answer.read()
        return content

    def is_up(self) -> bool:
        try:
            self.call("GET", "/api/projects")
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
        return True

    def project(self, tasks: bytes) -> int:
        """Make a project with imported tasks."""
        made = self.call("POST", "/api/projects", json.dumps({"title": "test", "label_config": CONFIG}).encode())
        number = int(json.loads(made)["id"])
        self.call("POST", f"/api/projects/{number}/import", tasks)
        return number

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """Return the tasks with their annotations and predictions; an export has only the numbers of predictions."""
        listed = json.loads(self.call("GET", f"/api/tasks?project={project}&fields=all"))["tasks"]
        return [json.loads(self.call("GET", f"/api/tasks/{task['id']}")) for task in listed]

    def export(self, project: int, kind: str) -> bytes:
        return self.call("GET", f"/api/projects/{project}/export?exportType={kind}&download_all_tasks=true")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("label-studio")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LABEL_STUDIO_HOST": f"http://127.0.0.1:{port}",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "PYTHONPATH": "",
    }
    command = [str(PROGRAM), "start", "--no-browser", "--port", str(port), "--data-dir", str(folder)]
    command += ["--username", "a@example.com", "--password", "not-a-secret", "--user-token", TOKEN]
    with (folder / "log").open("wb") as log:
        program = subprocess.Popen(
            command, env={**os.environ, **settings}, stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
    try:
        server = Server(port)
        while not server.is_up():
            assert program.poll() is None, (folder / "log").read_text(errors="replace")[-2000:]
            time.sleep(0.5)
        yield server
    finally:
        os.killpg(program.pid, signal.SIGTERM)
        program.wait()


def tasks() -> bytes:
    box = {"x": 1, "y": 1, "width": 5, "height": 5, "rotation": 0, "rectanglelabels": ["ball"]}
    results = [
        {"from_name": "choice", "to_name": "image", "type": "choices", "value": {"choices": ["sea"]}},
        {"from_name": "label", "to_name": "image", "type": "rectanglelabels", "value": box,
         "original_width": 10, "original_height": 10},
    ]  # fmt: skip
    return json.dumps(
        [{"data": {"image": FIRST}, "annotations": [{"result": results}]}, {"data": {"image": SECOND}}]
    ).encode()


def choices(results: list[dict[str, Any]]) -> list[str]:
    return [choice for one in results for choice in one["value"].get("choices", ())]


def test_an_export_with_new_labels_is_imported_with_them(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(server.export(server.project(tasks()), "JSON"))
    assert {item.image: item.labels for item in open_collection(path).items()} == {FIRST: ("sea", "ball"), SECOND: ()}
    edits = {FIRST: LabelEdit(("sand",), ("ball",)), SECOND: LabelEdit(("dog", "sea"))}
    (change,) = LabelStudioCollection(path).changes(edits)
    imported = server.tasks(server.project(change.after))
    shown = {task["data"]["image"]: task for task in imported}
    assert [choices(one["result"]) for one in shown[FIRST]["annotations"]] == [["sea", "sand"]]
    assert len(shown[FIRST]["annotations"][0]["result"]) == 1, "the box was to be removed"
    assert shown[SECOND]["annotations"] == []
    assert [choices(one["result"]) for one in shown[SECOND]["predictions"]] == [["dog", "sea"]]
    path.write_text(json.dumps(imported))
    assert {item.image: item.labels for item in open_collection(path).items()} == {
        FIRST: ("sea", "sand"),
        SECOND: ("dog", "sea"),
    }


def test_the_min_form_of_an_export_is_read_and_written(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "export-min.json"
    path.write_bytes(server.export(server.project(tasks()), "JSON_MIN"))
    (change,) = LabelStudioCollection(path).changes({FIRST: LabelEdit(("sand",)), SECOND: LabelEdit(("dog",))})
    path.write_bytes(change.after)
    assert {item.image: item.labels for item in open_collection(path).items()} == {
        FIRST: ("sea", "sand", "ball"),
        SECOND: ("dog",),
    }
