"""Known images with verdicts, by number, kept up to date with the feedback file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import islice
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import Csr
from vse_ens.service.verdicts import Feedback


class DecidedImages:
    """The images that have a verdict in force, those that have one on a label, and the labels they have now.

    `refresh` reads the events since the last call, so that the cost does not grow with the file. Images that the model
    does not know are left out, except that `new_labels` counts them.
    """

    def __init__(self, known: Annotations, feedback: Feedback | None) -> None:
        self._known = known
        self._feedback = feedback
        self._last = 0
        self._by_label: dict[str, dict[int, str]] = {}
        self._by_image: dict[int, dict[str, str]] = {}
        self._changed: dict[int, None] = {}
        self._new: dict[str, set[str]] = {}
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
            labels = self._known.labels.numbers([change.label for change in changes], missing="minus-one").tolist()
            for image, number, (name, label, verdict) in zip(images, labels, changes, strict=True):
                if number < 0:
                    having = self._new.setdefault(label, set())
                    (having.add if verdict == "accept" else having.discard)(name)
                if image < 0:
                    continue
                decided, verdicts = self._by_label.setdefault(label, {}), self._by_image.setdefault(image, {})
                if verdict is None:
                    decided.pop(image, None)
                    verdicts.pop(label, None)
                else:
                    decided[image] = verdicts[label] = verdict
                self.mask[image] = bool(verdicts)
                self._changed.pop(image, None)
                self._changed[image] = None
            self._last = last

    def of_label(self, *labels: str) -> dict[int, str]:
        """Return the images with a verdict on a label, and the verdict; several labels are names of one."""
        with self._lock:
            return {image: one for label in labels for image, one in self._by_label.get(label, {}).items()}

    def new_labels(self) -> dict[str, int]:
        """Return the labels that were accepted and that the model does not know, with their number of images."""
        with self._lock:
            return {label: len(images) for label, images in self._new.items() if images}

    @property
    def has_changed(self) -> bool:
        """Whether there are images with new verdicts."""
        return bool(self._changed)

    def take_changed(self, most: int, later: Collection[int]) -> list[int]:
        """Return at most so many images with new verdicts, the latest first, without those of ``later``."""
        with self._lock:
            taken = list(islice((image for image in reversed(self._changed) if image not in later), most))
            for image in taken:
                del self._changed[image]
            return taken

    def labels_now(self, images: list[int], in_model: Callable[[str], str]) -> Csr:
        """Return the labels of images by number, one row each: those of the data, less rejected, plus accepted ones.

        ``in_model`` returns the label of the model for a name. Labels that the model does not know are left out.
        """
        labels, rows = self._known.labels, []
        with self._lock:
            for image in images:
                row = set(self._known.label_numbers(image).tolist())
                for label, verdict in self._by_image.get(image, {}).items():
                    number = labels.number(in_model(label), None)
                    if number is not None:
                        (row.add if verdict == "accept" else row.discard)(number)
                rows.append(sorted(row))
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return Csr(indptr, np.array([number for row in rows for number in row], np.int32))

    @property
    def count(self) -> int:
        """The number of images with a verdict."""
        return int(np.count_nonzero(self.mask))
