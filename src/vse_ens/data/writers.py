"""Pairs out to files, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vse_ens.data.annotations import Annotations
from vse_ens.errors import DataError


def write_parquet(files: Mapping[Path, Annotations]) -> None:
    """Write pairs as sorted ``image``, ``label`` columns: all files or none, and the same pairs as the same bytes."""
    waiting: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            waiting[path] = path.with_name(f".{path.name}.partial")
            data.to_frame().write_parquet(waiting[path])
        for path, partial in waiting.items():
            partial.replace(path)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}") from error
    finally:
        for partial in waiting.values():
            partial.unlink(missing_ok=True)
