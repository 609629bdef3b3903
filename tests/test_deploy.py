"""The container, the systemd unit and the proxy of docs/deploy.md, as far as they can run here."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.support.service_in_thread import serving_in_thread
from tests.test_docs import blocks
from vse_ens.annotator import Annotator
from vse_ens.service.settings import Settings

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def recipe(language: str) -> str:
    """The only block of docs/deploy.md in a language."""
    (found,) = (
        one for one in blocks((ROOT / "docs/deploy.md").read_text(encoding="utf-8")) if one.language == language
    )
    return found.text


def instructions() -> list[tuple[str, str]]:
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE)).splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines if line.strip()]


def test_the_container_does_not_run_as_root() -> None:
    users = [value for name, value in instructions() if name == "USER"]
    assert users == ["10001:10001"]


def test_commands_are_lists_so_that_signals_arrive() -> None:
    given = dict(instructions())
    assert json.loads(given["ENTRYPOINT"]) == ["vse"]
    assert json.loads(given["CMD"]) == ["serve", "/data/model", "--host", "0.0.0.0"]
    health = json.loads(given["HEALTHCHECK"].partition("CMD ")[2])
    assert health[0] == "python"
    compile(health[2], "health", "exec")


def test_all_that_the_image_copies_is_let_in(tmp_path: Path) -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [
        name for key, value in instructions() if key == "COPY" and "--from" not in value for name in value.split()[:-1]
    ]
    assert set(copied) == allowed
    assert all((ROOT / name).exists() for name in copied)


def test_written_files_go_to_the_volumes() -> None:
    volumes = json.loads(next(value for name, value in instructions() if name == "VOLUME"))
    variables = dict(
        re.findall(r"(\w+)=(\S+)", next(value for name, value in reversed(instructions()) if name == "ENV"))
    )
    for name in ("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        assert any(variables[name].startswith(volume) for volume in volumes), name


def test_the_compose_file() -> None:
    services: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    vse = services["vse"]
    assert vse["read_only"] is True
    assert vse["cap_drop"] == ["ALL"]
    assert "--api-key-file" in vse["command"]
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert services["label-studio"]["environment"]["SSRF_PROTECTION_ENABLED"] == "false"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_unit_is_valid(tmp_path: Path) -> None:
    program = tmp_path / "vse"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "vse.service"
    unit.write_text(recipe("ini").replace("/opt/vse/bin/vse", str(program)))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=120)
    complaints = [line for line in done.stderr.splitlines() if "vse.service" in line]
    assert (done.returncode, complaints) == (0, []), done.stderr


NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until_ready(client: httpx.Client, headers: dict[str, str]) -> None:
    for _ in range(3000):  # for hangs only
        with contextlib.suppress(httpx.TransportError):  # nginx is not listening yet
            if client.get("ready", headers=headers).status_code == 200:
                return
        time.sleep(0.1)
    pytest.fail("the service is not ready")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nginx") is None or shutil.which("openssl") is None, reason="nginx is not installed")
@pytest.mark.parametrize("path", ["/", "/labels/"])
def test_nginx_in_front_of_a_service(small_model: Path, tmp_path: Path, path: str) -> None:
    port = free_port()
    certificate, key = tmp_path / "a.pem", tmp_path / "a.key"
    make = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=labels.example.org"
    )
    subprocess.run([*make.split(), "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    settings = Settings(model=small_model, feedback=tmp_path / "feedback.sqlite")
    with serving_in_thread(settings) as service:
        address = f"http://127.0.0.1:{service.port}"
        site = recipe("nginx").replace("listen 443", f"listen 127.0.0.1:{port}")
        site = site.replace("/etc/ssl/labels.example.org.pem", str(certificate))
        site = site.replace("/etc/ssl/labels.example.org.key", str(key))
        end = "/" if path != "/" else ""  # as the page says
        site = site.replace("location / ", f"location {path} ").replace("http://127.0.0.1:8765", f"{address}{end}")
        (tmp_path / "nginx.conf").write_text(NGINX.format(folder=tmp_path, site=site))
        server = subprocess.Popen(["nginx", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")])
        try:
            with httpx.Client(base_url=f"https://127.0.0.1:{port}{path}", verify=False, timeout=60) as client:
                headers = {"Host": "labels.example.org"}
                wait_until_ready(client, headers)
                assert "<html" in client.get("", headers=headers).text
                label = Annotator.load(small_model).known_.labels.id(0)
                answer = client.post("api/annotate", headers=headers, json={"labels": [[label]], "top": 3})
                assert answer.status_code == 200, answer.text
                assert client.post("api/annotate", headers=headers, content=b"x" * 3_000_000).status_code == 413
        finally:
            server.terminate()
            server.wait(30)
