"""Damaged copies of files, for readers that must survive anything."""

from __future__ import annotations

import random
from collections.abc import Iterator

TOKENS = (
    b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"null", b"[]", b"{}", b"-1", b"1e999", b"9" * 5000,
    b'"', b"'", b"<", b"</", b"]]>", b"&a;", b"<!DOCTYPE a [<!ENTITY a 'b'>]>", b"[" * 2000, b"{" * 2000, b"<a>" * 300,
    b"\\ud800", b"\r", b"\n", b",", b"|", b"../", b"true", b"NaN", b"%00",
)  # fmt: skip


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Return a damaged copy: bytes changed, parts cut, repeated or swapped, and tokens put in."""
    result = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5, 16))):
        at = chance.randrange(len(result) + 1)
        end = min(len(result), at + chance.choice((1, 1, 2, 8, 64, 512)))
        kind = chance.randrange(8)
        if kind <= 1 and at < len(result):
            result[at] = chance.randrange(256)
        elif kind == 2:
            del result[at:end]
        elif kind == 3:
            result[at:at] = result[at:end] * chance.choice((1, 2, 50))
        elif kind == 4:
            result[at:at] = chance.choice(TOKENS)
        elif kind == 5:
            result[at:end] = chance.choice(TOKENS)
        elif kind == 6:
            result[at:end] = chance.randbytes(end - at)
        elif chance.random() < 0.2:  # a rest of a file tests little
            del result[at:]
    return bytes(result)


def mutated(content: bytes, count: int, seed: int | str = 0) -> Iterator[bytes]:
    """Yield damaged copies of a file."""
    chance = random.Random(seed)
    for _ in range(count):
        yield damaged(content, chance)
