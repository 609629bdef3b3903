"""Damaged copies of files, for readers that must survive anything."""

from __future__ import annotations

import random
from collections.abc import Iterator

TOKENS = (
    b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"null", b"[]", b"{}", b"-1", b"1e999", b"9" * 5000,
    b'"', b"'", b"<", b"</", b"]]>", b"&a;", b"<!DOCTYPE a [<!ENTITY a 'b'>]>", b"[" * 2000, b"{" * 2000, b"<a>" * 300,
    b"\\ud800", b"\r", b"\n", b",", b"|", b"../", b"true", b"NaN", b"%00",
)  # fmt: skip


def mutated(content: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """Yield damaged copies: bytes changed, parts cut, repeated or swapped, and tokens put in."""
    source = random.Random(seed)
    for _ in range(count):
        damaged = bytearray(content)
        for _ in range(source.choice((1, 1, 2, 5))):
            at = source.randrange(len(damaged) + 1)
            end = min(len(damaged), at + source.choice((1, 2, 8, 64, 512)))
            kind = source.randrange(6)
            if kind == 0 and at < len(damaged):
                damaged[at] = source.randrange(256)
            elif kind == 1:
                del damaged[at:]
            elif kind == 2:
                del damaged[at:end]
            elif kind == 3:
                damaged[at:at] = damaged[at:end]
            elif kind == 4:
                damaged[at:at] = source.choice(TOKENS)
            else:
                damaged[at:end] = source.choice(TOKENS)
        yield bytes(damaged)
