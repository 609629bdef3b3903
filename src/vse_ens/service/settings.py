"""Settings and limits of a service, validated before anything is opened."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from vse_ens.errors import ConfigError
from vse_ens.service.keys import Key

# Limits of one request. They are part of the API and documented in /openapi.json.
MAX_TOP = 100
MAX_BATCH = 256
MAX_SUGGESTIONS = 5_000
MAX_LABELS = 1_000
MAX_FEATURES = 16_384
MAX_ID_LENGTH = 1_000
MAX_USER_LENGTH = 100
MAX_VERDICTS = 2_000
MAX_GRID = 500

_ORIGIN = re.compile(r"[A-Za-z0-9.\-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")


@dataclass(frozen=True)
class Limits:
    """Limits that protect the server; they are not part of the API."""

    body_bytes: int = 2_000_000
    head_bytes: int = 32_768
    """Maximum size of the request line and the headers."""
    connections: int = 500
    pipelined: int = 16
    """Maximum number of requests that wait on one connection for the response to an earlier one."""
    requests: int = 256
    """Maximum number of concurrent requests, including those still being received."""
    waiting: int = 32
    """Maximum number of requests that wait for a worker thread."""
    threads: int = 2
    receive_seconds: float = 10.0
    """Time limit for the head of a request, and again for its body."""
    idle_seconds: int = 5
    """How long a kept-alive connection may stay idle."""
    send_seconds: float = 30.0
    """Time limit for a client to accept the next chunk of a response."""
    answer_seconds: float = 60.0
    """Time limit for work on a worker thread."""
    ready_seconds: float = 30.0
    """How long a request waits for the first model to load."""
    drain_seconds: int = 20
    """How long a stopping service waits for requests in progress."""
    stop_seconds: float = 25.0
    """After this time a stopping service ends, whatever it is doing; on a busy machine that takes a few seconds."""


@dataclass(frozen=True)
class Settings:
    """A model directory and how to serve it."""

    model: Path
    host: str = "127.0.0.1"
    port: int = 8765
    feedback: Path | None = None
    """File that stores accepted and rejected suggestions; None disables feedback."""
    image_url: str | None = None
    """Address of the pictures, with ``{image}`` as a placeholder for the image ID."""
    images: str | None = None
    """Folder of the pictures, a collection that knows where they are, or ``drawn`` for drawings of the labels."""
    own_images: bool = False
    """Whether the pictures that the model was trained from are shown if neither of the above is given."""
    picture_cache_bytes: int = 1_000_000_000
    """Maximum size of the thumbnails on disk; 0 keeps none."""
    keys: tuple[Key, ...] = ()
    """The keys of which every request needs one; none if the service is open to this machine."""
    verify: bool = True
    """Whether every byte of a model is checked before it is served; otherwise its files are mapped unread."""
    learn_after: int = 0
    """Number of verdicts after which the model is updated in the background; 0 turns that off."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.learn_after < 0:
            raise ConfigError(f"--learn-after must be at least 0, got {self.learn_after}")
        if self.learn_after and self.feedback is None:
            raise ConfigError("--learn-after needs a feedback file to learn from; set --feedback")
        if not self.is_loopback and not self.keys:
            raise ConfigError(
                f"--host {self.host} is reachable from other machines without a key: "
                "set one with --api-key-file or VSE_API_KEY, or use 127.0.0.1"
            )
        secrets = [key.secret for key in self.keys]
        if len(set(secrets)) < len(secrets):
            raise ConfigError("two API keys are the same; create another one with: openssl rand -hex 32")
        if self.image_url is not None and self.images is not None:
            raise ConfigError("give either --images or --image-url, not both")
        if self.image_url is not None:
            _check_image_url(self.image_url)

    @property
    def is_loopback(self) -> bool:
        """Whether the service is reachable from this machine only."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"


def origin_of(url: str) -> str | None:
    """Return scheme and host of a URL if it is an http or https URL whose host may stand in a security header."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not _ORIGIN.fullmatch(parts.netloc):
        return None
    return f"{parts.scheme}://{parts.netloc}"


def _check_image_url(template: str) -> None:
    """Check the template strictly: its host becomes part of a security header."""
    parts = urlsplit(template)
    folder = _local_folder(template)
    if folder is not None:
        raise ConfigError(
            f"--image-url {template} is a path of this machine, which a browser cannot open; use --images {folder}"
        )
    if "{image}" not in template:
        raise ConfigError(
            f'--image-url {template} does not contain {{image}}; for example "https://example.org/{{image}}.jpg"'
        )
    if origin_of(template) is None and (parts.scheme or parts.netloc or not template.startswith("/")):
        raise ConfigError(f"--image-url {template} must start with http://HOST/, https://HOST/ or /")


def _local_folder(template: str) -> str | None:
    """Return the folder of a template that is a path of this machine; None for an address."""
    path = template.removeprefix("file://")
    is_path = path != template or path.startswith(("./", "../", "~")) or re.match(r"[A-Za-z]:[\\/]", path)
    before = path.partition("{image}")[0]
    folder = before if before.endswith(("/", "\\")) or "{image}" not in path else before.rpartition("/")[0]
    folder = folder.rstrip("/\\")
    if is_path:
        return folder or "."
    try:
        exists = bool(folder) and "://" not in path and Path(folder).exists()
    except (OSError, ValueError):
        exists = False
    return folder if exists else None
