"""A folder of images with ``.txt`` files of tags, as LoRA trainers and booru tools keep them.

The tags of ``IMG.png`` are in ``IMG.txt`` or ``IMG.png.txt``, separated by commas or one per line. A tag is kept as it
is written: underscores, escaped brackets and namespaces such as ``character:alice`` are part of it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from vse_ens.data.collections.base import FileChange, Item, LabelEdit
from vse_ens.data.collections.detect import Glance
from vse_ens.data.collections.files import Folder, is_image, stem
from vse_ens.data.collections.folder import FIELD, ITEM, Files, Progress, TaggedFolder, read_bytes
from vse_ens.errors import DataError

_MAX_BYTES = 1 << 20  # of a file of tags
_TOO_LARGE = FIELD
_SAMPLE = 100  # files of tags that are opened to see what they hold
_MIN_SHARE = 0.2  # of the images must have a file of tags
_MAX_WORDS = 12  # of a tag; a caption has more
_SEPARATOR = re.compile("[,\r\n]")
_BOM = "\ufeff"
_CONTROLS = dict.fromkeys((0, 0x1D, 0x1E, 0x1F), " ")  # which no tag should have
_NUMBERS = re.compile(r"[-+.\deE\s]+")


def detect(glance: Glance) -> bool:
    """Return whether many images of a folder have a file of tags: short texts, not sentences or numbers."""
    texts = [text for image in glance.images if (text := _tags_file(image, glance.names)) is not None]
    if not texts or len(texts) < _MIN_SHARE * len(glance.images):
        return False
    sample = texts[:: max(1, len(texts) // _SAMPLE)]
    looks = [_looks_like_tags(glance.path / name) for name in sample]
    return sum(look is True for look in looks) > sum(look is False for look in looks)


def _tags_file(image: str, names: Mapping[str, object] | frozenset[str]) -> str | None:
    """Return the file of tags of an image among ``names``."""
    for name in (f"{stem(image)}.txt", f"{image}.txt"):
        if name in names:
            return name
    return None


def _looks_like_tags(path: Path) -> bool | None:
    """Return whether a file holds tags, or None if it is empty or cannot be read."""
    try:
        content = read_bytes(str(path), _MAX_BYTES)
    except OSError:
        return None
    tags = _split(_decode(content)) if content else []
    if not tags:
        return None
    if all(_NUMBERS.fullmatch(tag) for tag in tags):  # boxes of YOLO
        return False
    return sum(len(tag.split()) > _MAX_WORDS for tag in tags) * 2 <= len(tags)


def _decode(content: bytes) -> str:
    """Return the text; bytes that are not UTF-8 come back as they were when it is encoded in the same way."""
    return content.decode("utf-8", "surrogateescape")


def _clean(tag: str) -> str:
    """Return a tag as valid text: bytes that are not UTF-8 are read as Windows-1252."""
    if tag.isascii():
        return tag
    try:
        tag.encode()
    except UnicodeEncodeError:
        return tag.encode("utf-8", "surrogateescape").decode("cp1252", "replace")
    return tag


def _split(text: str) -> list[str]:
    # str.strip also removes the separators of the cache.
    tags = (tag.translate(_CONTROLS).strip() for tag in _SEPARATOR.split(text.removeprefix(_BOM)))
    return list(dict.fromkeys(_clean(tag) for tag in tags if tag))


class TxtTagsFolder(TaggedFolder[str | None]):
    """A folder of images with files of tags."""

    format = "txt-tags"

    def wanted(self, folder: Folder) -> list[str]:
        """Return the files of tags of a folder."""
        found = (_tags_file(image, folder.files) for image in _image_names(folder))
        return sorted({name for name in found if name is not None})

    def read_file(self, path: str) -> str:
        """Return the tags of a file, or a mark that it is too large."""
        content = read_bytes(path, _MAX_BYTES)
        return _TOO_LARGE if content is None else ITEM.join(_split(_decode(content)))

    def items(self, on_progress: Progress | None = None) -> Iterator[Item]:
        """Yield every image with its tags, folder by folder; an image without a file of tags has none."""
        return (item for item, _ in self._images(on_progress))

    def places(self, images: Container[str]) -> Iterator[tuple[Item, str | None]]:
        """Yield the given images with their files of tags."""
        return (found for found in self._images() if found[0].image in images)

    def _images(self, on_progress: Progress | None = None) -> Iterator[tuple[Item, str | None]]:
        for folder, _, values in self.folders(on_progress):
            for name, tags in values.items():
                if tags == _TOO_LARGE:
                    self.faults[folder.prefix + name] = f"is larger than {_MAX_BYTES >> 20} MiB"
                    values[name] = ""
            for image in _image_names(folder):
                text = _tags_file(image, folder.files)
                tags = values.get(text, "") if text is not None else ""
                item = Item(folder.prefix + image, tuple(tags.split(ITEM) if tags else ()))
                yield item, None if text is None else folder.prefix + text

    def edit(self, item: Item, place: str | None, edit: LabelEdit, files: Files) -> None:
        """Change the file of tags of an image; one without gets ``IMG.txt``."""
        if place in self.faults:
            return
        path = self.root / (place or f"{stem(item.image)}.txt")
        known = files.get(path)  # of an image with the same name and another suffix
        try:
            before = known.before if known else (None if place is None else read_bytes(path, _MAX_BYTES) or b"")
        except OSError as error:
            self.faults[str(place)] = f"{(error.strerror or str(error)).lower()}; not changed"
            return
        content = known.after if known else before
        files[path] = FileChange(path, before, _edited(content or b"", edit))


open = TxtTagsFolder  # noqa: A001  # the interface of formats


def _image_names(folder: Folder) -> list[str]:
    return [name for name in folder.files if is_image(name)]


def _edited(content: bytes, edit: LabelEdit) -> bytes:
    """Return a file of tags after an edit, in its own style; the bytes of other tags stay as they are."""
    text = _decode(content)
    if edit.remove:
        text = _without(text, set(edit.remove))
    known = set(_split(text))
    added = [tag for tag in dict.fromkeys(edit.add) if tag not in known]
    for tag in added:
        if _SEPARATOR.search(tag):
            raise DataError(
                f"tag {tag!r} has a comma or a line break, which a .txt file of tags cannot hold; rename it"
            )
    if added:
        body = text.rstrip()
        separator = _separator(body)
        tail = text[len(body) :]
        body = body.removesuffix(",").rstrip() if body.endswith(",") else body
        text = separator.join([body, *added] if body.removeprefix(_BOM) else [body + added[0], *added[1:]]) + tail
    return text.encode("utf-8", "surrogateescape")


def _separator(text: str) -> str:
    """Return the text between tags that a file uses."""
    if "," not in text and "\n" in text:
        return "\r\n" if "\r\n" in text else "\n"
    return "," if re.search(r",\S", text) and ", " not in text else ", "


def _without(text: str, removed: set[str]) -> str:
    """Return the text without some tags, each with one separator."""
    bom = _BOM if text.startswith(_BOM) else ""
    pieces = re.split("([,\r\n]+)", text.removeprefix(_BOM))  # tag, separator, tag, ...
    for at in reversed(range(0, len(pieces), 2)):
        if _clean(pieces[at].strip()) not in removed:
            continue
        starts_line = at == 0 or ("\n" in pieces[at - 1] and "\n" not in "".join(pieces[at + 1 : at + 2]))
        if not starts_line:
            del pieces[at - 1 : at + 1]
        elif at + 2 < len(pieces):
            pieces[at : at + 3] = [pieces[at + 2].lstrip()]
        else:
            pieces[at] = ""
    return bom + "".join(pieces)
