"""The reference of the method on the random numbers that kernels draw."""

from __future__ import annotations

import numpy as np
from benchmarks.paper.reference import Reference

from tests.support.kernel_twins import SplitMix
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Floats, Sampling


class KernelRandom(SplitMix):
    """The random numbers of a kernel, with the alias table of its ranks."""

    def __init__(self, state: int, sampling: Sampling) -> None:
        super().__init__(state)
        self.sampling = sampling

    def rank(self) -> int:
        word = self.word()
        cell = ((word >> 32) * len(self.sampling.alias)) >> 32
        keep = ((word >> 8) & 0xFFFFFF) / 2**24 < self.sampling.threshold[cell]
        return 1 + (cell if keep else int(self.sampling.alias[cell]))


class Algorithm1(Reference):
    """The reference, and the pair and the negative of every draw."""

    def __init__(self, config: Config, data: Annotations, images: Floats, labels: Floats, random: KernelRandom) -> None:
        owned = [data.indices[first:last] for first, last in zip(data.indptr, data.indptr[1:], strict=False)]
        limit = random.sampling.max_redraws
        super().__init__(config, images.astype(np.float64), labels.astype(np.float64), owned, random, limit)
        self.pairs = [(image, int(label)) for image, own in enumerate(owned) for label in own]
        self.drawn: list[tuple[int, int, int]] = []

    def step(self, image: int, positive: int, negative: int, tried: int, rate: float) -> None:
        self.drawn.append((image, positive, negative))
        super().step(image, positive, negative, tried, rate)
