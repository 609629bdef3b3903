"""A method that knows more or fewer of the answers, and data of two groups that every method can learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from benchmarks.peers.base import Fitted, Peer, Settings, Trained, settings_grid

from vse_ens.data.annotations import Annotations


class FakePeer(Peer):
    """Knows more of the answers with every epoch until epoch 3, and fewer afterwards; ``skill`` 0 knows none."""

    name = "fake"
    module = "vse_ens"
    install = "nothing"
    grid = settings_grid(skill=(0, 1))
    epochs = 8

    def __init__(self, data: Annotations) -> None:
        self._answers = data
        self.trained: list[tuple[int, Settings, Sequence[int], int]] = []

    def train(self, data: Annotations, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        self.trained.append((data.pairs, settings, epochs, seed))
        for epoch in epochs:
            known = settings["skill"] * (3 - abs(3 - epoch)) / 3

            def scores(images: Any, known: float = known) -> Any:
                found = np.tile(-np.arange(len(self._answers.labels), dtype=np.float32), (len(images), 1))
                for row, image in zip(found, images, strict=True):
                    if image % 10 < 10 * known:
                        row[self._answers.label_numbers(image)] += 1_000.0
                return found

            yield epoch, Fitted(scores, 123)


def two_groups() -> Annotations:
    """Return images that have six of the twenty labels of one of two groups."""
    numbers = np.random.default_rng(0)
    chosen = ((image, image % 2 * 20 + label) for image in range(240) for label in numbers.choice(20, 6, replace=False))
    return Annotations.from_pairs((f"image {image:03}", f"label {label:02}") for image, label in chosen)
