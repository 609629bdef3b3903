"""A folder of images with keywords in the files or in ``.xmp`` sidecars.

Keywords are read from JPEG, PNG, TIFF, WebP, AVIF, HEIC, JPEG XL and raw files, and from sidecars named ``IMG.jpg.xmp``
or ``IMG.xmp``. They are written to sidecars only: an image file is never changed. A sidecar that had no keywords gets
all of its image, in every list that programs read, because some then ignore those inside the image.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from vse_ens.data.collections import keywords, xmp
from vse_ens.data.collections.base import FileChange, Item, LabelEdit, OpenOptions, edited
from vse_ens.data.collections.containers import MAX_BYTES, DamagedFileError, read_metadata
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import IMAGE_SUFFIXES, Folder, is_image, stem, suffix
from vse_ens.data.collections.folder import FIELD, ITEM, Files, Progress, TaggedFolder, read_bytes
from vse_ens.data.collections.keywords import FileKeywords
from vse_ens.errors import DataError

_SAMPLE = 100  # images that are opened to see whether they have keywords


def detect(glance: Glance) -> bool:
    """Return whether a folder has images with keywords, judged by a sample."""
    if not glance.images:
        return False
    if any(xmp.is_sidecar(name) for name in glance.names):
        return True
    step = max(1, len(glance.images) // _SAMPLE)
    for name in glance.images[::step]:
        try:
            found = _read_file(str(glance.path / name))
        except OSError:
            continue
        if found.partition(FIELD)[0]:
            return True
    return False


def _read_file(path: str) -> str:
    """Return the labels of an image or a sidecar, its fault, and its keywords if they are not the labels."""
    if not xmp.is_sidecar(path):
        found = keywords.from_metadata(read_metadata(path))
    elif (document := read_bytes(path, MAX_BYTES)) is None:
        found = FileKeywords(fault=f"is larger than {MAX_BYTES >> 20} MiB")
    else:
        found = keywords.from_xmp(document)
    labels = ITEM.join(keywords.merge([found]))
    if found.paths:
        return FIELD.join((labels, found.fault or "", ITEM.join(found.flat), ITEM.join(found.paths)))
    return f"{labels}{FIELD}{found.fault}" if found.fault else labels


def _keywords(text: str) -> FileKeywords:
    """Return the keywords from the text of a file."""
    labels, fault, flat, paths = (*text.split(FIELD), "", "", "")[:4]
    return FileKeywords(_split(flat if paths else labels), _split(paths), fault or None)


def _split(text: str) -> list[str]:
    return text.split(ITEM) if text else []


class PhotoFolder(TaggedFolder[dict[str, FileKeywords]]):
    """A folder of images with keywords; a place has those of the image, then of its sidecars, by name."""

    format = "photos"

    def __init__(self, path: Path, options: OpenOptions | None = None) -> None:
        super().__init__(path, options)
        self.kept_inside = 0
        """Labels that the last `changes` did not remove, because an image file has them."""
        self._style = ""
        self._orphans = 0

    @property
    def notes(self) -> Sequence[str]:
        """Notes on unreadable files, sidecars without an image, and labels that could not be removed."""
        notes = self.faults.notes()
        if self._orphans:
            notes.append(f"{self._orphans:,} sidecar{'s' * (self._orphans > 1)} without an image left out")
        if self.kept_inside:
            notes.append(
                f"{self.kept_inside:,} label{'s' * (self.kept_inside > 1)} could not be removed, because vse does not "
                f"change image files; remove them with the program that wrote them"
            )
        return notes

    def wanted(self, folder: Folder) -> list[str]:
        """Return the images and sidecars of a folder."""
        return [name for name in folder.files if (end := suffix(name)) in IMAGE_SUFFIXES or end == ".xmp"]

    def read_file(self, path: str) -> str:
        """Return the labels of an image or a sidecar, its fault, and its keywords if they are not the labels."""
        return _read_file(path)

    def items(self, on_progress: Progress | None = None) -> Iterator[Item]:
        """Yield every image with its merged keywords, folder by folder."""
        for folder, values, images, sidecars in self._folders(on_progress):
            for name in images:
                if name in sidecars or name not in values:
                    labels = keywords.merge(_files(name, sidecars, values).values())
                else:  # most images
                    labels = tuple(_split(values[name].partition(FIELD)[0]))
                yield Item(folder.prefix + name, labels)

    def places(self, images: Container[str]) -> Iterator[tuple[Item, dict[str, FileKeywords]]]:
        """Yield the given images with the keywords of their files."""
        self.kept_inside, self._style = 0, self._sidecar_style()
        for folder, values, found, sidecars in self._folders():
            for name in found:
                if folder.prefix + name in images:
                    files = _files(name, sidecars, values)
                    yield Item(folder.prefix + name, keywords.merge(files.values())), files

    def _folders(
        self, on_progress: Progress | None = None
    ) -> Iterator[tuple[Folder, dict[str, str], list[str], dict[str, list[str]]]]:
        """Yield every folder with the keywords of its files, its images, and the sidecars of each."""
        self._orphans = 0
        for folder, names, values in self.folders(on_progress):
            images, sidecars, orphans = _match(names)
            self._orphans += orphans
            for name, text in values.items():
                if FIELD in text and (fault := text.split(FIELD, 2)[1]):
                    self.faults[folder.prefix + name] = fault
            yield folder, values, images, sidecars

    def edit(self, item: Item, place: dict[str, FileKeywords], edit: LabelEdit, files: Files) -> None:
        """Change the sidecars of an image; labels inside an image file are not removed, which `notes` says."""
        prefix, slash, name = item.image.rpartition("/")
        target = _sidecar(name, place, self._style)
        try:
            self.kept_inside += _edit(item, place, edit, self.root / prefix, target, files)
        except DamagedFileError as error:
            self.faults[f"{prefix}{slash}{target}"] = f"{error}; not changed"

    def _sidecar_style(self) -> str:
        """Return how new sidecars are named: ``stem`` if most are ``IMG.xmp``, or ``name`` for ``IMG.jpg.xmp``."""
        counts = {"stem": 0, "name": 0}
        for name in Glance(self.root).names:
            if xmp.is_sidecar(name):
                counts["name" if is_image(name[:-4]) else "stem"] += 1
        return "stem" if counts["stem"] > counts["name"] else "name"


open = PhotoFolder  # noqa: A001  # the interface of formats


def _files(name: str, sidecars: Mapping[str, list[str]], values: Mapping[str, str]) -> dict[str, FileKeywords]:
    """Return the keywords of an image and of its sidecars."""
    return {one: _keywords(values[one]) for one in (name, *sidecars.get(name, ())) if one in values}


def _match(names: Sequence[str]) -> tuple[list[str], dict[str, list[str]], int]:
    """Return the images among names, the sidecars of each, and the number of sidecars without an image."""
    found = [name for name in names if xmp.is_sidecar(name)]
    images = [name for name in names if not xmp.is_sidecar(name)] if found else list(names)
    if not found:
        return images, {}, 0
    stems: dict[str, list[str]] = {}
    for name in images:
        stems.setdefault(stem(name), []).append(name)
    known, sidecars, orphans = set(images), dict[str, list[str]](), 0
    for name in found:
        base = name[:-4]
        owners = [base] if base in known else stems.get(base, [])
        orphans += not owners
        for owner in owners:
            sidecars.setdefault(owner, []).append(name)
    return images, sidecars, orphans


# --- the change of one image ----------------------------------------------------------------------------------------


def _sidecar(image: str, files: Iterable[str], style: str) -> str:
    """Return the name of the sidecar to write: one that exists, ``IMG.jpg.xmp`` before ``IMG.xmp``, or a new one."""
    sidecars = [name for name in files if xmp.is_sidecar(name)]
    if sidecars:
        return max(sidecars, key=lambda name: (name[:-4] == image, name))
    return f"{stem(image) if style == 'stem' else image}.xmp"


def _edit(
    item: Item, place: Mapping[str, FileKeywords], edit: LabelEdit, folder: Path, target: str, files: Files
) -> int:
    """Add the changes of an image's sidecars to ``files``; return how many labels stay because the image has them."""
    removed = [label for label in edit.remove if label in item.labels]
    for label in edit.add:
        if not xmp.can_write(label):
            raise DataError(f"label {label!r} has a character that XMP cannot hold; rename it")
    labels = edited(item.labels, edit)
    inside = place.get(item.image.rpartition("/")[2], FileKeywords())
    stay = sum(label in inside.paths or label in inside.flat for label in removed)
    held = FileKeywords(
        [keyword for one in place.values() for keyword in one.flat],
        [path for one in place.values() for path in one.paths],
    )
    sidecars = [name for name in place if xmp.is_sidecar(name)]
    for name in [target, *(name for name in sidecars if name != target)] if edit.add else sidecars:
        path = folder / name
        known = files.get(path)
        before = known.before if known else _content(path)
        content = known.after if known else before
        present, original = _parsed(content), _parsed(before)
        added = edit.add if name == target else ()
        complete = name == target and not original
        more, less = _lists(present, held, labels, added, removed, complete=complete)
        if more or less:
            after = xmp.change_keywords(xmp.NEW_SIDECAR if content is None else content, more, less)
            files[path] = FileChange(path, before, after)
    return stay


def _content(path: Path) -> bytes | None:
    try:
        content = read_bytes(path, MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DamagedFileError((error.strerror or str(error)).lower()) from None
    if content is None:
        raise DamagedFileError(f"is larger than {MAX_BYTES >> 20} MiB")
    return content


def _parsed(content: bytes | None) -> xmp.Keywords:
    found: xmp.Keywords = {}
    if content is not None:
        xmp.read_keywords(content, found)
    return found


def _lists(
    present: xmp.Keywords,
    held: FileKeywords,
    labels: Sequence[str],
    added: Sequence[str],
    removed: Sequence[str],
    *,
    complete: bool,
) -> tuple[xmp.Keywords, xmp.Keywords]:
    """Return the keywords to add to each list of a sidecar, and to remove from it.

    ``present`` are its lists, ``held`` the keywords of the image and all its sidecars before the change, ``labels`` the
    labels after it. ``complete`` writes all keywords to all lists, not only those that are added.
    """
    add: xmp.Keywords = {}
    remove: xmp.Keywords = {}

    def put(into: xmp.Property, values: Iterable[str]) -> None:
        new = [value for value in dict.fromkeys(values) if value not in present.get(into, ())]
        if new:
            add[into] = new

    def cut(from_list: xmp.Property, values: Container[str]) -> None:
        old = [value for value in present.get(from_list, ()) if value in values]
        if old:
            remove[from_list] = old

    parts = {part for label in labels for part in label.split("|")}
    gone = {part for label in removed for part in (label, *label.split("|"))} - parts
    flat = [part for label in (labels if complete else added) for part in _flat_keywords(label, held)]
    paths = list(added)
    cut(xmp.SUBJECT, gone)
    cut(xmp.HIERARCHICAL, removed)
    if complete:
        flat = [*(keyword for keyword in held.flat if keyword not in gone), *flat]
        paths = [*labels, *(path for path in held.paths if path not in removed)]  # also tags that programs keep
    put(xmp.SUBJECT, flat)
    # Programs that find lr:hierarchicalSubject may ignore dc:subject, so a new list has every label.
    if complete or xmp.HIERARCHICAL in present:
        put(xmp.HIERARCHICAL, paths)
    elif any("|" in label for label in added):
        put(xmp.HIERARCHICAL, labels)
    for one in (xmp.TAGS_LIST, xmp.LAST_KEYWORD):
        cut(one, {form for label in removed for form in (label, label.replace("|", "/"))})
        if one in present or (complete and one is xmp.TAGS_LIST):
            put(one, [path.replace("|", "/") for path in paths])
    return add, remove


def _flat_keywords(label: str, held: FileKeywords) -> Sequence[str]:
    """Return the flat keywords of a label: its last part, or all parts if the files list those of their own paths."""
    paths = [path.split("|") for path in held.paths if "|" in path and not path.startswith(keywords.INTERNAL)]
    with_parents = paths and all(part in held.flat for path in paths for part in path)
    return label.split("|") if with_parents else [keywords.leaf(label)]
