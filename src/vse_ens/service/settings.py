"""What a service is told when it starts, checked before anything is opened."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from vse_ens.errors import ConfigError

# What one request may ask for; part of the API, and told in /openapi.json.
MOST_TOP = 100
MOST_BATCH = 256
MOST_SUGGESTIONS = 5_000
MOST_LABELS = 1_000
LONGEST_ID = 1_000
LONGEST_USER = 100

_SHORT_KEY = 16
_ORIGIN = re.compile(r"[A-Za-z0-9.\-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")


@dataclass(frozen=True)
class Limits:
    """What a client may take of the server; none of it is for a client to know."""

    body_bytes: int = 2_000_000
    head_bytes: int = 32_768
    """The first line and the headers of a request."""
    connections: int = 500
    requests: int = 256
    """Open at once, those that are still being received among them."""
    waiting: int = 32
    """Of these: how many may wait for one of the threads of heavy work."""
    threads: int = 2
    receive_seconds: float = 10.0
    """For the head of a request, and again for its body."""
    idle_seconds: int = 5
    """For a kept connection to bring the next request."""
    send_seconds: float = 30.0
    """For a client to take the next piece of an answer."""
    answer_seconds: float = 60.0
    """For work on a thread; past it the client is told to ask for less."""
    ready_seconds: float = 30.0
    """How long a request waits for the first model."""
    drain_seconds: int = 30
    """How long a service that was told to stop waits for answers on their way."""


@dataclass(frozen=True)
class Settings:
    """A model directory, and how it is served."""

    model: Path
    host: str = "127.0.0.1"
    port: int = 8765
    feedback: Path | None = None
    """Where accepted and rejected suggestions are kept; None: they are not taken."""
    image_url: str | None = None
    """Where pictures are, with ``{image}`` for the id of one."""
    api_key: str | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not self.loopback and self.api_key is None:
            raise ConfigError(
                f"--host {self.host} can be reached by others, who would need no key: "
                "give one with --api-key-file or VSE_API_KEY, or stay on 127.0.0.1"
            )
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable() and self.api_key):
            raise ConfigError("the API key must be printable ASCII characters, and at least one")
        if self.image_url is not None:
            _check_image_url(self.image_url)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def weak_key(self) -> bool:
        """Whether the key could be found by trying."""
        return self.api_key is not None and len(self.api_key) < _SHORT_KEY

    @property
    def image_origin(self) -> str | None:
        """Scheme and host of the pictures, where they are elsewhere."""
        parts = urlsplit(self.image_url or "")
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else None

    def url_of(self, image: str) -> str | None:
        """Where the picture of an image is."""
        return self.image_url and self.image_url.replace("{image}", quote(image, safe="/"))

    @property
    def address(self) -> str:
        """What to type into a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"


def _check_image_url(template: str) -> None:
    """The host ends up in a security header: nothing but a host may be there."""
    parts = urlsplit(template)
    if "{image}" not in template:
        raise ConfigError(f'--image-url {template} lacks {{image}}; for example "https://example.org/{{image}}.jpg"')
    absolute = parts.scheme in ("http", "https") and _ORIGIN.fullmatch(parts.netloc)
    if not absolute and (parts.scheme or parts.netloc or not template.startswith("/")):
        raise ConfigError(f"--image-url {template} must begin with http://HOST/, https://HOST/ or /")
