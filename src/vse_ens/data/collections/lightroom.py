"""Lightroom Classic: the keywords of a catalog (``.lrcat``), read only.

A keyword inside another is read as a hierarchy, ``place|beach``. The root is the folder that contains all folders of
the catalog; ids are paths below it. Virtual copies count as their original.
"""

from __future__ import annotations

from collections.abc import Iterator

from vse_ens.data.collections.base import Item
from vse_ens.data.collections.catalog import CatalogCollection, common_root, is_database, located, tag_paths
from vse_ens.data.collections.detect import Glance

_TABLES = ("Adobe_images", "AgLibraryFile", "AgLibraryFolder", "AgLibraryRootFolder")


def detect(glance: Glance) -> bool:
    """Return whether a file is a catalog of Lightroom."""
    return is_database(glance, _TABLES)


class LightroomCatalog(CatalogCollection):
    """The images of a Lightroom catalog with their keywords."""

    format = "lightroom"
    program = "Lightroom"
    tables = (*_TABLES, "AgLibraryKeyword", "AgLibraryKeywordImage")
    folders = (("AgLibraryRootFolder", "absolutePath"), ("AgLibraryFolder", "pathFromRoot"))

    def find_root(self) -> str:
        """Return the folder that contains all folders of the catalog."""
        with self.catalog() as catalog:
            return common_root(path for (path,) in catalog.rows("SELECT absolutePath FROM AgLibraryRootFolder"))

    def read(self, root: str) -> Iterator[Item]:
        """Yield the images in the order of the catalog."""
        with self.catalog() as catalog:
            keywords = tag_paths(catalog.rows("SELECT id_local, parent, name FROM AgLibraryKeyword"))
            images = catalog.rows(
                """
                SELECT image.id_local, root.absolutePath, folder.pathFromRoot, file.idx_filename, keyword.tag
                FROM Adobe_images AS image
                JOIN AgLibraryFile AS file ON file.id_local = image.rootFile
                JOIN AgLibraryFolder AS folder ON folder.id_local = file.folder
                JOIN AgLibraryRootFolder AS root ON root.id_local = folder.rootFolder
                LEFT JOIN AgLibraryKeywordImage AS keyword ON keyword.image = image.id_local
                ORDER BY file.id_local, image.id_local, keyword.id_local
                """
            )
            for _, folder, inside, name, tag in images:
                yield located(root, f"{folder}{inside}{name}", keywords.get(tag))


open = LightroomCatalog  # noqa: A001  # the interface of formats
