"""The file of ids beside vectors that are known by number: one id per line."""

from __future__ import annotations

from pathlib import Path

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError


def write_ids_file(path: Path, ids: Vocabulary) -> None:
    """Write one id per line; an id with a line break raises a `DataError`."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for one in ids:
            if len(one.splitlines()) > 1:
                raise DataError(f"the id {one!r} contains a line break; write a .parquet file instead")
            file.write(f"{one}\n")
