"""API keys: what they allow, whom they name, and the files they come from."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from vse_ens.errors import ConfigError

_MIN_LENGTH = 16
_MAX_FILE_BYTES = 100_000
_NAME = re.compile(r"[^\s:](?:[^:\x00-\x1f\x7f]{0,98}[^\s:])?")


@dataclass(frozen=True)
class Key:
    """A key that requests send."""

    secret: str = field(repr=False)
    name: str = ""
    """Who uses it: the user of all feedback that is sent with it. Empty if the request names the user."""
    read_only: bool = False
    """Whether it allows no feedback, no rules and no reload."""

    def __post_init__(self) -> None:
        if not (self.secret.isascii() and self.secret.isprintable()):
            raise ConfigError("the API key must consist of printable ASCII characters")
        if len(self.secret) < _MIN_LENGTH:
            owner = f" of {self.name}" if self.name else ""
            raise ConfigError(
                f"the API key{owner} has {len(self.secret)} characters, but fewer than {_MIN_LENGTH} can be guessed; "
                "create one with: openssl rand -hex 32"
            )

    @property
    def picture_cookie(self) -> tuple[str, str]:
        """Name and value of the cookie that lets a browser load pictures, which it cannot do with a header."""
        value = hmac.new(self.secret.encode(), b"pictures", hashlib.sha256).hexdigest()
        # Cookies are shared by all ports of a host: another key has another name.
        return f"vse_pictures_{hashlib.sha256(value.encode()).hexdigest()[:8]}", value


def find_key(keys: Iterable[Key], given: str) -> Key | None:
    """Return the key that was given; the time does not tell how much of which key was right."""
    found = [key for key in keys if hmac.compare_digest(given.encode(), key.secret.encode())]
    return found[0] if found else None


def read_keys(file: Path, *, read_only: bool = False) -> tuple[Key, ...]:
    """Read a file with one key per line, each with an optional name before a colon: ``anna:0f3a...``."""
    with file.open("rb") as opened:
        if os.fstat(opened.fileno()).st_mode & (stat.S_IRGRP | stat.S_IROTH):
            raise ConfigError(
                f"{file} can be read by other users of this machine; run: chmod 600 {file} "
                "(for a container secret, set its mode to 0400, or pass the key in VSE_API_KEY)"
            )
        content = opened.read(_MAX_FILE_BYTES + 1)
    try:
        lines = content.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not a text file with an API key") from error
    if len(content) > _MAX_FILE_BYTES:
        raise ConfigError(f"{file} has more than {_MAX_FILE_BYTES:,} bytes; it must contain an API key per line")
    keys = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, colon, secret = text.rpartition(":")
        if colon and not _NAME.fullmatch(name.strip()):
            raise ConfigError(f"{file}, line {number}: write NAME:KEY; a name has no colon and at most 100 characters")
        try:
            keys.append(Key(secret.strip(), name.strip(), read_only))
        except ConfigError as error:
            raise ConfigError(f"{file}, line {number}: {error}") from None
    if not keys:
        raise ConfigError(f"{file} is empty; it must contain the API key")
    return tuple(keys)
