"""A real Label Studio, which is installed elsewhere: the tests that use it are skipped without it.

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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = os.environ.get("VSE_LABEL_STUDIO") or shutil.which("label-studio")
USER, PASSWORD = "a@example.com", "not-a-secret"
TOKEN = "0123456789abcdef0123456789abcdef01234567"


class Server:
    """A running Label Studio."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                content: bytes = answer.read()
        except urllib.error.HTTPError as error:
            error.msg = f"{error.msg}: {error.read()[:1000].decode(errors='replace')}"
            raise
        return content

    def is_up(self) -> bool:
        try:
            self.call("GET", "/api/projects")
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
        return True

    def project(self, config: str, tasks: bytes) -> int:
        """Make a project with imported tasks."""
        made = self.call("POST", "/api/projects", json.dumps({"title": "test", "label_config": config}).encode())
        number = int(json.loads(made)["id"])
        self.call("POST", f"/api/projects/{number}/import", tasks)
        return number

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """Return the tasks with their annotations and predictions; an export has only the numbers of predictions."""
        listed = json.loads(self.call("GET", f"/api/tasks?project={project}&fields=all"))["tasks"]
        return [json.loads(self.call("GET", f"/api/tasks/{task['id']}")) for task in listed]

    def export(self, project: int, kind: str) -> bytes:
        return self.call("GET", f"/api/projects/{project}/export?exportType={kind}&download_all_tasks=true")


@contextmanager
def running(folder: Path, **more: str) -> Iterator[Server]:
    """Start Label Studio with its data in a folder, and more settings in its environment."""
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
        **more,
    }
    command = [str(PROGRAM), "start", "--no-browser", "--port", str(port), "--data-dir", str(folder)]
    command += ["--username", USER, "--password", PASSWORD, "--user-token", TOKEN]
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
