"""Known images with verdicts, by number, kept up to date with the feedback file."""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.service.verdicts import Feedback


class DecidedImages:
    """The images that have a verdict in force, and those that have one on a label.

    `refresh` reads the events since the last call, so that the cost does not grow with the file. Images and labels that
    the model does not know are left out.
    """

    def __init__(self, known: Annotations, feedback: Feedback | None) -> None:
        self._known = known
        self._feedback = feedback
        self._last = 0
        self._by_label: dict[str, dict[int, str]] = {}
        self._labels: dict[int, set[str]] = {}
        self.mask: NDArray[np.bool_] = np.zeros(len(known.images), np.bool_)
        """Per image of the model, whether it has a verdict."""
        self._lock = Lock()

    def refresh(self) -> None:
        """Read the events since the last call."""
        if self._feedback is None:
            return
        with self._lock:
            last, changes = self._feedback.changes(self._last)
            images = self._known.images.numbers([change.image for change in changes], missing="minus-one").tolist()
            for image, (_, label, verdict) in zip(images, changes, strict=True):
                if image < 0:
                    continue
                decided, labels = self._by_label.setdefault(label, {}), self._labels.setdefault(image, set())
                if verdict is None:
                    decided.pop(image, None)
                    labels.discard(label)
                else:
                    decided[image] = verdict
                    labels.add(label)
                self.mask[image] = bool(labels)
            self._last = last

    def of_label(self, label: str) -> dict[int, str]:
        """Return the images with a verdict on a label, and the verdict."""
        with self._lock:
            return dict(self._by_label.get(label, {}))

    @property
    def count(self) -> int:
        """The number of images with a verdict."""
        return int(np.count_nonzero(self.mask))
