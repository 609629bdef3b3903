"""Rankings of images of the served model: for one label, and by gain. Verdicts take effect at once."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.annotator import Annotator
from vse_ens.curate.candidates import Candidates
from vse_ens.curate.verdict_calibration import WANTED_VERDICTS, spread_sample
from vse_ens.data.current_labels import CurrentLabels
from vse_ens.model.topk import Task
from vse_ens.run.threads import Workers
from vse_ens.service.jobs import BackgroundJob, Progress
from vse_ens.service.rescoring import Rescoring
from vse_ens.service.schemas import GridImage, GridResponse, Kind, Order, QueuedImage, QueueResponse, rounded
from vse_ens.streams import Streams
from vse_ens.system import available_cores

# Labels whose candidates are kept, and orders of all images.
_KEPT, _ORDERS = 64, 2
# A model of up to a hundred thousand images and a thousand labels is scanned within this time.
_FIRST_WAIT_SECONDS = 2.0


class ImageRanker:
    """Ranks the images of one model; the scan of all images starts with the first use, on its own thread."""

    def __init__(self, annotator: Annotator, labels: CurrentLabels, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._annotator = annotator
        self._labels = labels
        cores = available_cores()  # a scan leaves one to requests
        self._ranker = annotator.label_ranker(scan_run=partial(_run, cores - 1), run=partial(_run, cores))
        self._rescoring = Rescoring(labels, self._ranker)
        self.scan = self._ranker.scan
        self._scanning = BackgroundJob("scan of all images", self._scan)
        self._deadline = 0.0
        self._candidates = lru_cache(_KEPT)(self._find_candidates)
        self._ranked = lru_cache(_ORDERS)(self._rank)

    def start(self) -> None:
        """Start the scan if it has not started; wait a moment, which is enough for a small model."""
        self._scanning.poll()
        self._deadline = self._deadline or time.monotonic() + _FIRST_WAIT_SECONDS
        # Later requests do not wait: they answer from the images that are done.
        self._scanning.wait(self._deadline - time.monotonic())
        self._scanning.poll()

    def stop(self) -> None:
        """Abandon the scan after the current block, and what else runs in the background."""
        self._scanning.stop()
        self._rescoring.stop()

    def grid(self, name: str, kind: Kind, offset: int, limit: int, min_confidence: float) -> GridResponse:
        """Return images for a label, surest first, without those that have a verdict on it or have it by a rule."""
        names = self._labels.names
        number = self._annotator.known_.labels.number(names.in_model(name))
        self.start()
        scanned = self.scan.done
        found = self._candidates(number, kind, scanned)
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
        images = self._annotator.known_.images.ids(listed[page])
        confidences = [None] * len(images) if found.confidences is None else found.confidences[page].tolist()
        return GridResponse(
            model=self._fingerprint,
            label=name,
            kind=kind,
            images=[
                GridImage(image=image, confidence=rounded(confidence), labels=now.names, url=None)
                for image, confidence, now in zip(images, confidences, self._labels.of_images(images), strict=True)
            ],
            above={f"{threshold:g}": count for threshold, count in found.above.items()},
            total=total,
            scored=self._share(scanned),
        )

    def recalibrate(self) -> None:
        """Use the confidences that the annotator has now; the gains of images that are scanned stay as they are."""
        self.scan.recalibrate(self._annotator.calibration_)
        self._candidates.cache_clear()

    def queue(self, order: Order, offset: int, limit: int) -> QueueResponse:
        """Return images without a verdict: those with the highest gain first, those to judge, or in random order."""
        self.start()
        verdicts = self._labels.verdicts
        verdicts.refresh()
        scanned = self.scan.done
        if order == "random":
            images = _random(np.flatnonzero(~verdicts.mask), limit)
        else:
            ranked = self._ranked(order, scanned)
            images = ranked[~verdicts.mask[ranked]][offset : offset + limit]
        known, gains = self._annotator.known_.images, self.scan.gains[images].tolist()
        return QueueResponse(
            model=self._fingerprint,
            images=[
                QueuedImage(image=one, gain=rounded(gain), url=None)
                for one, gain in zip(known.ids(images), gains, strict=True)
            ],
            done=verdicts.count,
            total=len(known),
            scored=self._share(scanned),
        )

    def _share(self, scanned: int) -> float:
        """Return the share of the images that are scored."""
        total = len(self._annotator.known_.images)
        return 1.0 if scanned >= total else round(scanned / total, 4)

    def _rank(self, order: Order, scanned: int) -> NDArray[np.int64]:
        gains = self.scan.gains[:scanned]
        if order == "gain":
            return np.argsort(-gains, kind="stable")
        # More images than are needed: people do not judge every suggestion.
        return spread_sample(gains, self.scan.doubts[:scanned], WANTED_VERDICTS)

    def _find_candidates(self, number: int, kind: Kind, _scanned: int) -> Candidates:
        """Return the images for a label among those that are scanned, which grow with their number."""
        return (self._ranker.missing if kind == "missing" else self._ranker.wrong)(number)

    def _scan(self, progress: Progress) -> None:
        total = len(self._annotator.known_.images)
        for number, done in enumerate(self.scan.steps()):
            progress(done / max(1, total))
            if number == 0 and done < total:
                self._ranker.prepare()  # while the others are scored, nobody waits for it
        self._annotator.use_scan(self.scan)
        self._ranker.prepare()


def _random(images: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return some of the images in random order, others at every call."""
    if not len(images):
        return images
    seed = int.from_bytes(os.urandom(4))
    drawn = (Streams(seed).child("queue").uniforms(4 * count) * len(images)).astype(np.int64)
    _, first = np.unique(drawn, return_index=True)
    return images[drawn[np.sort(first)[:count]]]


def _run(cores: int, tasks: Sequence[Task]) -> list[Any]:
    with Workers(max(1, min(cores, len(tasks)))) as workers:
        return workers.run(tasks)
