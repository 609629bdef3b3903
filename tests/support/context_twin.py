"""The slow, obvious twin of the context tower: every positive's vector from nothing, every slope as a sum over them."""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tests.support.context_problems import ContextProblem, Images
from tests.support.kernel_problems import DIMENSIONS
from tests.support.kernel_twins import Doubles, SlowModel, SplitMix
from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, VIOLATIONS, Step


class Visit(NamedTuple):
    """What the positives of one image want."""

    image: int
    inputs: dict[int, Doubles]
    times: dict[int, int]
    """Of every input: how many positives it serves."""
    pull: Doubles
    own: Doubles
    """The image's own part before the batch."""


class LabelChange(NamedTuple):
    """One step of a label: its gradients, one per positive that it serves, and the gradient of its bias."""

    row: int
    gradients: list[Doubles]
    slope: float


class SlowContext(SlowModel):
    """A context model in double precision, trained one batch at a time."""

    problem: ContextProblem

    def __init__(self, problem: ContextProblem, step: Step) -> None:
        super().__init__(problem, SplitMix(0), step)
        tables = problem.context
        self.inputs = tables.inputs.astype(np.float64)
        self.label_squares, self.input_squares = (
            squares.astype(np.float64) for squares in (tables.label_squares, tables.input_squares)
        )

    @property
    def trained(self) -> dict[str, Doubles]:
        return {
            "labels": self.labels,
            "bias": self.bias,
            "feature_map": self.map,
            "ids": self.ids,
            "inputs": self.inputs,
            "label_squares": self.label_squares,
            "input_squares": self.input_squares,
        }

    def weights(self, image: int, without: int | None = None) -> dict[int, float]:
        """Every input that makes up v_i with its weight: |N|^-1/2 or |C|^-1/2, one label left out."""
        positives, pairs = self.problem.positives(image).tolist(), self.problem.label_pairs.tolist()
        numbers = {(a, b): number for number, (a, b) in enumerate(pairs)}
        used = sorted(numbers[pair] for pair in combinations(positives, 2) if pair in numbers)
        used = used[: self.problem.context.label_pairs.pairs_per_label * len(positives)]
        groups = (
            [b for b in positives if b != without],
            [self.problem.labels + c for c in used if without not in pairs[c]],
        )
        return {row: len(group) ** -0.5 for group in groups for row in group}

    def built(self, image: int, without: int | None = None) -> Doubles:
        """v_i: the image's own part and its context."""
        weights = self.weights(image, without)
        context = sum((weight * self.inputs[row] for row, weight in weights.items()), start=np.zeros(DIMENSIONS))
        return self.vector(image) + context

    def judge(self, vector: Doubles, rows: list[int], tried: int) -> tuple[float, Doubles]:
        """The loss of a positive against its negatives, and minus its slope in each score."""
        scores = self.scores(vector)[rows]
        if len(rows) == 1:
            return 0.0, np.zeros(1)
        if self.problem.config.loss == "softmax":
            self.counts[VIOLATIONS] += bool(scores.max() > scores[0])
            share = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
            return -math.log(share[0]), np.eye(len(rows))[0] - share
        difference = scores[0] - scores[1]
        self.counts[VIOLATIONS] += bool(difference < self.margin)
        value, slope = self.loss_of(difference, tried)
        return value, np.array([slope, -slope])

    def train(self, chunks: list[Images], states: list[int]) -> None:
        """One batch: all from the tables as they are, then the changes in order."""
        changes: list[LabelChange] = []
        visits: list[Visit] = []
        for chunk, state in zip(chunks, states, strict=True):
            self.random = SplitMix(state)
            visits += [self.visit(image, changes) for image in chunk.tolist()]
        self.move_labels(changes)
        for visit in visits:
            self.move_inputs(visit)
            self.move_own(visit)

    def visit(self, image: int, changes: list[LabelChange]) -> Visit:
        visit = Visit(image, {}, {}, np.zeros(DIMENSIONS), self.vector(image))
        positives = self.problem.positives(image).tolist()
        together = self.problem.sharing if self.problem.config.loss == "softmax" else 1
        for first in range(0, len(positives), together):
            self.visit_some(visit, positives[first : first + together], changes)
        return visit

    def visit_some(self, visit: Visit, positives: list[int], changes: list[LabelChange]) -> None:
        """Positives with the same negatives."""
        softmax, image = self.problem.config.loss == "softmax", visit.image
        whole = self.built(image)
        # One draw of factors an image: the adaptive sampler looks at the vector of all labels, and so do all samplers
        # where several positives share what is drawn.
        seen = whole if softmax or self.problem.config.sampler == "vse-ens" else self.built(image, without=positives[0])
        factors = self.factor_weights(whole)
        drawn = [self.draw(image, positives[0], seen, factors) for _ in range(self.problem.negatives)]
        negatives = [label for label, _ in drawn if label >= 0]
        vectors = [self.built(image, without=p) for p in positives]
        slopes = []
        for p, vector in zip(positives, vectors, strict=True):
            self.counts[DRAWS] += 1
            self.counts[GIVEN_UP] += not negatives
            value, slope = self.judge(vector, [p, *negatives], drawn[0][1])
            self.loss += value
            slopes.append(slope)
            pull = slope @ self.labels[[p, *negatives]]
            for row, weight in self.weights(image, without=p).items():
                visit.inputs[row] = visit.inputs.get(row, 0.0) + weight * pull
                visit.times[row] = visit.times.get(row, 0) + 1
            visit.pull[:] += pull
            changes.append(LabelChange(p, [slope[0] * vector], slope[0]))
        for j, label in enumerate(negatives, 1):
            gradients = [slope[j] * vector for slope, vector in zip(slopes, vectors, strict=True)]
            changes.append(LabelChange(label, gradients, sum(slope[j] for slope in slopes)))

    def move_labels(self, changes: list[LabelChange]) -> None:
        for row, gradients, slope in changes:
            times = len(gradients)
            self.label_squares[row] += sum(np.mean(gradient**2) for gradient in gradients)
            rate = self.rate / math.sqrt(self.label_squares[row])
            self.labels[row] += rate * (sum(gradients) - times * self.regularization * self.labels[row])
            self.bias[row] += self.bias_rate * (slope - times * self.bias_regularization * self.bias[row])

    def move_inputs(self, visit: Visit) -> None:
        for row, pull in visit.inputs.items():
            self.input_squares[row] += np.mean(pull**2)
            rate = self.rate / math.sqrt(self.input_squares[row])
            self.inputs[row] += rate * (pull - visit.times[row] * self.regularization * self.inputs[row])

    def move_own(self, visit: Visit) -> None:
        decay = self.regularization * len(self.problem.positives(visit.image))
        self.move_image(visit.image, self.rate * (visit.pull - decay * visit.own))
