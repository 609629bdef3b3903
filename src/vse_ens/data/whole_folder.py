"""Folders that appear when they are complete."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vse_ens.errors import DataError


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
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
