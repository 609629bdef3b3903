"""Scores of images with verdicts by the labels they have now, so that a verdict on one label moves them for others."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection

import numpy as np

from vse_ens.curate.candidates import Relabeled
from vse_ens.curate.label_ranking import LabelRanker
from vse_ens.data.csr import take_rows
from vse_ens.data.current_labels import CurrentLabels
from vse_ens.kernels.arrays import Csr

# Images scored at a time: about 10 ms with 20,000 labels.
_BLOCK = 16
# The longest wait of a request for new scores. A person gives a few verdicts between two requests; after a large batch,
# the scores follow.
_SECONDS = 0.05

_log = logging.getLogger(__name__)


class Rescoring:
    """Scores images whose labels have changed by verdicts: what a request needs first, the rest in the background."""

    def __init__(self, labels: CurrentLabels, ranker: LabelRanker) -> None:
        self._labels = labels
        self._names = labels.names
        self._ranker = ranker
        self._current: Relabeled | None = None
        self._work_lock = threading.Lock()
        self._running = threading.Lock()
        self._stopped = False
        embeddings = ranker.scan.loaded.model.embeddings
        self._by_labels_alone = embeddings.has_context and not len(embeddings.image_vectors)

    def update(self, later: Collection[int]) -> Relabeled | None:
        """Return the images with other labels than in the data; those of ``later`` are not needed and may follow."""
        if self._names is not self._labels.names:
            self._names = self._labels.names
            self._labels.verdicts.change_all()
        deadline = time.monotonic() + _SECONDS
        while self._step(later) and time.monotonic() < deadline:
            pass
        if self._labels.verdicts.has_changed and self._running.acquire(blocking=False):
            threading.Thread(target=self._rest, name="rescoring", daemon=True).start()
        return self._current

    def stop(self) -> None:
        """Abandon what has not been scored yet."""
        self._stopped = True

    def _rest(self) -> None:
        try:
            while not self._stopped and self._step(frozenset()):
                pass
        except Exception:  # noqa: BLE001  # no one else would report it
            _log.exception("images with verdicts could not be scored again")
        finally:
            self._running.release()

    def _step(self, later: Collection[int]) -> bool:
        """Score a block of images; return whether there was one."""
        with self._work_lock:
            images = self._labels.verdicts.take_changed(_BLOCK, later)
            if images:
                self._score(images)
            return bool(images)

    def _score(self, images: list[int]) -> None:
        numbers = np.array(images, np.int64)
        rows = self._labels.rows(images)
        changed = self._labels.verdicts.mask[numbers]
        if self._by_labels_alone:
            # With the labels of the data, such as after a suggestion was rejected, the scores of the data hold.
            changed &= ~_equal_rows(rows, self._labels.known.rows(numbers))
        chosen = np.flatnonzero(changed)
        scored = self._ranker.relabel(numbers[chosen], take_rows(*rows, chosen))
        self._current = scored if self._current is None else self._current.updated(numbers, scored)


def _equal_rows(rows: Csr, others: Csr) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    pairs = zip(np.split(rows.indices, rows.indptr[1:-1]), np.split(others.indices, others.indptr[1:-1]), strict=True)
    return np.array([np.array_equal(one, other) for one, other in pairs], np.bool_)
