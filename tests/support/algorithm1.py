"""Algorithm 1 of the paper, line by line: NumPy in double precision, one draw after another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.kernel_twins import SplitMix
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Sampling

Doubles = NDArray[np.float64]


@dataclass
class Algorithm1:
    """A model under training; ``sampling`` has the alias table of ranks."""

    config: Config
    data: Annotations
    images: Doubles
    labels: Doubles
    sampling: Sampling
    random: SplitMix
    q: int = 0
    refreshed_at: list[int] = field(default_factory=list)
    drawn: list[tuple[int, int, int]] = field(default_factory=list)
    loss: float = 0.0
    draws: int = 0
    violations: int = 0
    tries: int = 0
    rejected: int = 0
    given_up: int = 0

    def __post_init__(self) -> None:
        self.images, self.labels = self.images.astype(np.float64), self.labels.astype(np.float64)
        self.pairs = [(i, int(a)) for i in range(len(self.data.images)) for a in self.own(i)]

    @property
    def size(self) -> int:
        return len(self.labels)

    def own(self, image: int) -> NDArray[np.int32]:
        return self.data.indices[self.data.indptr[image] : self.data.indptr[image + 1]]

    def counts(self) -> list[int]:
        return [self.draws, self.violations, self.tries, self.rejected, self.given_up]

    def refresh(self) -> None:
        """Lines 6 to 9: every factor's list of labels, best first, and its standard deviation."""
        self.lists = [np.argsort(-self.labels[:, f], kind="stable") for f in range(self.labels.shape[1])]
        self.sigma = np.sqrt(self.labels.var(axis=0))
        self.refreshed_at.append(self.q)

    def run(self, draws: int, rate: float, order: Sequence[int] | None = None) -> None:
        """Make some draws; the pairs are numbered in the order of images, or drawn without an ``order``."""
        for number in range(draws):
            self.q += 1
            period = math.floor(self.size * math.log(self.size))
            if self.q == 1 or self.q % period == 0:
                self.refresh()
            image, positive = self.pairs[self.random.below(len(self.pairs)) if order is None else order[number]]
            self.draws += 1
            negative, tried = self.draw(image, positive)
            self.drawn.append((image, positive, negative))
            self.step(image, positive, negative, tried, rate)

    def look(self, image: int) -> int:
        """Lines 12 to 18: one label, whether the image has it or not."""
        sampler, v = self.config.sampler, self.images[image]
        if sampler not in ("vse-ens", "naive"):
            return self.random.below(self.size)
        word = self.random.word()
        cell = ((word >> 32) * self.size) >> 32
        keep = ((word >> 8) & 0xFFFFFF) / 2**24 < self.sampling.threshold[cell]
        r = 1 + (cell if keep else int(self.sampling.alias[cell]))
        if sampler == "naive":
            return int(np.argsort(-(self.labels @ v), kind="stable")[r - 1])
        weights = np.abs(v) * self.sigma
        f = int(np.searchsorted(np.cumsum(weights), self.random.uniform() * weights.sum(), side="right"))
        position = r if v[f] > 0 else self.size - r + 1
        return int(self.lists[f][position - 1])

    def find(self, image: int) -> int:
        """A label, which the image does not have if those are redrawn; -1 after too many redraws."""
        if not self.config.redraw_positives:
            self.tries += 1
            return self.look(image)
        for _ in range(self.sampling.max_redraws):
            self.tries += 1
            label = self.look(image)
            if label not in self.own(image):
                return label
            self.rejected += 1
        return -1

    def draw(self, image: int, positive: int) -> tuple[int, int]:
        if self.config.sampler != "warp":
            return self.find(image), 0
        scores, tried = self.labels @ self.images[image], 0
        others = np.setdiff1d(np.arange(self.size), self.own(image))
        while True:
            for _ in range(self.size - 1):
                tried += 1
                label = self.find(image)
                if label < 0:
                    break
                if 1.0 + scores[label] > scores[positive]:
                    return label, tried
            exists = (1.0 + scores[others] > scores[positive]).any() or not self.config.redraw_positives
            if self.config.warp_cap or not exists:
                return -1, tried

    def step(self, image: int, positive: int, negative: int, tried: int, rate: float) -> None:
        """Lines 19 to 21, with the decay of every vector that was drawn."""
        theta: dict[Any, Doubles] = {"i": self.images[image].copy(), positive: self.labels[positive].copy()}
        gradient = {name: np.zeros_like(vector) for name, vector in theta.items()}
        if negative < 0:
            self.given_up += 1
        else:
            self.rejected += not self.config.redraw_positives and negative in self.own(image)
            theta[negative] = self.labels[negative].copy()
            gradient.setdefault(negative, np.zeros_like(theta["i"]))
            x = float(theta["i"] @ (theta[positive] - theta[negative]))
            self.violations += 1.0 + theta["i"] @ theta[negative] > theta["i"] @ theta[positive]
            if self.config.loss == "logistic":
                value, slope = math.log1p(math.exp(-x)), -1.0 / (1.0 + math.exp(x))
            else:
                rank = (self.size - 1) // tried if self.config.loss == "warp" else 0
                weight = sum(1.0 / j for j in range(1, rank + 1)) if self.config.loss == "warp" else 1.0
                value, slope = weight * max(0.0, 1.0 - x), -weight * (x < 1.0)
            self.loss += value
            gradient["i"] += slope * (theta[positive] - theta[negative])
            gradient[positive] += slope * theta["i"]
            gradient[negative] -= slope * theta["i"]
        for name, vector in theta.items():
            moved = vector - rate * (gradient[name] + self.config.regularization * vector)
            if name == "i":
                self.images[image] = moved
            else:
                self.labels[name] = moved
