"""Which labels occur together: sums over the images that two labels share.

The known pairs by image and by label, for benches that go label by label on any machine.

Labels cut into ranges: each label is worked on alone, so the cut changes no result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.label_index import transpose
from vse_ens.data.partition.store import Partition
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import WeightedPairs, gram_rows
from vse_ens.run.pool import Payload, Pool, TaskFn
from vse_ens.run.threads import Task, Workers

# Images that are looked at in one go.
_BLOCK = 1 << 20


def size_weights(image_starts: NDArray[np.int64], labels: int, row_power: float) -> NDArray[np.float64]:
    """What an image with n labels counts for, at n: n^-row_power, on the scale that pairs count 1 on average, so that a
    regularisation means the same with any power.
    """
    images = np.zeros(labels + 1, np.int64)
    for first in range(0, len(image_starts) - 1, _BLOCK):
        images += np.bincount(np.diff(image_starts[first : first + _BLOCK + 1]), minlength=labels + 1)
    longest = int(np.flatnonzero(images).max(initial=0))
    sizes = np.arange(longest + 1)
    weights: NDArray[np.float64] = np.maximum(sizes, 1).astype(np.float64) ** -row_power
    if longest:
        pairs = images[: longest + 1] * sizes
        weights *= int(pairs.sum()) / float((pairs * weights).sum())
    return weights


def weighted_pairs(settings: Payload) -> WeightedPairs:
    """The pairs and the ``size_weights`` that a bench is told of."""
    pairs = known_pairs(settings)
    return WeightedPairs(pairs.by_image, pairs.by_label, read_only(settings["size_weights"]))


def gram(data: PairSource, pool: Pool, row_power: float = 0.0) -> NDArray[np.float64]:
    """G = X^T D X, |A| x |A|: entry (a, b) sums the weights of the images that have both."""
    settings = pair_settings(data)
    pairs = known_pairs(settings)
    settings["size_weights"] = size_weights(pairs.by_image.indptr, pairs.labels, row_power)
    sums = np.empty((pairs.labels, pairs.labels))
    tasks = label_tasks(pairs.by_label.indptr)
    for task, result in zip(tasks, pool.map(f"{__name__}.gram_rows_task", settings, tasks), strict=True):
        sums[task["first"] : task["last"]] = result["rows"]
    return sums


def gram_rows_task(settings: Payload, workers: Workers) -> TaskFn:
    """Makes rows of G."""
    pairs = weighted_pairs(settings)
    labels = len(pairs.by_label.indptr) - 1

    def rows(task: Payload) -> Payload:
        first, last = task["first"], task["last"]
        made = np.zeros((last - first, labels))
        map_ranges(workers, first, last, lambda a, b: gram_rows(pairs, made[a - first : b - first], a, b))
        return {"rows": made}

    return rows


PairSource = Annotations | Partition
"""Pairs in memory, or in a folder that all workers can open."""

Number = TypeVar("Number", bound=np.generic)


class KnownPairs(NamedTuple):
    """The labels of every image, and the images of every label."""

    by_image: Csr
    by_label: Csr

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return len(self.by_label.indptr) - 1


def pair_settings(data: PairSource) -> dict[str, Any]:
    """What a bench is told of the pairs: the arrays, or the folder whose files it is to map."""
    if isinstance(data, Partition):
        data.turn()
        return {"folder": str(data.folder.absolute())}
    by_label = transpose(Csr(data.indptr, data.indices), len(data.labels))
    return {
        "indptr": data.indptr,
        "indices": data.indices,
        "by_label_indptr": by_label.indptr,
        "by_label_indices": by_label.indices,
    }


def known_pairs(settings: Payload) -> KnownPairs:
    """The pairs that `pair_settings` tells of."""
    if "folder" in settings:
        partition = Partition.open(settings["folder"])
        known, by_label = partition.known, partition.by_label
        return KnownPairs(Csr(known.indptr, known.indices), Csr(*by_label))
    return KnownPairs(
        Csr(read_only(settings["indptr"]), read_only(settings["indices"])),
        Csr(read_only(settings["by_label_indptr"]), read_only(settings["by_label_indices"])),
    )


def read_only(array: NDArray[Number]) -> NDArray[Number]:
    """The same memory, not to be written to.

    An array from another process or a file cannot be written to, and a kernel is compiled anew for such arrays: if all
    are so, it is compiled once, and its sums are the same to the last bit wherever they are made.
    """
    view = array.view()
    view.flags.writeable = False
    return view


Result = TypeVar("Result")

# What a task of a pool has at most: work worth sending, and a result that is small beside the whole.
_TASK_LABELS = 512
_TASK_PAIRS = 1_000_000
# Labels that a thread takes at a time: small enough that the last ones are not waited for.
_PIECE = 16


def label_tasks(label_starts: NDArray[np.int64]) -> list[Payload]:
    """All labels as ``first`` and ``last`` of tasks, each of some labels or, where these have many images, fewer."""
    tasks: list[Payload] = []
    first, labels = 0, len(label_starts) - 1
    while first < labels:
        fitting = int(np.searchsorted(label_starts, label_starts[first] + _TASK_PAIRS, "right")) - 1
        last = min(max(fitting, first + 1), first + _TASK_LABELS, labels)
        tasks.append({"first": first, "last": last})
        first = last
    return tasks


def map_ranges(workers: Workers, first: int, last: int, work: Callable[[int, int], Result]) -> list[Result]:
    """The results of ``work`` on a few labels at a time, or on all where there is one thread; in their order."""
    step = _PIECE if workers.count > 1 else max(last - first, 1)

    def task(start: int) -> Task:
        return lambda _worker: work(start, min(start + step, last))

    return workers.run([task(start) for start in range(first, last, step)])
