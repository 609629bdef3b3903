"""Rankings of images of the served model: for one label, and by gain. Verdicts take effect at once."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.annotator import Annotator
from vse_ens.curate.candidates import Candidates
from vse_ens.curate.verdict_calibration import WANTED_VERDICTS, spread_sample
from vse_ens.data.current_labels import CurrentLabels
from vse_ens.errors import VseError
from vse_ens.model.topk import Task
from vse_ens.run.threads import Workers
from vse_ens.service.errors import INTERNAL_ERROR, ApiError
from vse_ens.service.rescoring import Rescoring
from vse_ens.streams import Streams
from vse_ens.system import available_cores

Kind = Literal["missing", "wrong"]
Order = Literal["gain", "random", "verdicts"]

# Labels whose candidates are kept.
_KEPT = 64
# A model of up to a hundred thousand images and a thousand labels is scanned within this time.
_FIRST_WAIT_SECONDS = 2.0

_log = logging.getLogger(__name__)


class GridPage(NamedTuple):
    """Images for a label, by number."""

    images: list[int]
    confidences: list[float] | None
    above: dict[float, int]
    total: int
    scanned: int


class QueuePage(NamedTuple):
    """Images to annotate next, by number."""

    images: list[int]
    gains: list[float]
    done: int
    total: int
    scanned: int


class ImageRanker:
    """Ranks the images of one model; the scan of all images starts with the first use, on its own thread."""

    def __init__(self, annotator: Annotator, labels: CurrentLabels) -> None:
        self._annotator = annotator
        self._labels = labels
        self._ranker = annotator.label_ranker(scan_run=_run_beside, run=_run)
        self._rescoring = Rescoring(labels, self._ranker)
        self.scan = self._ranker.scan
        self._started = threading.Lock()
        self._progressed = threading.Event()
        self._finished = threading.Event()
        self._deadline = 0.0
        self._stopped = False
        self._failure: ApiError | None = None
        self._kept: OrderedDict[tuple[str, Kind], tuple[int, Candidates]] = OrderedDict()
        self._kept_lock = threading.Lock()
        self._orders: dict[str, tuple[int, NDArray[np.int64]]] = {}

    def start(self) -> None:
        """Start the scan if it has not started; wait a moment, which is enough for a small model."""
        if self._started.acquire(blocking=False):
            self._deadline = time.monotonic() + _FIRST_WAIT_SECONDS
            threading.Thread(target=self._scan, name="scan", daemon=True).start()
        self._progressed.wait()
        # Later requests do not wait: they answer from the images that are done.
        self._finished.wait(max(0.0, self._deadline - time.monotonic()))
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Abandon the scan after the current block, and what else runs in the background."""
        self._stopped = True
        self._rescoring.stop()

    def grid(self, name: str, kind: Kind, offset: int, limit: int, min_confidence: float) -> GridPage:
        """Return images for a label, surest first, without those that have a verdict on it or have it by a rule."""
        names = self._labels.names
        label = names.in_model(name)
        number = self._annotator.known_.labels.number(label)
        self.start()
        scanned, found = self._candidates(label, number, kind)
        verdicts = self._labels.verdicts_on(name)
        relabeled = self._rescoring.update(later=verdicts)
        if relabeled is not None and len(relabeled.images):
            again = (self._ranker.missing_again if kind == "missing" else self._ranker.wrong_again)(number, relabeled)
            found = found.rescored(relabeled.images, again)
        found = found.without(np.array(list(verdicts), np.int64))
        if kind == "missing" and len(names.sources(name)) > 1:
            found = found.without(self._labels.images_with(name))
        listed, total = found.images, found.total
        if min_confidence and found.confidences is not None:
            listed = listed[found.confidences >= min_confidence]
            total = len(listed)
        page = slice(offset, min(offset + limit, len(listed)))
        return GridPage(
            listed[page].tolist(),
            None if found.confidences is None else found.confidences[page].tolist(),
            found.above,
            total,
            scanned,
        )

    def recalibrate(self) -> None:
        """Use the confidences that the annotator has now; the gains of images that are scanned stay as they are."""
        self.scan.recalibrate(self._annotator.calibration_)
        with self._kept_lock:
            self._kept.clear()

    def queue(self, order: Order, offset: int, limit: int) -> QueuePage:
        """Return images without a verdict: those with the highest gain first, those to judge, or in random order."""
        self.start()
        verdicts = self._labels.verdicts
        verdicts.refresh()
        scanned = self.scan.done
        if order == "random":
            images = _random(np.flatnonzero(~verdicts.mask), limit)
        else:
            if self._orders.get(order, (0, None))[0] != scanned:
                self._orders[order] = (scanned, self._ranked(order, scanned))
            ranked = self._orders[order][1]
            images = ranked[~verdicts.mask[ranked]][offset : offset + limit]
        total = len(self._annotator.known_.images)
        return QueuePage(images.tolist(), self.scan.gains[images].tolist(), verdicts.count, total, scanned)

    def _ranked(self, order: Order, scanned: int) -> NDArray[np.int64]:
        gains = self.scan.gains[:scanned]
        if order == "gain":
            return np.argsort(-gains, kind="stable")
        # More images than are needed: people do not judge every suggestion.
        return spread_sample(gains, self.scan.doubts[:scanned], WANTED_VERDICTS)

    def _candidates(self, label: str, number: int, kind: Kind) -> tuple[int, Candidates]:
        with self._kept_lock:
            kept = self._kept.get((label, kind))
            if kept is not None and kept[0] == self.scan.done:
                self._kept.move_to_end((label, kind))
                return kept
        scanned = self.scan.done
        found = (self._ranker.missing if kind == "missing" else self._ranker.wrong)(number)
        with self._kept_lock:
            self._kept[label, kind] = (scanned, found)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return scanned, found

    def _scan(self) -> None:
        try:
            for done in self.scan.steps():
                if not self._progressed.is_set():
                    self._progressed.set()
                    if done < len(self._annotator.known_.images):
                        self._ranker.prepare()  # while the others are scored, nobody waits for it
                if self._stopped:
                    return
            self._annotator.use_scan(self.scan)
            self._ranker.prepare()
        except VseError as error:
            self._failure = ApiError(503, f"the images could not be scored: {error}")
        except Exception:  # noqa: BLE001  # no one else would report it
            _log.exception("the images could not be scored")
            self._failure = ApiError(500, INTERNAL_ERROR)
        finally:
            self._progressed.set()
            self._finished.set()


def _random(images: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return some of the images in random order, others at every call."""
    if not len(images):
        return images
    seed = int.from_bytes(os.urandom(4))
    drawn = (Streams(seed).child("queue").uniforms(4 * count) * len(images)).astype(np.int64)
    _, first = np.unique(drawn, return_index=True)
    return images[drawn[np.sort(first)[:count]]]


def _run(tasks: Sequence[Task]) -> list[Any]:
    with Workers(None if len(tasks) > 1 else 1) as workers:
        return workers.run(tasks)


def _run_beside(tasks: Sequence[Task]) -> list[Any]:
    """Run tasks and leave a core to requests."""
    with Workers(max(1, available_cores() - 1)) as workers:
        return workers.run(tasks)
