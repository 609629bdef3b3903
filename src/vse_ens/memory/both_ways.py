"""The known pairs by image and by label, for benches that go label by label on any machine."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.partition import Partition
from vse_ens.data.rows import Rows
from vse_ens.data.turned import turned
from vse_ens.kernels.tables import Pairs
from vse_ens.run.pool import Plain

Known = Annotations | Partition
"""Pairs in memory, or in a folder that all workers can open."""

Number = TypeVar("Number", bound=np.generic)


class BothWays(NamedTuple):
    """The labels of every image, and the images of every label."""

    by_image: Pairs
    by_label: Pairs

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return len(self.by_label.indptr) - 1


def pair_settings(data: Known) -> dict[str, Any]:
    """What a bench is told of the pairs: the arrays, or the folder whose files it is to map."""
    if isinstance(data, Partition):
        data.turn()
        return {"folder": str(data.folder.absolute())}
    by_label = turned(Rows(data.indptr, data.indices), len(data.labels))
    return {
        "indptr": data.indptr,
        "indices": data.indices,
        "by_label_indptr": by_label.indptr,
        "by_label_indices": by_label.indices,
    }


def both_ways(settings: Plain) -> BothWays:
    """The pairs that `pair_settings` tells of."""
    if "folder" in settings:
        partition = Partition.open(settings["folder"])
        known, by_label = partition.known, partition.by_label
        return BothWays(Pairs(known.indptr, known.indices), Pairs(*by_label))
    return BothWays(
        Pairs(fixed(settings["indptr"]), fixed(settings["indices"])),
        Pairs(fixed(settings["by_label_indptr"]), fixed(settings["by_label_indices"])),
    )


def fixed(array: NDArray[Number]) -> NDArray[Number]:
    """The same memory, not to be written to.

    An array from another process or a file cannot be written to, and a kernel is compiled anew for such arrays: if all
    are so, it is compiled once, and its sums are the same to the last bit wherever they are made.
    """
    view = array.view()
    view.flags.writeable = False
    return view
