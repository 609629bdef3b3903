"""The verdicts in force on the images of a data set, by number, kept up to date with the feedback file."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.feedback.verdicts import Feedback, ImageVerdicts


class VerdictIndex:
    """The images that have a verdict in force, and the images with a verdict on a label.

    `refresh` reads the events since the last call, so that the cost does not grow with the file. Images that the data
    does not have are left out, except that `new_labels` counts them.
    """

    def __init__(self, known: Annotations, feedback: Feedback | None) -> None:
        self._known = known
        self._feedback = feedback
        self._last = 0
        self._by_label: dict[str, dict[int, str]] = {}
        self._by_image: dict[int, dict[str, tuple[str, int]]] = {}
        self._changed: dict[int, None] = {}
        self._new: dict[str, set[str]] = {}
        self.mask: NDArray[np.bool_] = np.zeros(len(known.images), np.bool_)
        """Per image of the data, whether it has a verdict."""
        self._lock = Lock()

    def refresh(self) -> None:
        """Read the events since the last call."""
        if self._feedback is None:
            return
        with self._lock:
            last, changes = self._feedback.changes(self._last)
            images = self._known.images.numbers([change.image for change in changes], missing="minus-one").tolist()
            labels = self._known.labels.numbers([change.label for change in changes], missing="minus-one").tolist()
            for image, number, (name, label, verdict, event) in zip(images, labels, changes, strict=True):
                if number < 0:
                    having = self._new.setdefault(label, set())
                    (having.add if verdict == "accept" else having.discard)(name)
                if image < 0:
                    continue
                by_label, by_image = self._by_label.setdefault(label, {}), self._by_image.setdefault(image, {})
                if verdict is None:
                    by_label.pop(image, None)
                    by_image.pop(label, None)
                else:
                    by_label[image], by_image[label] = verdict, (verdict, event)
                self.mask[image] = bool(by_image)
                self._changed.pop(image, None)
                self._changed[image] = None
            self._last = last

    def of_image(self, image: int) -> ImageVerdicts:
        """Return the verdicts in force on an image."""
        with self._lock:
            return ImageVerdicts.of((label, *given) for label, given in self._by_image.get(image, {}).items())

    def of_label(self, *labels: str) -> dict[int, str]:
        """Return the images with a verdict on a label, and the verdict; several labels are names of one."""
        with self._lock:
            return {image: one for label in labels for image, one in self._by_label.get(label, {}).items()}

    def new_labels(self) -> dict[str, int]:
        """Return the labels that were accepted and that the data does not have, with their number of images."""
        with self._lock:
            return {label: len(images) for label, images in self._new.items() if images}

    @property
    def has_changed(self) -> bool:
        """Whether there are images with new verdicts."""
        return bool(self._changed)

    def change_all(self) -> None:
        """Count every image with a verdict as changed: other rules may give it other labels."""
        with self._lock:
            self._changed |= dict.fromkeys(np.flatnonzero(self.mask).tolist())

    def take_changed(self, most: int, later: Collection[int]) -> list[int]:
        """Return at most ``most`` images with new verdicts, the latest first, without those of ``later``."""
        with self._lock:
            taken = list(islice((image for image in reversed(self._changed) if image not in later), most))
            for image in taken:
                del self._changed[image]
            return taken

    @property
    def count(self) -> int:
        """The number of images with a verdict."""
        return int(np.count_nonzero(self.mask))
