"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vse_ens.errors import DataError


@contextmanager
def written_whole(*paths: Path) -> Iterator[list[Path]]:
    """Give a hidden neighbour of each path to write to; when the block ends well, these take the paths' places.

    Otherwise they are removed, and what was there stays.
    """
    partial = [path.with_name(f".{path.name}.partial") for path in paths]
    try:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        for written, path in zip(partial, paths, strict=True):
            written.replace(path)
    except OSError as error:
        raise DataError(
            f"{' and '.join(map(str, paths))} could not be written: {error.strerror or error}; "
            "see to that or choose another place"
        ) from error
    finally:
        for written in partial:
            with suppress(OSError):  # its folder may not be one
                written.unlink(missing_ok=True)
