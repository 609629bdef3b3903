"""The same pairs in memory and in a folder, and cuts of their labels into tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.build import partition
from vse_ens.data.partition.parts import PartFiles
from vse_ens.data.partition.store import Partition
from vse_ens.label_weights import pairs

CUTS = (1, 2, 7)


def in_folder(data: Annotations, folder: Path) -> Partition:
    """The pairs, sorted out to files."""
    data.to_frame("polars").write_parquet(folder / "all.parquet")
    return partition(PartFiles.find(folder), folder / "sorted", 2)


def cut_labels(monkeypatch: pytest.MonkeyPatch, labels: int, tasks: int) -> None:
    """Divide the labels into this many tasks."""
    monkeypatch.setattr(pairs, "TASK_LABELS", -(-labels // tasks))
