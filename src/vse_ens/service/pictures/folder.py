"""Open the file of a picture, which must lie inside the folder that is shown."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import BinaryIO

from vse_ens.service.errors import ApiError

# For ids without a suffix, such as the stems of file names in a table.
_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".JPG", ".JPEG", ".PNG")


class PictureFolder:
    """Opens regular files inside a folder; every other location is refused."""

    def __init__(self, root: str | Path, stored_root: str = "") -> None:
        self._root = os.path.realpath(root)
        self._stored_root = stored_root
        """The folder during training: absolute locations inside it are looked up in the root as well."""

    def open(self, location: str) -> BinaryIO:
        """Open the file at a path that is absolute or relative to the root."""
        for path in self._candidates(location):
            real = os.path.realpath(path)
            if not _is_inside(real, self._root):
                raise ApiError(404, f"the picture lies outside {self._root}; start the service with its own --images")
            try:
                return _open_beneath(self._root, real)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise ApiError(404, f"the picture cannot be opened: {error.strerror or error}") from None
        raise ApiError(404, f"there is no picture of this image in {self._root}")

    def _candidates(self, location: str) -> Iterator[str]:
        if not location or "\0" in location or ".." in PurePath(location).parts:
            raise ApiError(404, "the location of the picture contains ..; pictures lie inside one folder")
        paths = [str(Path(self._root, location))]
        if self._stored_root and _is_inside(location, self._stored_root):
            paths.insert(0, str(Path(self._root, PurePath(location).relative_to(self._stored_root))))
        yield from paths
        if PurePath(location).suffix not in _SUFFIXES:
            yield from (paths[0] + suffix for suffix in _SUFFIXES)


def _is_inside(path: str, folder: str) -> bool:
    return PurePath(path).is_relative_to(folder)


def _open_beneath(root: str, real: str) -> BinaryIO:
    """Open a regular file without following a link, so that no folder can be exchanged for a link meanwhile."""
    *folders, name = PurePath(real).relative_to(root).parts or (".",)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in folders:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        # Nonblocking: to open a pipe would wait for its writer.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise ApiError(404, "the picture is not a regular file")
    return file
