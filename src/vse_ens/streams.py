"""Named, counter-based random streams.

A stream is defined by a seed and a path of names. Its numbers do not depend on the streams created before it, on the
number of threads, or on how much of another stream was used:

    streams = Streams(seed=7)
    streams.child("train", 3, "round", 12).uniforms(5)

The key of a stream is the BLAKE2b hash of the seed and the path; its numbers are Philox4x64 in counter order. NumPy
provides only raw 64-bit words, which are the same in all versions, and no distributions, which may change.
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
    """A random stream and the parent of its child streams. Immutable: passing it on never changes it."""

    seed: int
    path: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**64:
            raise ConfigError(f"seed must be an integer from 0 to 2**64 - 1, got {self.seed!r}")
        for name in self.path:
            if isinstance(name, bool) or not isinstance(name, str | int):
                raise ConfigError(f"a stream name must be a string or an integer, got {name!r}")

    def child(self, *names: Name) -> Streams:
        """Return the stream of this path with ``names`` appended."""
        return Streams(self.seed, self.path + names)

    def key(self) -> tuple[int, int]:
        """Return the two 64-bit words that identify this stream; kernels start their own counters from them."""
        digest = hashlib.blake2b(digest_size=16, person=b"vse-ens streams")
        digest.update(self.seed.to_bytes(8, "little"))
        for name in self.path:
            # Type and length are hashed too, so that ("a", "b"), ("ab",), (1,) and ("1",) all differ.
            text = str(name).encode()
            digest.update(b"i" if isinstance(name, int) else b"s")
            digest.update(len(text).to_bytes(8, "little"))
            digest.update(text)
        words = digest.digest()
        return int.from_bytes(words[:8], "little"), int.from_bytes(words[8:], "little")

    def words(self, count: int, first: int = 0) -> NDArray[np.uint64]:
        """Return ``count`` raw 64-bit words, from the ``first`` on."""
        # Each step of the counter gives four words.
        step, skipped = divmod(first, 4)
        generator = np.random.Philox(key=np.array(self.key(), dtype=np.uint64), counter=step)
        return np.asarray(generator.random_raw(skipped + count)[skipped:], dtype=np.uint64)

    def uniforms(self, count: int, first: int = 0) -> NDArray[np.float64]:
        """Return ``count`` numbers in [0, 1) with 53 random bits each, from the ``first`` on."""
        return (self.words(count, first) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, bounds: NDArray[np.integer], first: int = 0) -> NDArray[np.int64]:
        """Return one integer in [0, bound) per bound, from the ``first`` number of the stream on."""
        # u <= 1 - 2**-53 and bound < 2**53: u * bound can round up to bound only for huge bounds.
        picks = (self.uniforms(len(bounds), first) * bounds).astype(np.int64)
        return np.minimum(picks, np.asarray(bounds, dtype=np.int64) - 1)

    def normals(self, count: int) -> NDArray[np.float64]:
        """Return ``count`` standard normal numbers (Box-Muller)."""
        half = (count + 1) // 2
        uniforms = self.uniforms(2 * half)
        radius = np.sqrt(-2.0 * np.log1p(-uniforms[:half]))
        angle = 2.0 * np.pi * uniforms[half:]
        return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
