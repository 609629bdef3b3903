"""The paper's method in plain NumPy, to read with the paper at hand: algorithm 1, the naive sampler, WARP and Opt-AUC.

Kernels do the same in single precision, without allocating and without the GIL; tests compare both draw by draw
(`tests/kernels/test_serial.py`, `tests/train/engines/test_serial.py`). The wheel has no need of this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.kernels.arrays import COUNTS, DRAWS, GIVEN_UP, REJECTED, TRIES, VIOLATIONS

Doubles = NDArray[np.float64]


class Random(Protocol):
    """Random numbers: a rank from 1 by p(r) of eq. 5, a number in [0, 1), an integer in [0, bound)."""

    def rank(self) -> int: ...  # noqa: D102
    def uniform(self) -> float: ...  # noqa: D102
    def below(self, bound: int) -> int: ...  # noqa: D102


@dataclass
class Reference:
    """A model under training: v_i of every image, v_a of every label, and the labels that each image has."""

    config: Config
    images: Doubles
    labels: Doubles
    owned: Sequence[NDArray[np.int32]]
    random: Random
    max_redraws: int = 64
    q: int = 0
    loss: float = 0.0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(COUNTS, np.int64))
    refreshed_at: list[int] = field(default_factory=list)

    def run(self, draws: int, rate: float, order: Sequence[int] | None = None) -> None:
        """Algorithm 1: make draws; pairs are drawn with replacement, or taken in the given order of their numbers."""
        pairs, size = [(i, int(p)) for i, own in enumerate(self.owned) for p in own], len(self.labels)
        for number in range(draws):
            self.q += 1
            if self.q == 1 or self.q % math.floor(size * math.log(size)) == 0:  # lines 4 and 5
                self.refresh()
            image, positive = pairs[self.random.below(len(pairs)) if order is None else order[number]]
            negative, tried = self.draw(image, positive)
            self.step(image, positive, negative, tried, rate)

    def refresh(self) -> None:
        """Lines 6 to 9: the labels sorted by every factor, best first, and sigma_f (eq. 8)."""
        self.lists, self.sigma = np.argsort(-self.labels, axis=0, kind="stable"), self.labels.std(axis=0)
        self.refreshed_at.append(self.q)

    def candidate(self, image: int) -> int:
        """Lines 12 to 18: a label, whether the image has it or not."""
        v, size = self.images[image], len(self.labels)
        if self.config.sampler in ("uniform", "warp"):
            return self.random.below(size)
        r = self.random.rank()
        if self.config.sampler == "naive":  # the exact ranking by s_i(a) = v_i . v_a (eq. 1)
            return int(np.argsort(-(self.labels @ v), kind="stable")[r - 1])
        weights = np.abs(v) * self.sigma  # p(f|i), eq. 7
        f = int(np.searchsorted(np.cumsum(weights), self.random.uniform() * weights.sum(), side="right"))
        return int(self.lists[(r if v[f] > 0 else size - r + 1) - 1, f])  # eq. 9

    def find(self, image: int) -> int:
        """Draw a label; with ``redraw_positives`` until the image does not have it, and -1 after too many draws."""
        for _ in range(self.max_redraws):
            self.counts[TRIES] += 1
            label = self.candidate(image)
            if not self.config.redraw_positives or label not in self.owned[image]:
                return label
            self.counts[REJECTED] += 1
        return -1

    def draw(self, image: int, positive: int) -> tuple[int, int]:
        """Draw a negative, -1 if none is found; WARP until one violates the margin (eq. 4), with its N tries."""
        if self.config.sampler != "warp":
            return self.find(image), 0
        violating, tried = self.labels @ self.images[image], 0
        violating = self.config.margin + violating > violating[positive]
        others = np.setdiff1d(np.arange(len(violating)), self.owned[image] if self.config.redraw_positives else [])
        while True:
            for _ in range(len(violating) - 1):
                tried, label = tried + 1, self.find(image)
                if label < 0 or violating[label]:
                    break
            if label >= 0 and violating[label]:
                return label, tried
            if self.config.warp_cap or not violating[others].any():
                return -1, tried

    def step(self, image: int, positive: int, negative: int, tried: int, rate: float) -> None:
        """Lines 19 to 21: one step of SGD on the loss; every vector that was drawn decays."""
        v, v_p, x, slope = self.images[image].copy(), self.labels[positive].copy(), 0.0, 0.0
        v_n = self.labels[negative].copy() if negative >= 0 else v_p
        self.counts[DRAWS] += 1
        if negative < 0:
            self.counts[GIVEN_UP] += 1
        else:
            self.counts[REJECTED] += not self.config.redraw_positives and negative in self.owned[image]
            x = float(v @ (v_p - v_n))
            self.counts[VIOLATIONS] += x < self.config.margin
            if self.config.loss == "logistic":  # Opt-AUC
                value, slope = math.log1p(math.exp(-x)), 1.0 / (1.0 + math.exp(x))
            else:  # eq. 2, with L(rank) = 1 + 1/2 + ... + 1/rank and the rank floor((|A| - 1) / N) for WARP
                rank = (len(self.labels) - 1) // tried if self.config.loss == "warp" else 1
                weight = sum(1.0 / j for j in range(1, rank + 1))
                value, slope = weight * max(0.0, self.config.margin - x), weight * (x < self.config.margin)
            self.loss += value
        decay = 1.0 - rate * self.config.regularization
        self.images[image] = decay * v + rate * slope * (v_p - v_n)
        if negative == positive:  # the two gradients cancel out
            slope = 0.0
        self.labels[positive] = decay * v_p + rate * slope * v
        if negative >= 0 and negative != positive:
            self.labels[negative] = decay * v_n - rate * slope * v
