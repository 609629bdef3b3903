"""Files that are written whole or not at all.

Folders that appear when they are complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vse_ens.errors import DataError


@contextmanager
def replace_files(*paths: Path) -> Iterator[list[Path]]:
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


@contextmanager
def replace_dir_whole(folder: Path) -> Iterator[Path]:
    """A folder to fill; at the end of the block it takes the place of what had the name, unless there was an error."""
    draft = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        yield draft
        shutil.rmtree(folder, ignore_errors=True)
        draft.replace(folder)
    except OSError as error:
        raise DataError(f"{folder} could not be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
