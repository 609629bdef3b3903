"""darktable: the tags of ``library.db`` and ``data.db``, read only.

Name ``library.db`` or the folder of both files, such as ``~/.config/darktable``. Tags that darktable makes itself
(``darktable|...``) are left out. The root is the folder that contains all film rolls; ids are paths below it.
Duplicates count as their original.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vse_ens.data.collections.base import Item, OpenOptions
from vse_ens.data.collections.catalog import (
    CatalogCollection,
    common_root,
    is_database,
    located,
    open_catalog,
    tag_name,
)
from vse_ens.data.collections.detect import Glance
from vse_ens.errors import DataError

_TABLES = ("film_rolls", "images", "tagged_images")


def detect(glance: Glance) -> bool:
    """Return whether a file is the library of darktable, or a folder has it."""
    if glance.is_folder and "library.db" not in glance.names:
        return False
    return is_database(Glance(_library(glance.path)), _TABLES)


def _library(path: Path) -> Path:
    """Return the library of a folder, or beside a ``data.db``."""
    if path.is_dir():
        return path / "library.db"
    return path.with_name("library.db") if path.name == "data.db" else path


class DarktableCatalog(CatalogCollection):
    """The images of a darktable library with their tags."""

    format = "darktable"
    program = "darktable"
    tables = _TABLES
    folders = (("film_rolls", "folder"),)

    def __init__(self, path: Path, options: OpenOptions | None = None) -> None:
        super().__init__(path, options)
        self.database = _library(path)

    def find_root(self) -> str:
        """Return the folder that contains all film rolls."""
        with self.catalog() as catalog:
            return common_root(folder for (folder,) in catalog.rows("SELECT folder FROM film_rolls"))

    def read(self, root: str) -> Iterator[Item]:
        """Yield the images in the order of their paths."""
        tags = self._tags()
        with self.catalog() as catalog:
            images = catalog.rows(
                """
                SELECT roll.folder, image.filename, tagged.tagid
                FROM images AS image
                JOIN film_rolls AS roll ON roll.id = image.film_id
                LEFT JOIN tagged_images AS tagged ON tagged.imgid = image.id
                ORDER BY roll.folder, image.filename, image.id, tagged.rowid
                """
            )
            for folder, name, tag in images:
                yield located(root, f"{folder}/{name}", tags.get(tag))

    def _tags(self) -> dict[object, str]:
        """Return the tags; versions before 2.6 have them in the library."""
        place = self.database.with_name("data.db")
        with open_catalog(place if place.exists() else self.database) as catalog:
            if "tags" not in catalog.tables():
                raise DataError(f"{place} is missing; it has the names of the tags of {self.database}")
            rows = catalog.rows("SELECT id, name FROM tags")
            named = ((number, tag_name(name)) for number, name in rows)
            return {number: name for number, name in named if name and not name.startswith("darktable|")}


open = DarktableCatalog  # noqa: A001  # the interface of formats
