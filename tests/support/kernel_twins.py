"""Slow, obvious twins of the kernels: Python numbers and NumPy in double precision, one step after another."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.support.kernel_problems import Problem
from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, REJECTED, TRIES, VIOLATIONS, Step

Doubles = NDArray[np.float64]
_WORD = 2**64 - 1


class SplitMix:
    """SplitMix64 in Python's whole numbers."""

    def __init__(self, state: int) -> None:
        self.state = state

    def word(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & _WORD
        word = self.state
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
        return word ^ (word >> 31)

    def uniform(self) -> float:
        return (self.word() >> 40) / 2**24

    def below(self, bound: int) -> int:
        return ((self.word() >> 32) * bound) >> 32


@dataclass
class SlowModel:
    """A problem's numbers in double precision, its samplers, and its training one draw at a time."""

    problem: Problem
    random: SplitMix
    step: Step
    counts: list[int] = field(default_factory=lambda: [0] * 5)
    loss: float = 0.0

    def __post_init__(self) -> None:
        tables = self.problem.tables
        self.labels, self.bias, self.map = (table.astype(np.float64) for table in tables)
        self.ids = self.problem.image_vectors.astype(np.float64)
        self.rate, self.regularization = float(self.step.learning_rate), float(self.step.regularization)
        self.bias_rate, self.bias_regularization = float(self.step.bias_rate), float(self.step.bias_regularization)
        self.margin = float(self.step.margin)

    # --- the model ---

    def feature_row(self, image: int) -> Doubles:
        features, row = self.problem.features, np.zeros(len(self.map))
        for place in range(features.indptr[image], features.indptr[image + 1]):
            row[features.indices[place]] += features.values[place]
        return row

    def vector(self, image: int) -> Doubles:
        config = self.problem.config
        free = self.ids[image] if config.has_ids else 0.0
        mapped = self.feature_row(image) @ self.map if config.has_features else 0.0
        return np.asarray(free + mapped, dtype=np.float64).copy()

    def scores(self, vector: Doubles) -> Doubles:
        return self.labels @ vector + self.bias

    def move_image(self, image: int, move: Doubles) -> None:
        """What a visit did to v_i goes to the free vector and, by the chain rule, to the feature map."""
        config = self.problem.config
        if config.has_ids:
            self.ids[image] += move
        if config.has_features:
            step_scale = float(self.problem.features.step_scale[image])
            self.map += step_scale * np.outer(self.feature_row(image), move)

    # --- the samplers ---

    def alias_draw(self) -> int:
        word, sampling = self.random.word(), self.problem.sampling
        cell = ((word >> 32) * len(sampling.alias)) >> 32
        keep = ((word >> 8) & 0xFFFFFF) / 2**24 < sampling.threshold[cell]
        return cell if keep else int(sampling.alias[cell])

    def look(self, vector: Doubles, weights: Doubles) -> int:
        """One look for a label, whether the image has it or not; ``weights`` are |v_if| sigma_f."""
        sampler, sampling = self.problem.config.sampler, self.problem.sampling
        if sampler == "popularity":
            return self.alias_draw()
        if sampler == "naive":
            return int(np.argsort(-self.scores(vector), kind="stable")[self.alias_draw()])
        if sampler == "vse-ens":
            rank, point = self.alias_draw(), self.random.uniform() * weights.sum()
            factor = int(np.searchsorted(np.cumsum(weights), point, side="right"))
            from_top = factor == len(vector) or vector[factor] > 0
            return int(sampling.rankings[factor][rank if from_top else -1 - rank])
        return self.random.below(len(self.bias))

    def find(self, image: int, vector: Doubles, weights: Doubles) -> int:
        """Look until a label is found that the image does not have."""
        for _ in range(self.problem.sampling.max_redraws):
            self.counts[TRIES] += 1
            label = self.look(vector, weights)
            if label not in self.problem.positives(image):
                return label
            self.counts[REJECTED] += 1
        return -1

    def draw(self, image: int, positive: int, vector: Doubles, weights: Doubles) -> tuple[int, int]:
        """The negative, and for `warp` how many labels were tried."""
        sampler, sampling = self.problem.config.sampler, self.problem.sampling
        if sampler == "dns":
            found = [self.find(image, vector, weights) for _ in range(sampling.candidates)]
            return max((label for label in found if label >= 0), key=lambda a: self.scores(vector)[a], default=-1), 0
        if sampler == "warp":
            for tried in range(1, sampling.candidates + 1):
                label = self.find(image, vector, weights)
                if label < 0:
                    return -1, tried
                if self.margin + self.scores(vector)[label] > self.scores(vector)[positive]:
                    return label, tried
            return -1, sampling.candidates
        return self.find(image, vector, weights), 0

    def draw_ahead(self, image: int, vector: Doubles, weights: Doubles) -> list[tuple[int, int]]:
        """The negatives of all labels of an image, drawn before its first step; none if its sampler needs the steps."""
        sampler, positives = self.problem.config.sampler, self.problem.positives(image)
        if sampler in ("uniform", "popularity"):
            return [self.draw(image, p, vector, weights) for p in positives]
        if sampler != "vse-ens":
            return []
        drawn = [self.look(vector, weights) for _ in positives]
        most = self.problem.sampling.max_redraws
        for place, label in enumerate(drawn):
            tries, found = 1, label
            while found in positives and tries < most:
                tries, found = tries + 1, self.look(vector, weights)
            self.counts[TRIES] += tries
            self.counts[REJECTED] += tries - (found not in positives)
            drawn[place] = -1 if found in positives else found
        return [(label, 0) for label in drawn]

    def factor_weights(self, vector: Doubles) -> Doubles:
        return np.abs(np.append(vector, 1.0)) * self.problem.sampling.spread

    # --- training ---

    def train_slice(self, images: NDArray[np.int64]) -> None:
        """Stochastic gradient descent, every draw with its decay."""
        shrink = 1.0 - self.rate * self.regularization
        shrink_bias = 1.0 - self.bias_rate * self.bias_regularization
        for image in images:
            start = self.vector(image)
            vector, weights = start.copy(), self.factor_weights(start)
            positives = self.problem.positives(image)
            drawn = self.draw_ahead(image, start, weights)
            for place, p in enumerate(positives):
                n, tried = drawn[place] if drawn else self.draw(image, p, vector, weights)
                self.counts[DRAWS] += 1
                if n < 0:
                    self.counts[GIVEN_UP] += 1
                    vector *= shrink
                    self.labels[p] *= shrink
                    self.bias[p] *= shrink_bias
                    continue
                difference = self.scores(vector)[p] - self.scores(vector)[n]
                self.counts[VIOLATIONS] += bool(difference < self.margin)
                value, slope = self.loss_of(difference, tried)
                self.loss += value
                old, old_p, old_n = vector.copy(), self.labels[p].copy(), self.labels[n].copy()
                vector = shrink * old + self.rate * slope * (old_p - old_n)
                self.labels[p] = shrink * old_p + self.rate * slope * old
                self.labels[n] = shrink * old_n - self.rate * slope * old
                self.bias[p] = shrink_bias * self.bias[p] + self.bias_rate * slope
                self.bias[n] = shrink_bias * self.bias[n] - self.bias_rate * slope
            self.move_image(image, vector - start)

    def loss_of(self, difference: float, tried: int) -> tuple[float, float]:
        """The value and minus the slope in the difference of the scores."""
        loss = self.problem.config.loss
        if loss == "logistic":
            return math.log1p(math.exp(-difference)), 1.0 / (1.0 + math.exp(difference))
        weight = float(self.step.rank_weight[(len(self.bias) - 1) // tried]) if loss == "warp" else 1.0
        violated = difference < self.margin
        return weight * max(0.0, self.margin - difference), weight * violated

    def train_batch(self, chunks: list[NDArray[np.int64]], states: list[int], negatives: int) -> None:
        """Softmax: all of a batch from the label table as it was; then the changes, in order."""
        labels, bias = self.labels.copy(), self.bias.copy()
        moves: list[tuple[int, Doubles]] = []
        for chunk, state in zip(chunks, states, strict=True):
            self.random = SplitMix(state)
            for image in chunk:
                start = self.vector(image)
                vector, weights = start.copy(), self.factor_weights(start)
                for p in self.problem.positives(image):
                    rows = [int(p)]
                    rows += [self.draw(image, p, vector, weights)[0] for _ in range(negatives)]
                    rows = [row for row in rows if row >= 0]
                    self.counts[DRAWS] += 1
                    self.counts[GIVEN_UP] += len(rows) == 1
                    scores = self.scores(vector)[rows]
                    self.counts[VIOLATIONS] += bool(scores.max() > scores[0])
                    share = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
                    self.loss -= math.log(share[0])
                    slopes = -share
                    slopes[0] += 1.0
                    for row, slope in zip(rows, slopes, strict=True):
                        labels[row] *= 1.0 - self.rate * self.regularization
                        labels[row] += self.rate * slope * vector
                        bias[row] *= 1.0 - self.bias_rate * self.bias_regularization
                        bias[row] += self.bias_rate * slope
                    vector = vector * (1.0 - self.rate * self.regularization) + self.rate * slopes @ self.labels[rows]
                moves.append((image, vector - start))
        for image, move in moves:
            self.move_image(image, move)
        self.labels, self.bias = labels, bias
