"""Hydrus: the tags of a client's databases, or of metadata exported through its API, read only.

Name the folder of the client (``db``), its ``client.db``, or a JSON file with an answer of
``/get_files/file_metadata``. The id of an image is its SHA-256. Labels are the stored tags of all tag services, with
their namespaces (``character:alice``). Files that are not in one of the client's own file domains, such as those in the
trash, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from vse_ens.data.collections.base import Collection, ImageList, Item, OpenOptions
from vse_ens.data.collections.catalog import Catalog, CatalogCollection, is_database, tag_name
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import as_label, count_of, read_bytes
from vse_ens.data.collections.text_edits import JsonText
from vse_ens.errors import DataError

_TAG_SERVICES = (0, 5)  # tag repositories and local tags
_OWN_FILES = 2  # service type of local file domains
_TABLES = ("services", "files_info")
_BATCH = 500
# Hydrus's numbers of file types.
_SUFFIXES = {
    1: ".jpg", 2: ".png", 3: ".gif", 4: ".bmp", 23: ".png", 33: ".webp", 34: ".tiff", 61: ".heif", 63: ".heic",
    65: ".avif", 68: ".gif", 83: ".webp", 85: ".jxl",
}  # fmt: skip


def detect(glance: Glance) -> bool:
    """Return whether a folder or file belongs to a Hydrus client, or a file is an answer of its API."""
    if glance.is_folder:
        return {"client.db", "client.mappings.db", "client.master.db"} <= glance.names
    head = glance.head.lstrip()
    if head.startswith(b"{"):
        return b'"metadata"' in head and bool(re.search(rb'"(storage_tags|display_tags|service_keys_to)', head))
    return glance.path.name.startswith("client.") and is_database(Glance(glance.path.with_name("client.db")), _TABLES)


def open(path: Path, options: OpenOptions) -> Collection:  # noqa: A001, ARG001  # the interface of formats
    """Return the collection of a client or of an exported file."""
    if path.is_file() and not path.name.endswith(".db"):
        return HydrusExport(path)
    return HydrusClient(path)


class HydrusClient(CatalogCollection):
    """The files of a Hydrus client with their tags."""

    format = "hydrus"
    program = "Hydrus"
    tables = _TABLES

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._folder = path if path.is_dir() else path.parent
        self.database = self._folder.absolute() / "client.db"

    def find_root(self) -> str:
        """Return the folder of the client."""
        return self._folder.absolute().as_posix()

    def read(self, root: str) -> Iterator[Item]:
        """Yield the files in the order of the client's numbers."""
        attached = {name: Path(root) / f"client.{name}.db" for name in ("master", "mappings")}
        with self.catalog(attached) as catalog:
            catalog.need(("hashes", "tags", "subtags", "namespaces"), "Hydrus", "master")
            places = _places(catalog)
            files = self._files(catalog)
            mappings = self._mappings(catalog)
            tags: dict[int, str | None] = {}
            for batch in _batches(files, _BATCH):
                yield from self._read_batch(catalog, batch, mappings, tags, places)

    def _read_batch(
        self,
        catalog: Catalog,
        files: Sequence[tuple[int, str, int]],
        mappings: Sequence[str],
        tags: dict[int, str | None],
        places: dict[str, str],
    ) -> Iterator[Item]:
        numbers = ",".join(str(number) for number, _, _ in files)
        labels: dict[int, dict[str, None]] = {number: {} for number, _, _ in files}
        for table in mappings:
            found = list(
                catalog.rows(f"SELECT hash_id, tag_id FROM mappings.{table} WHERE hash_id IN ({numbers})")  # noqa: S608  # numbers only
            )
            _learn_tags(catalog, {tag for _, tag in found} - tags.keys(), tags)
            for number, tag in found:
                if (label := tags.get(tag)) is not None:
                    labels[number][label] = None
        for number, digest, kind in files:
            prefix = digest[:2]
            suffix = _SUFFIXES.get(kind)
            picture = f"{places.get(prefix, 'client_files')}/f{prefix}/{digest}{suffix}" if suffix else None
            yield Item(digest, tuple(sorted(labels[number])), picture)

    def _files(self, catalog: Catalog) -> Iterator[tuple[int, str, int]]:
        """Yield the number, SHA-256 and type of every file."""
        tables = catalog.tables()
        services = catalog.rows("SELECT service_id FROM services WHERE service_type = ?", [_OWN_FILES])
        own = [f"current_files_{int(service)}" for (service,) in services if isinstance(service, int)]
        chosen = [table for table in own if table in tables] or ["files_info"]
        union = " UNION ".join(f"SELECT hash_id FROM main.{table}" for table in chosen)  # noqa: S608  # tables of the file
        rows = catalog.rows(
            f"""
            SELECT file.hash_id, known.hash, info.mime FROM ({union}) AS file
            JOIN master.hashes AS known ON known.hash_id = file.hash_id
            LEFT JOIN main.files_info AS info ON info.hash_id = file.hash_id
            ORDER BY file.hash_id
            """  # noqa: S608  # tables of the file
        )
        for number, digest, kind in rows:
            if isinstance(number, int) and isinstance(digest, bytes):
                yield number, digest.hex(), kind

    def _mappings(self, catalog: Catalog) -> list[str]:
        services = catalog.rows("SELECT service_id FROM services WHERE service_type IN (?, ?)", _TAG_SERVICES)
        names = [f"current_mappings_{int(service)}" for (service,) in services if isinstance(service, int)]
        tables = catalog.tables("mappings")
        found = [name for name in names if name in tables]
        if not found:
            raise DataError(f"{self.path} has no tag service with tags")
        return found


class HydrusExport(ImageList):
    """The files of an answer of Hydrus's API with their tags."""

    format = "hydrus"
    empty = "has no metadata of files with hashes"

    def entries(self) -> Iterator[tuple[Item, None]]:
        """Yield every file in the order of the answer."""
        text = JsonText(self.path, read_bytes(self.path))
        seen: set[str] = set()
        without = 0
        start = text.start()
        for key, position in text.members(start):
            if key != "metadata" or text.opens(position) != "[":
                continue
            for entry in text.elements(position):
                digest = as_label(entry.content.get("hash")) if isinstance(entry.content, dict) else None
                if digest is None or digest in seen:
                    without += 1
                    continue
                seen.add(digest)
                yield Item(digest, tuple(dict.fromkeys(_exported_tags(entry.content.get("tags"))))), None
        text.check_end(text.end_of(start))
        if without:
            self.notes.append(f"skipped {count_of(without, 'file')} without a hash or with one that occurred before")


def _exported_tags(services: Any) -> Iterator[str]:
    """Yield the current tags of all services; without the sum of all, which repeats them."""
    for service in services.values() if isinstance(services, dict) else ():
        if not isinstance(service, dict) or service.get("type") == 10:
            continue
        stored = service.get("storage_tags")
        for tag in stored.get("0", ()) if isinstance(stored, dict) else ():
            if (label := as_label(tag)) is not None:
                yield label


def _learn_tags(catalog: Catalog, numbers: set[int], tags: dict[int, str | None]) -> None:
    """Look up the texts of tags by their numbers."""
    for batch in _batches(iter(sorted(number for number in numbers if isinstance(number, int))), _BATCH):
        chosen = ",".join(map(str, batch))
        rows = catalog.rows(
            f"""
            SELECT tag.tag_id, space.namespace, sub.subtag FROM master.tags AS tag
            JOIN master.namespaces AS space ON space.namespace_id = tag.namespace_id
            JOIN master.subtags AS sub ON sub.subtag_id = tag.subtag_id
            WHERE tag.tag_id IN ({chosen})
            """  # noqa: S608  # numbers only
        )
        for number, namespace, subtag in rows:
            tags[number] = tag_name(f"{namespace}:{subtag}" if namespace else subtag)


def _places(catalog: Catalog) -> dict[str, str]:
    """Return the folder of the files of each prefix such as ``a3``."""
    tables = catalog.tables()
    if not {"client_files_subfolders", "current_client_files_locations"} <= tables:
        return {}
    try:
        rows = catalog.rows(
            "SELECT prefix, location FROM client_files_subfolders "
            "JOIN current_client_files_locations USING (location_id)"
        )
        return {str(prefix)[1:]: str(location) for prefix, location in rows if str(prefix).startswith("f")}
    except DataError:  # another version
        return {}


def _batches(values: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while batch := list(islice(values, size)):
        yield batch
