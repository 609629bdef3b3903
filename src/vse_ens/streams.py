"""Named, counter-based random streams.

A stream is a name path under a seed; nothing else. Its numbers do not depend on which streams were made before it, on
the number of threads, or on how much of another stream was used:

    streams = Streams(seed=7)
    streams.child("train", 3, "round", 12).uniforms(5)

The key of a stream is the BLAKE2b hash of the seed and the path; its numbers are Philox4x64 in counter order. Only raw
64-bit words are taken from NumPy (their values are fixed for good), never a distribution (which may change between
versions).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError

Name = str | int


@dataclass(frozen=True, slots=True)
class Streams:
    """A random stream and the parent of its children; immutable, so handing one on never changes it."""

    seed: int
    path: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**64:
            raise ConfigError(f"seed must be a whole number from 0 to 2**64 - 1, got {self.seed!r}")
        for name in self.path:
            if isinstance(name, bool) or not isinstance(name, str | int):
                raise ConfigError(f"a stream name must be text or a whole number, got {name!r}")

    def child(self, *names: Name) -> Streams:
        """The stream of this path with ``names`` appended."""
        return Streams(self.seed, self.path + names)

    def key(self) -> tuple[int, int]:
        """Two 64-bit words that identify this stream: for kernels that count for themselves."""
        digest = hashlib.blake2b(digest_size=16, person=b"vse-ens streams")
        digest.update(self.seed.to_bytes(8, "little"))
        for name in self.path:
            # Type and length go in too, so that ("a", "b"), ("ab",), (1,) and ("1",) all differ.
            text = str(name).encode()
            digest.update(b"i" if isinstance(name, int) else b"s")
            digest.update(len(text).to_bytes(8, "little"))
            digest.update(text)
        words = digest.digest()
        return int.from_bytes(words[:8], "little"), int.from_bytes(words[8:], "little")

    def words(self, count: int, first: int = 0) -> NDArray[np.uint64]:
        """``count`` raw 64-bit words from the ``first`` on, counted from 0."""
        # Every step of the counter gives four.
        step, skipped = divmod(first, 4)
        generator = np.random.Philox(key=np.array(self.key(), dtype=np.uint64), counter=step)
        return np.asarray(generator.random_raw(skipped + count)[skipped:], dtype=np.uint64)

    def uniforms(self, count: int, first: int = 0) -> NDArray[np.float64]:
        """``count`` numbers in [0, 1), 53 bits each, from the ``first`` on."""
        return (self.words(count, first) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, bounds: NDArray[np.integer], first: int = 0) -> NDArray[np.int64]:
        """One whole number in [0, bound) for each bound, by the numbers of the stream from the ``first`` on."""
        # u <= 1 - 2**-53 and bound < 2**53, so u * bound could only round up to bound for huge bounds: clip.
        picks = (self.uniforms(len(bounds), first) * bounds).astype(np.int64)
        return np.minimum(picks, np.asarray(bounds, dtype=np.int64) - 1)

    def normals(self, count: int) -> NDArray[np.float64]:
        """``count`` standard normal numbers (Box-Muller)."""
        half = (count + 1) // 2
        uniforms = self.uniforms(2 * half)
        radius = np.sqrt(-2.0 * np.log1p(-uniforms[:half]))
        angle = 2.0 * np.pi * uniforms[half:]
        return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
