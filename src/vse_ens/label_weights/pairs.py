"""The known pairs by image and by label, and label ranges, for tasks that run on any machine.

Every label is processed independently, so that the division into ranges does not change a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.store import Partition, transpose
from vse_ens.kernels.arrays import Csr
from vse_ens.run.pool import Payload
from vse_ens.run.threads import Task, Workers

PairSource = Annotations | Partition
"""Pairs in RAM, or in a folder that all workers can open."""

Number = TypeVar("Number", bound=np.generic)
Result = TypeVar("Result")

# Limits of a pool task: enough work to be worth sending, and a result that is small compared to the whole.
TASK_LABELS = 512
_TASK_PAIRS = 1_000_000
# Labels that a thread takes at a time: few, so that all threads finish at about the same time.
_THREAD_LABELS = 16


class KnownPairs(NamedTuple):
    """The labels of every image, and the images of every label."""

    by_image: Csr
    by_label: Csr

    @property
    def labels(self) -> int:
        """The number of labels."""
        return len(self.by_label.indptr) - 1


def pair_settings(data: PairSource) -> dict[str, Any]:
    """Return the settings from which a task reads the pairs: the arrays, or the folder of the files to map."""
    if isinstance(data, Partition):
        data.build_label_index()
        return {"folder": str(data.folder.absolute())}
    by_image = Csr(data.indptr, data.indices)
    return {"by_image": list(by_image), "by_label": list(transpose(by_image, len(data.labels)))}


def known_pairs(settings: Payload) -> KnownPairs:
    """Return the pairs of `pair_settings`."""
    if "folder" in settings:
        partition = Partition.open(settings["folder"])
        return KnownPairs(partition.by_image, partition.by_label)
    return KnownPairs(*(Csr(*map(read_only, settings[name])) for name in KnownPairs._fields))


def read_only(array: NDArray[Number]) -> NDArray[Number]:
    """Return a view that cannot be written to.

    Arrays from another process or a file are read-only, and Numba compiles a kernel separately for them. If all arrays
    are read-only, a kernel is compiled once, and its sums are the same to the last bit everywhere.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def label_tasks(label_starts: NDArray[np.int64]) -> list[Payload]:
    """Divide all labels into tasks, each from ``first`` to ``last - 1``; labels with many images get smaller tasks."""
    tasks: list[Payload] = []
    first, labels = 0, len(label_starts) - 1
    while first < labels:
        fitting = int(np.searchsorted(label_starts, label_starts[first] + _TASK_PAIRS, "right")) - 1
        last = min(max(fitting, first + 1), first + TASK_LABELS, labels)
        tasks.append({"first": first, "last": last})
        first = last
    return tasks


def map_ranges(workers: Workers, first: int, last: int, work: Callable[[int, int], Result]) -> list[Result]:
    """Call ``work`` on short label ranges, or on one range if there is one thread; return the results in order."""
    step = _THREAD_LABELS if workers.count > 1 else max(last - first, 1)

    def task(start: int) -> Task:
        return lambda _worker: work(start, min(start + step, last))

    return workers.run([task(start) for start in range(first, last, step)])
