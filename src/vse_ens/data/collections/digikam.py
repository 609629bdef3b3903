"""digiKam: the tags of ``digikam4.db``, read only.

A tag inside another is read as a hierarchy, ``place|beach``. digiKam's own tags (color labels, pick labels, faces
without a name) and images in its trash are left out. The root is the folder that contains all collections of digiKam;
ids are paths below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vse_ens.data.collections.base import Item
from vse_ens.data.collections.catalog import Catalog, CatalogCollection, common_root, is_database, located, tag_paths
from vse_ens.data.collections.detect import Glance

_TABLES = ("AlbumRoots", "Albums", "Images", "Tags", "ImageTags")
_INTERNAL = "_Digikam_"
_NAMELESS = ("unknownPerson", "unconfirmedPerson", "ignoredPerson")


def detect(glance: Glance) -> bool:
    """Return whether a file is a database of digiKam."""
    return is_database(glance, _TABLES)


class DigikamCatalog(CatalogCollection):
    """The images of a digiKam database with their tags."""

    format = "digikam"
    program = "digiKam"
    tables = _TABLES
    folders = (("AlbumRoots", "identifier"), ("AlbumRoots", "specificPath"), ("Albums", "relativePath"))

    def find_root(self) -> str:
        """Return the folder that contains all collections."""
        with self.catalog() as catalog:
            return common_root(_roots(catalog).values())

    def read(self, root: str) -> Iterator[Item]:
        """Yield the images in the order of the database."""
        with self.catalog() as catalog:
            roots = _roots(catalog)
            nameless: set[Any] = set()
            if "TagProperties" in catalog.tables():
                rows = catalog.rows("SELECT tagid FROM TagProperties WHERE property IN (?, ?, ?)", _NAMELESS)
                nameless = {tag for (tag,) in rows}
            tags = tag_paths(
                catalog.rows("SELECT id, pid, name FROM Tags"),
                skip=lambda path: any(part.startswith(_INTERNAL) for part in path.split("|")),
            )
            images = catalog.rows(
                """
                SELECT album.albumRoot, album.relativePath, image.name, tag.tagid
                FROM Images AS image
                JOIN Albums AS album ON album.id = image.album
                LEFT JOIN ImageTags AS tag ON tag.imageid = image.id
                WHERE image.status <= 1
                ORDER BY image.id, tag.rowid
                """
            )
            for number, album, name, tag in images:
                inside = f"{album}/{name}".lstrip("/")
                path = f"{roots.get(number, '').rstrip('/')}/{inside}"
                yield located(root, path, None if tag in nameless else tags.get(tag))


open = DigikamCatalog  # noqa: A001  # the interface of formats


def _roots(catalog: Catalog) -> dict[Any, str]:
    """Return the folder of each collection.

    A collection on a removable disk has only its path on that disk; where the disk is mounted is not in the database.
    """
    roots = {}
    for number, identifier, path in catalog.rows("SELECT id, identifier, specificPath FROM AlbumRoots"):
        # The path is not escaped: digiKam writes volumeid:?path=/home/me/My Pictures.
        match = re.search(r"[?&](?:mount)?path=([^&]*)", str(identifier))
        mounted = match[1] if match else ""
        inside = str(path or "")
        roots[number] = f"{mounted.rstrip('/')}/{inside.lstrip('/')}".rstrip("/") if mounted else inside
    return roots
