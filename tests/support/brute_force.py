"""The metrics as a textbook has them: on one strict order of the labels, by counting; ties by trying every order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.evaluate.rank import FunctionScorer, evaluate
from vse_ens.evaluate.rankings import Rankings


class Problem(NamedTuple):
    """What a model scores, what is known of its images, and what was held out, by id."""

    scores: dict[str, dict[str, float]]
    known: dict[str, set[str]]
    held_out: dict[str, set[str]]

    @property
    def labels(self) -> list[str]:
        return sorted(next(iter(self.scores.values())))

    def rank(self, **options: int) -> Rankings:
        """As the evaluator does."""
        images = Vocabulary.from_ids(self.scores, "image")
        labels = Vocabulary.from_ids(self.labels, "label")
        pairs = [(image, label) for image, some in self.known.items() for label in some]
        known = Annotations.from_numbers(
            images, labels, images.numbers([one for one, _ in pairs]), labels.numbers([one for _, one in pairs])
        )
        held_out = Annotations.from_pairs((image, label) for image, some in self.held_out.items() for label in some)
        table = np.array([[self.scores[image][label] for label in labels] for image in images], np.float32)
        return evaluate(FunctionScorer(images, labels, table.__getitem__), known, held_out, **options)

    def orders(self, image: str) -> list[list[str]]:
        """Every order of the image's candidates that its scores allow; none are ranked for an unknown image."""
        scores = {a: s for a, s in self.scores.get(image, {}).items() if a not in self.known[image]}
        ties = [[a for a in scores if scores[a] == score] for score in sorted(set(scores.values()), reverse=True)]
        parts = itertools.product(*(itertools.permutations(tie) for tie in ties))
        return [[label for part in order for label in part] for order in parts]

    def expected(self, tops: Sequence[int]) -> Iterator[tuple[str, dict[str, float]]]:
        """For every image with a held-out label the mean of each metric over all orders."""
        for image in sorted(self.held_out):
            if self.held_out[image]:
                found = [on_order(order, self.held_out[image], tops) for order in self.orders(image)]
                yield image, {name: sum(one[name] for one in found) / len(found) for name in found[0]}


@st.composite
def problems(draw: st.DrawFn, levels: int = 3, most_held_out: int = 9) -> Problem:
    """Few labels and fewer scores, so that ties are the rule; unknown images and labels among the held-out ones."""
    labels = [f"label {number}" for number in range(draw(st.integers(1, 5)))]
    images = [f"image {number}" for number in range(draw(st.integers(1, 3)))]
    score = st.integers(0, levels - 1).map(float)
    scores = {image: {label: draw(score) for label in labels} for image in images}
    known: dict[str, set[str]] = {}
    held_out: dict[str, set[str]] = {}
    for image in [*images, "stranger"]:
        known[image] = draw(st.sets(st.sampled_from(labels))) if image in scores else set()
        left = sorted({*labels, "unheard of", "unseen"} - known[image])
        held_out[image] = draw(st.sets(st.sampled_from(left), max_size=most_held_out))
    if not any(held_out.values()):
        held_out["stranger"] = {labels[0]}
    return Problem(scores, known, held_out)


def on_order(order: Sequence[str], held_out: set[str], tops: Sequence[int]) -> dict[str, float]:
    """Every metric of one strict order."""
    places = {label: order.index(label) + 1 for label in held_out if label in order}
    others = [label for label in order if label not in held_out]
    found = {
        "map": sum(len([one for one in places.values() if one <= place]) / place for place in places.values())
        / len(held_out),
        "mrr": 1 / min(places.values()) if places else 0.0,
        "auc": sum(_right(label, order, others) for label in places) / len(held_out),
    }
    for top in tops:
        hits = [label for label in order[:top] if label in held_out]
        ideal = sum(1 / math.log2(1 + place) for place in range(1, min(len(held_out), top) + 1))
        found |= {
            f"precision@{top}": len(hits) / top,
            f"recall@{top}": len(hits) / len(held_out),
            f"hit@{top}": float(bool(hits)),
            f"ndcg@{top}": sum(1 / math.log2(1 + places[label]) for label in hits) / ideal,
            f"auc@{top}": sum(_right(a, order, others) if a in hits else 0.5 for a in held_out) / len(held_out),
        }
    return found


def _right(label: str, order: Sequence[str], others: Sequence[str]) -> float:
    """The share of the other labels that stand below one."""
    below = [other for other in others if order.index(other) > order.index(label)]
    return len(below) / len(others) if others else 1.0


def as_mapping(values: Mapping[str, NDArray[np.float64]], row: int) -> dict[str, float]:
    return {name: float(of_images[row]) for name, of_images in values.items()}
