"""The files that a training writes beside its checkpoint: only these are ever removed.

run                       the checkpoint, as `vse_ens.model.checkpoint_store` writes it
run.shards/pairs/         the pairs of a folder of Parquet files, partitioned by shard
run.shards/training/      the pairs without the held-out ones, and the image vectors of every shard
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from vse_ens.data.partition.store import OWN_FILE as PARTITION_FILE
from vse_ens.errors import ModelError
from vse_ens.model.checkpoint_store import CHECKPOINT
from vse_ens.storage.atomic import remove_dir

# A directory that is replaced has siblings while it is written; see `vse_ens.storage.atomic`.
_PARTITION = rf"({{0}}|\.{{0}}\.([0-9a-f]{{16}}\.)?(partial|replaced))/({PARTITION_FILE.pattern})|\.{{0}}\.lock"
_VECTORS = r"rows-\d+/\.?shard-\d+\.npy((\.[0-9a-f]{16})?\.partial)?|image_vectors\.npy"
_OWN_FILE = re.compile(
    rf"{_PARTITION.replace('{0}', 'pairs')}|training/({_PARTITION.replace('{0}', 'train')}|{_VECTORS})"
)


def shards_folder(checkpoint: Path) -> Path:
    """Return the folder beside the checkpoint where shards keep partitioned pairs and image vectors."""
    return checkpoint.with_name(f"{checkpoint.name}.shards")


def check_run_files(checkpoint: Path) -> None:
    """Raise if a training with this checkpoint would replace or remove a file that no training wrote."""
    if checkpoint.exists():
        CHECKPOINT.check_replaceable(checkpoint)
    folder = shards_folder(checkpoint)
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"{folder} is a file, where a training keeps a folder; move it away or choose another --out")
    for file in _files(folder):
        if not _is_own(folder, file):
            raise ModelError(
                f"{folder} contains {file.relative_to(folder).as_posix()!r}, which is not part of a training and would "
                "be lost; move it away or choose another --out"
            )
        if not stat.S_ISREG(file.lstat().st_mode):  # a write through a link would change a file elsewhere
            raise ModelError(
                f"{file} is not a regular file, which no training wrote; remove it or choose another --out"
            )


def remove_checkpoint(checkpoint: Path) -> None:
    """Remove the checkpoint of a run, its partitioned pairs and its image vectors, and no other file."""
    remove_dir(checkpoint, CHECKPOINT.files)
    folder = shards_folder(checkpoint)
    for file in list(_files(folder)):
        if _is_own(folder, file):
            with suppress(OSError):
                file.unlink()
    for parent, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):  # it has files of others
            Path(parent).rmdir()


def _is_own(folder: Path, file: Path) -> bool:
    return _OWN_FILE.fullmatch(file.relative_to(folder).as_posix()) is not None


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder; links to folders are files here."""
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent) / name for name in files)
        yield from (path for name in folders if (path := Path(parent) / name).is_symlink())
