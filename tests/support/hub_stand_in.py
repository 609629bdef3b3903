"""A stand-in for the Hugging Face Hub: the part of its HTTP API that huggingface_hub uses for models, on loopback.

Written after the requests of huggingface_hub 2.4: create_repo, create_branch, validate-yaml, preupload, LFS batch,
commit, model_info, tree and resolve. Large files go through LFS: the client must run with HF_HUB_DISABLE_XET, since the
storage behind Xet is not part of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

TOKEN = "hf_standin"  # of the user ann
USER = "ann"


@dataclass
class Repo:
    """A repository: branches, and the files of every commit."""

    private: bool = False
    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    lfs: set[str] = field(default_factory=set)

    def commit(self, branch: str, files: dict[str, bytes], message: str) -> str:
        number = hashlib.sha1(f"{branch} {len(self.commits)}".encode()).hexdigest()
        self.commits[number] = files
        self.branches[branch] = number
        self.messages.append(message)
        return number

    def resolve(self, revision: str) -> str | None:
        found = self.branches.get(revision, revision)
        return found if found in self.commits else None


class HubStandIn:
    """The state of the stand-in; tests look into it and damage it."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.status = 0
        """Every request is answered with this status, if it is not 0."""
        self.url = ""

    def files(self, repo: str, revision: str = "main") -> dict[str, bytes]:
        found = self.repos[repo]
        return found.commits[str(found.resolve(revision))]

    def flip(self, repo: str, path: str) -> None:
        """Change one byte of a file, as a fault of a disk would."""
        content = bytearray(self.files(repo)[path])
        content[len(content) // 2] ^= 1
        self.files(repo)[path] = bytes(content)


@contextmanager
def hub_stand_in() -> Iterator[HubStandIn]:
    """Run the stand-in on a free port of this machine."""
    hub = HubStandIn()

    class Handler(_Handler):
        state = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def use_hub(monkeypatch: pytest.MonkeyPatch, url: str, cache: str, token: str | None = TOKEN) -> None:
    """Point the client library in this process at the stand-in: it reads the environment when it is imported."""
    from huggingface_hub import constants
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
    if token is not None:
        monkeypatch.setenv("HF_TOKEN", token)
    values = {
        "ENDPOINT": url,
        "HUGGINGFACE_CO_URL_TEMPLATE": f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
        "HF_URL_HOSTS": frozenset({"127.0.0.1"}),
        "HF_HUB_CACHE": cache,
        "HF_TOKEN_PATH": f"{cache}/token",
        "HF_STORED_TOKENS_PATH": f"{cache}/tokens",
        "AGENT_HARNESSES_PATH": f"{cache}/harnesses.json",
        "HF_HUB_DISABLE_XET": True,
        "HF_HUB_DISABLE_TELEMETRY": True,
        "HF_HUB_OFFLINE": False,
    }
    for name, value in values.items():
        monkeypatch.setattr(constants, name, value)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: HubStandIn

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name in the base class
        pass

    def do_GET(self) -> None:
        self._answer("GET")

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def _answer(self, method: str) -> None:
        path = unquote(urlsplit(self.path).path)
        self.body = self._read_body()
        self.state.requests.append(f"{method} {path}")
        if self.state.status:
            self._json({"error": "out of order"}, self.state.status)
            return
        for verb, pattern, handle in ROUTES:
            found = re.fullmatch(pattern, path) if method in verb.split() else None
            if found:
                handle(self, *found.groups())
                return
        self._json({"error": "no such route"}, 404)

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    # --- routes ---

    def create(self) -> None:
        wanted = json.loads(self.body)
        owner = wanted["organization"] or USER
        name = f"{owner}/{wanted['name']}"
        if not self._logged_in():
            self._json({"error": "Invalid username or password."}, 401)
        elif owner != USER:
            self._json({"error": f"You don't have the rights to create a model under the namespace {owner}"}, 403)
        elif name in self.state.repos:
            self._json({"error": "You already created this model repo", "url": f"{self.state.url}/{name}"}, 409)
        else:
            self.state.repos[name] = repo = Repo(wanted.get("visibility") == "private")
            repo.commit("main", {".gitattributes": b"*.safetensors filter=lfs\n"}, "initial commit")
            self._json({"url": f"{self.state.url}/{name}", "name": name})

    def validate(self) -> None:
        text = json.loads(self.body)["content"]
        header = yaml.safe_load(text.split("---")[1]) if text.startswith("---\n") else None
        errors = [] if isinstance(header, dict) else [{"message": "no metadata"}]
        self._json({"errors": errors, "warnings": []}, 400 if errors else 200)

    def branch(self, name: str, branch: str) -> None:
        if (repo := self._writable(name)) is None:
            return
        if branch in repo.branches:
            self._json({"error": "Reference already exists"}, 409)
        else:
            repo.branches[branch] = repo.branches["main"]
            self._json({})

    def preupload(self, name: str, revision: str) -> None:
        if (repo := self._writable(name)) is None or self._commit(repo, revision) is None:
            return
        old = self.state.files(name, revision)
        answers = []
        for file in json.loads(self.body)["files"]:
            path = file["path"]
            large = path.endswith((".safetensors", ".arrow")) or file["size"] > 10_000_000
            algorithm: Callable[[bytes], str] = (lambda raw: hashlib.sha256(raw).hexdigest()) if large else _git_oid
            oid = algorithm(old[path]) if path in old else None
            answers.append(
                {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False, "oid": oid}
            )
        self._json({"files": answers})

    def batch(self, name: str) -> None:
        if self._writable(name) is None:
            return
        objects = []
        for one in json.loads(self.body)["objects"]:
            entry: dict[str, Any] = {"oid": one["oid"], "size": one["size"]}
            if one["oid"] not in self.state.objects:
                entry["actions"] = {
                    "upload": {"href": f"{self.state.url}/lfs/{one['oid']}"},
                    "verify": {"href": f"{self.state.url}/lfs-verify"},
                }
            objects.append(entry)
        self._json({"transfer": "basic", "objects": objects})

    def upload(self, oid: str) -> None:
        if hashlib.sha256(self.body).hexdigest() != oid:
            self._json({"error": "the content has another SHA-256"}, 400)
            return
        self.state.objects[oid] = self.body
        self._json({})

    def verify(self) -> None:
        wanted = json.loads(self.body)
        stored = self.state.objects.get(wanted["oid"])
        self._json({}, 200 if stored is not None and len(stored) == wanted["size"] else 404)

    def commit(self, name: str, revision: str) -> None:
        if (repo := self._writable(name)) is None or self._commit(repo, revision) is None:
            return
        files = dict(self.state.files(name, revision))
        message = ""
        for line in map(json.loads, self.body.splitlines()):
            key, value = line["key"], line["value"]
            if key == "header":
                message = value["summary"]
            elif key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.state.objects[value["oid"]]
                repo.lfs.add(value["path"])
        number = repo.commit(revision, files, message)
        self._json({"commitUrl": f"{self.state.url}/{name}/commit/{number}", "commitOid": number})

    def info(self, name: str, revision: str | None = None) -> None:
        if (repo := self._readable(name)) is None or (number := self._commit(repo, revision or "main")) is None:
            return
        siblings = [{"rfilename": path} for path in sorted(repo.commits[number])]
        self._json({"id": name, "sha": number, "private": repo.private, "tags": [], "siblings": siblings})

    def tree(self, name: str, revision: str) -> None:
        if (repo := self._readable(name)) is None or (number := self._commit(repo, revision)) is None:
            return
        entries = []
        for path, content in sorted(repo.commits[number].items()):
            entry: dict[str, Any] = {"type": "file", "path": path, "size": len(content), "oid": _git_oid(content)}
            if path in repo.lfs:
                digest = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 130}
            entries.append(entry)
        self._json(entries)

    def resolve(self, name: str, revision: str, path: str) -> None:
        if (repo := self._readable(name)) is None or (number := self._commit(repo, revision)) is None:
            return
        content = repo.commits[number].get(path)
        if content is None:
            self._json({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
            return
        tags = {"X-Repo-Commit": number, "ETag": f'"{_git_oid(content)}"'}
        if path in repo.lfs:
            digest = hashlib.sha256(content).hexdigest()
            tags |= {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(content))}
            # On another host, as the content delivery network is: the client stops at such a redirect for the headers.
            tags["Location"] = f"{self.state.url.replace('127.0.0.1', 'localhost')}/cdn/{name}/{number}/{path}"
            self._send(302, b"", tags)
        else:
            self._send(200, content, tags)

    def cdn(self, name: str, number: str, path: str) -> None:
        self._send(200, self.state.repos[name].commits[number][path], {})

    # --- helpers ---

    def _logged_in(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _readable(self, name: str) -> Repo | None:
        repo = self.state.repos.get(name)
        if repo is None or (repo.private and not self._logged_in()):
            status = 404 if self._logged_in() else 401  # as the Hub does
            self._json({"error": "Repository not found"}, status, {"X-Error-Code": "RepoNotFound"})
            return None
        return repo

    def _writable(self, name: str) -> Repo | None:
        if not self._logged_in():
            self._json({"error": "Invalid username or password."}, 401)
            return None
        return self._readable(name)

    def _commit(self, repo: Repo, revision: str) -> str | None:
        number = repo.resolve(revision)
        if number is None:
            self._json({"error": f"Invalid rev id: {revision}"}, 404, {"X-Error-Code": "RevisionNotFound"})
        return number

    def _json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        more = {"X-Error-Message": value["error"]} if status >= 400 and "error" in value else {}
        self._send(status, json.dumps(value).encode(), {"Content-Type": "application/json", **more, **(headers or {})})

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


_NAME = r"([^/]+/[^/]+)"
ROUTES: list[tuple[str, str, Callable[..., None]]] = [
    ("POST", "/api/repos/create", _Handler.create),
    ("POST", "/api/validate-yaml", _Handler.validate),
    ("POST", rf"/api/models/{_NAME}/branch/(.+)", _Handler.branch),
    ("POST", rf"/api/models/{_NAME}/preupload/(.+)", _Handler.preupload),
    ("POST", rf"/api/models/{_NAME}/commit/(.+)", _Handler.commit),
    ("POST", rf"/{_NAME}\.git/info/lfs/objects/batch", _Handler.batch),
    ("PUT", r"/lfs/(\w+)", _Handler.upload),
    ("POST", "/lfs-verify", _Handler.verify),
    ("GET", rf"/api/models/{_NAME}", _Handler.info),
    ("GET", rf"/api/models/{_NAME}/revision/(.+)", _Handler.info),
    ("GET", rf"/api/models/{_NAME}/tree/([^/]+)", _Handler.tree),
    ("GET HEAD", rf"/{_NAME}/resolve/([^/]+)/(.+)", _Handler.resolve),
    ("GET HEAD", rf"/cdn/{_NAME}/(\w+)/(.+)", _Handler.cdn),
]
